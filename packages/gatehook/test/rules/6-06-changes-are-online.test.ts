/**
 * §6.6 on PostgreSQL: additions to a table in use delay no request. Transactions that stay open
 * hold the changes at the interesting moment, so that no test depends on time.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { migratedUrl, openForTest } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import { type Service, service } from '../../src/declare/resources/service.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { f } from '../../src/protocol/fields/f.ts'
import type { AnyField } from '../../src/protocol/fields/fields.ts'

const access = {
  read: 'notes:read',
  create: 'notes:write',
  update: 'notes:write',
  delete: false,
} as const

/** The declaration, and the next one with a field that sorts and filters. */
const [before, after] = [false, true].map((hasField): Service => {
  const list = hasField ? ['id', 'size'] : ['id']
  const notes = resource('notes', {
    fields: {
      id: f.id(),
      text: f.string(),
      ...((hasField && { size: f.int().default(0) }) as { size: AnyField }),
    },
    list: { filter: list as ['size'], sort: list as ['size'] },
    access,
    events: [],
  })
  return service({
    name: 'n',
    versions: { v1: { released: '2026-01-01' } },
    resources: [notes],
  })
}) as [Service, Service]

const PATH = '/api/v1/notes'
const open = (t: TestContext, api: Service, url?: string) =>
  openService(t, 'postgres', { service: api, ...(url !== undefined && { url }) })

/** Opens a transaction as of another program, and returns the function that ends it. */
async function holdTransaction(
  db: Database,
  { writes = false } = {},
): Promise<() => Promise<void>> {
  let end = () => {}
  const ended = new Promise<void>((resolve) => (end = resolve))
  let begin = () => {}
  const begun = new Promise<void>((resolve) => (begin = resolve))
  const running = db.write(async (tx) => {
    await tx.all(sql`SELECT * FROM notes LIMIT 1`)
    if (writes) await tx.run(sql`UPDATE notes SET text = text WHERE id = 1`)
    begin()
    await ended
  })
  await begun
  return () => {
    end()
    return running
  }
}

/** More rows than a list without an index may examine (§7.10). */
const addRows = (db: Database, count = 60_000) =>
  db.write((tx) =>
    tx.run(sql`INSERT INTO notes (scope, text)
      SELECT (SELECT scope FROM notes LIMIT 1), 'a' FROM generate_series(1, ${count}) AS n`),
  )

/** A service of the first declaration with one row. */
async function openFirst(t: TestContext) {
  const first = await open(t, before)
  assert.equal((await first.post(PATH, { text: 'a' })).status, 201)
  return { first, other: await openForTest(t, first.url) }
}

const statusOf = async (node: TestApp, path: string) => (await node.get(path)).status

test('an open SELECT delays ADD COLUMN, and neither reads nor writes', async (t) => {
  const { first, other } = await openFirst(t)
  const release = await holdTransaction(other)
  let report = (_line: string) => {}
  const waiting = new Promise<string>((resolve) => (report = resolve))
  const db = await openForTest(t, first.url)
  const change = migrateService(db, after.definition, (line) => report(line))
  assert.match(
    await waiting,
    /^ALTER TABLE notes waits for a lock: process \d+ \(gatehook\) has used table notes for \d+ s/,
  )
  assert.equal(await statusOf(first, `${PATH}/1`), 200)
  assert.equal((await first.post(PATH, { text: 'b' })).status, 201)
  await release()
  await change
  assert.deepEqual(await db.indexes('notes'), ['notes_by_size'])
})

test('while an index is missing, lists that need it are bounded', async (t) => {
  const { first, other } = await openFirst(t)
  await addRows(other)
  const next = await open(t, after, first.url) // the start adds the column only
  const release = await holdTransaction(other, { writes: true })
  const sorted = `${PATH}?sort=size&limit=2`
  let report = (_line: string) => {}
  const waiting = new Promise<string>((resolve) => (report = resolve))
  const finished = next.app.finishIndexes((line) => report(line))
  assert.match(await waiting, /^index notes_by_size of table notes: 0 %, waiting for writers/)
  const admin = next.as(await next.key({ scopes: ['admin'], mode: 'live' }))
  const [build] = (await admin.get('/admin/system')).body.index_builds
  assert.deepEqual(
    [build.name, build.phase, build.progress],
    ['notes_by_size', 'waiting for writers before build', 0],
  )
  assert.equal(typeof build.waits_for, 'number')
  const bounded = await next.get(sorted)
  assert.deepEqual([bounded.status, bounded.body.error], [400, 'query_too_expensive'])
  assert.equal(await statusOf(next, `${PATH}?limit=2`), 200)
  assert.equal((await next.post(PATH, { text: 'b', size: 7 })).status, 201)
  assert.equal((await first.post(PATH, { text: 'c' })).status, 201, 'the previous declaration')
  await release()
  await finished
  assert.equal(await statusOf(next, sorted), 200)
  assert.deepEqual((await admin.get('/admin/system')).body.index_builds, [])
  const filtered = (await next.get(`${PATH}?size=7`)).body.data
  assert.deepEqual(
    filtered.map(({ text }: { text: string }) => text),
    ['b'],
  )
  await open(t, before, first.url) // the previous declaration restarts beside the new one
})

test('one node creates an index, and the others use it', async (t) => {
  const { first, other } = await openFirst(t)
  const nodes = await Promise.all([open(t, after, first.url), open(t, after, first.url)])
  const release = await holdTransaction(other, { writes: true })
  const finished = nodes.map(({ app }) => app.finishIndexes(() => {}))
  await release()
  await Promise.all(finished)
  await addRows(other)
  for (const node of nodes) assert.equal(await statusOf(node, `${PATH}?sort=size&limit=2`), 200)
})

test('a running node creates an index by a job, which operators see', async (t) => {
  const { first } = await openFirst(t)
  const next = await open(t, after, first.url)
  await next.app.work()
  const admin = next.as(await next.key({ scopes: ['admin'], mode: 'live' }))
  const readJobs = async () => (await admin.get('/admin/jobs?kind=index')).body.data
  const [job] = await eventually(readJobs, ([row]) => row?.state === 'done')
  assert.equal(job.name, 'notes_by_size')
  assert.deepEqual(await first.app.db.indexes('notes'), ['notes_by_size'])
  const readBuilds = async () => (await admin.get('/admin/system')).body.index_builds
  await eventually(readBuilds, (builds) => builds.length === 0)
})

test('an index whose build was interrupted is created again', async (t) => {
  const { first, other } = await openFirst(t)
  const next = await open(t, after, first.url)
  const release = await holdTransaction(other, { writes: true })
  let report = (_line: string) => {}
  const waiting = new Promise<string>((resolve) => (report = resolve))
  const interrupted = assert.rejects(next.app.finishIndexes((line) => report(line)))
  await waiting
  await other.all(sql`SELECT pg_terminate_backend(pid) FROM pg_stat_progress_create_index
    WHERE datname = current_database()`)
  await interrupted
  await release()
  const stored = sql`SELECT count(*) AS count FROM pg_index
    WHERE indexrelid = to_regclass('notes_by_size') AND NOT indisvalid`
  assert.equal((await other.get(stored))!.count, 1, 'an invalid index remains')
  assert.deepEqual(await other.indexes('notes'), [])
  await next.app.finishIndexes(() => {})
  assert.deepEqual(await other.indexes('notes'), ['notes_by_size'])
  assert.equal((await other.get(stored))!.count, 0)
})

test('requests to two nodes succeed during a change', async (t) => {
  const { first, other } = await openFirst(t)
  await addRows(other, 20_000)
  let isChanged = false
  const statuses = new Set<number>()
  const load = async () => {
    for (let n = 1; !isChanged; n++) {
      statuses.add((await first.post(PATH, { text: `${n}` })).status)
      statuses.add(await statusOf(first, `${PATH}?limit=20`))
      statuses.add((await first.patch(`${PATH}/${n}`, { text: 'p' })).status)
    }
  }
  const loads = [load(), load(), load()]
  const next = await open(t, after, first.url)
  await next.app.finishIndexes(() => {})
  assert.equal((await next.post(PATH, { text: 'new', size: 1 })).status, 201)
  isChanged = true
  await Promise.all(loads)
  assert.deepEqual([...statuses].toSorted(), [200, 201])
})

test('two nodes start with a new declaration at once', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const dbs = await Promise.all([openForTest(t, url), openForTest(t, url)])
  await migrateService(dbs[0]!, before.definition)
  await Promise.all(dbs.map((db) => migrateService(db, after.definition)))
  assert.deepEqual(await dbs[0]!.indexes('notes'), ['notes_by_size'])
})

test('a node that stops during a build ends at once, and the database finishes it', async (t) => {
  const { first, other } = await openFirst(t)
  const next = await open(t, after, first.url)
  const release = await holdTransaction(other, { writes: true })
  await next.app.work()
  const isBuilding = async () => (await other.indexBuilds()).length > 0
  await eventually(isBuilding, Boolean)
  await next.app.close()
  assert.ok(await isBuilding())
  await release()
  await eventually(
    () => other.indexes('notes'),
    ([name]) => name === 'notes_by_size',
  )
})
