/** `gatehook move` copies every row with its id during writes, and can be resumed (§2.8). */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, type Kind, quietLog } from '../../../../test/rig/databases.ts'
import { moveDatabase } from '../../../../test/rig/move.ts'
import { type Caller, openService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { api } from '../../service/service.ts'
import { openApp } from '../../src/app.ts'
import { checkMove, checkTables } from '../../src/cli/doctor-installation.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { optionsOfUndo } from '../../src/declare/resources/move-target.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { service } from '../../src/gatehook.ts'
import { createFeed } from '../../src/history/events/feed.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { loadConfig } from '../../src/platform/config/config.ts'
import { readMark } from '../../src/platform/storage/move/mark.ts'
import type { MoveOptions, MoveProgress } from '../../src/platform/storage/move/move.ts'
import { undoMove } from '../../src/platform/storage/move/undo.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { HEAD, notes } from './team-database.ts'

const ENVIRONMENT = {
  GATEHOOK_PORT: '0',
  GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
}

const user = (n: number) => ({ name: `User ${n}`, email: `user${n}@example.com` })

async function createUser(service: TestApp, n: number): Promise<number> {
  const { status, body } = await service.post('/api/v2/users', user(n))
  assert.equal(status, 201, JSON.stringify(body))
  return body.id
}

async function createOrder(service: TestApp, userId: number, amount: number): Promise<void> {
  const order = { user_id: userId, amount, currency: 'EUR' }
  assert.equal((await service.post('/api/v2/orders', order)).status, 201)
}

/** Opens an app with its own connection, like a process beside that of the move. */
async function openSource(t: TestContext, kind: Kind) {
  const service = await openService(t, kind)
  for (let n = 0; n < 30; n++) await createOrder(service, await createUser(service, n), n + 1)
  return service
}

const move = (from: string, to: string, options?: Parameters<typeof moveDatabase>[3]) =>
  moveDatabase(from, to, api, options)

const directions = [
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
  ['postgres', 'postgres'],
] as const

for (const [from, to] of directions) {
  test(`cursors, events, replays and ids continue after a move [${from} to ${to}]`, async (t) => {
    const service = await openSource(t, from)
    const key = await service.key()
    const admin = await service.key({ scopes: ['admin'], mode: 'live' })
    const person = { name: 'Ada', email: 'ada@example.com', password: 'correct horse battery' }
    const signedUp = await service.as(admin).post('/admin/users', { ...person, mode: 'test' })
    assert.equal(signedUp.status, 201, signedUp.text)
    const login = { username: person.email, password: person.password }
    const session = (await service.as(undefined).post('/auth/login', login)).body
    const headers = { 'idempotency-key': 'order-1' }
    const order = { user_id: 1, amount: 77, currency: 'EUR' }
    const first = await service.as(key).post('/api/v2/orders', order, headers)
    assert.equal(first.status, 201)
    const page = await service.as(key).get('/api/v2/orders?limit=10')
    const events = await service.as(key).get('/events?limit=100')
    const url = await freshUrl(t, to)
    const result = await move(service.url, url)
    assert.equal(result.resumed, false)
    const after = await openService(t, to, { url })
    const caller = after.as(key)
    const path = `/api/v2/orders?limit=10&cursor=${page.body.next_cursor}`
    const next = await caller.get(path)
    assert.equal(next.body.data.length, 10)
    assert.deepEqual(next.body.data, (await service.as(key).get(path)).body.data)
    const replay = await caller.post('/api/v2/orders', order, headers)
    assert.deepEqual([replay.status, replay.body], [201, first.body])
    assert.equal(replay.headers['idempotent-replayed'], 'true')
    const totals = await caller.get('/api/v2/orders?page=1&per_page=5')
    assert.match(totals.text, /"total":31\b/)
    const created = await caller.post('/api/v2/orders', order)
    assert.equal(created.body.id, first.body.id + 1, 'ids continue')
    const bearer = { authorization: `Bearer ${session.access_token}` }
    assert.equal((await after.as(undefined).get('/api/v2/orders', bearer)).status, 200)
    const { refresh_token } = session
    assert.equal((await after.as(undefined).post('/auth/refresh', { refresh_token })).status, 200)
    const { scope } = (await after.app.db.get(sql`SELECT scope FROM orders LIMIT 1`))!
    const feed = createFeed(after.app.db, wallClock)
    const resumed = events.body.data.at(-1).id
    const position = (await feed.cursorOf(scope, resumed))!
    const readOn = async (): Promise<string[]> => {
      const { rows } = await feed.after(scope, position)
      return rows.length > 0 ? rows.map((row) => String(row[0])) : readOn()
    }
    const now = (await caller.get('/events?limit=100')).body.data
    assert.deepEqual(now.slice(0, -1), events.body.data)
    assert.deepEqual(await readOn(), [now.at(-1).id])
  })

  test(`each step is recorded once, in its transaction [${from} to ${to}]`, async (t) => {
    const service = await openService(t, from)
    const url = await freshUrl(t, to)
    const audit: MoveOptions['audit'] = (tx, step) =>
      tx.run(sql`INSERT INTO gh_settings (name, value) VALUES (${step}, ${'recorded'})`)
    let progress = 0
    const onProgress = () => {
      if (++progress === 1) throw new Error('killed')
    }
    await assert.rejects(move(service.url, url, { audit, onProgress }), /killed/)
    await move(service.url, url, { audit })
    const after = await openService(t, to, { url })
    const stepsOf = async ({ app }: TestApp) =>
      (
        await app.db.all(sql`SELECT name FROM gh_settings WHERE value = 'recorded' ORDER BY name`)
      ).map(({ name }) => name)
    assert.deepEqual(await stepsOf(service), ['begin'])
    assert.deepEqual(await stepsOf(after), ['begin', 'complete'])
  })

  test(`rows that change during the copy are moved [${from} to ${to}]`, async (t) => {
    const service = await openSource(t, from)
    const key = await service.key()
    const url = await freshUrl(t, to)
    const writes: Promise<void>[] = []
    const onProgress = ({ step }: MoveProgress) => {
      if (step === 'copy' && writes.length < 40) writes.push(writeAll(service, writes.length))
    }
    await move(service.url, url, { onProgress })
    await Promise.all(writes)
    const after = await openService(t, to, { url })
    assert.deepEqual(await readEverything(after.as(key)), await readEverything(service.as(key)))
  })

  test(`a move that is interrupted at any step continues [${from} to ${to}]`, async (t) => {
    const service = await openSource(t, from)
    const key = await service.key()
    const url = await freshUrl(t, to)
    let steps = 0
    let isStopped = false
    for (let stop = 1; ; stop = Math.ceil(stop * 1.7)) {
      steps = 0
      const onProgress = () => {
        if (++steps === stop) throw new Error('killed')
      }
      const result = await move(service.url, url, { onProgress }).catch((error: Error) => error)
      if (!(result instanceof Error)) {
        assert.equal(result.resumed, true)
        assert.equal(result.readOnlyMs === null, isStopped, 'since an earlier run')
        break
      }
      assert.equal(result.message, 'killed')
      isStopped = (await readMark(service.app.db))?.state === 'stopped'
      await assertRefused(url)
      await writeAll(service, stop)
    }
    assert.ok(steps > 5)
    const after = await openService(t, to, { url })
    assert.deepEqual(await readEverything(after.as(key)), await readEverything(service.as(key)))
  })
}

/** The target of an unfinished move lacks rows: nothing uses it, and doctor says why. */
async function assertRefused(url: string): Promise<void> {
  const config = loadConfig({ ...ENVIRONMENT, GATEHOOK_DATABASE_URL: url })
  const refusal = /target of a move that has not finished/
  await assert.rejects(openApp({ config, service: api, log: quietLog }), refusal)
  const target = await openDatabase(url, { log: quietLog })
  const { state, detail } = await checkMove(target)
  await target.close()
  assert.equal(state, 'fail')
  assert.match(detail, refusal)
}

/** Creates, changes and deletes rows; accepts 503 once the source is read-only. */
async function writeAll(service: TestApp, n: number): Promise<void> {
  const created = await service.post('/api/v2/users', user(1_000 + n))
  const statuses = [
    created.status,
    (await service.patch(`/api/v2/users/${(n % 30) + 1}`, { name: `Changed ${n}` })).status,
    (await service.post(`/api/v2/orders/${(n % 30) + 1}/cancel`)).status,
    (await service.delete(`/api/v2/users/${created.body.id}`)).status,
  ]
  const allowed = new Set([200, 201, 204, 404, 409, 503])
  assert.ok(
    statuses.every((status) => allowed.has(status)),
    statuses.join(),
  )
}

async function readEverything(caller: Caller) {
  const lists = ['users', 'orders'].map((name) => caller.get(`/api/v2/${name}?limit=100`))
  const [users, orders] = await Promise.all(lists)
  const pages = [1, 2, 3].map((page) => caller.get(`/events?per_page=100&page=${page}`))
  const events = (await Promise.all(pages)).flatMap((reply) => reply.body.data)
  const body = (reply: Reply | undefined) => reply!.body.data
  assert.ok(body(users).length > 20)
  // Only PostgreSQL lists events in the order of commits (decision 0103).
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
  return { users: body(users), orders: body(orders), events: events.toSorted(byId) }
}

test('a moved source serves reads and rejects writes until the move is undone', async (t) => {
  const service = await openSource(t, 'sqlite')
  const url = await freshUrl(t, 'postgres')
  await move(service.url, url)
  assert.equal((await service.get('/api/v2/users')).status, 200)
  const rejected = await service.post('/api/v2/users', user(99))
  assert.deepEqual([rejected.status, rejected.body.error], [503, 'storage_unavailable'])
  assert.match(rejected.body.message, /being moved to another database/)
  assert.equal(rejected.headers['retry-after'], '30')
  const config = loadConfig({ ...ENVIRONMENT, GATEHOOK_DATABASE_URL: service.url })
  const started = await openApp({ config, service: api, log: quietLog })
  await started.work()
  const page = await started.inject({ url: '/healthz', headers: { host: 'localhost' } })
  assert.equal(page.statusCode, 200)
  await started.close()
  await assert.rejects(move(service.url, await freshUrl(t, 'sqlite')), /was moved to the target/)
  const source = await openDatabase(service.url, { log: quietLog })
  const openTarget = () => openDatabase(url, { log: quietLog })
  const sourceName = 'the source'
  const options = { source, ...optionsOfUndo, sourceName, openTarget, isForced: false }
  const result = await undoMove(options)
  assert.deepEqual(result, { target: 'the target', targetStopped: true, lost: [], skippedIds: 0 })
  assert.equal(await undoMove(options), undefined)
  await source.close()
  assert.equal((await service.post('/api/v2/users', user(99))).status, 201)
})

test('a move that has finished succeeds again', async (t) => {
  const service = await openSource(t, 'sqlite')
  const url = await freshUrl(t, 'postgres')
  const first = await move(service.url, url)
  const again = await move(service.url, url)
  assert.deepEqual([again.resumed, again.rows], [true, first.rows])
})

test('a move to a database with an installation is rejected', async (t) => {
  const [source, other] = [await openSource(t, 'sqlite'), await openSource(t, 'postgres')]
  const before = (await other.get('/api/v2/users?limit=100')).body
  await assert.rejects(move(source.url, other.url), /holds an installation/)
  assert.deepEqual((await other.get('/api/v2/users?limit=100')).body, before)
  assert.equal((await source.post('/api/v2/users', user(99))).status, 201)
})

test('a move is rejected when the service does not declare a table of the source', async (t) => {
  const source = await openSource(t, 'sqlite')
  await source.app.db.migrate((_tx, ddl) => ddl('CREATE TABLE notes (id INTEGER PRIMARY KEY)'))
  await assert.rejects(move(source.url, await freshUrl(t, 'postgres')), /the table notes.*lost/)
  await source.app.db.migrate((_tx, ddl) => ddl('DROP TABLE notes; CREATE TABLE hits (at int)'))
  await assert.rejects(move(source.url, await freshUrl(t, 'postgres')), /the table hits.*lost/)
  assert.equal((await source.post('/api/v2/users', user(99))).status, 201)
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a table of a migration without a primary key is told [${kind}]`, async (t) => {
    const migrations = [{ number: 1, name: 'hits', sql: 'CREATE TABLE "Hits" (at {int})' }]
    const declared = service({ ...HEAD, resources: [notes], migrations })
    const url = await freshUrl(t, kind)
    const db = await openDatabase(url, { log: quietLog })
    onEnd(t, () => db.close())
    await migrateEngine(db, { clock: wallClock })
    const lines: string[] = []
    await migrateService(db, declared.definition, (line) => void lines.push(line))
    assert.match(lines.join('\n'), /table Hits created without a primary key/)
    const { state, detail } = (await checkTables(db, declared))!
    assert.deepEqual([state, detail], ['warn', 'no primary key: Hits'])
    const target = await freshUrl(t, 'sqlite')
    await assert.rejects(moveDatabase(url, target, declared), /Hits has no primary key.*migration/)
    assert.equal(await readMark(db), undefined)

    const repair = 'DROP TABLE "Hits"; CREATE TABLE "Hits" (at {int} PRIMARY KEY)'
    const again = { number: 2, name: 'key of hits', sql: repair }
    const repaired = service({ ...HEAD, resources: [notes], migrations: [...migrations, again] })
    await migrateService(db, repaired.definition)
    assert.equal((await checkTables(db, repaired))!.state, 'ok')
    await db.migrate((_tx, ddl) => ddl('INSERT INTO "Hits" VALUES (7)'))
    await moveDatabase(url, target, repaired)
    const moved = await openDatabase(target, { log: quietLog })
    assert.deepEqual(await moved.arrays(sql`SELECT at FROM "Hits"`), [[7]])
    await moved.close()
  })
}
