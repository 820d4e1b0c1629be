/** §9.1: pings and test deliveries of a customer are limited to 60 a minute. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { type Hook, LOCAL, openHook, register } from '../webhooks/hook.ts'

/** However slow the machine is, all requests are in one minute. */
const MINUTE = { ...LOCAL, clock: { now: () => Date.UTC(2026, 10, 1), elapsedMs: () => 0 } }

/** Repeats a request until 429; returns how many succeeded before. */
async function until429(attempt: () => Promise<{ status: number; headers: object }>) {
  for (let count = 0; count < 100; count++) {
    const { status, headers } = await attempt()
    if (status !== 429) continue
    const wait = Number((headers as Record<string, string>)['retry-after'])
    assert.ok(wait >= 1 && wait <= 60, String(wait))
    return count
  }
  assert.fail('no response was 429')
}

const registerAndDelete = (service: TestApp, hook: Hook) => async () => {
  const response = await register(service, hook)
  if (response.status === 201) await service.delete(`/webhooks/${response.body.id}`)
  return response
}

eachService(
  'the 61st registration in a minute is 429, without a connection, deleted ones included',
  async (service, t) => {
    const hook = await openHook(t)
    hook.answers = () => 500
    // A request that fails validation does not count.
    assert.equal((await register(service, { url: 'https://[::1]/' }, { events: [] })).status, 422)
    assert.equal(await until429(registerAndDelete(service, hook)), 60)
    assert.equal(hook.calls.length, 60)
    const live = service.as(await service.key({ mode: 'live' }))
    assert.equal((await register(live, hook)).status, 429)
    const { body } = await service.get('/webhooks?pagination=page')
    assert.deepEqual([body.total, hook.calls.length], [0, 60])
  },
  MINUTE,
)

eachService(
  'new URLs and `active: true` share a limit of 60; other changes have none',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    const path = `/webhooks/${id}`
    let count = 0
    const change = async () => {
      if (count++ % 2 === 0) return service.patch(path, { url: `${hook.url}?${count}` })
      await service.patch(path, { active: false })
      return service.patch(path, { active: true })
    }
    assert.equal(await until429(change), 60)
    assert.equal(hook.calls.length, 61)
    assert.equal((await service.patch(path, { description: 'still' })).status, 200)
    assert.equal((await register(service, hook)).status, 201)
  },
  MINUTE,
)

eachService(
  'test deliveries of all registrations share a limit of 60',
  async (service, t) => {
    const hook = await openHook(t)
    const responses = await Promise.all(Array.from({ length: 10 }, () => register(service, hook)))
    let count = 0
    const test = () => {
      const { id } = responses[count++ % responses.length]!.body
      return service.post(`/webhooks/${id}/test`, { event_type: 'order.paid' })
    }
    assert.equal(await until429(test), 60)
    assert.equal(hook.calls.length, 70)
  },
  MINUTE,
)
