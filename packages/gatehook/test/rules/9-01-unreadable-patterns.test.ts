/**
 * §9.1: a pattern of which the creator may read no type is 403 with the scopes; of one that covers
 * some, `_warnings` names the types that do not come. The console gives the reason at the event.
 */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

const keyOf = async (service: TestApp, ...scopes: string[]) =>
  service.as(await service.key({ scopes }))

interface UnreadableEvents {
  readonly type: string
  readonly message: string
  readonly event_types: readonly string[]
}

/** Returns the types of the warning of a response; undefined without it. */
function unreadableTypes({ body }: { body: { _warnings?: UnreadableEvents[] } }) {
  const [warning, ...others] = body._warnings ?? []
  assert.deepEqual(others, [])
  if (!warning) return undefined
  assert.equal(warning.type, 'unreadable_events')
  for (const type of warning.event_types) assert.ok(warning.message.includes(type), type)
  return warning.event_types
}

eachService(
  'a pattern that covers no readable type is 403 with its scopes, at every entry point',
  async (service, t) => {
    const hook = await openHook(t)
    const narrow = await keyOf(service, 'webhooks:write', 'orders:read')
    const writer = await keyOf(service, 'webhooks:write')
    const { id } = (await register(narrow, hook, { events: ['order.*'] })).body
    const cases: [typeof narrow, string[], string[]][] = [
      [narrow, ['user.*'], ['users:read']],
      [narrow, ['order.*', 'user.*'], ['users:read']],
      [narrow, ['*', 'webhook.*'], ['webhooks:read']],
      [narrow, ['token.*'], ['keys:read']],
      [writer, ['*'], ['events:read', 'keys:read', 'orders:read', 'users:read', 'webhooks:read']],
    ]
    for (const [caller, events, scopes] of cases) {
      const since = '2020-01-01'
      const replies = [
        await register(caller, hook, { events }),
        await caller.patch(`/webhooks/${id}`, { events }),
        await caller.post(`/webhooks/${id}/replay`, { since, event_types: events }),
      ]
      for (const { status, body } of replies) {
        assert.deepEqual([status, body.error], [403, 'insufficient_scope'], String(events))
        for (const scope of scopes) assert.ok(body.message.includes(scope), body.message)
      }
    }
    assert.equal(hook.calls.length, 1, 'no connection for a rejected registration')
    assert.deepEqual((await service.get(`/webhooks/${id}`)).body.events, ['order.*'])
  },
  LOCAL,
)

eachService(
  'a pattern that covers some readable types is accepted with a warning, at POST and PATCH',
  async (service, t) => {
    const hook = await openHook(t)
    const all = await register(service, hook, { events: ['*'] })
    assert.deepEqual([all.status, unreadableTypes(all)], [201, undefined])
    const narrow = await keyOf(service, 'webhooks:write', 'orders:read', 'events:read')
    const key = { 'idempotency-key': 'register-once' }
    const responses = [
      await register(narrow, hook, { events: ['*'] }, key),
      await register(narrow, hook, { events: ['*'] }, key),
    ]
    const { id } = responses[0]!.body
    responses.push(await narrow.patch(`/webhooks/${id}`, { events: ['*', 'order.paid'] }))
    for (const response of responses) {
      assert.equal(response.body.id, id)
      const types = unreadableTypes(response)!
      assert.ok(types.includes('user.created') && types.includes('key.created'))
      assert.ok(!types.some((type) => /^(order|payment)\./.test(type)), String(types))
    }
    const readable = await narrow.patch(`/webhooks/${id}`, { events: ['order.*'] })
    assert.deepEqual([readable.status, unreadableTypes(readable)], [200, undefined])
    assert.equal(
      (await narrow.patch(`/webhooks/${id}`, { active: true })).body._warnings,
      undefined,
    )
  },
  LOCAL,
)

eachService(
  'the event of a type names the registrations that may not read it',
  async (service, t) => {
    const hook = await openHook(t)
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const narrow = await keyOf(service, 'webhooks:write', 'orders:read')
    const events = ['*']
    const { id, url } = (await register(narrow, hook, { events })).body
    await register(narrow, hook, { events: ['order.*'] })
    const { id: eventId } = (await pay(service, 1)).body
    const path = `/admin/events/${eventId}?expand=deliveries`
    const { deliveries } = (await admin.get(path)).body
    assert.deepEqual([deliveries.data, deliveries.total], [[], 0])
    assert.deepEqual(deliveries.named_by, [{ webhook_id: id, url, lacks: 'events:read' }])
    const later = (await register(service, hook, { events })).body
    assert.deepEqual((await admin.get(path)).body.deliveries.named_by, [
      { webhook_id: id, url, lacks: 'events:read' },
      { webhook_id: later.id, url, lacks: null },
    ])
  },
  LOCAL,
)
