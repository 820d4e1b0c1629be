/** `GET /admin/stream`, over a whole app on both databases. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { LiveHub, LiveSubscription } from '../../src/operate/monitoring/live-hub.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'
import { requestIdOf } from './admin.ts'
import { openLive } from './live.ts'

const adminKey = { customer: 'default', mode: 'live', scopes: ['admin'] } as const

eachService(
  'a request is in the stream, and after a reconnection once more',
  async (service, t) => {
    const key = await service.key(adminKey)
    const { url } = await service.app.listen()
    const query = '?topics=requests&mode=test'
    const live = await openLive(t, url, { key, query })
    const [first, second] = [
      await service.get('/api/v2/orders'),
      await service.get('/api/v2/users'),
    ]
    const earlier = await live.next('requests')
    const later = await live.next('requests')
    assert.deepEqual([earlier!.data.id, later!.data.id], [first, second].map(requestIdOf))
    assert.equal(earlier!.data.status, 200)
    live.close()
    const third = await service.get('/api/v2/orders/999')
    const resumed = await openLive(t, url, { key, query, after: earlier!.id! })
    const [again, last] = [await resumed.next('requests'), await resumed.next('requests')]
    assert.deepEqual([again!.data.id, last!.data.id], [second, third].map(requestIdOf))
  },
)

eachService(
  'attempts and first steps are in the stream',
  async (service, t) => {
    const key = await service.key(adminKey)
    const hook = await openHook(t)
    const { url } = await service.app.listen()
    const live = await openLive(t, url, { key, query: '?topics=deliveries,first_steps' })
    const steps = await live.next('first_steps')
    assert.deepEqual(steps!.data, { first_call: false, first_webhook: false })
    const { id } = (await register(service, hook)).body
    await pay(service, 1)
    await service.get('/api/v2/orders')
    const message = await live.next('deliveries')
    assert.equal(message!.data.webhook, id)
    assert.equal(message!.data.delivered, 1)
    const [attempt] = message!.data.attempts
    assert.equal(attempt.state, 'delivered')
    assert.equal(attempt.status, 200)
    const admin = service.as(key)
    const series = await admin.get(`/admin/series?metric=deliveries&webhook=${id}`)
    assert.deepEqual(series.body.totals.deliveries, { delivered: 1, failed: 0 })
    const again = await openLive(t, url, { key, query: '?topics=first_steps' })
    assert.deepEqual((await again.next('first_steps'))!.data, {
      first_call: true,
      first_webhook: true,
    })
  },
  LOCAL,
)

eachService('a revoked key ends its stream; bad parameters are 400', async (service, t) => {
  const key = await service.key(adminKey)
  const admin = service.as(await service.key(adminKey))
  const { url } = await service.app.listen()
  const live = await openLive(t, url, { key })
  await live.next('attention')
  const hint = `${key.slice(0, 8)}…${key.slice(-4)}`
  const keys = (await admin.get('/admin/keys?limit=100')).body.data
  const { id } = keys.find((row: { hint: string }) => row.hint === hint)
  assert.equal((await admin.delete(`/admin/keys/${id}`)).status, 204)
  assert.equal(await live.next('nothing'), undefined)
  for (const query of ['topics=x', 'what=1', 'customer=', 'warnings=1']) {
    assert.equal((await admin.get(`/admin/stream?${query}`)).status, 400, query)
  }
  const after = { 'last-event-id': 'x' }
  assert.equal((await admin.get('/admin/stream', after)).status, 400)
})

test('a slow reader misses messages and learns their number', () => {
  const hub = new LiveHub()
  const subscription = new LiveSubscription(new Set(['requests']), () => true)
  const leave = hub.add(subscription)
  for (let id = 0; id < 300; id++) hub.publish({ topic: 'requests', id, data: {} })
  hub.publish({ topic: 'attention', data: [] })
  const { messages, dropped } = subscription.take()
  assert.equal(messages.length, 256)
  assert.deepEqual(dropped, { requests: 44 })
  leave()
  assert.equal(hub.has('requests'), false)
})

eachService('a stream of requests with warnings leaves out the others', async (service, t) => {
  const key = await service.key(adminKey)
  const end = { deprecated_at: '2026-06-01', sunset_at: '2999-01-01' }
  assert.equal((await service.as(key).put('/admin/versions/v1', end)).status, 200)
  const { url } = await service.app.listen()
  const live = await openLive(t, url, { key, query: '?topics=requests&warnings=true' })
  await service.get('/api/v2/orders')
  const warned = await service.get('/api/v1/orders')
  const message = await live.next('requests')
  assert.deepEqual([message!.data.id, message!.data.warnings], [requestIdOf(warned), 1])
})
