/** §18.6: an undone move loses no row of the target, and leaves one side that accepts writes. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, type Kind, migratedUrl, quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { moveDatabase } from '../../../../test/rig/move.ts'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { api } from '../../service/service.ts'
import { optionsOfUndo } from '../../src/declare/resources/move-target.ts'
import type { Service } from '../../src/declare/resources/service.ts'
import { engineTables } from '../../src/engine-tables.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { StorageError } from '../../src/platform/storage/database.ts'
import { stopWrites } from '../../src/platform/storage/move/changes.ts'
import { readMark } from '../../src/platform/storage/move/mark.ts'
import { describeTables } from '../../src/platform/storage/move/tables.ts'
import { undoMove } from '../../src/platform/storage/move/undo.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { ACCESS, HEAD } from '../storage/team-database.ts'

const open = (url: string) => openDatabase(url, { log: quietLog, checksReferences: false })

const QUIET = {
  fields: {
    id: f.id(),
    name: f.string().default('word'),
    n: f.int(),
    at: f.time().nullable().default(null),
    tags: f.array(f.string(), { max: 3 }),
  },
  list: { filter: [], sort: [] },
  access: ACCESS,
  events: [],
}
const quiet = resource('quiet', QUIET)

let count = 0
const createUser = async (node: TestApp) => {
  const body = { email: `user${++count}@example.com`, name: 'A' }
  return (await node.post('/api/v2/users', body)).status
}

const directions = [
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
] as const

for (const [from, to] of directions) {
  const name = 'an undone move loses rows by --force only, and leaves one writable side'
  test(`${name} [${from} to ${to}]`, async (t) => {
    const service = await openService(t, from)
    const key = await service.key()
    assert.equal(await createUser(service), 201)
    const url = await freshUrl(t, to)
    await moveDatabase(service.url, url, api)
    const source = await open(service.url)
    onEnd(t, () => source.close())
    const node = await openService(t, to, { url, key })
    await node.app.work() // its leases, its name and its figures are no loss
    assert.equal((await node.get('/api/v2/users')).body.data.length, 1)
    const openTarget = () => open(url)
    const sourceName = 'the source'
    const options = { source, ...optionsOfUndo, sourceName, openTarget, isForced: false }

    assert.equal(await createUser(node), 201)
    await assert.rejects(undoMove(options), /rows that this database lacks: .*1 of users/)
    assert.deepEqual([await createUser(service), await createUser(node)], [503, 201])

    const away = async () => Promise.reject(new StorageError('no server'))
    await assert.rejects(undoMove({ ...options, openTarget: away }), /no server/)
    assert.equal(await createUser(service), 503)

    const result = await undoMove({ ...options, isForced: true })
    const lost = Object.fromEntries(result!.lost.map(({ table, rows }) => [table, rows]))
    assert.deepEqual([result!.targetStopped, lost.users, lost.gh_events], [true, 2, 2])
    assert.deepEqual([await createUser(service), await createUser(node)], [201, 503])
  })
}

for (const [from, to] of directions) {
  test(`changes and deletions count that no event has [${from} to ${to}]`, async (t) => {
    const declared = service({ ...HEAD, resources: [quiet] })
    const before = await openService(t, from, { service: declared })
    const key = await before.key()
    for (let n = 0; n < 5; n++)
      assert.equal((await before.post('/api/quiet', { n, tags: ['a'] })).status, 201)
    const url = await freshUrl(t, to)
    await moveDatabase(before.url, url, declared)
    const source = await open(before.url)
    onEnd(t, () => source.close())
    const node = await openService(t, to, { url, key, service: declared })
    assert.equal((await node.patch('/api/quiet/1', { n: 10 })).status, 200)
    assert.equal((await node.delete('/api/quiet/2')).status, 204)
    const openTarget = () => open(url)
    const options = { source, ...optionsOfUndo, sourceName: 'it', openTarget }
    await assert.rejects(
      undoMove({ ...options, isForced: false }),
      /rows that this database lacks: 1 of quiet, 1 deleted of quiet\. /,
    )
    const { lost } = (await undoMove({ ...options, isForced: true }))!
    assert.deepEqual(lost, [{ table: 'quiet', rows: 1, deleted: 1 }])
    assert.equal((await before.get('/api/quiet')).body.data.length, 5)
  })
}

/** Moves the declaration and opens a node of `after` on the target, and the source. */
async function moveDeclared(
  t: TestContext,
  [from, to]: readonly [Kind, Kind],
  after: Service = service({ ...HEAD, resources: [quiet] }),
) {
  const declared = service({ ...HEAD, resources: [quiet] })
  const before = await openService(t, from, { service: declared })
  const key = await before.key()
  assert.equal((await before.post('/api/quiet', { n: 1, tags: ['a'] })).status, 201)
  const url = await freshUrl(t, to)
  await moveDatabase(before.url, url, declared)
  const source = await open(before.url)
  onEnd(t, () => source.close())
  const node = await openService(t, to, { url, key, service: after })
  const openTarget = () => open(url)
  const options = { source, ...optionsOfUndo, sourceName: 'it', openTarget, isForced: false }
  return { before, node, source, url, options }
}

for (const direction of directions) {
  test(`tables of others are neither counted nor locked [${direction.join(' to ')}]`, async (t) => {
    const { node, source, options } = await moveDeclared(t, direction)
    const { db } = node.app
    const texts = [
      'CREATE TABLE books (id int PRIMARY KEY, title text)',
      'CREATE TABLE "Shelves" (id int PRIMARY KEY, scope int)',
      'CREATE TABLE hits (at int)',
    ]
    for (const text of texts)
      for (const side of [db, source]) await side.migrate((_tx, ddl) => ddl(text))
    const insert = (text: string) => db.migrate((_tx, ddl) => ddl(text))
    await insert("INSERT INTO books VALUES (1, 'A')")
    await insert('INSERT INTO hits VALUES (1)')
    assert.equal((await node.post('/api/quiet', { n: 2, tags: [] })).status, 201)
    await assert.rejects(undoMove(options), /lacks: 1 of quiet\. /)
    const { lost } = (await undoMove({ ...options, isForced: true }))!
    assert.deepEqual(lost, [{ table: 'quiet', rows: 1, deleted: 0 }])
    assert.equal((await node.post('/api/quiet', { n: 3, tags: [] })).status, 503)
    await insert("INSERT INTO books VALUES (2, 'B')")
    await insert('INSERT INTO "Shelves" VALUES (1, 1)')
    await insert('INSERT INTO hits VALUES (2)')
  })

  test(`tables of migrations after the move count [${direction.join(' to ')}]`, async (t) => {
    const migrations = [{ number: 1, name: 'hits', sql: 'CREATE TABLE hits (at {int})' }]
    const after = service({ ...HEAD, resources: [quiet], migrations })
    const { node, options } = await moveDeclared(t, direction, after)
    assert.deepEqual((await undoMove(options))!.lost, [])
    const again = await moveDeclared(t, direction, after)
    await again.node.app.db.migrate((_tx, ddl) => ddl('INSERT INTO hits VALUES (1)'))
    await assert.rejects(undoMove(again.options), /lacks: 1 of hits\. /)
    assert.equal((await node.post('/api/quiet', { n: 3, tags: [] })).status, 503)
  })

  test(`the words of a new search are no loss [${direction.join(' to ')}]`, async (t) => {
    const after = service({
      ...HEAD,
      resources: [resource('quiet', { ...QUIET, search: ['name'] })],
    })
    const { node, options } = await moveDeclared(t, direction, after)
    assert.equal((await node.get('/api/quiet?q=word')).body.data.length, 1)
    assert.deepEqual((await undoMove(options))!.lost, [])
  })

  test(`an undo gives no id of the target again [${direction.join(' to ')}]`, async (t) => {
    const { before, node, options } = await moveDeclared(t, direction)
    const create = async (app: TestApp) => {
      const { status, body } = await app.post('/api/quiet', { n: 2, tags: [] })
      assert.equal(status, 201)
      return body.id as number
    }
    const deleted = await create(node)
    assert.equal((await node.delete(`/api/quiet/${deleted}`)).status, 204)
    const { lost, skippedIds } = (await undoMove(options))!
    assert.deepEqual([lost, skippedIds], [[], 1_000_001], 'no row is left, but its id was given')
    const id = await create(before)
    assert.ok(id > deleted + 1_000_000, `${id}`)

    const unread = await moveDeclared(t, direction)
    const openTarget = () => Promise.reject(new StorageError('no server'))
    const result = (await undoMove({ ...unread.options, openTarget, isForced: true }))!
    assert.deepEqual([result.targetStopped, result.targetFault], [false, 'no server'])
    assert.ok(result.skippedIds >= 1_000_000)
    const ids = [await create(unread.before), await create(unread.node)]
    assert.ok(ids[0]! > ids[1]! + 900_000, `${ids}`)
  })

  test(`a repeated undo leaves one writable side [${direction.join(' to ')}]`, async (t) => {
    const { before, node, source, options } = await moveDeclared(t, direction)
    const create = (app: TestApp) => app.post('/api/quiet', { n: 2, tags: [] })
    assert.equal((await create(node)).status, 201)
    const audit = () => Promise.reject(new Error('killed'))
    await assert.rejects(undoMove({ ...options, isForced: true, audit }), /killed/)
    assert.deepEqual([(await create(before)).status, (await create(node)).status], [503, 503])
    await assert.rejects(undoMove(options), /lacks: 1 of quiet\. /)
    assert.deepEqual([(await create(before)).status, (await create(node)).status], [503, 201])
    assert.equal(await readMark(node.app.db), undefined)
    assert.notEqual(await readMark(source), undefined)
  })
}

test('a move is not undone whose target was moved itself', async (t) => {
  const { node, url, options } = await moveDeclared(t, ['sqlite', 'sqlite'])
  const create = async () => (await node.post('/api/quiet', { n: 2, tags: [] })).status
  assert.equal(await create(), 201)
  const third = await freshUrl(t, 'sqlite')
  await moveDatabase(url, third, service({ ...HEAD, resources: [quiet] }))
  for (const isForced of [false, true])
    await assert.rejects(undoMove({ ...options, isForced }), /itself is moved to the target\. Undo/)
  assert.equal(await create(), 503)
})

test('a move is undone whose target only served reads', async (t) => {
  const service = await openService(t, 'sqlite')
  const key = await service.key()
  assert.equal(await createUser(service), 201)
  const url = await freshUrl(t, 'sqlite')
  await moveDatabase(service.url, url, api)
  const source = await open(service.url)
  onEnd(t, () => source.close())
  const node = await openService(t, 'sqlite', { url, key })
  await node.app.work()
  assert.equal((await node.get('/api/v2/users')).status, 200)
  assert.equal((await node.get('/readyz')).status, 200)
  const openTarget = () => open(url)
  const result = await undoMove({
    ...optionsOfUndo,
    source,
    sourceName: 'it',
    openTarget,
    isForced: false,
  })
  assert.deepEqual(result!.lost, [])
  assert.deepEqual([await createUser(service), await createUser(node)], [201, 503])
})

test('writes stop table by table, beside a transaction that uses the last one', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const db = await open(url)
  onEnd(t, () => db.close())
  const tables = await describeTables(db, engineTables)
  const [first, last] = [tables.at(0)!.name, tables.at(-1)!.name]
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const text = `LOCK TABLE "${last}" IN ROW EXCLUSIVE MODE`
  const holding = db.write(async (tx) => {
    await tx.run({ sql: text, text, values: [] })
    await held
  })
  const other = await open(url)
  onEnd(t, () => other.close())
  const isHeld = `SELECT 1 FROM pg_locks WHERE relation = '"${last}"'::regclass`
  const isStopped = `SELECT 1 FROM pg_trigger WHERE tgrelid = '"${first}"'::regclass
    AND tgname = 'gh_move_stop'`
  await eventually(
    () => queryAsAdmin(url, isHeld),
    ({ length }) => length > 0,
  )
  const stopping = stopWrites(other, tables)
  await eventually(
    () => queryAsAdmin(url, isStopped),
    ({ length }) => length > 0,
  )
  release()
  await Promise.all([holding, stopping])
})
