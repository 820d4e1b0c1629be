/** §9.5: each POST has three signatures and its ids; the body is identical on every attempt. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { verify } from '../../../receiver/src/receiver.ts'
import { finishedLog, LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

const QUICK = { env: { ...LOCAL.env, GATEHOOK_WEBHOOK_SCHEDULE_S: '1' } }

eachService(
  'every attempt has all headers, and each scheme verifies',
  async (service, t) => {
    const hook = await openHook(t)
    const { id, secret } = (await register(service, hook)).body
    hook.answers = () => 500
    await service.app.work()
    const event = (await pay(service, 7)).body
    const [delivery] = await finishedLog(service, id)
    const [ping, first, second] = hook.calls
    assert.equal(hook.calls.length, 3)
    assert.equal(ping!.headers['gatehook-event'], 'webhook.ping')
    assert.equal(second!.body, first!.body)
    assert.deepEqual(first!.event, event)
    for (const [at, { headers, body }] of [first!, second!].entries()) {
      assert.equal(headers['content-type'], 'application/json')
      assert.match(headers['user-agent']!, /^Gatehook-Webhooks\//)
      assert.equal(headers['gatehook-event'], 'payment.succeeded')
      assert.equal(headers['gatehook-delivery'], delivery.id)
      assert.equal(headers['gatehook-attempt'], String(at + 1))
      assert.equal(headers['webhook-id'], event.id)
      const time = /^t=(\d+),v1=[0-9a-f]{64}$/.exec(String(headers['gatehook-signature']))![1]
      assert.equal(headers['webhook-timestamp'], time)
      const sent = Math.floor(Date.parse(delivery.attempts[at].at) / 1000)
      assert.ok(Math.abs(Number(time) - sent) <= 1, 't is the attempt’s time')
      const pick = (names: RegExp) =>
        Object.fromEntries(Object.entries(headers).filter(([name]) => names.test(name)))
      const schemes = [pick(/^x-hub/), pick(/^gatehook-sig/), pick(/^webhook-/)]
      const rules = { body, secrets: [secret], schemes: ['A', 'B', 'standard'] } as const
      const results = await Promise.all(
        schemes.map((part) => verify({ ...rules, headers: part as never })),
      )
      assert.deepEqual(
        results.map(({ scheme }) => scheme),
        ['A', 'B', 'standard'],
      )
      assert.deepEqual(results[1]!.event, event)
    }
  },
  QUICK,
)
