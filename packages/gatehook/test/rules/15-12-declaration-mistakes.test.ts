/**
 * §15.12: one start, and one `openApp` of a test, reports all mistakes of a declaration, each with
 * its file and line.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { declaredMembers } from '../../src/declare/resources/declared-members.ts'
import { openApp } from '../../src/embedded.ts'
import { DeclarationError, f, fields } from '../../src/gatehook.ts'
import { gatehook, sentencesOf } from '../cli/command.ts'
import { api, base, change, plain, words } from '../fixtures/declared-words.ts'

test('every word of a declaration rejects a member that it does not have', () => {
  for (const [word, declare] of Object.entries(words)) {
    declare({})
    assert.throws(() => declare({ colour: 1 }), /there is no member colour; the members are /, word)
  }
})

test('a member inside a member is verified too, wherever the table has one', () => {
  const values: Readonly<Record<string, unknown>> = {
    'resource.list': { filter: [{ field: 'email' }], sort: [{ field: 'email' }] },
    'resource.list.filter': undefined,
    'resource.list.sort': undefined,
    'resource.access': base.access,
    'service.externalEvents': [{ type: 'a.b' }],
    'service.migrations': [{ number: 1, name: 'a', sql: { sqlite: 'S', postgres: 'S' } }],
    'service.migrations.sql': undefined,
    'service.license': { name: 'MIT' },
    'service.contact': { name: 'Ann' },
    'service.oauth': { documents: { scopes: [] } },
    'service.oauth.documents': undefined,
    'signsIn.signUp': { fields: [] },
    'resource.softDelete': {},
  }
  const seen = nestedPaths(declaredMembers)
  assert.deepEqual(Object.keys(values).sort(), seen.sort())
  for (const path of Object.keys(values)) {
    const [word, name, inner] = path.split('.') as [keyof typeof words, string, string?]
    const wrong = (given: unknown) =>
      Array.isArray(given) ? [{ ...given[0], colour: 1 }] : { ...(given as object), colour: 1 }
    const item = [values[`${word}.${name}`]].flat()[0] as Record<string, unknown>
    const changed = inner === undefined ? wrong(item) : { ...item, [inner]: wrong(item[inner]) }
    const given = { [name]: Array.isArray(values[`${word}.${name}`]) ? [changed] : changed }
    const names = inner === undefined ? [name] : [name, inner]
    const sentence = new RegExp(`there is no member ${names.join('.')}.colour`)
    assert.throws(() => words[word](given), sentence, path)
  }
})

function nestedPaths(shapes: object, path = ''): string[] {
  return Object.entries(shapes).flatMap(([name, shape]) => {
    if (shape === true) return []
    const inner = nestedPaths(shape, `${path}${name}.`)
    return path === '' ? inner : [`${path}${name}`, ...inner]
  })
}

test('the options of fields, and the changes of bodies, are verified too', () => {
  const calls: readonly [RegExp, () => unknown][] = [
    [/f\.string\(\) takes no argument/, () => (f.string as (x: object) => void)({ max: 3 })],
    [/f\.id\(\) takes at most 1/, () => (f.id as (...x: unknown[]) => void)('a', 'b')],
    [/no member unique/, () => f.array(f.int(), plain({ max: 3, unique: true }))],
    [
      /no member mysql/,
      () => f.derived(f.int(), plain({ sqlite: '1', postgres: '1', mysql: '1' })),
    ],
    [
      /no member hadnot; did you mean hadNot/,
      () => fields({ a: f.int() }).before('v2', plain({ ...change, hadnot: [] })),
    ],
  ]
  for (const [sentence, call] of calls) assert.throws(call, sentence)
})

test('the sentence names the member that is probably meant', () => {
  const calls: readonly [string, () => unknown][] = [
    ['softdelete; did you mean softDelete?', () => words.resource({ softdelete: true })],
    [
      'softDelete.purge; did you mean softDelete.purgeAfterDays?',
      () => words.resource({ softDelete: { purge: 3 } }),
    ],
    ['persons; did you mean access.persons?', () => words.resource({ persons: 'read' })],
    ['signup; did you mean signUp?', () => words.signsIn({ signup: true })],
    ['licence; did you mean license?', () => words.service({ licence: {} })],
  ]
  for (const [text, call] of calls) {
    assert.throws(call, (error: Error) => error.message.includes(`there is no member ${text}`))
  }
})

/** Eight mistakes in two files: each has a sentence with the file and the line of its call. */
const files = {
  'service.mjs': `import { f, resource, service } from 'gatehook'
import { books } from './books.mjs'

const people = resource('people', {
  fields: { id: f.id(), email: f.email(),
    host: f.derived(f.string(), 'mail') },
  list: { filter: ['mail'], sort: [] },
  access: { read: 'p:read', create: 'p:write', update: 'p:write', delete: false },
  persons: 'read',
  events: [],
})
  .signsIn({ username: 'email', signup: true })

export const api = service({
  name: 'Library',
  versions: { v1: { released: '2026-06-01' } },
  resources: [people, books],
})
  .on('book.lent', () => {})
  .route({ method: 'GET', path: '/x', scope: 'books:read', sumary: 'x', summary: 'x', handle() {} })
`,
  'books.mjs': `import { f, resource } from 'gatehook'

export const books = resource('books', {
  fields: { id: f.id(), pages: f.int().max('9'), status: f.oneOf(['in', 'out']).default('in') },
  list: { filter: [], sort: [] },
  access: { read: 'books:read', create: 'books:write', update: false, delete: false },
  events: [],
})
  .action('lend', { scope: 'books:write', to: 'lent' })
  .rule('lend', () => {})
`,
}

const expected = [
  /books\.mjs:3: resource books: field pages: \.max\(\) is a number$/,
  /books\.mjs:9: resource books: \.action\(lend\): there is no state lent; the states are in, out$/,
  /service\.mjs:4: resource people: there is no member persons; did you mean access\.persons\?$/,
  /service\.mjs:4: resource people: list: there is no field mail; did you mean email\?$/,
  /service\.mjs:6: resource people: field host: f\.derived\(\): .* mail; did you mean email\?$/,
  /service\.mjs:12: resource people: \.signsIn\(\): .* signup; did you mean signUp\?$/,
  /service\.mjs:19: \.on book\.lent: there is no event book\.lent$/,
  /service\.mjs:20: route GET \/x: there is no member sumary; did you mean summary\?$/,
]

/** Starts the service of a folder and returns the lines of its failure. */
async function failedStart(folder: string): Promise<string[]> {
  const { exit, stderr } = await gatehook({ cwd: folder }, 'start', folder, '--port', '0')
  assert.equal(exit, 78, stderr)
  return sentencesOf({ stderr })
}

function folderWith(t: TestContext, texts: Readonly<Record<string, string>>): string {
  const folder = emptyFolder(t)
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text)
  return folder
}

test('one start reports the mistakes of all files, and exits with 78', async (t) => {
  const lines = await failedStart(folderWith(t, files))
  assert.equal(lines.length, expected.length, lines.join('\n'))
  for (const [at, sentence] of expected.entries()) assert.match(lines[at]!, sentence)
})

/** Returns the function that imports the service of a folder, with the engine of this checkout. */
function moduleOf(t: TestContext, texts: Readonly<Record<string, string>>) {
  const engine = new URL('../../src/gatehook.ts', import.meta.url).href
  const linked = Object.entries(texts).map(([name, text]) => [
    name,
    text.replaceAll("from 'gatehook'", `from '${engine}'`),
  ])
  const { href } = pathToFileURL(join(folderWith(t, Object.fromEntries(linked)), 'service.mjs'))
  return () => import(href)
}

/** Returns the lines of the error of `openApp`. */
async function failedOpening(service: Parameters<typeof openApp>[0]['service']): Promise<string[]> {
  const error = await openApp({ service }).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof DeclarationError, String(error))
  return error.message.split('\n')
}

test('openApp of a test reports them as a start does, also when it opens again', async (t) => {
  const module = moduleOf(t, files)
  for (const lines of [await failedOpening(module), await failedOpening(module)]) {
    assert.equal(lines.length, expected.length, lines.join('\n'))
    for (const [at, sentence] of expected.entries()) assert.match(lines[at]!, sentence)
  }
})

test('openApp reports the mistakes of a service that its function declares', async () => {
  const declare = () => api({ colour: 1, licence: {} })
  const [first, second] = await Promise.all([failedOpening(declare), failedOpening(declare)])
  assert.equal(first.length, 2)
  assert.deepEqual(second, first)
  for (const line of first) assert.match(line, /declared-words\.ts:\d+: service: /)
  assert.throws(declare, /there is no member colour/, 'outside openApp the first call throws')
})

test('openApp opens the service that a module exports, or that a function returns', async (t) => {
  const valid = `import { f, resource, service } from 'gatehook'
export const notes = resource('notes', {
  fields: { id: f.id() },
  list: { filter: [], sort: [] },
  access: { read: 'notes:read', create: 'notes:write', update: false, delete: false },
  events: [],
})
export const api = service({
  name: 'Notes', versions: { v1: { released: '2026-06-01' } }, resources: [notes],
})
`
  for (const [service, collection] of [
    [moduleOf(t, { 'service.mjs': valid }), 'notes'],
    [() => api(), 'doors'],
    [api(), 'doors'],
  ] as const) {
    const app = await openApp({ service })
    const headers = { 'x-api-key': await app.createKey() }
    assert.equal((await app.request(`/api/v1/${collection}`, { headers })).status, 200)
    await app.close()
  }
  const [line] = await failedOpening(moduleOf(t, { 'service.mjs': 'export const x = 1' }))
  assert.match(line!, /exports no service/)
})

test('an exception of a file does not hide the mistakes before it', async (t) => {
  const text = files['books.mjs'].replace(
    'export const',
    'export const x = missing.member\nexport const',
  )
  const folder = folderWith(t, {
    'service.mjs': `import './first.mjs'\nimport './books.mjs'\n`,
    'first.mjs': files['books.mjs'],
    'books.mjs': text,
  })
  const lines = await failedStart(folder)
  const sentences = [
    /first\.mjs:3: .*max/,
    /first\.mjs:9: .*lent/,
    /books\.mjs:3: missing is not defined/,
  ]
  for (const [at, sentence] of sentences.entries()) assert.match(lines[at]!, sentence)
})
