/**
 * §9.8, §9.9 with the whole engine: a customer registers every hostile receiver beside a regular
 * one. The regular one gets every event, and the deliveries of the hostile ones end in the log.
 */
import assert from 'node:assert/strict'
import { hostile } from '../../packages/gatehook/test/transport/hostile.ts'
import { createReceiver, response } from '../../packages/gatehook/test/transport/receivers.ts'
import { finishedLog, openHook, pay, register } from '../../packages/gatehook/test/webhooks/hook.ts'
import { eachService } from '../rig/service.ts'

const EVENTS = 3
const TIMEOUT_MS = 10_000

const env = {
  GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
  GATEHOOK_WEBHOOK_TIMEOUT_MS: String(TIMEOUT_MS),
  GATEHOOK_WEBHOOK_SCHEDULE_S: '1',
}

interface Attempt {
  readonly status: number | null
  readonly error: string | null
  readonly response_body: string | null
}

eachService(
  'hostile receivers end in the log, and a regular one gets every event',
  async (service, t) => {
    const regular = await openHook(t)
    const registration = (await register(service, regular)).body
    const bad: { does: string; expected: number | string; id: string }[] = []
    for (const { does, expected, behaviour } of hostile) {
      const { url } = await createReceiver(t, (socket, _, request) => {
        if (/gatehook-event: webhook\.ping/i.test(request)) socket.write(response(''))
        else behaviour(socket)
      })
      const { status, body } = await register(service, { url })
      assert.equal(status, 201, does)
      bad.push({ does, expected, id: body.id })
    }
    await service.app.work()
    for (let n = 0; n < EVENTS; n++) await pay(service, n)
    await regular.until(1 + EVENTS)
    const delivered = await finishedLog(service, registration.id)
    assert.deepEqual(
      delivered.map(({ state, attempts }) => [state, attempts.length]),
      delivered.map(() => ['delivered', 1]),
    )
    for (const { does, expected, id } of bad) {
      const log = await finishedLog(service, id)
      assert.equal(log.length, EVENTS, does)
      for (const { state, attempts } of log) {
        const ending = expected === 200 ? ['delivered', 1] : ['exhausted', 2]
        assert.deepEqual([state, attempts.length], ending, does)
        for (const { status, error, response_body: body } of attempts as Attempt[]) {
          assert.equal(status, typeof expected === 'number' ? expected : null, does)
          assert.equal(error === null, typeof expected === 'number', does)
          assert.ok((body ?? '').length <= 16_384, does)
        }
      }
    }
    assert.equal((await service.get('/readyz')).status, 200)
  },
  { env },
)
