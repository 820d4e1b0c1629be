/** §7.20: a list is exported whole as NDJSON or CSV, in constant memory, and can be resumed. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { createShape } from '../../src/declare/resources/shape.ts'
import { resourceCollection } from '../../src/declare/resources/table.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import type { Answer, Call, Stream } from '../../src/protocol/http/call.ts'
import { Query } from '../../src/protocol/http/query.ts'
import { createExporter } from '../../src/protocol/lists/export.ts'

const people = resource('people', {
  fields: { id: f.id(), name: f.string(), email: f.email().unique() },
  list: { filter: [], sort: [] },
  access: { read: 'people:read', create: 'people:write', update: false, delete: false },
  events: [],
}).signsIn({ username: 'email', scopes: ['notes:read'] })
const notes = resource('notes', {
  fields: {
    id: f.id(),
    person_id: f.ref('people').owner(),
    name: f.string().max(50).nullable().default(null),
    size: f.int().default(0),
    day: f.date().default('2026-01-02'),
    tags: f.array(f.string(), { max: 5 }).default([]),
  },
  list: { filter: ['size', 'name'], sort: ['id', 'size', 'name'], contains: ['name'] },
  access: { read: 'notes:read', create: 'notes:write', update: false, delete: false },
  events: [],
  export: true,
}).before('v2', {
  why: 'A note has a name.',
  had: { title: f.string().max(50).nullable() },
  hadNot: ['name'],
  up: ({ title }) => ({ name: title }),
  down: ({ name }) => ({ title: name }),
  renamed: { title: 'name' },
})
const versions = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }
const options = { service: service({ name: 'desk', versions, resources: [people, notes] }) }
const LINES = { accept: 'application/x-ndjson' }
const TABLE = { accept: 'text/csv' }

const linesOf = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

/** Creates `count` rows of two persons: name n1, n2, … and size 0 to 6. */
async function fill({ app, post }: TestApp, count: number) {
  const ids: number[] = []
  for (const name of ['ada', 'bob']) {
    ids.push((await post('/api/v2/people', { name, email: `${name}@example.com` })).body.id)
  }
  await app.db.write((tx) =>
    tx.run(sql`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
      INSERT INTO notes (scope, person_id, name, size, day, tags)
      SELECT p.scope, p.id, 'n' || i, i % 7, '2026-01-02', '[]'
      FROM n JOIN people p ON p.id = CAST(${ids[0]} AS BIGINT) + i % 2 ORDER BY i`),
  )
}

eachService(
  'NDJSON has every row of the list, in its order and in the shape of the version',
  async (app) => {
    await fill(app, 1_000)
    const { get } = app
    const all = await get('/api/v2/notes', LINES)
    assert.deepEqual([all.status, all.headers['content-type']], [200, LINES.accept])
    assert.equal(all.headers['cache-control'], 'no-store')
    assert.match(all.headers.vary!, /^Accept\b/)
    const rows = linesOf(all.text)
    assert.deepEqual(
      rows.map(({ name }) => name),
      Array.from({ length: 1_000 }, (_, n) => `n${n + 1}`),
    )
    const page = await get('/api/v2/notes?limit=100')
    assert.deepEqual(rows.slice(0, 100), page.body.data)
    const old = linesOf((await get('/api/v1/notes?fields=id,title', LINES)).text)
    assert.deepEqual(old[999], { id: rows[999].id, title: 'n1000' })
    const sorted = linesOf((await get('/api/v2/notes?sort=-size&size[gte]=5', LINES)).text)
    const expected = rows.filter(({ size }) => size >= 5).map(({ size }) => size)
    assert.deepEqual(
      sorted.map(({ size }) => size),
      expected.sort((a, b) => b - a),
    )
  },
  options,
)

eachService(
  'filters that no index serves are applied to spans of rows in the order of the id',
  async (app) => {
    await fill(app, 4_500)
    const query = 'size[in]=3,4&name[ne]=n3'
    for (const sort of ['id', '-id']) {
      const { text } = await app.get(
        `/api/v2/notes?${query}&sort=${sort}&fields=id,name,size`,
        LINES,
      )
      const rows = linesOf(text)
      const numbers = Array.from({ length: 4_500 }, (_, n) => n + 1)
      const expected = numbers.filter((n) => [3, 4].includes(n % 7) && n !== 3).map((n) => `n${n}`)
      if (sort === '-id') expected.reverse()
      assert.deepEqual(
        rows.map(({ name }) => name),
        expected,
      )
    }
    const refused = await app.get(`/api/v2/notes?${query}&sort=name`, LINES)
    assert.deepEqual([refused.status, refused.body.error], [400, 'query_too_expensive'])
  },
  options,
)

eachService(
  'CSV quotes cells, distinguishes null from an empty text, and disarms formulas',
  async ({ get, post }) => {
    const { id: person_id } = (
      await post('/api/v2/people', { name: 'Ada', email: 'a@example.com' })
    ).body
    const names = ['plain', 'a "b", c', '=1+1', "'=x", '-5', '', null, 'two\nlines']
    for (const name of names) {
      const reply = await post('/api/v2/notes', { person_id, name, size: -1, tags: ['x', 'y'] })
      assert.equal(reply.status, 201, reply.text)
    }
    const { text, headers } = await get('/api/v2/notes?fields=name,size,tags', TABLE)
    assert.equal(headers['content-type'], 'text/csv; charset=utf-8; header=present')
    const tail = ',-1,"[""x"",""y""]"\r\n'
    const cells = ['plain', '"a ""b"", c"', "'=1+1", "''=x", "'-5", '""', '', '"two\nlines"']
    assert.equal(text, `name,size,tags\r\n${cells.map((cell) => cell + tail).join('')}`)
  },
  options,
)

eachService(
  'an export resumes after an id or from a cursor line',
  async (app) => {
    await fill(app, 300)
    const all = linesOf((await app.get('/api/v2/notes', LINES)).text)
    const after = await app.get(`/api/v2/notes?after_id=${all[199].id}`, LINES)
    assert.deepEqual(linesOf(after.text), all.slice(200))
    const path = '/api/v2/notes?sort=-size&fields=id,size'
    const marked = linesOf((await app.get(`${path}&cursors=true`, LINES)).text)
    assert.deepEqual(marked.at(-1), { _cursor: null })
    const at = marked.findIndex((line) => typeof line._cursor === 'string')
    const rest = await app.get(`${path}&cursor=${marked[at]._cursor}`, LINES)
    const rows = marked.filter((line) => !('_cursor' in line))
    assert.deepEqual(linesOf(rest.text), rows.slice(at))
    assert.equal(rows.length, 300)
    const other = await app.get(`/api/v2/notes?cursor=${marked[at]._cursor}`, LINES)
    assert.equal(other.body.error, 'cursor_mismatch')
  },
  options,
)

eachService(
  'an export is declared, needs the read scope, and has no pages',
  async (app) => {
    const { get, as, key } = app
    assert.equal((await get('/api/v2/people', LINES)).body.error, 'not_acceptable')
    const pages = ['limit=5', 'page=1', 'offset=2', 'pagination=cursor', 'cursors=1', 'odd=1']
    for (const query of pages) {
      const refused = await get(`/api/v2/notes?${query}`, LINES)
      assert.equal(refused.status, 400, query)
    }
    const writer = as(await key({ scopes: ['notes:write'] }))
    assert.equal((await writer.get('/api/v2/notes', LINES)).body.error, 'insufficient_scope')
    assert.equal((await as(undefined).get('/api/v2/notes', TABLE)).status, 401)
    const empty = await get('/api/v2/notes', TABLE)
    assert.deepEqual([empty.status, empty.text.split(',').length], [200, 6])
    assert.equal((await get('/api/v2/notes', LINES)).text, '')
    for (const accept of ['*/*', 'application/json, text/csv;q=0.5', 'application/*']) {
      const page = await get('/api/v2/notes', { accept })
      assert.deepEqual(page.body.data, [], accept)
    }
  },
  options,
)

/** A stream whose reader does not read until it is released. */
function stuckStream() {
  const { promise, resolve } = Promise.withResolvers<void>()
  const ending = new AbortController()
  const state = { isCut: false, isEnded: false }
  let written = ''
  const out: Stream = {
    write(text) {
      written += text
      return false
    },
    drained: () => promise,
    end: () => void (state.isEnded = true),
    cut: () => void (state.isCut = true),
    closed: ending.signal,
  }
  return { out, state, release: resolve, close: () => ending.abort(), text: () => written }
}

/** Returns the list of notes in `v2`, as the engine exports it. */
async function listOf({ app: { db } }: TestApp, owner: number | undefined) {
  const [row] = await db.arrays(sql`SELECT scope FROM notes LIMIT 1`)
  const { definition } = notes
  return {
    collection: resourceCollection(definition),
    view: createShape(definition, ['v1', 'v2'], 'v2').view,
    rowScope: { scope: row![0] as number, owner },
  }
}

const callOf = (query: string, scope: number) => {
  const principal = { kind: 'key', subject: 'a', customer: 'default', scope }
  const startPace = () => async () => {}
  return { principal, query: Query.parse(query), headers: LINES, startPace } as unknown as Call
}

eachService(
  'only the rows of the owner are exported, whichever index serves the list',
  async (app) => {
    await fill(app, 50)
    const { db } = app.app
    const [person] = await db.arrays(sql`SELECT max(id) FROM people`)
    const list = await listOf(app, person![0] as number)
    const exportRows = createExporter({ db, cursorKeys: undefined as never })
    for (const [query, count] of [
      ['', 25],
      ['size=1', 4],
      ['name[ne]=n1&sort=-id', 24],
    ] as const) {
      const call = callOf(query, list.rowScope.scope)
      const answer = await exportRows(call, list, 'application/x-ndjson')
      const { out, state, release, text } = stuckStream()
      release()
      await answer.stream!(out)
      const rows = linesOf(text())
      assert.deepEqual([rows.length, state.isEnded], [count, true], query)
      assert.ok(rows.every(({ person_id }) => person_id === person![0]))
    }
  },
  options,
)

eachService(
  'each chunk takes the share of its customer, one that searches whole texts has a hundred rows',
  async (app) => {
    await fill(app, 1_000)
    const { db } = app.app
    const list = await listOf(app, undefined)
    let pauses = 0
    const startPace = () => async () => void pauses++
    const exportRows = createExporter({ db, cursorKeys: undefined as never })
    const pausesOf = async (query: string) => {
      pauses = 0
      const call = { ...callOf(query, list.rowScope.scope), startPace }
      const answer = await exportRows(call, list, 'application/x-ndjson')
      const { out, release } = stuckStream()
      release()
      await answer.stream!(out)
      return pauses
    }
    assert.equal(await pausesOf('name[contains]=n99'), 11)
    assert.equal(await pausesOf('name[ne]=n99'), 1)
  },
  options,
)

eachService(
  'a caller has at most two exports at a time; one that ends early is cut and counts no more',
  async (app) => {
    await fill(app, 20)
    const { db } = app.app
    const list = await listOf(app, undefined)
    const call = callOf('', list.rowScope.scope)
    const exportRows = createExporter({ db, cursorKeys: undefined as never })
    const begin = () => exportRows(call, list, 'application/x-ndjson')
    const open = (answer: Answer) => {
      const stream = stuckStream()
      return { ...stream, ended: answer.stream!(stream.out) }
    }
    const first = open(await begin())
    const second = open(await begin())
    await assert.rejects(begin, { code: 'rate_limited' })
    second.close()
    second.release()
    await second.ended
    assert.deepEqual(second.state, { isCut: true, isEnded: false })
    const third = open(await begin())
    for (const { release, ended, state } of [first, third]) {
      release()
      await ended
      assert.deepEqual(state, { isCut: false, isEnded: true })
    }
  },
  options,
)
