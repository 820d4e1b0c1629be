/** §9.4: during a rotation the old and the new secret sign until the overlap ends. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { eachService } from '../../../../test/rig/service.ts'
import { LOCAL, openHook, type ReceivedPost, register } from '../webhooks/hook.ts'

const CLOCK = { env: { ...LOCAL.env, GATEHOOK_TEST_CLOCK: '1' } }

/** Returns, by index, which of the secrets signed in each scheme. */
function signers({ headers, body }: ReceivedPost, secrets: readonly string[]) {
  const b = String(headers['gatehook-signature'])
  const at = /^t=(\d+)/.exec(b)![1]
  const hmac = (secret: string, text: string) =>
    createHmac('sha256', secret).update(text).digest('hex')
  const indexesOf = (signed: (secret: string) => boolean) =>
    secrets.flatMap((secret, n) => (signed(secret) ? [n] : []))
  return {
    a: indexesOf((secret) => headers['x-hub-signature-256'] === `sha256=${hmac(secret, body)}`),
    b: indexesOf((secret) => b.includes(`v1=${hmac(secret, `${at}.${body}`)}`)),
    standard: String(headers['webhook-signature']).split(' ').length,
  }
}

eachService(
  'old and new secret sign until the overlap ends, then the new one alone',
  async ({ app, post }, t) => {
    const hook = await openHook(t)
    const registration = (await register({ post }, hook)).body
    const path = `/webhooks/${registration.id}`
    const test = async () => {
      assert.equal((await post(`${path}/test`, { event_type: 'order.paid' })).body.delivered, true)
      return hook.calls.at(-1)!
    }
    const rotated = await post(`${path}/rotate-secret`, { overlap_seconds: 3600 })
    assert.equal(rotated.status, 200)
    assert.equal(rotated.body.id, registration.id)
    assert.equal(rotated.headers['cache-control'], 'no-store')
    const secrets = [registration.secret, rotated.body.secret]
    assert.equal(new Set(secrets).size, 2)
    assert.deepEqual(signers(await test(), secrets), { a: [0], b: [0, 1], standard: 2 })
    await app.clock!.set({ advance_s: 3601 }, { kind: 'cli', id: 'test' })
    assert.deepEqual(signers(await test(), secrets), { a: [1], b: [1], standard: 1 })
  },
  CLOCK,
)

eachService(
  'at most two old secrets are live; force drops the oldest, overlap 0 drops all',
  async ({ post }, t) => {
    const hook = await openHook(t)
    const registration = (await register({ post }, hook)).body
    const path = `/webhooks/${registration.id}`
    const secrets = [registration.secret]
    const rotate = async (body?: unknown) => {
      const reply = await post(`${path}/rotate-secret`, body)
      if (reply.status === 200) secrets.push(reply.body.secret)
      return reply
    }
    const signed = async () => {
      await post(`${path}/test`, { event_type: 'order.paid' })
      return signers(hook.calls.at(-1)!, secrets)
    }
    await rotate()
    await rotate({})
    const third = await rotate()
    assert.deepEqual([third.status, third.body.error], [409, 'rotation_in_progress'])
    assert.deepEqual(await signed(), { a: [0], b: [0, 1, 2], standard: 3 })
    assert.equal((await rotate({ force: true })).status, 200)
    assert.deepEqual(await signed(), { a: [1], b: [1, 2, 3], standard: 3 })
    assert.equal((await rotate({ overlap_seconds: 0 })).status, 200)
    assert.deepEqual(await signed(), { a: [4], b: [4], standard: 1 })
  },
  LOCAL,
)

eachService(
  'invalid input is 422; an idempotent replay returns the same secret',
  async ({ post }, t) => {
    const hook = await openHook(t)
    const path = `/webhooks/${(await register({ post }, hook)).body.id}/rotate-secret`
    for (const overlap_seconds of [-1, 604_801, 1.5, '60', null]) {
      assert.equal((await post(path, { overlap_seconds })).status, 422, String(overlap_seconds))
    }
    assert.equal((await post(path, { force: 'yes' })).status, 422)
    assert.equal((await post('/webhooks/wh_x/rotate-secret')).status, 404)
    const headers = { 'idempotency-key': 'rotate-1' }
    const [first, second] = [await post(path, {}, headers), await post(path, {}, headers)]
    assert.deepEqual(second.body, first.body)
    assert.equal(second.headers['idempotent-replayed'], 'true')
  },
  LOCAL,
)
