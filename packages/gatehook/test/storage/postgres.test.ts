/** Cases of PostgreSQL only: deadlocks, broken connections, unsuitable databases. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { databases, freshUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { asAdmin, queryAsAdmin, withName } from '../../../../test/rig/postgres.ts'
import type { Database, Reader } from '../../src/platform/storage/database.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const postgres = databases.find((database) => database.name === 'postgres')!

async function withTable(db: Database): Promise<Database> {
  await db.migrate(async (_tx, ddl) => ddl('CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT)'))
  await db.write((tx) => tx.run(sql`INSERT INTO t VALUES (1, 0), (2, 0)`))
  return db
}

test('a transaction that a deadlock rolled back is repeated, and both commit', async (t) => {
  const db = await withTable(await postgres.open(t))
  let arrived = 0
  let meet = () => {}
  const both = new Promise<void>((resolve) => (meet = resolve))
  let runs = 0
  const cross = (first: number, second: number) =>
    db.write(async (tx) => {
      runs++
      await tx.run(sql`UPDATE t SET n = n + 1 WHERE id = ${first}`)
      if (++arrived === 2) meet()
      await both
      await tx.run(sql`UPDATE t SET n = n + 1 WHERE id = ${second}`)
    })
  await Promise.all([cross(1, 2), cross(2, 1)])
  assert.equal(runs, 3)
  assert.deepEqual((await db.arrays(sql`SELECT n FROM t ORDER BY id`)).flat(), [2, 2])
})

test('when the server ends all sessions, reads and writes use new ones', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const db = await withTable(await openForTest(t, url))
  const end = () =>
    asAdmin(
      withName(url, 'postgres'),
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = '${new URL(url).pathname.slice(1)}'`,
    )
  await Promise.all(Array.from({ length: 8 }, () => db.all(sql`SELECT * FROM t`)))
  await end()
  assert.equal((await db.all(sql`SELECT * FROM t`)).length, 2)
  let started = () => {}
  const inside = new Promise<void>((resolve) => (started = resolve))
  let release = () => {}
  const ended = new Promise<void>((resolve) => (release = resolve))
  const cut = db.write(async (tx) => {
    await tx.run(sql`UPDATE t SET n = 9`)
    started()
    await ended
    await tx.run(sql`UPDATE t SET n = 10`)
  })
  await inside
  await end()
  release()
  await assert.rejects(cut, { code: 'storage_unavailable' })
  await db.write((tx) => tx.run(sql`UPDATE t SET n = n + 1`))
  assert.deepEqual((await db.arrays(sql`SELECT n FROM t`)).flat(), [1, 1])
})

test('a read whose connection breaks is repeated on another connection', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const db = await openForTest(t, url)
  const other = await openForTest(t, url)
  const locked = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
  let reading: Promise<unknown> | undefined
  await other.write(async (tx) => {
    await tx.get(sql`SELECT pg_advisory_xact_lock(7) AS got`)
    reading = db.get(sql`SELECT 1 AS n FROM pg_advisory_xact_lock(7)`)
    const waiting = { sql: locked, text: locked, values: [] }
    let pid: number | undefined
    while (pid === undefined) pid = (await tx.get(waiting))?.pid
    await tx.get(sql`SELECT pg_terminate_backend(${pid}) AS ended`)
  })
  assert.deepEqual(await reading, { n: 1 })
})

test('a change that fails before its first statement leaves no transaction open', async (t) => {
  const url = await freshUrl(t, 'postgres')
  for (const pooler of [undefined, 'transaction'] as const) {
    const db = await openDatabase({ url, pooler }, { log: quietLog })
    onEnd(t, () => db.close())
    const refuse = async () => {
      throw new Error('refused')
    }
    await assert.rejects(db.write(refuse), /refused/)
    const open = `SELECT state FROM pg_stat_activity
      WHERE datname = current_database() AND state LIKE 'idle in transaction%'`
    assert.deepEqual(await queryAsAdmin(url, open), [])
  }
})

test('a database that is not UTF-8 is rejected', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const server = withName(url, 'postgres')
  const name = `${new URL(url).pathname.slice(1)}_latin`
  await asAdmin(server, `CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
  await assert.rejects(openDatabase(withName(url, name), { log: quietLog }), {
    name: 'StorageError',
    message: /its encoding is LATIN1/,
  })
  await asAdmin(server, `DROP DATABASE ${name}`)
})

test('a connection failure gives one sentence without secrets', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const wrong = new URL(url)
  wrong.password = 'hunter2'
  const closedPort = new URL(url)
  closedPort.port = '1'
  for (const [address, name] of [
    [wrong.href, 'StorageError'],
    [closedPort.href, 'StorageWaitError'],
    [withName(url, 'nothing_here'), 'StorageError'],
  ] as const) {
    await assert.rejects(openDatabase(address, { log: quietLog }), (error: Error) => {
      assert.equal(error.name, name)
      assert.match(error.message, /^The database postgres:.* cannot be opened: .+\.$/)
      assert.doesNotMatch(error.message, /hunter2|postgres:postgres/)
      return true
    })
  }
})

test('sessions have no parallel workers, UTC, and timeouts', async (t) => {
  const db = await openDatabase(await freshUrl(t, 'postgres'), { log: quietLog })
  onEnd(t, () => db.close())
  const setting = async (name: string) =>
    (await db.get(sql`SELECT current_setting(${name}) AS value`))?.value
  assert.equal(await setting('max_parallel_workers_per_gather'), '0')
  assert.equal(await setting('TimeZone'), 'UTC')
  assert.equal(await setting('statement_timeout'), '30s')
  assert.equal(await setting('idle_in_transaction_session_timeout'), '3s')
})

test('an unsynced write waits for no disk and no standby', async (t) => {
  const target = { url: await freshUrl(t, 'postgres'), durability: 'local' } as const
  const db = await openDatabase(target, { log: quietLog })
  onEnd(t, () => db.close())
  const read = async (unsynced: boolean) =>
    db.write(async (tx) => (await tx.get(sql`SHOW synchronous_commit`))!.synchronous_commit, {
      unsynced,
    })
  assert.deepEqual([await read(true), await read(false)], ['off', 'local'])
})

test('a thousand concurrent reads each return their own rows', async (t) => {
  const db = await postgres.open(t)
  const numbers = Array.from({ length: 1000 }, (_, n) => n)
  const read = async (n: number) =>
    n % 7 === 0
      ? db.get(sql`SELECT nothing FROM nowhere`).catch(() => n)
      : Number((await db.get(sql`SELECT ${n} AS n`))?.n)
  assert.deepEqual(await Promise.all(numbers.map(read)), numbers)
})

test('a number too large for its column gives invalid_request', async (t) => {
  const db = await withTable(await postgres.open(t))
  const huge = db.write((tx) => tx.run(sql`UPDATE t SET n = ${1e300}`))
  await assert.rejects(huge, { code: 'invalid_request' })
})

test('lists of one customer leave connections to other customers and to writes', async (t) => {
  const db = await withTable(await postgres.open(t))
  const read = (reader: Reader) => reader.get(sql`SELECT n FROM t WHERE id = 1`)
  let started = 0
  const all = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const held = Array.from({ length: 20 }, () =>
    db.snapshot(
      async (reader) => {
        await read(reader)
        if (++started === 3) all.resolve()
        await gate.promise
      },
      { customer: 1 },
    ),
  )
  await all.promise
  assert.equal((await db.snapshot(read, { customer: 2 }))!.n, 0)
  await db.write((tx) => tx.run(sql`UPDATE t SET n = 1 WHERE id = 1`))
  assert.equal(started, 3)
  gate.resolve()
  await Promise.all(held)
  assert.equal(started, 20)
})

test('while many walks of a customer wait, its expensive lists are rejected at once', async (t) => {
  const db = await withTable(await postgres.open(t))
  const read = (reader: Reader) => reader.get(sql`SELECT n FROM t WHERE id = 1`)
  const list = (customer: number) => db.snapshot(read, { customer, ordered: true })
  const gate = Promise.withResolvers<void>()
  const walks = Array.from({ length: 65 }, () => db.longRead(1, () => gate.promise))
  await assert.rejects(list(1), /expensive requests/)
  assert.equal((await list(2))!.n, 0)
  assert.equal((await db.snapshot(read, { customer: 1 }))!.n, 0)
  gate.resolve()
  await Promise.all(walks)
  assert.equal((await list(1))!.n, 0)
})
