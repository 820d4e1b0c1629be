/** §9.13: the receiver kit verifies deliveries of the service and handles each event once. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { eachService } from '../../../../test/rig/service.ts'
import { nodeReceiver } from '../../../receiver/src/node.ts'
import { memoryStore } from '../../../receiver/src/store.ts'
import { finishedLog, LOCAL, pay, register } from '../webhooks/hook.ts'

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
    t.after(() => server.close())
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
    const test = await service.post(`/webhooks/${id}/test`, { event_type: 'order.paid' })
    assert.equal(test.body.response_status, 400)
    assert.match(test.body.error, /signature_mismatch: it may have another secret/)
    assert.deepEqual(handled, ['payment.succeeded'])
  },
  LOCAL,
)
