/** §9.14, §4.7: no caller registers a receiver with rights that ended while it was verified. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Caller, eachService, type TestApp } from '../../../../test/rig/service.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { openPortal } from '../portal/rig.ts'
import { HOLDING, openHook, register } from '../webhooks/hook.ts'

/** The time that a receiver has taken, besides that of the test. */
let waitedMs = 0
const clock = { now: wallClock.now, elapsedMs: () => wallClock.elapsedMs() + waitedMs }

/** Registers a receiver that responds after `change`. */
async function registerDuring(
  t: TestContext,
  post: Pick<Caller, 'post'>,
  change: () => Promise<unknown>,
) {
  const hook = await openHook(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  hook.holds = promise
  const registration = register(post, hook, { events: ['order.*'] })
  await hook.until(1)
  await change()
  waitedMs += 2_000
  resolve()
  return (await registration).status
}

async function openCallers(service: TestApp) {
  const { operator, session, customer: createCustomer } = await openPortal(service)
  const customer = await createCustomer('Shop')
  const scopes = ['webhooks:read', 'webhooks:write', 'events:read', 'orders:read']
  const createKey = async () =>
    (await operator.post('/admin/keys', { name: 'k', scopes, customer })).body
  const registered = async () =>
    (await operator.get(`/admin/webhooks?customer=${customer}`)).body.data.length as number
  const portal = await session(customer)
  const post: Caller['post'] = (path, body, more) => portal.post(`/portal/api${path}`, body, more)
  return { operator, createKey, registered, portal: { post } }
}

eachService(
  'rights that end while a receiver is verified register nothing',
  async (service, t) => {
    const { operator, createKey, registered, portal } = await openCallers(service)
    const validKey = await createKey()
    assert.equal(await registerDuring(t, service.as(validKey.key), async () => {}), 201)
    const revoked = await createKey()
    const revoke = () => operator.delete(`/admin/keys/${revoked.id}`)
    assert.equal(await registerDuring(t, service.as(revoked.key), revoke), 401)
    const narrowed = await createKey()
    const narrow = () =>
      operator.patch(`/admin/keys/${narrowed.id}`, { scopes: ['webhooks:write', 'orders:read'] })
    assert.equal(await registerDuring(t, service.as(narrowed.key), narrow), 401)
    const { data } = (await operator.get('/admin/audit?action=portal_link.create')).body
    const endLink = () => operator.delete(`/admin/portal-links/${data[0].target}`)
    assert.equal(await registerDuring(t, portal, endLink), 401)
    assert.equal(await registered(), 1)
  },
  { ...HOLDING, clock },
)
