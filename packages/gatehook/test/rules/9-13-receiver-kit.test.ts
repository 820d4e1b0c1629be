/** §9.13: the receiver kit verifies deliveries of the service and handles each event once. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { nodeReceiver } from '../../../receiver/src/node.ts'
import { memoryStore } from '../../../receiver/src/store.ts'
import { decodeAttempts, encodeAttempt } from '../../src/outbound/deliveries/delivery.ts'
import { finishedLog, LOCAL, pay, register } from '../webhooks/hook.ts'

test('each code of the kit is explained in the error of an attempt', () => {
  const files = ['verify', 'delivery', 'node', 'fastify', 'receiver']
  const sources = files.map((name) =>
    readFileSync(new URL(`../../../receiver/src/${name}.ts`, import.meta.url), 'utf8'),
  )
  const text = sources.join('\n')
  const responses = [...text.matchAll(/refusal\(\d+, '([a-z_]+)'/g)]
  const failures = [...text.matchAll(/WebhookVerificationError\(\s*'([a-z_]+)'/g)]
  const codes = new Set([...responses, ...failures].map(([, code]) => code!))
  assert.ok(codes.size >= 9, [...codes].join())
  for (const code of [...codes, 'no_secret']) {
    const body = `{"error":"${code}"}`
    const outcome = { kind: 'answered', status: 400, headers: {}, body, durationMs: 1 } as const
    const attempt = encodeAttempt({ n: 1, at: 0, url: 'https://example.com/' }, outcome)
    const error = decodeAttempts(attempt)[0]?.error
    assert.ok(error?.startsWith(`the receiver answered 400; ${code}: `), `${code}: ${error}`)
  }
})

eachService(
  'the kit verifies, deduplicates and responds with the bodies of the reference',
  async (service, t) => {
    const handled: string[] = []
    const secrets = ['whsec_unknown']
    const onEvent = ({ type }: { type: string }) => void handled.push(type)
    const server = createServer((request, response) =>
      nodeReceiver({ secrets, store, onEvent, onError() {} })(request, response),
    )
    const store = memoryStore()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onEnd(t, () => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const { id, secret } = (await register(service, { url })).body
    await service.app.work()
    secrets[0] = secret
    await pay(service, 1)
    const [{ id: deliveryId }] = await finishedLog(service, id)
    const delivery = (await service.get(`/deliveries/${deliveryId}`)).body
    const [attempt] = delivery.attempts
    assert.deepEqual([attempt.status, attempt.response_body], [200, '{"received":true}'])
    await service.post(`/deliveries/${delivery.id}/resend`)
    assert.equal((await finishedLog(service, id))[0].attempts[1].status, 200)
    assert.deepEqual(handled, ['payment.succeeded'])
    secrets[0] = 'whsec_another'
    const sent = await service.post(`/webhooks/${id}/test`, { event_type: 'order.paid' })
    assert.equal(sent.body.response_status, 400)
    assert.match(sent.body.error, /signature_mismatch: it may have another secret/)
    assert.deepEqual(handled, ['payment.succeeded'])
  },
  LOCAL,
)
