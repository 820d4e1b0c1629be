/** §18.1: after a write behind a pooler that is stuck then, standbys serve its caller. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { asAdmin } from '../../../../test/rig/postgres.ts'
import { openPair } from '../../../../test/rig/standby.ts'
import { createReadAfter } from '../../src/identity/access/read-after.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { createCommitPosition } from '../../src/platform/storage/commit-position.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { type ReplicaReads, withReplicas } from '../../src/platform/storage/replica-reads.ts'
import { raw } from '../../src/platform/storage/sql.ts'
import { storageUnavailable } from '../../src/platform/storage/transaction.ts'
import type { Call, Endpoint } from '../../src/protocol/http/call.ts'

const INSERT = raw('INSERT INTO t VALUES (1)')
const COUNT = raw('SELECT count(*) AS total FROM t')

const away = () => storageUnavailable(Object.assign(new Error('stuck'), { code: 'ETIMEDOUT' }))

test('a write has its position when the database answers nothing after its commit', async (t) => {
  const { url, readUrl } = await openPair(t)
  await asAdmin(url, 'CREATE TABLE t (id INTEGER)')
  await asAdmin(url, "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'")
  await asAdmin(url, 'SELECT pg_reload_conf()')
  for (const durability of ['local', 'replica'] as const) {
    const commits = createCommitPosition()
    const database = await openDatabase({ url, durability }, { log: quietLog, commits })
    const state = { isStuck: false }
    const unlessStuck =
      <A extends unknown[], R>(read: (...of: A) => Promise<R>) =>
      async (...of: A) => {
        if (state.isStuck) throw away()
        return read(...of)
      }
    const primary: Database = {
      ...database,
      get: unlessStuck(database.get) as Database['get'],
      all: unlessStuck(database.all) as Database['all'],
    }
    const open = [() => openDatabase(readUrl, { log: quietLog })]
    const shared = { clock: wallClock, log: quietLog, outageMs: 3_600_000 }
    const { db, replicas } = withReplicas({ ...shared, primary, commits, open })
    onEnd(t, () => db.close())
    for (const options of [{}, { single: true }, { group: 't' }]) {
      state.isStuck = false
      const count = async () => Number((await db.get(COUNT))!.total)
      const [before, former] = [await count(), commits.last()]
      const { position } = await replicas.runWrite(async () => {
        await db.write((tx) => tx.run(INSERT), options)
        state.isStuck = true
      })
      assert.ok(position! > former, 'it is later than that of the last write')
      const read = () => replicas.run(position!, count).catch(() => undefined)
      const last = await eventually(read, (end) => end !== undefined)
      assert.equal(last!.result, before + 1)
    }
  }
})

test('a write that committed nothing, and has no position, leaves that of its caller', async () => {
  const required: bigint[] = []
  let position: bigint | undefined = 7n
  const replicas: Pick<ReplicaReads, 'run' | 'runWrite'> = {
    async run(after, body) {
      required.push(after)
      return { result: await body(), position: after }
    },
    runWrite: async (body) => ({ result: await body(), position }),
  }
  const handle = async () => ({ status: 200 })
  const endpoint = { kind: 'api', methods: { GET: { handle }, POST: { handle } } }
  const wrapped = createReadAfter(replicas as ReplicaReads)(endpoint as unknown as Endpoint)
  const { GET, POST } = wrapped.methods as unknown as typeof endpoint.methods
  const call = { headers: {}, principal: { kind: 'key', keyId: '1' } } as unknown as Call
  const send = (operation: { handle: (call: Call) => Promise<object> }) => operation.handle(call)
  assert.deepEqual(await send(POST), { status: 200, headers: { 'gatehook-read-after': '0/7' } })
  position = undefined
  assert.deepEqual(await send(POST), { status: 200 })
  await send(GET)
  assert.deepEqual(required, [7n])
})
