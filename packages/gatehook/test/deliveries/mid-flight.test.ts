/**
 * §9.2, §9.12: a registration is switched off or deleted while twenty of its deliveries are under
 * way and more wait: what is under way ends as it ends, nothing else is sent.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { LOCAL, openHook, pay, register, settled } from '../webhooks/hook.ts'

const EVENTS = 30
const UNDER_WAY = 20
const WITHIN_MS = 10_000

/** Twenty under way to a receiver that answers when `open` is called, ten that wait. */
async function midFlight(service: TestApp, t: TestContext) {
  const hook = await openHook(t)
  const { id } = (await register(service, hook)).body as { id: string }
  let open = () => {}
  hook.holds = new Promise<void>((resolve) => void (open = resolve))
  for (let n = 0; n < EVENTS; n++) await pay(service, n)
  const { data } = (await service.get(`/webhooks/${id}/deliveries?limit=100`)).body
  const deliveries: string[] = data.map((one: { id: string }) => one.id)
  assert.equal(deliveries.length, EVENTS)
  await service.app.work()
  await hook.until(1 + UNDER_WAY)
  return { hook, id, open, deliveries }
}

/** Once another registration, told of later, got its event, the engine has heard all before. */
async function heard(service: TestApp, t: TestContext): Promise<void> {
  const witness = await openHook(t)
  await register(service, witness)
  await pay(service, EVENTS)
  await witness.until(2)
}

const statesOf = async ({ get }: TestApp, deliveries: readonly string[]) => {
  const replies = await Promise.all(deliveries.map((one) => get(`/deliveries/${one}`)))
  const counts: Record<string, number> = {}
  for (const { body } of replies) {
    const what = `${body.state} after ${body.attempts.length}`
    counts[what] = (counts[what] ?? 0) + 1
  }
  return counts
}

eachService(
  'switched off in mid-flight: the rest waits, and comes when it is on again',
  async (service, t) => {
    const { hook, id, open, deliveries } = await midFlight(service, t)
    assert.equal((await service.patch(`/webhooks/${id}`, { active: false })).status, 200)
    await heard(service, t)
    open()
    const states = () => statesOf(service, deliveries)
    const ended = (now: Record<string, number>) => now['delivered after 1'] === UNDER_WAY
    const wanted = { 'delivered after 1': UNDER_WAY, 'paused after 0': EVENTS - UNDER_WAY }
    assert.deepEqual(await eventually(states, ended, WITHIN_MS), wanted)
    assert.equal(hook.calls.length, 1 + UNDER_WAY)
    assert.equal((await service.patch(`/webhooks/${id}`, { active: true })).status, 200)
    await hook.until(2 + EVENTS)
    const log = await settled(service, id)
    assert.ok(log.every(({ state, attempts }) => state === 'delivered' && attempts.length === 1))
    assert.equal(new Set(hook.calls.map(({ event }) => event.id)).size, hook.calls.length)
  },
  LOCAL,
)

eachService(
  'deleted in mid-flight: what is under way is logged, the rest has failed',
  async (service, t) => {
    const { hook, id, open, deliveries } = await midFlight(service, t)
    assert.equal((await service.delete(`/webhooks/${id}`)).status, 204)
    await heard(service, t)
    open()
    const states = () => statesOf(service, deliveries)
    const ended = (now: Record<string, number>) => now['delivered after 1'] === UNDER_WAY
    const wanted = { 'delivered after 1': UNDER_WAY, 'failed after 0': EVENTS - UNDER_WAY }
    assert.deepEqual(await eventually(states, ended, WITHIN_MS), wanted)
    assert.equal(hook.calls.length, 1 + UNDER_WAY)
  },
  LOCAL,
)
