/**
 * §12.2, §9.1: the portal registers no endpoint that would receive none of the events it names. It
 * rejects a family of which the session reads no type with 403 and the scope.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { openPortal } from '../portal/rig.ts'
import { openHook } from '../webhooks/hook.ts'

const LOCAL = { env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' } }
const WEBHOOKS = ['webhooks:read', 'webhooks:write']

eachService(
  'a family without a readable type is 403 with its scope, at creation and change',
  async (service, t) => {
    const { customer, session } = await openPortal(service)
    const hook = await openHook(t)
    const portal = await session(await customer('Shop'), { can: [...WEBHOOKS, 'orders:read'] })
    for (const events of [['user.*'], ['order.*', 'user.*']]) {
      const { status, body } = await portal.post('/portal/api/webhooks', { url: hook.url, events })
      assert.deepEqual([status, body.error], [403, 'insufficient_scope'])
      assert.match(body.message, /users:read/)
    }
    assert.equal(hook.calls.length, 0, 'the server verifies no receiver')
    assert.deepEqual((await portal.get('/portal/api/webhooks')).body.data, [])

    const events = ['order.*', 'webhook.*']
    const created = await portal.post('/portal/api/webhooks', { url: hook.url, events })
    assert.equal(created.status, 201, created.text)
    const path = `/portal/api/webhooks/${created.body.id}`
    const changed = await portal.patch(path, { events: ['user.*'] })
    assert.deepEqual([changed.status, changed.body.error], [403, 'insufficient_scope'])
    assert.deepEqual((await portal.get(path)).body.events, events)
  },
  LOCAL,
)

eachService(
  'every event is accepted, except in a session that reads no type',
  async (service, t) => {
    const { customer, session } = await openPortal(service)
    const [shop, hook] = [await customer('Shop'), await openHook(t)]
    const every = { url: hook.url, events: ['*'] }
    const writer = await session(shop, { can: ['webhooks:write'] })
    const refused = await writer.post('/portal/api/webhooks', every)
    assert.deepEqual([refused.status, refused.body.error], [403, 'insufficient_scope'])
    const reader = await session(shop, { can: WEBHOOKS })
    assert.equal((await reader.post('/portal/api/webhooks', every)).status, 201)
  },
  LOCAL,
)
