/** §9.12: a clock that ran a year ahead is set right. What it put off is sent, not forgotten. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { deliveryStore } from '../../src/deliveries/delivery-store.ts'
import { Engine } from '../../src/deliveries/engine.ts'
import { nodeLeases } from '../../src/deliveries/leases.ts'
import { endPostponement } from '../../src/deliveries/postponed.ts'
import { longestWaitMs } from '../../src/deliveries/schedule.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { HandClock } from '../access/desk.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

const YEAR_MS = 365 * 86_400_000
const SCHEDULE_S = [5, 300, 604_800]
const vault = new Vault('a secret that only tests know, long enough', systemRandom())

test('a wait is at most a day, or the longest of the schedule and its jitter', () => {
  assert.equal(longestWaitMs([5, 300]), 86_400_000)
  assert.equal(longestWaitMs([]), 86_400_000)
  assert.equal(longestWaitMs(SCHEDULE_S), 604_800_000 * 1.2)
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`deliveries of a clock that ran ahead are due once it is right [${kind}]`, async (t) => {
    const time = new HandClock()
    const { clock } = time
    time.nowMs += YEAR_MS
    const url = await freshUrl(t, kind)
    const service = await openService(t, kind, { url, clock, ...LOCAL })
    const { id } = (await register(service, await openHook(t))).body
    const db = await openForTest(t, url)
    const leases = nodeLeases({ db, clock, log: quietLog, node: 'test' })
    await leases.beat()
    let status = 500
    const sent: string[] = []
    const engine = new Engine({
      ...{ leases, clock, chance: () => 0.5, log: quietLog, scheduleS: SCHEDULE_S },
      store: deliveryStore({
        ...{ db, clock, vault },
        record: () => Promise.reject(new Error()),
        coveredBy: () => undefined,
      }),
      async post(_, due) {
        sent.push(due.id)
        return { kind: 'answered', status, headers: {}, body: '', durationMs: 1 }
      },
      rate: undefined,
    })
    const turn = async () => {
      time.pass(2_000)
      await leases.beat()
      await engine.tick()
      await engine.settle()
    }
    const count = () => endPostponement(db, clock, longestWaitMs(SCHEDULE_S))
    for (let n = 0; n < 3; n++) await pay(service, n)
    await turn() // each is tried and has to wait
    for (let n = 3; n < 5; n++) await pay(service, n) // and these nobody has tried
    assert.equal(sent.length, 3)
    assert.equal(await count(), 0, 'the clock is right as far as it knows')

    time.nowMs -= YEAR_MS
    status = 200
    await turn()
    assert.equal(sent.length, 3)
    assert.equal(await count(), 5)
    assert.equal(await count(), 0)
    await turn()
    assert.equal(sent.length, 8)
    const { data } = (await service.get(`/webhooks/${id}/deliveries`)).body
    assert.equal(data.length, 5)
    for (const { state } of data) assert.equal(state, 'delivered')
  })
}
