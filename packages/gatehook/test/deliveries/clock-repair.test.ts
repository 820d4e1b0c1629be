/** §9.12: after a clock that ran a year ahead is corrected, postponed deliveries are sent. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { repairPostponed } from '../../src/outbound/deliveries/clock-repair.ts'
import { DeliveryEngine } from '../../src/outbound/deliveries/engine.ts'
import { engineStore } from '../../src/outbound/deliveries/engine-store.ts'
import { nodeLeases } from '../../src/outbound/deliveries/leases.ts'
import { longestWaitMs } from '../../src/outbound/deliveries/retry-schedule.ts'
import { ManualClock } from '../access/test-node.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'
import { idleWork } from './idle-work.ts'
import { registerNodes } from './register-nodes.ts'

const YEAR_MS = 365 * 86_400_000
const SCHEDULE_S = [5, 300, 604_800]
const vault = new Vault('a secret that only tests know, long enough', systemRandom())

test('the longest wait is a day, or the longest delay of the schedule with its jitter', () => {
  assert.equal(longestWaitMs([5, 300]), 86_400_000)
  assert.equal(longestWaitMs([]), 86_400_000)
  assert.equal(longestWaitMs(SCHEDULE_S), 604_800_000 * 1.2)
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`deliveries that a fast clock postponed are due once it is correct [${kind}]`, async (t) => {
    const time = new ManualClock()
    const { clock } = time
    time.nowMs += YEAR_MS
    const url = await freshUrl(t, kind)
    const service = await openService(t, kind, { url, clock, ...LOCAL })
    const { id } = (await register(service, await openHook(t))).body
    const db = await openForTest(t, url)
    await registerNodes(db, 'test')
    const leases = nodeLeases({ db, clock, log: quietLog, node: 'test' })
    await leases.heartbeat(idleWork)
    let status = 500
    const sent: string[] = []
    const engine = new DeliveryEngine({
      leases,
      clock,
      chance: () => 0.5,
      log: quietLog,
      scheduleS: SCHEDULE_S,
      store: engineStore({
        db,
        clock,
        vault,
        log: quietLog,
        record: () => Promise.reject(new Error()),
        coveredBy: () => undefined,
      }),
      async post(_, due) {
        sent.push(due.id)
        return { kind: 'answered', status, headers: {}, body: '', durationMs: 1 }
      },
      rate: undefined,
    })
    const runOnce = async () => {
      time.pass(2_000)
      await leases.heartbeat(idleWork)
      await engine.tick()
      await engine.writeResults()
    }
    const repair = () => repairPostponed(db, clock, longestWaitMs(SCHEDULE_S))
    for (let n = 0; n < 3; n++) await pay(service, n)
    await runOnce() // each fails and waits for a retry
    for (let n = 3; n < 5; n++) await pay(service, n) // without an attempt so far
    assert.equal(sent.length, 3)
    assert.equal(await repair(), 0, 'by the fast clock nothing waits too long')

    time.nowMs -= YEAR_MS
    status = 200
    await runOnce()
    assert.equal(sent.length, 3)
    assert.equal(await repair(), 5)
    assert.equal(await repair(), 0)
    await runOnce()
    assert.equal(sent.length, 8)
    const { data } = (await service.get(`/webhooks/${id}/deliveries`)).body
    assert.equal(data.length, 5)
    for (const { state } of data) assert.equal(state, 'delivered')
  })
}
