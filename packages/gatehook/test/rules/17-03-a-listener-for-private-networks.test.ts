/**
 * §17.3: `GATEHOOK_INTERNAL` opens a second, plain listener: the marked methods of the route table,
 * for any Host, and nothing else.
 */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { ConfigError, loadConfig } from '../../src/platform/config/config.ts'
import { engineRoutes } from '../../src/route-table.ts'

const SERVED = [
  'GET /.well-known/assertion-jwks.json',
  'GET /.well-known/jwks.json',
  'GET /healthz',
  'GET /metrics',
  'GET /readyz',
  'POST /events',
  'POST /keys/verify',
  'POST /oauth/introspect',
]

const INTERNAL = {
  env: {
    GATEHOOK_INTERNAL: '127.0.0.1:0',
    GATEHOOK_PUBLIC_URL: 'https://api.example.com',
    GATEHOOK_DRAIN_DELAY_S: '0',
    // They require a loopback GATEHOOK_HOST, whatever the other address is.
    GATEHOOK_TEST_CLOCK: '1',
    GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
    GATEHOOK_TRUST_PROXY: '127.0.0.0/8',
  },
}

interface Sent {
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, unknown>>
}

/** Sends a request with any Host, which `fetch` would replace. */
const send = (
  base: string,
  [method, path]: readonly [string, string],
  { headers = {}, body = '' }: { headers?: Record<string, string>; body?: string } = {},
): Promise<Sent> =>
  new Promise((resolve, reject) => {
    const sent = request(base + path, { method, headers, agent: false }, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve({ status: response.statusCode!, text, headers: response.headers })
    })
    sent.on('error', reject).end(body)
  })

async function listenInternally({ app }: TestApp): Promise<{ url: string; internalUrl: string }> {
  const { url, internalUrl } = await app.listen()
  return { url, internalUrl: internalUrl! }
}

test('the mark of the route table names the operations of the listener', () => {
  const marked = engineRoutes.filter(({ isInternal }) => isInternal)
  assert.deepEqual(marked.map(({ method, path }) => `${method} ${path}`).sort(), SERVED)
})

eachService(
  'the listener serves the marked methods for any Host, and 404 or 405 for each other route',
  async (service) => {
    const { internalUrl } = await listenInternally(service)
    const headers = { host: 'gatehook.internal:1' }
    for (const { method, path, isInternal } of engineRoutes) {
      const { status } = await send(internalUrl, [method, path.replaceAll(/[:*]/g, 'x')], {
        headers,
      })
      const hasPath = SERVED.some((name) => name.endsWith(` ${path}`))
      if (isInternal) assert.ok(![403, 404, 405, 421].includes(status), `${method} ${path}`)
      else assert.equal(status, hasPath ? 405 : 404, `${method} ${path}`)
    }
    for (const { method, path } of service.app.permissions) {
      if (SERVED.some((name) => name.endsWith(` ${path}`))) continue
      const reply = await send(internalUrl, [method, path.replaceAll(':', 'x')], { headers })
      assert.equal(reply.status, 404, `${method} ${path}`)
    }
  },
  INTERNAL,
)

eachService(
  'it verifies keys, in plain HTTP, and reads no forwarded header',
  async (service) => {
    const { internalUrl } = await listenInternally(service)
    const secret = await service.key({ scopes: ['keys:verify_all'], mode: 'live' })
    const key = await service.key({ scopes: ['users:read'] })
    const verify = (credential: string, headers: Record<string, string> = {}) =>
      send(internalUrl, ['POST', '/keys/verify'], {
        headers: { 'x-api-key': secret, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ credential }),
      })
    const active = await verify(key, {
      'x-forwarded-proto': 'http',
      'x-forwarded-for': '192.0.2.1',
    })
    assert.equal(active.status, 200, active.text)
    assert.equal(JSON.parse(active.text).active, true)
    assert.equal(active.headers['strict-transport-security'], undefined)
    const unknown = await verify(generateApiKey(systemRandom(), 'live'))
    assert.equal(JSON.parse(unknown.text).reason, 'unknown')
    const narrow = await service.key({
      scopes: ['keys:verify_all'],
      mode: 'live',
      cidrs: ['192.0.2.0/24'],
    })
    const forged = await verify(key, { 'x-api-key': narrow, 'x-forwarded-for': '192.0.2.1' })
    assert.equal(forged.status, 403)
  },
  INTERNAL,
)

eachService(
  'both listeners drain and close together; the public one has its Hosts and its HTTPS',
  async (service) => {
    const { url, internalUrl } = await listenInternally(service)
    const misdirected = await send(url, ['GET', '/'], { headers: { host: 'gatehook.internal' } })
    assert.equal(misdirected.status, 421)
    await service.app.drain()
    assert.equal((await send(internalUrl, ['GET', '/readyz'])).status, 503)
    await service.app.close()
    for (const base of [url, internalUrl]) {
      await assert.rejects(send(base, ['GET', '/healthz']), { code: 'ECONNREFUSED' })
    }
  },
  INTERNAL,
)

test('a bad address, and the port of the public listener, are mistakes', () => {
  const bad = ['8788', 'x', ':8788', '0.0.0.0', '0.0.0.0:', '0.0.0.0:65536', 'http://x:1', '::1:1']
  for (const text of [...bad, '127.0.0.1:8787', '0.0.0.0:8787', '256.0.0.1:9', '10.0.0.1:-1']) {
    assert.throws(() => loadConfig({ GATEHOOK_INTERNAL: text }), ConfigError, text)
  }
  for (const text of ['0.0.0.0:8788', '[::]:8788', 'gatehook.local:0', '[::1]:80']) {
    assert.ok(loadConfig({ GATEHOOK_INTERNAL: text }).internal, text)
  }
  assert.equal(loadConfig({ GATEHOOK_INTERNAL: '' }).internal, null)
})
