/**
 * §9.8: the rate applies per customer, and no customer delays another.
 * `test/deliveries/simulation.test.ts` tests shares under load, hanging and flooding endpoints.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

const env = { ...LOCAL.env, GATEHOOK_DELIVERY_RATE: '1/3600 burst 2' }

eachService(
  'the rate delays the customer’s own deliveries only; a limit of its own replaces it',
  async (service, t) => {
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const customer = (await admin.post('/admin/customers', { name: 'Acme' })).body.id
    const acme = service.as(await service.key({ customer }))
    const [theirs, ours] = [await openHook(t), await openHook(t)]
    await register(acme, theirs)
    await register(service, ours)
    await service.app.work()
    for (let n = 1; n <= 3; n++) await pay(acme, n)
    await theirs.until(3)
    await pay(service, 1)
    await ours.until(2)
    assert.equal(theirs.calls.length, 3, 'the ping, and a burst of two')
    const limits = { delivery_rate: { limit: 1000, window_s: 1 } }
    await admin.patch(`/admin/customers/${customer}`, { limits })
    await theirs.until(4)
  },
  { env },
)

eachService(
  'an endpoint that never responds does not delay another of the same customer',
  async (service, t) => {
    const hanging = createServer((request, response) => {
      if (request.headers['gatehook-event'] === 'webhook.ping') response.end()
    })
    await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve))
    onEnd(t, () => {
      hanging.closeAllConnections()
      hanging.close()
    })
    const url = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}/`
    const hook = await openHook(t)
    await register(service, { url })
    await register(service, hook)
    await service.app.work()
    for (let n = 1; n <= 60; n++) await pay(service, n)
    await hook.until(61)
  },
  { env: { ...LOCAL.env, GATEHOOK_WEBHOOK_TIMEOUT_MS: '2000' } },
)
