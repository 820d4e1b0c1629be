/**
 * §7.7: `[in]` names every text, `[null]` selects nulls, in each version, on both databases.
 * OpenAPI gives no parameter the type null.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { clientOf } from '../../../../test/rig/client.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { kinds } from '../fixtures/every-kind.ts'
import { idsOf, ok, refused, run, styles, testScope } from '../lists/rows.ts'

const file = new URL('../../../../spec/vectors/value-lists.json', import.meta.url)
const { lists, malformed } = JSON.parse(readFileSync(file, 'utf8')) as {
  lists: { values: string[]; text: string }[]
  malformed: string[]
}

const guests = resource('guests', {
  fields: {
    id: f.id(),
    name: f.string().max(40).nullable().default(null),
    age: f.int().nullable().default(null),
    room: f.string().max(40).nullable().default(null),
  },
  list: {
    filter: ['id', 'name', 'age', { field: 'room', index: false }],
    sort: ['name', 'age'],
  },
  access: { read: 'guests:read', create: 'guests:write', update: false, delete: false },
  events: [],
}).before('v2', {
  why: 'Names are short.',
  had: { title: f.string().max(40).nullable().default(null) },
  hadNot: ['name'],
  up: ({ title }) => ({ name: title }),
  down: ({ name }) => ({ title: name }),
  renamed: { title: 'name' },
})
const versions = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } } as const
const options = { service: service({ name: 'Inn', versions, resources: [guests] }) }
const PATH = '/api/v2/guests'

const texts = [...new Set(['a', 'b', 'c', ...lists.flatMap(({ values }) => values)])]

/** Inserts a row for each text, and a row of nulls. Returns the ids by text. */
async function insertTexts({ app }: Pick<TestApp, 'app'>): Promise<ReadonlyMap<unknown, number>> {
  const scope = await testScope(app.db)
  for (const [at, text] of [...texts, null].entries()) {
    const statement = 'INSERT INTO guests (scope, name, age, room) VALUES (?, ?, ?, ?)'
    await run(app.db, statement, [scope, text, text === null ? null : at % 3, text])
  }
  return new Map([...texts, null].map((text, at) => [text, at + 1]))
}

eachService(
  '[in] selects exactly the named texts, in each version and from the client',
  async (service) => {
    const { get } = service
    const idOf = await insertTexts(service)
    const client = clientOf(service, 'v2').collection<{ id: number }>('guests')
    for (const { values, text } of lists) {
      const expected = [...new Set(values)].map((value) => idOf.get(value)!)
      const sorted = expected.sort((left, right) => left - right)
      const query = encodeURIComponent(text)
      for (const style of styles) {
        const page = await ok(get(`${PATH}?name[in]=${query}&pagination=${style}`))
        assert.deepEqual(idsOf(page), sorted, text)
      }
      assert.deepEqual(idsOf(await ok(get(`${PATH}?room[in]=${query}`))), sorted)
      assert.deepEqual(idsOf(await ok(get(`/api/v1/guests?title[in]=${query}`))), sorted)
      for (const params of [{}, { pagination: 'hypermedia', per_page: 1 }, { limit: 1 }]) {
        const rowIds: number[] = []
        const list = client.list({ name: { in: [...values, undefined] }, ...params })
        for await (const { id } of list) rowIds.push(id)
        assert.deepEqual(rowIds, sorted, `${text} ${JSON.stringify(params)}`)
      }
    }
    for (const text of malformed) {
      const query = `name[in]=${encodeURIComponent(text)}`
      await refused(get(`${PATH}?${query}`), 'invalid_parameter', 'name[in]')
    }
    await assert.rejects(async () => client.list({ name: { in: ['a', null as never] } }), TypeError)
    await assert.rejects(async () => client.list({ name: null as never }), /name is null/)
  },
  options,
)

eachService(
  '[null] selects nulls or the other rows, in each version, style and order',
  async (service) => {
    const { get } = service
    const idOf = await insertTexts(service)
    const nulls = [idOf.get(null)!]
    const filled = texts.map((text) => idOf.get(text)!)
    const expected = { true: nulls, false: filled }
    for (const [value, ids] of Object.entries(expected)) {
      for (const path of ['name', 'age', 'room'].map((name) => `${PATH}?${name}[null]=${value}`)) {
        for (const style of styles) {
          const size = /page|hyper/.test(style) ? 'per_page' : 'limit'
          const page = await ok(get(`${path}&${size}=100&pagination=${style}`))
          assert.deepEqual(idsOf(page), ids, path)
        }
        for (const sort of ['name', '-name', '-age']) {
          const page = await ok(get(`${path}&limit=100&sort=${sort}`))
          assert.deepEqual(new Set(idsOf(page)), new Set(ids), sort)
        }
      }
      const old = await ok(get(`/api/v1/guests?title[null]=${value}&limit=100`))
      assert.deepEqual(idsOf(old), ids)
      const list = clientOf(service, 'v2').collection<{ id: number }>('guests')
      const page = await list.list({ age: { null: value === 'true' }, limit: 100 })
      assert.deepEqual(
        page.data.map(({ id }) => id),
        ids,
      )
    }
    assert.deepEqual(idsOf(await ok(get(`${PATH}?name=null`))), [])
    for (const [query, parameter] of [
      ['id[null]=true', 'id[null]'],
      ['name[null]=', 'name[null]'],
      ['name[null]=1', 'name[null]'],
      ['age=null', 'age'],
      ['age[in]=1,null', 'age[in]'],
    ] as const) {
      await refused(get(`${PATH}?${query}`), 'invalid_parameter', parameter)
    }
    await refused(get('/api/v1/guests?name[null]=true'), 'unknown_parameter', 'name[null]')
  },
  options,
)

/** Every kind of field, nullable, as a filter and as a parameter of a route. */
const nullable = Object.fromEntries(
  Object.entries(kinds)
    .filter(([kind]) => kind !== 'ref')
    .map(([kind, field]) => [`a_${kind.toLowerCase()}`, field.nullable().default(null as never)]),
)
const filter = Object.keys(nullable).filter((name) => !/object|list|json/.test(name))
const everyNull = resource('things', {
  fields: { id: f.id(), ...(nullable as Record<never, never>) },
  list: { filter: filter as never[], sort: [] },
  access: { read: 't:read', create: 't:write', update: false, delete: false },
  events: [],
})
const withRoute = service({
  name: 'Nulls',
  versions: { v1: { released: '2025-01-01' } },
  resources: [everyNull],
}).route({
  method: 'GET',
  path: '/found',
  scope: 't:read',
  summary: 'Finds',
  query: Object.fromEntries(filter.map((name) => [name, nullable[name]!])) as never,
  handle: async () => ({ body: {} }),
})

eachService(
  'no parameter of a document has the type null, a null in its set or as its default',
  async ({ app }) => {
    const documents = ['v1', 'platform', 'admin'].map((name) => app.openapi(name))
    let count = 0
    const visit = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      const { in: place, schema } = value as { in?: unknown; schema?: object }
      if (place === 'query' && schema !== undefined) {
        count++
        const { description: _, examples: __, ...rest } = schema as Record<string, unknown>
        assert.doesNotMatch(JSON.stringify(rest), /null/, JSON.stringify(value))
      }
      for (const part of Object.values(value)) visit(part)
    }
    documents.forEach(visit)
    assert.ok(count > 2 * filter.length)
  },
  { service: withRoute },
)
