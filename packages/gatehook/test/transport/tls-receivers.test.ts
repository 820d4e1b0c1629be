/** §9.5: certificates are verified against system authorities and `GATEHOOK_WEBHOOK_CA`. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import type { Outcome } from '../../src/outbound/transport/attempt.ts'
import type { HostAddress } from '../../src/outbound/transport/resolve-host.ts'
import {
  authority,
  createReceiver,
  createTestTransport,
  type ReceiverOptions,
  response,
} from './receivers.ts'

const resolveLocal = async (): Promise<HostAddress[]> => [{ address: '127.0.0.1', family: 4 }]
const describe = (outcome: Outcome) =>
  outcome.kind === 'answered' ? outcome.status : `${outcome.reason}: ${outcome.message}`

async function connectTo(t: TestContext, tls: ReceiverOptions['tls'], ca?: string) {
  const local = await createReceiver(t, (socket) => socket.write(response('')), { tls })
  const { post } = createTestTransport(t, { ca, resolve: resolveLocal })
  return { ...local, post, named: `https://receiver.test:${local.port}/` }
}

test('a certificate of an added authority is valid, by name and by address', async (t) => {
  const { post, url, named, sockets, requests } = await connectTo(t, 'good', authority)
  assert.equal(describe(await post(named)), 200)
  assert.equal(describe(await post(url)), 200)
  assert.equal(describe(await post(named)), 200)
  assert.deepEqual([sockets.length, requests.length], [2, 3])
  assert.match((sockets[0] as TLSSocket).getProtocol()!, /^TLSv1\.[23]$/)
})

const untrusted = 'tls: the certificate is not signed by a trusted authority'
const bad: readonly (readonly [ReceiverOptions['tls'], string | undefined, string])[] = [
  ['good', undefined, untrusted],
  ['self-signed', authority, untrusted],
  ['other', authority, 'tls: the certificate is for another host'],
  ['expired', authority, 'tls: the certificate has expired'],
]
for (const [tls, ca, sentence] of bad) {
  test(`${tls}, ${ca ? 'with' : 'without'} the authority: ${sentence}`, async (t) => {
    const { post, named, requests } = await connectTo(t, tls, ca)
    assert.equal(describe(await post(named)), sentence)
    assert.equal(requests.length, 0, 'no request was sent')
  })
}

test('NODE_TLS_REJECT_UNAUTHORIZED does not disable verification', async (t) => {
  const { post, named } = await connectTo(t, 'self-signed', authority)
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  onEnd(t, () => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED)
  assert.equal(describe(await post(named)), untrusted)
})

test('a receiver without TLS fails, and a silent one times out', async (t) => {
  const plain = await createReceiver(t, () => undefined, { greeting: response('') })
  const { post } = createTestTransport(t, { ca: authority, resolve: resolveLocal })
  assert.equal(describe(await post(`https://receiver.test:${plain.port}/`)), 'tls: TLS failed')
  const silent = await createReceiver(t, () => undefined)
  const quick = createTestTransport(t, { resolve: resolveLocal, timeoutMs: 150 })
  const outcome = await quick.post(`https://receiver.test:${silent.port}/`)
  assert.equal(describe(outcome), 'timeout: no complete response within the time limit')
  assert.deepEqual(quick.connections(), { open: 0, idle: 0 })
})

test('a request on a stale TLS connection is resent', async (t) => {
  const local = await createReceiver(
    t,
    (socket, n) => {
      if (n === 1) socket.write(response(''))
      else socket.end()
    },
    { tls: 'good' },
  )
  const { post } = createTestTransport(t, { ca: authority })
  assert.deepEqual([describe(await post(local.url)), describe(await post(local.url))], [200, 200])
  assert.deepEqual([local.sockets.length, local.requests.length], [2, 3])
})

test('deliveries ignore the proxy variables of the environment', async (t) => {
  const { post, named } = await connectTo(t, 'good', authority)
  const proxy = await createReceiver(t, (socket) => socket.destroy())
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'NODE_USE_ENV_PROXY']) {
    process.env[name] = name.startsWith('NODE') ? '1' : proxy.url
    onEnd(t, () => delete process.env[name])
  }
  assert.equal(describe(await post(named)), 200)
  assert.equal(proxy.sockets.length, 0)
})
