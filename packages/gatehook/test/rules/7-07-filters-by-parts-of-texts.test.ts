/** §7.7: `[prefix]=` and `[contains]=` filter declared texts, literally, on both databases. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { DeclarationError, f, resource, service } from '../../src/gatehook.ts'
import { fill, follow, idsOf, ok, refused, run, styles, testScope } from '../lists/rows.ts'

const access = { read: 'guests:read', create: false, update: false, delete: false } as const
const fields = {
  id: f.id(),
  name: f.string().max(40).nullable().default(null),
  email: f.email(),
  age: f.int().default(1),
}
const listOf = (more: object) => ({
  filter: ['age'] as const,
  sort: ['id', 'name'] as const,
  ...more,
})
const guests = (more: object, members: object = {}) =>
  resource('guests', { fields: { ...fields, ...members }, list: listOf(more), access, events: [] })
const inn = (more: object) =>
  service({
    name: 'Inn',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
    resources: [
      guests(more).before('v2', {
        why: 'Names are short.',
        had: { title: f.string().max(40).nullable().default(null) },
        hadNot: ['name'],
        up: ({ title }) => ({ name: title }),
        down: ({ name }) => ({ title: name }),
        renamed: { title: 'name' },
      }),
    ],
  })
const options = {
  service: inn({ prefix: ['name', 'email'], contains: ['name', 'email'] }),
}

const PATH = '/api/v2/guests'
const names = ['Ann', 'ann', 'Anna', '%', '_', '\\', 'Ähn', "O'Ann", null, 'An\ud7ff', 'An😀']

const cases = [
  ['name[prefix]', 'Ann', 1, 3],
  ['name[prefix]', 'An', 1, 3, 10, 11],
  ['name[prefix]', 'An\ud7ff', 10],
  ['name[prefix]', 'An😀', 11],
  ['name[prefix]', '%', 4],
  ['name[prefix]', '_', 5],
  ['name[prefix]', '\\', 6],
  ['name[prefix]', 'Ä', 7],
  ['name[prefix]', '\u{10ffff}'],
  ['name[contains]', 'nn', 1, 2, 3, 8],
  ['name[contains]', 'NN'],
  ['name[contains]', '%', 4],
  ['name[contains]', '_', 5],
  ['name[contains]', '\\', 6],
  ['name[contains]', "'", 8],
  ['email[prefix]', 'E1', 1, 10, 11],
  ['email[contains]', '@X.', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
] as const

eachService(
  'prefix and contains compare texts literally, and e-mail addresses without case',
  async ({ app, get }) => {
    const scope = await testScope(app.db)
    for (const [at, name] of names.entries()) {
      const text =
        'INSERT INTO guests (scope, name, email, gh_folded_email, age) VALUES (?, ?, ?, ?, ?)'
      await run(app.db, text, [scope, name, `E${at + 1}@x.io`, `e${at + 1}@x.io`, at % 2])
    }
    for (const [parameter, text, ...expected] of cases) {
      const query = `${encodeURIComponent(parameter)}=${encodeURIComponent(text)}`
      for (const style of styles) {
        const page = await ok(get(`${PATH}?${query}&pagination=${style}`))
        assert.deepEqual(idsOf(page), expected, `${query} ${style}`)
        const total = page.body.total ?? page.body.meta?.total ?? expected.length
        assert.equal(total, expected.length, query)
      }
    }
    // Every row once, in the order of the index and against it.
    for (const sort of ['name', '-name', 'id', '-name,id']) {
      const walked = await follow({ get }, `${PATH}?name[prefix]=An&sort=${sort}&limit=1`)
      assert.deepEqual(new Set(walked.flatMap(idsOf)), new Set([1, 3, 10, 11]), sort)
      assert.equal(walked.flatMap(idsOf).length, 4)
    }
    const combined = 'name[prefix]=A&name[contains]=nn&age=0&email[contains]=e'
    assert.deepEqual(idsOf(await ok(get(`${PATH}?${combined}`))), [1, 3])
    // An older version has the filter by its own name.
    assert.deepEqual(idsOf(await ok(get('/api/v1/guests?title[prefix]=Ann'))), [1, 3])
    await refused(get('/api/v1/guests?name[prefix]=Ann'), 'unknown_parameter', 'name[prefix]')
  },
  options,
)

const bad = [
  ['name[prefix]=', 'invalid_parameter'],
  [`name[contains]=${'a'.repeat(201)}`, 'invalid_parameter'],
  ['name=Ann', 'unknown_parameter'],
  ['name[like]=Ann', 'unknown_parameter'],
  ['id[prefix]=1', 'unknown_parameter'],
  ['age[prefix]=1', 'invalid_parameter'],
  ['age[contains]=1', 'invalid_parameter'],
] as const

eachService(
  'an undeclared or empty filter gives 400 with the parameter',
  async ({ get }) => {
    for (const [query, code] of bad) {
      await refused(get(`${PATH}?${query}`), code, query.slice(0, query.indexOf('=')))
    }
    const misspelt = await get(`${PATH}?nam=Ann`)
    assert.match(misspelt.text, /did you mean name\[contains\]\?/)
  },
  options,
)

const ALL = 120_000

eachService(
  'contains examines a bounded number of rows; an index serves prefix (§7.10)',
  async ({ app, get }) => {
    await fill(app.db, 'guests', ALL, { name: "'n' || n", email: "'e' || n || '@x.io'", age: '1' })
    const rare = await get(`${PATH}?name[contains]=n119999`)
    assert.equal(rare.body.error, 'query_too_expensive', rare.text)
    assert.equal(rare.body.errors[0].parameter, 'name[contains]')
    assert.deepEqual(idsOf(await ok(get(`${PATH}?name[contains]=9&limit=2`))), [9, 19])
    assert.deepEqual(idsOf(await ok(get(`${PATH}?name[prefix]=n119999`))), [119_999])
    const numbered = await ok(get(`${PATH}?name[prefix]=n1199&offset=0&sort=name`))
    assert.equal(numbered.body.total, 111)
    assert.equal(numbered.body.data[0].name, 'n1199')
  },
  options,
)

test('a declaration of these filters names texts', () => {
  const mistakes = [
    [{ prefix: ['nickname'] }, /list.prefix: there is no field nickname/],
    [{ contains: ['age'] }, /list.contains: age is not a text/],
    [{ prefix: 'name' }, /list.prefix is an array of field names/],
    [{ contains: ['name'] }, /name is secret/, { name: f.string().secret() }],
  ] as const
  for (const [more, message, members] of mistakes) {
    const declare = () => {
      const resources = [guests(more, members)]
      return service({ name: 'Inn', versions: { v1: { released: '2025-01-01' } }, resources })
    }
    assert.throws(
      declare,
      (error) => error instanceof DeclarationError && message.test(error.message),
    )
  }
})

eachService(
  'OpenAPI has a parameter for each of these filters, by the names of its version',
  async ({ get }) => {
    const parametersOf = async (version: string) => {
      const { body } = await ok(get(`/openapi/${version}.json`))
      const { parameters } = body.paths[`/api/${version}/guests`].get
      return parameters.flatMap(({ name }: { name?: string }) =>
        /\[(prefix|contains)\]/.test(name ?? '') ? [name] : [],
      )
    }
    const filters = ['email[prefix]', 'email[contains]']
    assert.deepEqual(
      new Set(await parametersOf('v2')),
      new Set([...filters, 'name[prefix]', 'name[contains]']),
    )
    assert.deepEqual(
      new Set(await parametersOf('v1')),
      new Set([...filters, 'title[prefix]', 'title[contains]']),
    )
  },
  options,
)

eachService(
  'an unknown operator is 400, which lists the parameters that the column has',
  async ({ get }) => {
    const problemOf = async (query: string) => {
      const { status, body } = await get(`${PATH}?${query}`)
      return [status, body.error, body.errors[0].parameter, body.errors[0].message]
    }
    const forms = ['age', ...['ne', 'gt', 'gte', 'lt', 'lte', 'in'].map((name) => `age[${name}]`)]
    const message = `has an unknown operator. This list has ${forms.join(', ')}.`
    for (const parameter of ['age[prefix]', 'age[eq]', 'age[like]']) {
      const expected = [400, 'invalid_parameter', parameter, `${parameter} ${message}`]
      assert.deepEqual(await problemOf(`${parameter}=1`), expected)
    }
  },
  options,
)

const boxes = resource('boxes', {
  fields: { id: f.id(), ...Object.fromEntries(sizes()), labels: f.metadata() },
  list: { filter: ['labels', ...sizes().map(([name]) => name)] as unknown as ['labels'], sort: [] },
  access,
  events: [],
})

/** Enough fields for more filters than a request may have. */
function sizes() {
  return Array.from({ length: 21 }, (_, n) => [`size${n}`, f.int().default(0)] as const)
}

eachService(
  'a request has at most 40 filters, and 5 by parts of texts or entries',
  async ({ get }) => {
    const entries = (count: number) =>
      Array.from({ length: count }, (_, n) => `labels[k${n}]=a`).join('&')
    const ranges = (count: number) =>
      Array.from({ length: count }, (_, n) => `size${n >> 1}[${n % 2 ? 'gt' : 'lt'}]=1`).join('&')
    await ok(get(`/api/v1/boxes?${entries(5)}`))
    await refused(get(`/api/v1/boxes?${entries(6)}`), 'invalid_parameter', 'labels[k5]')
    await ok(get(`/api/v1/boxes?${ranges(40)}`))
    await refused(get(`/api/v1/boxes?${ranges(41)}`), 'invalid_parameter', 'size20[lt]')
  },
  {
    service: service({
      name: 'Store',
      versions: { v1: { released: '2026-01-01' } },
      resources: [boxes],
    }),
  },
)
