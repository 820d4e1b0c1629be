import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Actor } from '../../src/history/audit/actor.ts'
import { clockKeeper } from '../../src/operate/system/clock.ts'
import type { Statement } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { ManualClock, openTestNode, random, trail } from '../access/test-node.ts'

const HOUR_MS = 3_600_000
const actor: Actor = { kind: 'cli', id: 'test' }
const iso = (ms: number) => new Date(ms).toISOString()

eachMigrated('§12.6 the clock advances and continues, or stops while frozen', async (db, t) => {
  const { send, time } = await openTestNode(db, t)
  const start = time.nowMs
  const set = async (body: object) => (await send('POST /admin/clock', { body })).body
  const state = async () => (await send('GET /admin/clock')).body
  assert.deepEqual(await state(), { now: iso(start), frozen: false })
  assert.deepEqual(await set({ advance_s: 3600 }), { now: iso(start + HOUR_MS), frozen: false })
  time.pass(1000)
  assert.equal((await state()).now, iso(start + HOUR_MS + 1000), 'continues')
  const target = iso(start + 2 * HOUR_MS)
  assert.deepEqual(await set({ now: target, freeze: true }), { now: target, frozen: true })
  time.pass(5000)
  assert.deepEqual(await state(), { now: target, frozen: true })
  const next = { now: iso(start + 3 * HOUR_MS), frozen: true }
  assert.deepEqual(await set({ advance_s: 3600 }), next, 'stays frozen')
  assert.deepEqual(await set({ freeze: false }), { ...next, frozen: false })
  time.pass(1000)
  assert.equal((await state()).now, iso(start + 3 * HOUR_MS + 1000))
})

eachMigrated('a change that moves the clock back, or is empty, is rejected', async (db, t) => {
  const { send, time } = await openTestNode(db, t)
  const refused = async (body: unknown) => {
    const reply = await send('POST /admin/clock', { body })
    return `${reply.status} ${reply.body.error}`
  }
  for (const body of [{ now: iso(time.nowMs - 1) }, { now: '2020-01-01' }, { advance_s: -1 }]) {
    assert.equal(await refused(body), '409 clock_backwards', JSON.stringify(body))
  }
  const far = 90 * 365 * 86_400
  const wrong = [{}, [], { advance_s: 1.5 }, { advance_s: '1' }, { now: 'soon' }, { freeze: 1 }]
  const both = { now: iso(time.nowMs), advance_s: 1 }
  for (const body of [...wrong, both, { advance_s: far * 10 }, { colour: 1 }]) {
    assert.equal(await refused(body), '422 validation_failed', JSON.stringify(body))
  }
  assert.equal((await send('GET /admin/clock')).body.now, iso(time.nowMs))
  assert.equal((await send('GET /admin/clock', { key: undefined })).status, 401)
  const { body } = await send('GET /admin/audit?action=clock.set')
  assert.deepEqual(body.data, [], 'rejected changes are not audited')
})

eachMigrated('other nodes apply the setting, and concurrent changes add up', async (db) => {
  const [here, there] = [new ManualClock(), new ManualClock()]
  const start = here.nowMs
  const a = clockKeeper({ db, clock: here.clock, random, trail })
  const b = clockKeeper({ db, clock: there.clock, random, trail })
  await Promise.all([a.set({ advance_s: 60 }, actor), b.set({ advance_s: 60 }, actor)])
  await Promise.all([a.follow(), b.follow()])
  for (const node of [here, there]) assert.equal(node.clock.now(), start + 120_000)
  await a.set({ advance_s: 60, freeze: true }, actor)
  assert.equal(there.clock.now(), start + 120_000)
  await b.follow()
  assert.deepEqual(b.state(), { now: iso(start + 180_000), frozen: true })
})

eachMigrated('a read that began before a change does not turn time back', async (db) => {
  const time = new ManualClock()
  const start = time.nowMs
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const slow = new Proxy(db, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name !== 'get') return value.bind(target)
      return async (statement: Statement) => {
        const row = await target.get(statement)
        await gate
        return row
      }
    },
  })
  const keeper = clockKeeper({ db: slow, clock: time.clock, random, trail })
  await keeper.set({ advance_s: 60 }, actor)
  const reading = keeper.follow()
  await db.get(sql`SELECT 1 AS one`) // the pending read is finished
  await keeper.set({ advance_s: 60 }, actor)
  open()
  await reading
  assert.equal(time.clock.now(), start + 120_000)
})

eachMigrated('a key expires by the test clock', async (db, t) => {
  const { send, createKey, time } = await openTestNode(db, t)
  const { key } = await createKey({ expires_at: iso(time.nowMs + HOUR_MS) })
  const status = async () => (await send('GET /api/protected', { key })).status
  assert.equal(await status(), 200)
  await send('POST /admin/clock', { body: { advance_s: 3600 } })
  assert.equal(await status(), 403)
})
