/** Imports of a document, and what a later import keeps. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  countRoutes,
  forwardModule,
  functionName,
  generateForwards,
  mergeForwards,
} from './forward-code.ts'

const ok = { 200: { description: 'ok' } }
const document = (paths: object, schemas: object = {}) => ({
  openapi: '3.1.0',
  paths,
  components: { schemas },
})
const invoice = {
  type: 'object',
  required: ['id', 'state'],
  properties: {
    id: { type: 'integer', minimum: 1 },
    state: { enum: ['open', 'paid'] },
    note: { anyOf: [{ type: 'string', maxLength: 9 }, { type: 'null' }] },
    "it's": { type: 'string' },
    parent: { $ref: '#/components/schemas/Invoice' },
  },
}
const json = (schema: object) => ({ content: { 'application/json': { schema } } })
const reference = { $ref: '#/components/schemas/Invoice' }
const paths = {
  '/api/v1/invoices/{invoiceId}': {
    parameters: [{ name: 'invoiceId', in: 'path', schema: { type: 'integer', minimum: 1 } }],
    get: { summary: "A 'quoted' one", responses: { 200: json(reference) } },
    patch: { requestBody: json(reference), responses: { 202: json(reference) } },
  },
  '/files/{name}.pdf': { get: { responses: ok } },
  '/search': {
    get: { parameters: [{ name: 'tags', in: 'query', schema: { type: 'array' } }], responses: ok },
  },
}
const blocksOf = (given: object) => generateForwards(given as never, 'billing').blocks
const codeOf = (given: object) => forwardModule('billing', blocksOf(given), true)

test('an operation becomes a route, a component fields', () => {
  const code = codeOf(document(paths, { Invoice: invoice }))
  for (const part of [
    'const invoice = fields({',
    'const invoiceInput = fields({',
    'id: f.int().min(1),',
    "state: f.oneOf(['open', 'paid']),",
    'note: f.string().max(9).nullable(),',
    'note: f.string().max(9).nullable().default(null),',
    '"it\'s": f.string()',
    "path: '/invoices/:invoice_id',",
    "upstreamPath: '/api/v1/invoices/:invoice_id',",
    "integers: ['invoice_id'],",
    'summary: "A \'quoted\' one",',
    'status: 202,',
    "query: 'pass',",
    "scope: 'invoices:write',",
    'export const billing = <E extends string, W extends ServiceWords>(api: Service<E, W>) =>',
  ]) {
    assert.ok(code.includes(part), part)
  }
  const { skipped } = generateForwards(document(paths) as never, 'billing')
  assert.deepEqual(skipped, ['GET /files/{name}.pdf: a route cannot have this path'])
})

test('a list at the root of a body has the fields of its items', () => {
  const listOf = (items: object) => ({ responses: { 200: json({ type: 'array', items }) } })
  const given = {
    '/invoices': { get: listOf(reference) },
    '/names': { get: listOf({ type: 'string' }) },
    '/others': {
      get: { responses: { 200: json({ anyOf: [listOf(reference), { type: 'null' }] }) } },
    },
  }
  const blocks = blocksOf(document(given, { Invoice: invoice }))
  const codes = blocks.map(({ code }) => /output: (.*),/.exec(code)?.[1])
  assert.deepEqual(codes, [undefined, '[invoice]', undefined, undefined])
})

test('text of a document is no code', () => {
  const evil = "'})\nprocess.exit()//`$1\\"
  const given = document(
    {
      '/a': {
        get: {
          summary: evil,
          parameters: [{ name: evil, in: 'query', schema: { type: 'string' } }],
          responses: ok,
        },
      },
    },
    {},
  )
  const [block] = blocksOf(given)
  assert.ok(!block!.code.includes('\nprocess.exit'))
  assert.ok(block!.code.includes(JSON.stringify(evil)))
})

test('a later import keeps edited parts, replaces others, and prints the difference', () => {
  const first = codeOf(document(paths, { Invoice: invoice }))
  const same = mergeForwards(first, blocksOf(document(paths, { Invoice: invoice })))
  assert.deepEqual(same, { text: first, differences: [] })
  const edited = first.replace(
    "path: '/invoices/:invoice_id',\n      to",
    "path: '/bills/:invoice_id',\n      to",
  )
  assert.notEqual(edited, first)
  assert.deepEqual(
    mergeForwards(edited, blocksOf(document(paths, { Invoice: invoice })))!.text,
    edited,
  )

  const changed = {
    ...paths,
    '/api/v1/invoices/{invoiceId}': {
      ...paths['/api/v1/invoices/{invoiceId}'],
      get: { summary: 'New words', responses: { 200: json(reference) } },
    },
    '/search': { get: { summary: 'Finds', responses: ok } },
    '/added': { get: { responses: ok } },
  }
  const { '/files/{name}.pdf': _, ...later } = changed
  const { text, differences } = mergeForwards(
    edited,
    blocksOf(document(later, { Invoice: invoice })),
  )!
  assert.ok(text.includes("path: '/bills/:invoice_id'") && !text.includes('New words'))
  assert.ok(text.includes("summary: 'Finds'") && text.includes("path: '/added'"))
  assert.deepEqual(
    differences.filter((line) => /^[~+-]/.test(line)),
    ['~ GET /api/v1/invoices/{invoiceId} (edited here, and kept)', '~ GET /search', '+ GET /added'],
  )
  // The next import does not report the same changes again.
  const again = mergeForwards(text, blocksOf(document(later, { Invoice: invoice })))!
  assert.deepEqual(again, { text, differences: [] })
  const gone = mergeForwards(text, blocksOf(document({}, {})))!
  assert.equal(gone.text, text)
  assert.equal(countRoutes(text), text.match(/\.forward\(/g)!.length, 'also those that are gone')
  assert.ok(gone.differences.every((line) => line.startsWith('- ')))
  assert.equal(mergeForwards('export {}', []), undefined)
})

test('one operation has a public path; others are skipped by name', () => {
  const get = { responses: ok }
  const given = { '/api/v1/x/{a}': { get }, '/v2/x/{b}': { get, delete: get } }
  const { blocks, skipped } = generateForwards(document(given) as never, 'billing')
  assert.deepEqual(
    blocks.map(({ key }) => key),
    ['GET /api/v1/x/{a}', 'DELETE /v2/x/{b}'],
  )
  assert.deepEqual(skipped, ['GET /v2/x/{b}: its path would be that of GET /api/v1/x/{a}'])
})

test('the fields of a schema that contains itself 200 times are bounded', () => {
  const names = Array.from({ length: 200 }, (_, n) => `m${n}`)
  const properties = Object.fromEntries(names.map((name) => [name, reference]))
  const schemas = { Invoice: { type: 'object', properties } }
  const post = { requestBody: json(reference), responses: { 200: json(reference) } }
  const code = codeOf(document({ '/a': { post } }, schemas))
  assert.ok(code.includes('m199') && code.length < 200_000, String(code.length))
})

test('a marker behind the last line of an import is text', () => {
  const blocks = blocksOf(document(paths, { Invoice: invoice }))
  const behind = `${codeOf(document(paths, { Invoice: invoice }))}// openapi: GET /a 01234567\nx\n`
  assert.deepEqual(mergeForwards(behind, blocks), { text: behind, differences: [] })
})

test('components have a name each, which is no word of the language or the module', () => {
  const names = ['Fields', 'Default', 'F', 'Foo_bar', 'FooBar', 'Thing', 'ThingInput']
  const schemaOf = (name: string) => ({
    type: 'object',
    properties: { [name]: { type: 'string' } },
  })
  const schemas = Object.fromEntries(names.map((name) => [name, schemaOf(name)]))
  const routes = names.map((name) => {
    const body = json({ $ref: `#/components/schemas/${name}` })
    const post = { requestBody: body, responses: { 200: body } }
    return [`/${name.toLowerCase()}`, { post }]
  })
  const code = codeOf(document(Object.fromEntries(routes), schemas))
  const constants = [...code.matchAll(/^const (\w+) =/gm)].map(([, name]) => name)
  assert.equal(new Set(constants).size, constants.length, constants.join())
  for (const word of ['fields', 'default', 'f']) assert.ok(!constants.includes(word), word)
  for (const word of ['new', 'f', 'default']) assert.equal(functionName(word), `${word}Routes`)
})
