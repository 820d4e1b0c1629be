/** §18.10: a clock that was set wrong ends no stored promise, and what it has postponed runs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { SteadyClock } from '../../src/kernel/steady-clock.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { errands } from '../fixtures/errands.ts'

const DAY_MS = 86_400_000
/** Longer than a step waits until it counts. */
const PAST_HOLD_MS = 120_000

/** A clock of a machine that can be set, and that can pass time. */
function machineClock() {
  let [aheadMs, passedMs] = [0, 0]
  const elapsedMs = () => wallClock.elapsedMs() + passedMs
  const machine = { now: () => wallClock.now() + passedMs + aheadMs, elapsedMs }
  const steady = () => new SteadyClock(machine, elapsedMs)
  const clock = steady()
  return {
    clock,
    /** The clock of a process that starts now. */
    steady,
    set(ms: number) {
      aheadMs = ms
      clock.now()
      passedMs += PAST_HOLD_MS
      clock.now()
    },
    pass: (ms: number) => void (passedMs += ms),
  }
}

const KEY = { 'idempotency-key': 'order-1' }
const create = async (service: Pick<TestApp, 'post'>) =>
  (await service.post('/api/v1/orders', { total: 7 }, KEY)).body.id as number

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a repeat finds its creation, however the clock was set [${kind}]`, async (t) => {
    const { clock, set } = machineClock()
    const service = await openService(t, kind, { service: errands, clock })
    const id = await create(service)
    for (const aheadMs of [40 * DAY_MS, 0, -2 * DAY_MS, 0]) {
      set(aheadMs)
      assert.equal(await create(service), id, `${aheadMs} ms ahead`)
    }
    set(40 * DAY_MS)
    const later = { 'idempotency-key': 'order-2' }
    const ahead = (await service.post('/api/v1/orders', { total: 8 }, later)).body.id
    set(0)
    assert.equal((await service.post('/api/v1/orders', { total: 8 }, later)).body.id, ahead)
  })

  test(`a start by a clock that is far ahead finds its creations [${kind}]`, async (t) => {
    const { clock, steady, set } = machineClock()
    const first = await openService(t, kind, { service: errands, clock })
    const key = await first.key()
    const id = await create(first.as(key))
    await first.app.work()
    await first.app.close()
    first.app.close = async () => {}
    set(40 * DAY_MS)
    const { url } = first
    const second = await openService(t, kind, { service: errands, url, key, clock: steady() })
    assert.equal(await create(second), id)
  })

  test(`after a pause of days a key lasts its day, and the doubt ends [${kind}]`, async (t) => {
    const { clock, steady, pass } = machineClock()
    const first = await openService(t, kind, { service: errands, clock })
    const { url } = first
    const key = await first.key()
    const end = async ({ app }: TestApp) => {
      await app.close()
      app.close = async () => {}
    }
    await first.app.work()
    await end(first)
    pass(3 * DAY_MS)
    const second = steady()
    const service = await openService(t, kind, { service: errands, url, key, clock: second })
    assert.ok(second.step()!.byMs >= 3 * DAY_MS)
    await service.app.work()
    pass(DAY_MS / 2)
    // As the next report of the node, which its timer sends.
    const facts = JSON.stringify({ doubt: second.step() })
    await service.app.db.write((tx) => tx.run(sql`UPDATE gh_nodes SET facts = ${facts}`))
    await end(service)
    const third = steady()
    const later = await openService(t, kind, { service: errands, url, key, clock: third })
    const { byMs, leftMs } = third.step()!
    assert.ok(byMs < 3 * DAY_MS + 60_000 && leftMs < DAY_MS / 2 + 60_000, 'of the same doubt')
    pass(DAY_MS / 2 - 180_000)
    const id = await create(later)
    pass(360_000)
    assert.equal(third.step(), undefined)
    assert.equal(await create(later), id)
  })

  test(`jobs that a clock ahead has postponed run after it is set right [${kind}]`, async (t) => {
    const { clock, set } = machineClock()
    const { app, post } = await openService(t, kind, { service: errands, clock })
    const order = (await post('/api/v1/orders', { total: 7 })).body
    set(40 * DAY_MS)
    const jobs = () =>
      app.db.all<{ name: string; run_at: number; state: string }>(
        sql`SELECT name, run_at, state FROM gh_jobs ORDER BY name`,
      )
    await post(`/api/v1/orders/${order.id}/receipt`)
    await app.runDue()
    await post(`/api/v1/orders/${order.id}/receipt`)
    set(0)
    const isAhead = ({ run_at }: { run_at: number }) => Number(run_at) > clock.now() + DAY_MS
    const ahead = (await jobs()).filter(isAhead).map(({ name }) => name)
    assert.deepEqual([...new Set(ahead)], ['count_orders', 'send_receipt'])
    await app.runDue()
    const waiting = (await jobs()).filter(({ state }) => state === 'waiting')
    assert.deepEqual(
      waiting.map(({ name }) => name),
      ['count_orders'],
    )
    assert.equal(waiting.some(isAhead), false)
  })
}
