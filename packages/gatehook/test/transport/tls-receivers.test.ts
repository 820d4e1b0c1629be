/** §9.5: receivers are verified, with the usual authorities and those of `GATEHOOK_WEBHOOK_CA`. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import type { Outcome } from '../../src/transport/attempt.ts'
import type { HostAddress } from '../../src/transport/resolve-host.ts'
import { answer, authority, type ReceiverOptions, receiver, transport } from './receivers.ts'

const here = async (): Promise<HostAddress[]> => [{ address: '127.0.0.1', family: 4 }]
const said = (outcome: Outcome) =>
  outcome.kind === 'answered' ? outcome.status : `${outcome.reason}: ${outcome.message}`

async function meet(t: TestContext, tls: ReceiverOptions['tls'], ca?: string) {
  const it = await receiver(t, (socket) => socket.write(answer('')), { tls })
  const { post } = transport(t, { ca, resolve: here })
  return { ...it, post, named: `https://receiver.test:${it.port}/` }
}

test('a certificate of an added authority is good, by name and by address', async (t) => {
  const { post, url, named, sockets, requests } = await meet(t, 'good', authority)
  assert.equal(said(await post(named)), 200)
  assert.equal(said(await post(url)), 200)
  assert.equal(said(await post(named)), 200)
  assert.deepEqual([sockets.length, requests.length], [2, 3])
  assert.match((sockets[0] as TLSSocket).getProtocol()!, /^TLSv1\.[23]$/)
})

const untrusted = 'tls: the certificate is not signed by an authority we trust'
const bad: readonly (readonly [ReceiverOptions['tls'], string | undefined, string])[] = [
  ['good', undefined, untrusted],
  ['self-signed', authority, untrusted],
  ['other', authority, 'tls: the certificate is for another host'],
  ['expired', authority, 'tls: the certificate has expired'],
]
for (const [tls, ca, sentence] of bad) {
  test(`${tls}, ${ca ? 'authority known' : 'authority unknown'}: ${sentence}`, async (t) => {
    const { post, named, requests } = await meet(t, tls, ca)
    assert.equal(said(await post(named)), sentence)
    assert.equal(requests.length, 0, 'nothing was sent')
  })
}

test('verification cannot be switched off from outside', async (t) => {
  const { post, named } = await meet(t, 'self-signed', authority)
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.after(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED)
  assert.equal(said(await post(named)), untrusted)
})

test('no TLS where https was promised, and nothing at all', async (t) => {
  const plain = await receiver(t, () => undefined, { greeting: answer('') })
  const { post } = transport(t, { ca: authority, resolve: here })
  assert.equal(said(await post(`https://receiver.test:${plain.port}/`)), 'tls: TLS failed')
  const silent = await receiver(t, () => undefined)
  const quick = transport(t, { resolve: here, timeoutMs: 150 })
  const outcome = await quick.post(`https://receiver.test:${silent.port}/`)
  assert.equal(said(outcome), 'timeout: no complete answer within the time')
  assert.deepEqual(quick.connections(), { open: 0, idle: 0 })
})

test('a stale TLS connection is replaced, too', async (t) => {
  const it = await receiver(
    t,
    (socket, n) => {
      if (n === 1) socket.write(answer(''))
      else socket.end()
    },
    { tls: 'good' },
  )
  const { post } = transport(t, { ca: authority })
  assert.deepEqual([said(await post(it.url)), said(await post(it.url))], [200, 200])
  assert.deepEqual([it.sockets.length, it.requests.length], [2, 3])
})

test('the proxies of the environment are not for deliveries', async (t) => {
  const { post, named } = await meet(t, 'good', authority)
  const proxy = await receiver(t, (socket) => socket.destroy())
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'NODE_USE_ENV_PROXY']) {
    process.env[name] = name.startsWith('NODE') ? '1' : proxy.url
    t.after(() => delete process.env[name])
  }
  assert.equal(said(await post(named)), 200)
  assert.equal(proxy.sockets.length, 0)
})
