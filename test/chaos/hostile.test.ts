/**
 * §9.8, §9.9 with the whole engine: every hostile receiver there is, registered beside a polite one
 * by the same customer. The polite one gets everything, and each hostile one ends in the log.
 */
import assert from 'node:assert/strict'
import { hostile } from '../../packages/gatehook/test/transport/hostile.ts'
import { createReceiver, response } from '../../packages/gatehook/test/transport/receivers.ts'
import { openHook, pay, register, settled } from '../../packages/gatehook/test/webhooks/hook.ts'
import { eachService } from '../rig/service.ts'

const EVENTS = 3
const TIMEOUT_MS = 1_500

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
  'hostile receivers end in the log, and a polite one gets all',
  async (service, t) => {
    const polite = await openHook(t)
    const good = (await register(service, polite)).body
    const bad: { does: string; expected: number | string; id: string }[] = []
    for (const { does, expected, behaviour } of hostile) {
      const { url } = await createReceiver(t, (socket, _, request) => {
        if (/gatehook-event: webhook\.ping/i.test(request)) socket.write(response(''))
        else behaviour(socket)
      })
      const made = await register(service, { url })
      assert.equal(made.status, 201, does)
      bad.push({ does, expected, id: made.body.id })
    }
    await service.app.work()
    for (let n = 0; n < EVENTS; n++) await pay(service, n)
    await polite.until(1 + EVENTS)
    const delivered = await settled(service, good.id)
    assert.deepEqual(
      delivered.map(({ state, attempts }) => [state, attempts.length]),
      delivered.map(() => ['delivered', 1]),
    )
    for (const { does, expected, id } of bad) {
      const log = await settled(service, id)
      assert.equal(log.length, EVENTS, does)
      for (const { state, attempts } of log) {
        const wanted = expected === 200 ? ['delivered', 1] : ['exhausted', 2]
        assert.deepEqual([state, attempts.length], wanted, does)
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
