/** §1.1: registrations, deliveries and events of another customer or mode are 404. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { createCustomer } from '../../src/identity/access/customers.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

eachService(
  'registrations and deliveries of others are 404 by every method, and in no list',
  async ({ app, key, as }, t) => {
    const hook = await openHook(t)
    const actor = { kind: 'cli', id: 'test' } as const
    const other = await createCustomer(app.administration, { name: 'Other' }, actor)
    const owner = as(await key())
    const { id, url } = (await register(owner, hook)).body
    await owner.patch(`/webhooks/${id}`, { active: false })
    await pay(owner, 1)
    const [delivery] = (await owner.get(`/webhooks/${id}/deliveries`)).body.data
    const otherCallers = [await key({ customer: other.id }), await key({ mode: 'live' })].map(as)
    const since = '2020-01-01T00:00:00Z'
    const requests: [string, string, unknown?][] = [
      ['GET', `/webhooks/${id}`],
      ['HEAD', `/webhooks/${id}`],
      ['PATCH', `/webhooks/${id}`, { description: 'changed' }],
      ['DELETE', `/webhooks/${id}`],
      ['POST', `/webhooks/${id}/test`, { event_type: 'order.paid' }],
      ['POST', `/webhooks/${id}/rotate-secret`],
      ['POST', `/webhooks/${id}/recover`, { since }],
      ['POST', `/webhooks/${id}/replay`, { since }],
      ['GET', `/webhooks/${id}/deliveries`],
      ['GET', `/deliveries/${delivery.id}`],
      ['POST', `/deliveries/${delivery.id}/resend`],
      ['GET', `/events/${delivery.event_id}`],
    ]
    for (const otherCaller of otherCallers) {
      for (const [method, path, body] of requests) {
        assert.equal((await otherCaller.send(method, path, body)).status, 404, `${method} ${path}`)
      }
      for (const style of ['cursor', 'offset', 'page', 'hypermedia']) {
        assert.deepEqual((await otherCaller.get(`/webhooks?pagination=${style}`)).body.data, [])
      }
      // Events of the other caller are not delivered to the owner's registration.
      await pay(otherCaller, 2)
      const registration = (await register(otherCaller, hook)).body
      assert.equal(registration.url, url)
      assert.equal((await otherCaller.get('/webhooks?pagination=page')).body.total, 1)
    }
    assert.equal((await owner.get(`/webhooks/${id}/deliveries?pagination=page`)).body.total, 1)
    const after = (await owner.get(`/webhooks/${id}`)).body
    assert.deepEqual([after.description, after.active], [null, false])
    assert.equal(hook.calls.length, 3)
    const { next_cursor: cursor } = (await owner.get('/webhooks?limit=1')).body
    assert.equal(cursor, null)
  },
  LOCAL,
)

eachService(
  'one idempotency key in two modes creates two registrations',
  async ({ key, as }, t) => {
    const hook = await openHook(t)
    const headers = { 'idempotency-key': 'one-key' }
    const [test, live] = [as(await key()), as(await key({ mode: 'live' }))]
    const first = await register(test, hook, {}, headers)
    const second = await register(live, hook, {}, headers)
    assert.deepEqual([first.status, second.status], [201, 201])
    assert.notEqual(first.body.secret, second.body.secret)
  },
  LOCAL,
)
