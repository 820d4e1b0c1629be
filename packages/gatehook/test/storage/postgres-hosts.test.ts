/** Several hosts in the address of PostgreSQL, and the sizes of its pools. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, quietLog } from '../../../../test/rig/databases.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { sql } from '../../src/platform/storage/sql.ts'

/** Returns an address whose first host, port 1, accepts no connection. */
const afterClosedPort = (url: string): string => {
  const { host } = new URL(url)
  return url.replace(host, `127.0.0.1:1,${host}`)
}

test('with several hosts, a connection opens on one that accepts it', async (t) => {
  const address = afterClosedPort(await freshUrl(t, 'postgres'))
  const db = await openDatabase(address, { log: quietLog })
  onEnd(t, () => db.close())
  await db.migrate(async (_tx, ddl) => ddl('CREATE TABLE t (n BIGINT)'))
  await db.write((tx) => tx.run(sql`INSERT INTO t VALUES (1)`))
  assert.deepEqual(await db.get(sql`SELECT n FROM t`), { n: 1 })
  let receive = (_: string) => {}
  const received = new Promise<string>((resolve) => (receive = resolve))
  const stop = await db.listen('hosts', receive)
  await db.notify('hosts', 'hello')
  assert.equal(await received, 'hello')
  await stop()
})

test('when no host accepts a connection, the error names all hosts and no password', async () => {
  const address = 'postgres://me:hidden@127.0.0.1:1,127.0.0.1:2/db'
  await assert.rejects(openDatabase(address, { log: quietLog }), {
    name: 'StorageWaitError',
    message: /^The database postgres:\/\/127.0.0.1:1,127.0.0.1:2\/db cannot be opened: .+\.$/,
  })
})

test('a host that is not local needs TLS, unless the address says otherwise', async (t) => {
  const url = new URL(await freshUrl(t, 'postgres'))
  url.hostname = '0.0.0.0' // this machine, by an address that is not loopback
  await assert.rejects(openDatabase(url.href, { log: quietLog }), {
    name: 'StorageError',
    message: /does not support SSL connections\. A host that is not local .+ sslmode=disable for/,
  })
  const db = await openDatabase(`${url.href}?sslmode=disable`, { log: quietLog })
  onEnd(t, () => db.close())
  assert.deepEqual(await db.get(sql`SELECT 1 AS n`), { n: 1 })
})

test('a process opens no more connections than its pools have', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const connections = { transactions: 3, reads: 2, deliveries: 1 }
  const db = await openDatabase({ url, connections }, { log: quietLog })
  onEnd(t, () => db.close())
  const count = sql`SELECT count(*) AS n FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'gatehook'`
  const work = Array.from({ length: 20 }, (_, customer) => [
    db.write(async (tx) => (await tx.get(count))!.n),
    db.snapshot(async (reader) => (await reader.get(count))!.n, { customer }),
    db.longRead(customer, async (reader) => (await reader.get(count))!.n),
    db.get(count).then((row) => row!.n),
  ])
  const counts = [...(await Promise.all(work.flat())), (await db.get(count))!.n]
  assert.equal(Math.max(...counts), 5)
})

for (const pooler of [undefined, 'transaction'] as const) {
  test(`no statement is compiled, whatever the server's settings [${pooler}]`, async (t) => {
    const url = await freshUrl(t, 'postgres')
    const jit = sql`SELECT current_setting('jit') AS jit, current_setting('jit_above_cost') AS cost`
    const server = await openDatabase(url, { log: quietLog })
    await server.migrate(async (_tx, ddl) => {
      await ddl(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET jit = on`)
      await ddl(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET jit_above_cost = 7`)
    })
    await server.close()
    const db = await openDatabase({ url, ...(pooler && { pooler }) }, { log: quietLog })
    onEnd(t, () => db.close())
    const read = (reader: Pick<typeof db, 'get'>) => reader.get(jit)
    const settings = await Promise.all([
      read(db),
      db.write(read),
      db.write(read, { serializable: true }),
      db.snapshot(read),
      db.snapshot(read, { ordered: true }),
      db.longRead(1, read),
    ])
    for (const setting of settings) assert.deepEqual(setting, { jit: 'off', cost: '7' })
  })
}
