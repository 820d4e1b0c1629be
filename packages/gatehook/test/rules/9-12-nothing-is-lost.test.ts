/** §9.12: a committed event is delivered or ends in the log. `test/chaos/` tests kill -9. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { finishedLog, LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

const CLOCK = { env: { ...LOCAL.env, GATEHOOK_TEST_CLOCK: '1' } }
const actor = { kind: 'test', id: 'test' } as never

eachService(
  'events from before the start of the engine are delivered after it',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    for (let n = 1; n <= 30; n++) await pay(service, n)
    await service.app.work()
    await hook.until(31)
    const log = await finishedLog(service, id)
    assert.equal(log.filter(({ state }) => state === 'delivered').length, 30)
    assert.equal(new Set(hook.calls.map((call) => call.event.id)).size, 31)
  },
  LOCAL,
)

eachService(
  'a rejected event leaves neither an event nor deliveries',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    const object = { text: 'x'.repeat(262_144) }
    const refused = await service.post('/events', { type: 'payment.succeeded', object })
    assert.equal(refused.status, 413)
    assert.deepEqual((await service.get('/events')).body.data, [])
    assert.deepEqual((await service.get(`/webhooks/${id}/deliveries`)).body.data, [])
  },
  LOCAL,
)

eachService(
  'the deliveries of a suspended customer wait',
  async (service, t) => {
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const customer = (await admin.post('/admin/customers', { name: 'Acme' })).body.id
    const acme = service.as(await service.key({ customer }))
    const [theirs, ours] = [await openHook(t), await openHook(t)]
    await register(acme, theirs)
    await register(service, ours)
    await pay(acme, 1)
    await admin.patch(`/admin/customers/${customer}`, { suspended: true })
    await service.app.work()
    await pay(service, 1)
    await ours.until(2)
    assert.equal(theirs.calls.length, 1)
    await admin.patch(`/admin/customers/${customer}`, { suspended: false })
    await theirs.until(2)
  },
  LOCAL,
)

eachService(
  'after 30 days a delivery is exhausted; a deleted registration fails it',
  async (service, t) => {
    const [inactive, deleted, witness] = [await openHook(t), await openHook(t), await openHook(t)]
    const [first, second] = [await register(service, inactive), await register(service, deleted)]
    for (const { body } of [first, second]) {
      await service.patch(`/webhooks/${body.id}`, { active: false })
    }
    await pay(service, 1)
    const onlyDelivery = async (id: string) =>
      (await service.get(`/webhooks/${id}/deliveries`)).body.data[0]
    const [paused, doomed] = [await onlyDelivery(first.body.id), await onlyDelivery(second.body.id)]
    assert.deepEqual([paused.state, doomed.state], ['paused', 'paused'])
    await service.delete(`/webhooks/${second.body.id}`)
    const after = (await service.get(`/deliveries/${doomed.id}`)).body
    assert.equal(after.state, 'failed')
    await service.app.clock!.set({ advance_s: 30 * 86_400 }, actor)
    await service.patch(`/webhooks/${first.body.id}`, { active: true })
    await register(service, witness)
    await service.app.work()
    const [ended] = await finishedLog(service, first.body.id)
    assert.deepEqual([ended.state, ended.attempts], ['exhausted', []])
    assert.deepEqual([inactive.calls.length, deleted.calls.length], [2, 1], 'pings only')
  },
  CLOCK,
)
