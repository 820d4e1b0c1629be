/** §9.6: 2xx delivers; other outcomes are retried by the schedule and by `Retry-After`. */
import assert from 'node:assert/strict'
import { breath } from '../../../../test/rig/eventually.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { finishedLog, LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

const CLOCK = { env: { ...LOCAL.env, GATEHOOK_TEST_CLOCK: '1' } }
const actor = { kind: 'test', id: 'test' } as never

/** The longest delays of the schedule, in seconds; together less than five days (§9.7). */
const LONGEST_S = [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400].map((s) => s * 1.2)

/** Waits until the log has `count` attempts of the only delivery. */
async function untilAttempts({ get }: TestApp, id: string, count: number): Promise<void> {
  for (;;) {
    const [delivery] = (await get(`/webhooks/${id}/deliveries`)).body.data
    if (delivery?.attempts.length >= count) return
    await breath()
  }
}

const advance = ({ app }: TestApp, advance_s: number) => app.clock!.set({ advance_s }, actor)

eachService(
  'retries after 5 s and 5 min send the same bytes, with a number, and are logged',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    await service.app.work()
    hook.answers = () => (hook.calls.length < 4 ? 500 : 204)
    await pay(service, 1)
    await untilAttempts(service, id, 1)
    await advance(service, 6)
    await untilAttempts(service, id, 2)
    await advance(service, 360)
    await hook.until(4)
    const [first, second, third] = hook.calls.slice(1)
    assert.deepEqual(new Set([first!.body, second!.body, third!.body]).size, 1)
    const numbers = hook.calls.slice(1).map((call) => call.headers['gatehook-attempt'])
    assert.deepEqual(numbers, ['1', '2', '3'])
    const [delivery] = await finishedLog(service, id)
    assert.equal(delivery.state, 'delivered')
    assert.deepEqual(
      delivery.attempts.map((attempt: { n: number; status: number }) => [
        attempt.n,
        attempt.status,
      ]),
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
  'ten failed attempts exhaust a delivery',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    hook.answers = () => 302
    await service.app.work()
    await pay(service, 1)
    for (const [attempts, delayS] of LONGEST_S.entries()) {
      await untilAttempts(service, id, attempts + 1)
      await advance(service, delayS)
    }
    const [delivery] = await finishedLog(service, id)
    assert.deepEqual([delivery.state, delivery.attempts.length], ['exhausted', 10])
    assert.equal(delivery.next_attempt_at, null)
  },
  CLOCK,
)

eachService(
  '503 puts its own endpoint on hold for 60 s',
  async (service, t) => {
    const [busy, witness] = [await openHook(t), await openHook(t)]
    const { id } = (await register(service, busy)).body
    await register(service, witness)
    busy.answers = () => (busy.calls.length < 3 ? 503 : 200)
    await service.app.work()
    await pay(service, 1)
    await untilAttempts(service, id, 1)
    await advance(service, 30)
    await pay(service, 2)
    await witness.until(3)
    assert.equal(busy.calls.length, 2)
    await advance(service, 45)
    await busy.until(4)
  },
  CLOCK,
)

eachService(
  '410 fails the delivery and disables the registration, with an event',
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
      id,
      status: 'disabled',
      url: gone.url,
      disabled_reason: 'gone',
    })
    const registration = (await service.get(`/webhooks/${id}`)).body
    assert.deepEqual([registration.active, registration.disabled_reason], [false, 'gone'])
    const [delivery] = await finishedLog(service, id)
    assert.deepEqual([delivery.state, delivery.attempts.length], ['failed', 1])
  },
  LOCAL,
)
