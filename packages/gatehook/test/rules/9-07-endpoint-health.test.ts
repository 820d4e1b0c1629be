/**
 * §9.7: the breaker pauses a failing endpoint, five days of failures disable it, PATCH activates it
 * again. `test/deliveries/simulation.test.ts` tests the numbers.
 */
import assert from 'node:assert/strict'
import { breath } from '../../../../test/rig/eventually.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

const CLOCK = { env: { ...LOCAL.env, GATEHOOK_TEST_CLOCK: '1' } }
/** Returns the log once its first delivery has `count` attempts. */
async function logAfterAttempts({ get }: TestApp, id: string, count: number, sort = 'id') {
  for (;;) {
    const { data } = (await get(`/webhooks/${id}/deliveries?sort=${sort}`)).body
    if (data[0]?.attempts.length >= count) return data
    await breath()
  }
}

/** Waits until this many deliveries have an attempt: none is in flight, whose result comes late. */
async function logAfterEachHasAttempts({ get }: TestApp, id: string, count: number) {
  for (;;) {
    const { data } = (await get(`/webhooks/${id}/deliveries`)).body
    const attempted = data.filter(({ attempts }: { attempts: unknown[] }) => attempts.length > 0)
    if (attempted.length === count) return
    await breath()
  }
}

const actor = { kind: 'test', id: 'test' } as never

eachService(
  'five days of failures disable a registration with an event; active again, it resumes',
  async (service, t) => {
    const advance = (advance_s: number) => service.app.clock!.set({ advance_s }, actor)
    const [broken, other] = [await openHook(t), await openHook(t)]
    const { id } = (await register(service, broken, { events: ['payment.*'] })).body
    await register(service, other, { events: ['webhook.*'] })
    broken.answers = () => 500
    await service.app.work()
    await pay(service, 1)
    for (let day = 0; day < 5; day++) {
      const [delivery] = await logAfterAttempts(service, id, day + 1)
      assert.equal(delivery.state, 'pending')
      await advance(86_400 * 1.01)
    }
    await other.until(2)
    const { type, data } = other.calls[1]!.event
    assert.deepEqual([type, data.object.disabled_reason], ['webhook.disabled', 'failing'])
    const before = broken.calls.length
    const { id: eventId } = (await pay(service, 2)).body
    const log = (await service.get(`/webhooks/${id}/deliveries`)).body.data
    const waiting = log.find((delivery: { event_id: string }) => delivery.event_id === eventId)
    assert.equal(waiting.state, 'paused')
    assert.equal(broken.calls.length, before)
    broken.answers = () => 200
    const activated = await service.patch(`/webhooks/${id}`, { active: true })
    assert.deepEqual(
      [activated.status, activated.body.active, activated.body.disabled_reason],
      [200, true, null],
    )
    await broken.until(before + 3) // the ping and two deliveries
    const arrived = new Set(broken.calls.slice(before + 1).map(({ event }) => event.id))
    assert.deepEqual(arrived, new Set([eventId, broken.calls[1]!.event.id]))
  },
  CLOCK,
)

eachService(
  'a new URL makes deliveries due that waited for a retry',
  async (service, t) => {
    const [broken, repaired] = [await openHook(t), await openHook(t)]
    const { id } = (await register(service, broken)).body
    broken.answers = () => 500
    await service.app.work()
    await pay(service, 1)
    await logAfterAttempts(service, id, 1)
    assert.equal((await service.patch(`/webhooks/${id}`, { url: repaired.url })).status, 200)
    await repaired.until(2)
    const { event, headers } = repaired.calls[1]!
    assert.deepEqual([event.id, headers['gatehook-attempt']], [broken.calls[1]!.event.id, '2'])
  },
  { env: { ...LOCAL.env, GATEHOOK_WEBHOOK_SCHEDULE_S: '86400' } },
)

eachService(
  'a verified receiver ends the hold of the one before it',
  async (service, t) => {
    const [broken, repaired] = [await openHook(t), await openHook(t)]
    const { id } = (await register(service, broken)).body
    broken.answers = () => 503 // a hold of 60 s
    let respond = () => {}
    broken.holds = new Promise<void>((resolve) => void (respond = resolve))
    await service.app.work()
    for (let n = 1; n <= 5; n++) await pay(service, n)
    await broken.until(1 + 5)
    respond()
    await logAfterEachHasAttempts(service, id, 5)
    for (let n = 6; n <= 10; n++) await pay(service, n)
    assert.equal((await service.patch(`/webhooks/${id}`, { url: repaired.url })).status, 200)
    await repaired.until(1 + 10)
    repaired.answers = () => 503
    await pay(service, 11)
    await logAfterAttempts(service, id, 1, '-id')
    for (const active of [false, true]) await service.patch(`/webhooks/${id}`, { active })
    repaired.answers = () => 200
    await repaired.until(1 + 11 + 1 + 1)
  },
  { env: { ...LOCAL.env, GATEHOOK_WEBHOOK_SCHEDULE_S: '86400,86400,86400' } },
)

eachService(
  'a late response of the former receiver does not affect the new one',
  async (service, t) => {
    const [old, moved] = [await openHook(t), await openHook(t)]
    const { id } = (await register(service, old)).body
    await service.app.work()
    for (const [n, status] of [410, 503].entries()) {
      let respond = () => {}
      old.holds = new Promise<void>((resolve) => void (respond = resolve))
      old.answers = () => status
      const [before, arrived] = [old.calls.length, moved.calls.length]
      const { id: event } = (await pay(service, n)).body
      await old.until(before + 1)
      assert.equal((await service.patch(`/webhooks/${id}`, { url: moved.url })).status, 200)
      respond()
      await logAfterAttempts(service, id, 1, '-id')
      await pay(service, n + 10)
      await moved.until(arrived + 2) // the ping and the delivery
      const { body } = await service.get(`/webhooks/${id}`)
      assert.deepEqual([body.active, body.disabled_reason], [true, null], `${status} of ${event}`)
      Object.assign(old, { holds: Promise.resolve(), answers: () => 200 })
      assert.equal((await service.patch(`/webhooks/${id}`, { url: old.url })).status, 200)
    }
  },
  { env: { ...LOCAL.env, GATEHOOK_WEBHOOK_SCHEDULE_S: '86400,86400,86400' } },
)

eachService(
  'ten failures in a row open the breaker for 30 s, then one probe runs',
  async (service, t) => {
    const advance = (advance_s: number) => service.app.clock!.set({ advance_s }, actor)
    const [broken, witness] = [await openHook(t), await openHook(t)]
    await register(service, broken)
    await register(service, witness)
    // With a frozen clock no retry becomes due, however slow the machine is.
    await service.app.clock!.set({ freeze: true }, actor)
    broken.answers = () => 500
    await service.app.work()
    for (let n = 1; n <= 10; n++) {
      await pay(service, n)
      await broken.until(1 + n)
    }
    await pay(service, 11)
    await witness.until(12)
    await pay(service, 12)
    await witness.until(13)
    const sent = broken.calls.length
    assert.ok(sent <= 12, `${sent - 1} sent`)
    broken.answers = () => 200
    await advance(31)
    await broken.until(sent + 1)
    await advance(60)
    await broken.until(13 + 10)
  },
  CLOCK,
)

eachService(
  'a resent delivery does not wait for an open breaker, and its success closes it',
  async (service, t) => {
    const broken = await openHook(t)
    const { id } = (await register(service, broken)).body
    // With a frozen clock no retry becomes due, and no probe.
    await service.app.clock!.set({ freeze: true }, actor)
    broken.answers = () => 500
    await service.app.work()
    for (let n = 1; n <= 10; n++) await pay(service, n)
    await broken.until(1 + 10)
    let failures: { readonly id: string }[] = []
    while (failures.length < 10) {
      const { data } = (await service.get(`/webhooks/${id}/deliveries?sort=id`)).body
      failures = data.filter(({ attempts }: { attempts: unknown[] }) => attempts.length > 0)
      await breath()
    }
    const delivery = failures[0]!
    broken.answers = () => 200
    await pay(service, 11)
    const resent = await service.post(`/deliveries/${delivery.id}/resend`, undefined)
    assert.deepEqual([resent.status, resent.body.id], [202, delivery.id])
    const log = await logAfterAttempts(service, id, 2)
    assert.deepEqual([log[0].id, log[0].state], [delivery.id, 'delivered'])
    await broken.until(1 + 12)
    const last = broken.calls.at(-1)!.event
    assert.equal(last.data.object.id, 11, 'the delivery that waited for the breaker')
  },
  CLOCK,
)
