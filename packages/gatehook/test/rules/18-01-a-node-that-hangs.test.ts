/** §18.1: a node that hangs or has lost its network in transactions stops others for 10 s. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { openCuttableLink } from '../../../../test/rig/cuttable-link.ts'
import { freshUrl, quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import type { Database, Tx } from '../../src/platform/storage/database.ts'
import { listLockHolders } from '../../src/platform/storage/lock-holders.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { isLockTimeout } from '../../src/platform/storage/postgres-errors.ts'
import { IDLE_IN_TRANSACTION_MS } from '../../src/platform/storage/postgres-hosts.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const HANGING_NODE = new URL('../storage/hanging-node.ts', import.meta.url).pathname
/** Three idle times of the server are 9 s; a busy machine makes no test fail. */
const LIMIT_MS = 15_000
/** Transactions of one node that wait for a row: the third one gets the lock last. */
const TRANSACTIONS = 4

async function openNode(t: TestContext, url: string, node: string): Promise<Database> {
  const db = await openDatabase({ url, node }, { log: quietLog })
  onEnd(t, () => db.close())
  return db
}

async function prepare(t: TestContext) {
  const url = await freshUrl(t, 'postgres')
  const db = await openNode(t, url, 'api-2')
  await db.migrate((_tx, ddl) =>
    ddl('CREATE TABLE counted (n BIGINT NOT NULL); INSERT INTO counted VALUES (0)'),
  )
  return { url, db }
}

const add = (tx: Tx) => tx.run(sql`UPDATE counted SET n = n + 1`)

/** Returns the time until another node has changed the row. */
async function measureWait(db: Database): Promise<number> {
  const startMs = performance.now()
  const change = () => db.write(add, { customer: 1 }).then(() => undefined, isLockTimeout)
  await eventually(change, (isWaiting) => isWaiting === undefined)
  return performance.now() - startMs
}

const WAITING = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`

test('a process that is stopped inside of transactions loses its locks', async (t) => {
  const { url, db } = await prepare(t)
  const child = spawn(process.execPath, [HANGING_NODE, url, String(TRANSACTIONS)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  onEnd(t, () => child.kill('SIGKILL'))
  const readWaiting = () => queryAsAdmin(url, WAITING)
  await eventually(readWaiting, ({ length }) => length === TRANSACTIONS - 1)
  child.kill('SIGSTOP')
  const named = eventually(
    async () => (await listLockHolders(db))!,
    ([holder]) => holder?.application === 'gatehook api-1' && holder.waiting > 0,
  )
  const waitedMs = await measureWait(db)
  t.diagnostic(`others waited for ${Math.round(waitedMs)} ms`)
  assert.ok(waitedMs < LIMIT_MS, `${waitedMs} ms`)
  await named
})

test('a node without a network loses its locks', async (t) => {
  const { url, db } = await prepare(t)
  const link = await openCuttableLink(url)
  onEnd(t, () => link.close())
  const lost = await openNode(t, link.through(url), 'api-1')
  const isHeld = Promise.withResolvers<void>()
  const held = lost.write(async (tx) => {
    await add(tx)
    link.silence()
    isHeld.resolve()
    await add(tx)
  })
  const failed = assert.rejects(held)
  await isHeld.promise
  const waitedMs = await measureWait(db)
  t.diagnostic(`others waited for ${Math.round(waitedMs)} ms`)
  assert.ok(waitedMs < LIMIT_MS, `${waitedMs} ms`)
  await failed
})

test('own code that waits keeps its transaction', async (t) => {
  const { db } = await prepare(t)
  const wait = async (tx: Tx) => {
    await add(tx)
    const startMs = performance.now()
    const elapsed = async () => performance.now() - startMs
    await eventually(elapsed, (ms) => ms > IDLE_IN_TRANSACTION_MS + 1_000)
    await add(tx)
  }
  await db.write(wait, { serializable: true })
  assert.equal((await db.get(sql`SELECT n FROM counted`))!.n, 2)
})
