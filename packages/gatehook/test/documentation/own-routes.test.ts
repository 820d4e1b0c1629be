/**
 * The example of an own route is a request that the route accepts, and a response that it can
 * return, for every kind of member. A page of the docs has each operation once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'
import { catalogOf } from '../../src/cli/openapi.ts'
import { openApiDocuments } from '../../src/documents.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { sectionsOf } from './pages.ts'
import type { Json } from './targets.ts'

const access = {
  read: 'halls:read',
  create: 'halls:write',
  update: 'halls:write',
  delete: 'halls:write',
} as const
const others = { name: f.string(), created_at: f.createdAt() }
const halls = resource('halls', {
  fields: { id: f.id('hall'), ...others },
  list: { filter: [], sort: [] },
  access,
  events: [],
})
const courts = resource('courts', {
  fields: { id: f.id(), ...others },
  list: { filter: [], sort: [] },
  access,
  events: [],
})

const matches = resource('matches', {
  fields: {
    id: f.id(),
    hall_id: f.ref('halls', 'hall'),
    fee: f.decimal(6, 2).nullable().default(null),
  },
  list: { filter: [], sort: [] },
  access,
  events: [],
})

/** Members of every kind of a query. */
const simple = {
  day: f.date(),
  from: f.time(),
  at: f.timeOfDay(),
  link: f.url(),
  mail: f.email(),
  kind: f.oneOf(['indoor', 'outdoor']),
  seats: f.int().min(7).max(9),
  share: f.number().min(2),
  name: f.string().min(8).max(20),
  price: f.decimal(6, 2),
  code: f.pattern(/^[A-Z]{3}-[0-9]{2}$/),
  money: f.currency(),
  key: f.uuid(),
  open: f.bool(),
  length: f.duration().min(60_000),
  hall: f.ref('halls', 'hall'),
}
const output = {
  ...simple,
  days: f.array(f.date(), { max: 3 }),
  place: f.object({ day: f.date(), seats: f.int().min(3) }),
}

const routeOf = <P extends string>(path: P, method: 'GET' | 'PUT') => ({
  method,
  path,
  scope: 'halls:read',
  summary: `${method} ${path}`,
})
const api = service({
  name: 'clubs',
  versions: { v1: { released: '2026-01-01' } },
  resources: [halls, courts, matches],
})
  .route({
    ...routeOf('/match/:id', 'GET'),
    output: matches,
    handle: async ({ params, read }) => ({ body: (await read.get(matches, Number(params.id)))! }),
  })
  .route({
    ...routeOf('/days/:id', 'GET'),
    output: { day: f.date(), first: matches, all: [matches] },
    handle: async ({ params, read }) => {
      const first = (await read.get(matches, Number(params.id)))!
      return { body: { day: '2026-06-01', first, all: [first] } }
    },
  })
  .route({
    ...routeOf('/halls/:id/occupancy', 'GET'),
    query: simple,
    output,
    handle: () => assert.fail('the test sends no valid row'),
  })
  .route({
    ...routeOf('/courts/:id/occupancy', 'GET'),
    handle: async ({ params, read }) => ({ body: await read.get(courts, Number(params.id)) }),
  })
  .route({ ...routeOf('/checks', 'PUT'), input: output, handle: () => ({ body: {} }) })

test('the examples of an own route are values that its members accept', async (t) => {
  const app = await openService(t, 'sqlite', { service: api })
  const { paths } = app.app.openapi('v1') as Json
  const occupancy = paths['/api/v1/halls/{id}/occupancy'].get
  const row = (await app.post('/api/v1/halls', { name: 'A' })).body
  const [id] = occupancy.parameters
  assert.equal(id.schema.examples[0].split('_')[0], row.id.split('_')[0])
  assert.deepEqual(paths['/api/v1/courts/{id}/occupancy'].get.parameters[0].schema.examples, ['1'])
  for (const { name, schema } of occupancy.parameters.filter((each: Json) => each.in === 'query')) {
    const reply = await app.get(
      `/api/v1/halls/${row.id}/occupancy?${new URLSearchParams({ [name]: schema.examples[0] })}`,
    )
    const parameters = reply.body.errors.map((error: Json) => error.parameter)
    assert.ok(!parameters.includes(name), `${name}: ${reply.text}`)
  }
  const { example } = occupancy.responses[200].content['application/json']
  const echo = await app.send('PUT', '/api/v1/checks', example)
  assert.equal(echo.status, 200, echo.text)
})

test('the example of a route that returns rows has their members, and no others', async (t) => {
  const app = await openService(t, 'sqlite', { service: api })
  const { paths } = app.app.openapi('v1') as Json
  const { id: hall_id } = (await app.post('/api/v1/halls', { name: 'A' })).body
  const { id } = (await app.post('/api/v1/matches', { hall_id })).body
  /** The members of a value, and null where it is null. */
  const formOf = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(formOf)
    if (typeof value !== 'object' || value === null) return value === null ? null : 'value'
    return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, formOf(of)]))
  }
  for (const path of ['match', 'days']) {
    const { example } = paths[`/api/v1/${path}/{id}`].get.responses[200].content['application/json']
    assert.deepEqual(formOf(example), formOf((await app.get(`/api/v1/${path}/${id}`)).body))
  }
})

test('docs have no words on persons and replicas that a service lacks', async (t) => {
  const app = await openService(t, 'sqlite', { service: api })
  for (const name of ['', '/start', '/halls']) {
    const { text } = await app.get(`/docs/v1${name}.md`)
    assert.doesNotMatch(text, / persons?\b|halls:all/, name)
  }
  const document = JSON.stringify(app.app.openapi('v1'))
  assert.doesNotMatch(document, /halls:all`|A person |to persons|Gatehook-Read-After/)
  const ofReplicas = JSON.stringify(openApiDocuments(catalogOf(api.definition), true).get('v1'))
  assert.match(ofReplicas, /headers\/Gatehook-Read-After".*parameters\/ReadAfter"/)
})

test('the first call lists the first resource; without a resource it checks the key', async (t) => {
  const none = service({
    name: 'none',
    versions: { v1: { released: '2026-01-01' } },
    resources: [],
  })
  for (const [declared, path] of [
    [api, '/api/v1/halls'],
    [none, '/api/v1/protected'],
  ] as const) {
    const app = await openService(t, 'sqlite', { service: declared })
    for (const name of ['', '/start']) {
      const { text } = await app.get(`/docs/v1${name}.md`)
      assert.equal(/^curl .*?(\/api\/\S+)/m.exec(text)?.[1], path, name)
    }
  }
})

test('an operation is on one page of the docs', async (t) => {
  const app = await openService(t, 'sqlite', { service: api })
  const index = await app.get('/docs/v1.md')
  const names = [...index.text.matchAll(/\]\([^)]*?([a-z_]+)(?:\.md)?\)/g)].map(([, name]) => name!)
  const calls: string[] = []
  for (const name of new Set(names)) {
    const page = await app.get(`/docs/v1/${name}.md`)
    for (const { call } of sectionsOf(page.text)) if (call !== '') calls.push(call)
  }
  assert.deepEqual(
    calls.filter((call, at) => calls.indexOf(call) !== at),
    [],
  )
  assert.equal(calls.filter((call) => /occupancy|checks/.test(call)).length, 3)
})
