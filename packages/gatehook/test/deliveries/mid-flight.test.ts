/**
 * §9.2, §9.12: a registration is disabled or deleted while 20 of its attempts are in flight. They
 * record their results; no other attempt starts.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { finishedLog, HOLDING, openHook, pay, register } from '../webhooks/hook.ts'

const EVENTS = 30
const IN_FLIGHT = 20

/** Starts 20 attempts, which the receiver holds until `open`; 10 deliveries wait. */
async function startAttempts(service: TestApp, t: TestContext) {
  const hook = await openHook(t)
  const { id } = (await register(service, hook)).body as { id: string }
  let open = () => {}
  hook.holds = new Promise<void>((resolve) => void (open = resolve))
  for (let n = 0; n < EVENTS; n++) await pay(service, n)
  const { data } = (await service.get(`/webhooks/${id}/deliveries?limit=100`)).body
  const deliveries: string[] = data.map(({ id }: { id: string }) => id)
  assert.equal(deliveries.length, EVENTS)
  await service.app.work()
  await hook.until(1 + IN_FLIGHT)
  return { hook, id, open, deliveries }
}

/** Waits until the engine has applied earlier changes: it then delivers to a new registration. */
async function untilApplied(service: TestApp, t: TestContext): Promise<void> {
  const witness = await openHook(t)
  await register(service, witness)
  await pay(service, EVENTS)
  await witness.until(2)
}

const statesOf = async ({ get }: TestApp, deliveries: readonly string[]) => {
  const replies = await Promise.all(deliveries.map((id) => get(`/deliveries/${id}`)))
  const counts: Record<string, number> = {}
  for (const { body } of replies) {
    const outcome = `${body.state} after ${body.attempts.length}`
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  return counts
}

eachService(
  'disabling records the attempts in flight; the other deliveries wait until activation',
  async (service, t) => {
    const { hook, id, open, deliveries } = await startAttempts(service, t)
    assert.equal((await service.patch(`/webhooks/${id}`, { active: false })).status, 200)
    await untilApplied(service, t)
    open()
    const states = () => statesOf(service, deliveries)
    const ended = (now: Record<string, number>) => now['delivered after 1'] === IN_FLIGHT
    const expected = { 'delivered after 1': IN_FLIGHT, 'paused after 0': EVENTS - IN_FLIGHT }
    assert.deepEqual(await eventually(states, ended), expected)
    assert.equal(hook.calls.length, 1 + IN_FLIGHT)
    assert.equal((await service.patch(`/webhooks/${id}`, { active: true })).status, 200)
    await hook.until(2 + EVENTS)
    const log = await finishedLog(service, id)
    assert.ok(log.every(({ state, attempts }) => state === 'delivered' && attempts.length === 1))
    assert.equal(new Set(hook.calls.map(({ event }) => event.id)).size, hook.calls.length)
  },
  HOLDING,
)

eachService(
  'deleting records the attempts in flight; the other deliveries fail',
  async (service, t) => {
    const { hook, id, open, deliveries } = await startAttempts(service, t)
    assert.equal((await service.delete(`/webhooks/${id}`)).status, 204)
    await untilApplied(service, t)
    open()
    const states = () => statesOf(service, deliveries)
    const ended = (now: Record<string, number>) => now['delivered after 1'] === IN_FLIGHT
    const expected = { 'delivered after 1': IN_FLIGHT, 'failed after 0': EVENTS - IN_FLIGHT }
    assert.deepEqual(await eventually(states, ended), expected)
    assert.equal(hook.calls.length, 1 + IN_FLIGHT)
  },
  HOLDING,
)
