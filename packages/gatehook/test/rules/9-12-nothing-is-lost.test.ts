/** §9.12: what was committed arrives, or the log says why not. Through kill -9: `test/chaos/`. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { LOCAL, openHook, pay, register, settled } from '../webhooks/hook.ts'

const CLOCK = { env: { ...LOCAL.env, GATEHOOK_TEST_CLOCK: '1' } }
const actor = { kind: 'test', id: 'test' } as never

eachService(
  'what was recorded while nothing delivered goes out when something does',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    for (let n = 1; n <= 30; n++) await pay(service, n)
    await service.app.work()
    await hook.until(31)
    const log = await settled(service, id)
    assert.equal(log.filter((one) => one.state === 'delivered').length, 30)
    assert.equal(new Set(hook.calls.map((call) => call.event.id)).size, 31)
  },
  LOCAL,
)

eachService(
  'an event and its deliveries commit together, or neither is there',
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
  'a suspended customer’s deliveries wait',
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
  'undelivered after thirty days it is exhausted; of a deleted registration, failed',
  async (service, t) => {
    const [off, deleted, witness] = [await openHook(t), await openHook(t), await openHook(t)]
    const [one, two] = [await register(service, off), await register(service, deleted)]
    for (const made of [one, two]) {
      await service.patch(`/webhooks/${made.body.id}`, { active: false })
    }
    await pay(service, 1)
    const of = async (id: string) => (await service.get(`/webhooks/${id}/deliveries`)).body.data[0]
    const [kept, dropped] = [await of(one.body.id), await of(two.body.id)]
    assert.deepEqual([kept.state, dropped.state], ['paused', 'paused'])
    await service.delete(`/webhooks/${two.body.id}`)
    const after = (await service.get(`/deliveries/${dropped.id}`)).body
    assert.equal(after.state, 'failed')
    await service.app.clock!.set({ advance_s: 30 * 86_400 }, actor)
    await service.patch(`/webhooks/${one.body.id}`, { active: true })
    await register(service, witness)
    await service.app.work()
    const [ended] = await settled(service, one.body.id)
    assert.deepEqual([ended.state, ended.attempts], ['exhausted', []])
    assert.deepEqual([off.calls.length, deleted.calls.length], [2, 1], 'pings only')
  },
  CLOCK,
)
