/** §9.1: what a customer makes the server POST outside of the queue is limited to 60 a minute. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { type Hook, LOCAL, openHook, register } from '../webhooks/hook.ts'

/** Repeats until 429; gives how often it went through. */
async function until429(attempt: () => Promise<{ status: number; headers: object }>) {
  for (let count = 0; count < 100; count++) {
    const { status, headers } = await attempt()
    if (status !== 429) continue
    const wait = Number((headers as Record<string, string>)['retry-after'])
    assert.ok(wait >= 1 && wait <= 60, String(wait))
    return count
  }
  assert.fail('it was never limited')
}

const registerAndDelete = (service: TestApp, hook: Hook) => async () => {
  const made = await register(service, hook)
  if (made.status === 201) await service.delete(`/webhooks/${made.body.id}`)
  return made
}

eachService(
  'register and delete in a loop: 60 a minute, then 429 without a connection',
  async (service, t) => {
    const hook = await openHook(t)
    hook.answers = () => 500
    // A refused request counts nothing.
    assert.equal((await register(service, { url: 'https://[::1]/' }, { events: [] })).status, 422)
    assert.equal(await until429(registerAndDelete(service, hook)), 60)
    assert.equal(hook.calls.length, 60)
    const live = service.as(await service.key({ mode: 'live' }))
    assert.equal((await register(live, hook)).status, 429)
    const { body } = await service.get('/webhooks?pagination=page')
    assert.deepEqual([body.total, hook.calls.length], [0, 60])
  },
  LOCAL,
)

eachService(
  'a new URL and `active: true` ping as often at most; other changes are not limited',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    const path = `/webhooks/${id}`
    let turn = 0
    const change = async () => {
      if (turn++ % 2 === 0) return service.patch(path, { url: `${hook.url}?${turn}` })
      await service.patch(path, { active: false })
      return service.patch(path, { active: true })
    }
    assert.equal(await until429(change), 60)
    assert.equal(hook.calls.length, 61)
    assert.equal((await service.patch(path, { description: 'still' })).status, 200)
    assert.equal((await register(service, hook)).status, 201)
  },
  LOCAL,
)

eachService(
  'tests of many registrations count together',
  async (service, t) => {
    const hook = await openHook(t)
    const made = await Promise.all(Array.from({ length: 10 }, () => register(service, hook)))
    let turn = 0
    const test = () => {
      const { id } = made[turn++ % made.length]!.body
      return service.post(`/webhooks/${id}/test`, { event_type: 'order.paid' })
    }
    assert.equal(await until429(test), 60)
    assert.equal(hook.calls.length, 70)
  },
  LOCAL,
)
