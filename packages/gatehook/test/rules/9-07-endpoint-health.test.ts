/** §9.7: an endpoint that only fails is left alone, then switched off, and comes back by PATCH. The
 * breaker and the caps are held to their numbers in `test/deliveries/simulation.test.ts`. */
import assert from 'node:assert/strict'
import { breath } from '../../../../test/rig/eventually.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

const CLOCK = { env: { ...LOCAL.env, GATEHOOK_TEST_CLOCK: '1' } }
/** The log, once it has so many attempts of its first delivery. */
async function attempted({ get }: TestApp, id: string, count: number, sort = 'id') {
  for (;;) {
    const { data } = (await get(`/webhooks/${id}/deliveries?sort=${sort}`)).body
    if (data[0]?.attempts.length >= count) return data
    await breath()
  }
}

const actor = { kind: 'test', id: 'test' } as never

eachService(
  'switched off five days after the first failure, with an event; switched on, it gets what waited',
  async (service, t) => {
    const advance = (advance_s: number) => service.app.clock!.set({ advance_s }, actor)
    const [broken, other] = [await openHook(t), await openHook(t)]
    const { id } = (await register(service, broken, { events: ['payment.*'] })).body
    await register(service, other, { events: ['webhook.*'] })
    broken.answers = () => 500
    await service.app.work()
    await pay(service, 1)
    for (let day = 0; day < 5; day++) {
      const [delivery] = await attempted(service, id, day + 1)
      assert.equal(delivery.state, 'pending')
      await advance(86_400 * 1.01)
    }
    await other.until(2)
    const { type, data } = other.calls[1]!.event
    assert.deepEqual([type, data.object.disabled_reason], ['webhook.disabled', 'failing'])
    const before = broken.calls.length
    const { id: eventId } = (await pay(service, 2)).body
    const log = (await service.get(`/webhooks/${id}/deliveries`)).body.data
    const waiting = log.find((one: { event_id: string }) => one.event_id === eventId)
    assert.equal(waiting.state, 'paused')
    assert.equal(broken.calls.length, before)
    broken.answers = () => 200
    const on = await service.patch(`/webhooks/${id}`, { active: true })
    assert.deepEqual([on.status, on.body.active, on.body.disabled_reason], [200, true, null])
    await broken.until(before + 3) // verified again, and what waited
    const arrived = new Set(broken.calls.slice(before + 1).map(({ event }) => event.id))
    assert.deepEqual(arrived, new Set([eventId, broken.calls[1]!.event.id]))
  },
  CLOCK,
)

eachService(
  'a new url is sent at once what waited for its next attempt at the old one',
  async (service, t) => {
    const [broken, mended] = [await openHook(t), await openHook(t)]
    const { id } = (await register(service, broken)).body
    broken.answers = () => 500
    await service.app.work()
    await pay(service, 1)
    await attempted(service, id, 1)
    assert.equal((await service.patch(`/webhooks/${id}`, { url: mended.url })).status, 200)
    await mended.until(2)
    const { event, headers } = mended.calls[1]!
    assert.deepEqual([event.id, headers['gatehook-attempt']], [broken.calls[1]!.event.id, '2'])
  },
  { env: { ...LOCAL.env, GATEHOOK_WEBHOOK_SCHEDULE_S: '86400' } },
)

eachService(
  'a receiver that was verified anew is not left alone for what the one before it answered',
  async (service, t) => {
    const [broken, mended] = [await openHook(t), await openHook(t)]
    const { id } = (await register(service, broken)).body
    broken.answers = () => 503 // parks for a minute
    await service.app.work()
    for (let n = 1; n <= 10; n++) await pay(service, n)
    await attempted(service, id, 1)
    assert.equal((await service.patch(`/webhooks/${id}`, { url: mended.url })).status, 200)
    await mended.until(1 + 10)
    mended.answers = () => 503
    await pay(service, 11)
    await attempted(service, id, 1, '-id')
    for (const active of [false, true]) await service.patch(`/webhooks/${id}`, { active })
    mended.answers = () => 200
    await mended.until(1 + 11 + 1 + 1)
  },
  { env: { ...LOCAL.env, GATEHOOK_WEBHOOK_SCHEDULE_S: '86400,86400,86400' } },
)

eachService(
  'what the receiver before it answers late does not touch the new one',
  async (service, t) => {
    const [old, moved] = [await openHook(t), await openHook(t)]
    const { id } = (await register(service, old)).body
    await service.app.work()
    for (const [n, status] of [410, 503].entries()) {
      let answer = () => {}
      old.holds = new Promise<void>((resolve) => void (answer = resolve))
      old.answers = () => status
      const [asked, arrived] = [old.calls.length, moved.calls.length]
      const { id: event } = (await pay(service, n)).body
      await old.until(asked + 1)
      assert.equal((await service.patch(`/webhooks/${id}`, { url: moved.url })).status, 200)
      answer()
      await attempted(service, id, 1, '-id')
      await pay(service, n + 10)
      await moved.until(arrived + 2) // the ping, and what came after
      const { body } = await service.get(`/webhooks/${id}`)
      assert.deepEqual([body.active, body.disabled_reason], [true, null], `${status} of ${event}`)
      Object.assign(old, { holds: Promise.resolve(), answers: () => 200 })
      assert.equal((await service.patch(`/webhooks/${id}`, { url: old.url })).status, 200)
    }
  },
  { env: { ...LOCAL.env, GATEHOOK_WEBHOOK_SCHEDULE_S: '86400,86400,86400' } },
)

eachService(
  'ten failures in a row and nothing more is sent for half a minute, then one probe',
  async (service, t) => {
    const advance = (advance_s: number) => service.app.clock!.set({ advance_s }, actor)
    const [broken, witness] = [await openHook(t), await openHook(t)]
    await register(service, broken)
    await register(service, witness)
    // However long this takes: nothing is due again before the clock is moved.
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
