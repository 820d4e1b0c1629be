/** §9.6: delivered is 2xx; the rest is tried again, later and later, by the receiver's wish too. */
import assert from 'node:assert/strict'
import { breath } from '../../../../test/rig/eventually.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { LOCAL, openHook, pay, register, settled } from '../webhooks/hook.ts'

const CLOCK = { env: { ...LOCAL.env, GATEHOOK_TEST_CLOCK: '1' } }
const actor = { kind: 'test', id: 'test' } as never

/** The delays of the schedule at their longest, seconds; together less than five days (§9.7). */
const LONGEST_S = [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400].map((s) => s * 1.2)

/**
 * Resolves when the log has so many attempts of the only delivery: an attempt ends after its call.
 */
async function attempted({ get }: TestApp, id: string, count: number): Promise<void> {
  for (;;) {
    const [delivery] = (await get(`/webhooks/${id}/deliveries`)).body.data
    if (delivery?.attempts.length >= count) return
    await breath()
  }
}

const advance = ({ app }: TestApp, advance_s: number) => app.clock!.set({ advance_s }, actor)

eachService(
  'the same bytes again after five seconds and five minutes, each attempt numbered and logged',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    await service.app.work()
    hook.answers = () => (hook.calls.length < 4 ? 500 : 204)
    await pay(service, 1)
    await attempted(service, id, 1)
    await advance(service, 6)
    await attempted(service, id, 2)
    await advance(service, 360)
    await hook.until(4)
    const [first, second, third] = hook.calls.slice(1)
    assert.deepEqual(new Set([first!.body, second!.body, third!.body]).size, 1)
    const numbers = hook.calls.slice(1).map((call) => call.headers['gatehook-attempt'])
    assert.deepEqual(numbers, ['1', '2', '3'])
    const [delivery] = await settled(service, id)
    assert.equal(delivery.state, 'delivered')
    assert.deepEqual(
      delivery.attempts.map((one: { n: number; status: number }) => [one.n, one.status]),
      [
        [1, 500],
        [2, 500],
        [3, 204],
      ],
    )
  },
  CLOCK,
)

eachService(
  'after ten attempts it is exhausted',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    hook.answers = () => 302
    await service.app.work()
    await pay(service, 1)
    for (const [made, delayS] of LONGEST_S.entries()) {
      await attempted(service, id, made + 1)
      await advance(service, delayS)
    }
    const [delivery] = await settled(service, id)
    assert.deepEqual([delivery.state, delivery.attempts.length], ['exhausted', 10])
    assert.equal(delivery.next_attempt_at, null)
  },
  CLOCK,
)

eachService(
  '503 parks its endpoint for a minute, and no other',
  async (service, t) => {
    const [parked, witness] = [await openHook(t), await openHook(t)]
    const { id } = (await register(service, parked)).body
    await register(service, witness)
    parked.answers = () => (parked.calls.length < 3 ? 503 : 200)
    await service.app.work()
    await pay(service, 1)
    await attempted(service, id, 1)
    await advance(service, 30)
    await pay(service, 2)
    await witness.until(3)
    assert.equal(parked.calls.length, 2)
    await advance(service, 45)
    await parked.until(4)
  },
  CLOCK,
)

eachService(
  '410 ends the delivery and switches the registration off, with an event',
  async (service, t) => {
    const [gone, other] = [await openHook(t), await openHook(t)]
    const { id } = (await register(service, gone, { events: ['payment.*'] })).body
    await register(service, other, { events: ['webhook.disabled'] })
    gone.answers = () => 410
    await service.app.work()
    await pay(service, 1)
    await other.until(2)
    const { type, data } = other.calls[1]!.event
    assert.equal(type, 'webhook.disabled')
    assert.deepEqual(data.object, {
      ...{ id, status: 'disabled', url: gone.url, disabled_reason: 'gone' },
    })
    const shown = (await service.get(`/webhooks/${id}`)).body
    assert.deepEqual([shown.active, shown.disabled_reason], [false, 'gone'])
    const [delivery] = await settled(service, id)
    assert.deepEqual([delivery.state, delivery.attempts.length], ['failed', 1])
  },
  LOCAL,
)
