/**
 * §6.8: a route declares its output. Rows have the shape of the caller's version, and a result that
 * violates the declaration is a 500 that changes nothing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { DeclarationError, f, service, sql, table } from '../../src/gatehook.ts'
import { club, people } from '../fixtures/club.ts'

const scopes = { read: 'people:read', write: 'people:write' }
const ada = { first: 'Ada', last: 'Byron', height_mm: 1700, email: 'ada@example.com' }

const guild = club
  .route({
    method: 'POST',
    path: '/guests',
    scope: scopes.write,
    summary: 'Adds a guest',
    output: people,
    status: [201, 202],
    headers: { 'X-Seat': 'The seat.' },
    failures: ['limit_reached'],
    async handle({ write }) {
      const person = await write((tx) => tx.create(people, ada))
      return { body: person, headers: { 'x-seat': '7' } }
    },
  })
  .route({
    method: 'GET',
    path: '/summary/:id',
    scope: scopes.read,
    summary: 'Summarizes',
    output: { at: f.time(), tags: [f.string().max(3)], person: people, all: [people] },
    async handle({ params, read, show }) {
      const person = await read.get(people, Number(params.id))
      return { body: { at: 0, tags: ['a', 'b'], person, all: [person, show(person)] } }
    },
  })
  .route({
    method: 'GET',
    path: '/exports/people',
    scope: scopes.read,
    summary: 'Exports',
    query: { fails: f.bool().default(false) },
    output: { media: 'text/csv' },
    headers: { 'content-disposition': 'The name of the file.' },
    handle({ read, show, query }) {
      async function* lines() {
        const row = await read.get(people, 1)
        yield `${Object.keys(show(row)).join()}\n`
        if (query.fails) throw new Error('the disk is full')
        const count = await read.sql.all(sql`SELECT count(*) AS n FROM ${table(people)}`)
        yield `${Object.values(show(row)).join()}\n${count.length}`
      }
      return { body: lines(), headers: { 'content-disposition': 'attachment' } }
    },
  })
  .route({
    method: 'GET',
    path: '/undeclared/:id',
    scope: scopes.read,
    summary: 'Returns any JSON',
    async handle({ params, read }) {
      const id = Number(params.id)
      if (id === 0) return {}
      if (id < 0) return [{ total: 1 }, [1]][-1 - id] as object
      const person = await read.get(people, id)
      return { body: { person, all: [person], count: 1 } }
    },
  })
  .route({
    method: 'POST',
    path: '/violations/:kind',
    scope: scopes.write,
    summary: 'Violates its declaration',
    output: { count: f.int().max(5) },
    async handle({ params, write }) {
      await write((tx) => tx.create(people, ada))
      const results: Record<string, object> = {
        bound: { body: { count: 6 } },
        missing: { body: {} },
        unknown: { body: { count: 1, more: 2 } },
        nothing: {},
        bare: { count: 1 },
        status: { status: 201, body: { count: 1 } },
        header: { headers: { 'x-other': '1' }, body: { count: 1 } },
      }
      return results[params.kind] as never
    },
  })

const shapes = {
  v3: { id: 1, first: 'Ada', last: 'Byron', height_mm: 1700, tier: 'basic', points: 0 },
  v2: { id: 1, full_name: 'Ada Byron', height_mm: 1700, tier: 'basic', points: 0 },
}

eachService(
  'a row in a response has the shape of the caller’s version',
  async ({ post, get }) => {
    const created = await post('/api/v2/guests')
    assert.deepEqual([created.status, created.headers['x-seat']], [201, '7'])
    assert.equal(created.headers.location, '/api/v2/people/1')
    const { created_at, ...person } = created.body
    assert.deepEqual(person, { ...shapes.v2, email: 'ada@example.com' })
    assert.match(created_at, /^\d{4}-.*Z$/)
    for (const version of ['v1', 'v2', 'v3']) {
      const row = (await get(`/api/${version}/people/1`)).body
      const reply = await get(`/api/${version}/summary/1`)
      const { _warnings, ...summary } = reply.body
      delete row._warnings
      const at = '1970-01-01T00:00:00.000Z'
      assert.deepEqual(summary, { at, tags: ['a', 'b'], person: row, all: [row, row] })
    }
  },
  { service: guild },
)

eachService(
  'a response of another media type is a stream',
  async (caller) => {
    await caller.post('/api/v3/guests')
    const reply = await caller.get('/api/v3/exports/people', { accept: 'text/csv' })
    assert.equal(reply.headers['content-type'], 'text/csv; charset=utf-8')
    assert.equal(reply.headers['content-disposition'], 'attachment')
    const [head, line, count] = reply.text.split('\n')
    assert.equal(head, 'id,first,last,height_mm,tier,points,email,created_at')
    assert.match(line!, /^1,Ada,Byron,1700,basic,0,ada@example.com,\d{4}-/)
    assert.equal(count, '1')
    const html = await caller.get('/api/v3/exports/people', { accept: 'text/html' })
    assert.equal(html.status, 406)
    await assert.rejects(() => caller.get('/api/v3/exports/people?fails=true'))
  },
  { service: guild },
)

eachService(
  'without an output, a body is any JSON, and its rows follow the version of the caller',
  async (service) => {
    const { id } = (await service.post('/api/v3/guests')).body
    const { status, body } = await service.get(`/api/v1/undeclared/${id}`)
    const row = (await service.get(`/api/v1/people/${id}`)).body
    assert.deepEqual([status, body], [200, { person: row, all: [row], count: 1 }])
    assert.equal((await service.get('/api/v3/undeclared/0')).status, 204)
    for (const bare of [-1, -2]) {
      assert.equal((await service.get(`/api/v3/undeclared/${bare}`)).status, 500)
    }
  },
  { service: guild },
)

test('a violation is a 500 without a row, and its log line names the route', async (t) => {
  const lines: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
  const caller = await openService(t, 'sqlite', { service: guild, log })
  const kinds = {
    bound: '/count must be at most 5',
    missing: '/count is required',
    unknown: '/more is not a field here',
    nothing: 'the body is not an object',
    bare: 'the result has status, headers and body, and no member count',
    status: 'status 201 is not declared',
    header: 'header x-other is not declared',
  }
  for (const [kind, mistake] of Object.entries(kinds)) {
    const reply = await caller.post(`/api/v3/violations/${kind}`)
    assert.deepEqual([reply.status, reply.body.error], [500, 'internal_error'])
    const { err } = JSON.parse(lines.find((line) => line.includes('"bug"'))!)
    const sentence = `route POST /violations/:kind violates its declaration: ${mistake}`
    assert.equal(err.message, sentence)
    lines.length = 0
  }
  assert.equal((await caller.get('/api/v3/people?pagination=page')).body.total, 0)
})

test('OpenAPI describes the responses of a route', async (t) => {
  const caller: TestApp = await openService(t, 'sqlite', { service: guild })
  const { paths } = (await caller.get('/openapi/v2.json')).body
  const guests = paths['/api/v2/guests'].post
  const row = { $ref: '#/components/schemas/Person' }
  assert.deepEqual(guests.responses[201].content['application/json'].schema, row)
  assert.deepEqual(guests.responses[202].content, guests.responses[201].content)
  assert.equal(guests.responses[201].headers['X-Seat'].description, 'The seat.')
  assert.equal(guests.responses[409].$ref, '#/components/responses/Error409')
  const { properties } =
    paths['/api/v2/summary/{id}'].get.responses[200].content['application/json'].schema
  assert.deepEqual(properties.all.items, row)
  assert.equal(properties.at.format, 'date-time')
  const csv = paths['/api/v2/exports/people'].get.responses[200].content
  assert.equal(csv['text/csv'].schema.type, 'string')
})

test('a response that cannot be served is a mistake of the declaration', () => {
  const { definition } = club
  const [resource] = [people]
  const base = { method: 'POST', path: '/x', scope: 's', summary: 's', handle: () => ({}) }
  const wrong: readonly [object, RegExp][] = [
    [{ output: { media: 'csv/' }, method: 'GET' }, /is not a media type/],
    [{ output: resource, status: 204 }, /has no body/],
    [{ output: { row: 'people' } }, /row is a field, a resource/],
    [{ output: [resource] }, /output is a resource/],
    [{ status: 404 }, /is not from 200 to 299/],
    [{ headers: { 'Set-Cookie': 'no' } }, /the engine sets Set-Cookie/],
    [{ failures: ['no_such'] }, /there is no code no_such/],
    [{ method: 'FETCH' }, /method is/],
    [{ handle: undefined }, /handle is a function/],
    [{ input: { a: 'text' } }, /a is not a field/],
  ]
  for (const [more, mistake] of wrong) {
    assert.throws(() => club.route({ ...base, ...more } as never), mistake)
  }
  assert.equal(definition.routes.length, 0)
  const other = service({ name: 'o', versions: { v1: { released: '2026-01-01' } }, resources: [] })
  assert.throws(() => other.route({ ...base, output: people } as never), DeclarationError)
})
