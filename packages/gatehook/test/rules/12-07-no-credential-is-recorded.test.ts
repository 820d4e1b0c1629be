/**
 * §3.3, §12.7: no log line, no record of the request log and no trace contains a credential,
 * wherever a caller puts it.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { Caller } from '../../../../test/rig/service.ts'
import { createLog } from '../../src/kernel/log.ts'
import { requestIdOf } from '../monitoring/admin.ts'
import {
  authorizePath,
  basicOf,
  exchange,
  obtainCode,
  openBrowser,
  openOauthFixture,
  PASSWORD,
} from '../oauth/rig.ts'
import { openOtlpReceiver } from '../telemetry/otlp-receiver.ts'
import { openHook } from '../webhooks/hook.ts'

type Send = (caller: Caller, secret: string) => ReturnType<Caller['get']>

/** Where a caller can put a text. */
const places: Readonly<Record<string, Send>> = {
  'any query parameter': (caller, secret) =>
    caller.get(`/api/v2/orders?jwt=${encodeURIComponent(secret)}`),
  'the name of a parameter': (caller, secret) =>
    caller.get(`/api/v2/orders?${encodeURIComponent(secret)}=1`),
  'an unusual separator': (caller, secret) => caller.get(`/x?a;b=${encodeURIComponent(secret)}`),
  'a path with an id': (caller, secret) =>
    caller.get(`/api/v2/orders/${encodeURIComponent(secret)}`),
  'an unknown path': (caller, secret) => caller.get(`/x/${encodeURIComponent(secret)}/y`),
  'a version': (caller, secret) => caller.get(`/api/${encodeURIComponent(secret)}/orders`),
  'any header': (caller, secret) => caller.get('/api/v2/none', { 'x-anything': secret }),
  'the user agent': (caller, secret) => caller.get('/api/v2/none', { 'user-agent': `a/${secret}` }),
  referer: (caller, secret) =>
    caller.get('/api/v2/none', {
      referer: `https://shop.example/${encodeURIComponent(secret)}?x=1`,
    }),
  'the id of the request': (caller, secret) =>
    caller.get('/api/v2/none', { 'x-request-id': secret }),
  'a member': (caller, secret) => caller.post('/api/v2/orders', { note: `see ${secret}` }),
  'the name of a member': (caller, secret) => caller.post('/api/v2/orders', { [secret]: 1 }),
  'an idempotency key': (caller, secret) =>
    caller.post('/api/v2/orders', { note: 1 }, { 'idempotency-key': secret.slice(0, 255) }),
}

const cookieValue = (reply: { headers: Readonly<Record<string, unknown>> }): string =>
  /=([^;]+)/.exec(String([reply.headers['set-cookie']].flat()[0]))![1]!

test('credentials in any place are in no log line, no record and no trace', async (t) => {
  const receiver = await openOtlpReceiver(t)
  const hook = await openHook(t)
  const lines: string[] = []
  const log = createLog({ level: 'trace', destination: { write: (line) => void lines.push(line) } })
  const fixture = await openOauthFixture(t, 'sqlite', {
    log,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' },
  })
  const { app, admin, anonymous, client, person } = fixture
  const login = await anonymous.post('/auth/login', { username: person.email, password: PASSWORD })
  const tokens = await exchange(fixture, await obtainCode(fixture))
  const key = await admin.post('/admin/keys', {
    name: 'k',
    scopes: ['orders:read', 'orders:write'],
  })
  const webhook = await admin.post('/webhooks', { url: hook.url, events: ['*'] })
  const browser = openBrowser(app)
  await browser.get(authorizePath(client))
  const link = await admin.post('/admin/portal-links', {
    ...{ customer: 'default', mode: 'live', can: ['orders:read'] },
  })
  const portalToken = link.body.url.split('#token=')[1]
  const portal = await anonymous.post(
    '/portal/session',
    { token: portalToken },
    { 'x-gatehook-portal': '1' },
  )
  const credentials: Readonly<Record<string, string>> = {
    'API key': key.body.key,
    'access token': login.body.access_token,
    'refresh token': login.body.refresh_token,
    'token of an application': tokens.body.access_token,
    'client secret': client.client_secret,
    'pair of a client': basicOf(client).authorization,
    'signing secret': webhook.body.secret,
    'authorization code': await obtainCode(fixture),
    'token of a portal link': portalToken,
    'cookie of the portal': cookieValue(portal),
    'cookie of a sign-in page': [...browser.cookies.values()][0]!,
    'token of a mail': randomBytes(32).toString('base64url'),
  }
  for (const [name, secret] of Object.entries(credentials)) {
    assert.ok(secret?.length > 20, name)
    for (const [place, send] of Object.entries(places)) {
      // Opaque text is an id that the caller chose, and the response returns it (§10.3).
      const isId =
        place === 'the id of the request' && /token of a (mail|portal)|cookie|code/.test(name)
      if (isId) continue
      lines.length = 0
      const reply = await send(admin, secret)
      const at = `${name} in ${place}`
      const record = await admin.get(`/admin/requests/${requestIdOf(reply)}`)
      assert.equal(record.status, 200, at)
      const list = await admin.get('/admin/requests?limit=1')
      const part = secret.replace(/^[a-z_]+_|^Basic /, '').slice(5, 30)
      for (const text of [...lines, record.text, list.text]) {
        assert.ok(!text.includes(part), `${at}: ${text}`)
      }
    }
  }
  await app.close()
  const traces = JSON.stringify(receiver.spans)
  for (const [name, secret] of Object.entries(credentials)) {
    assert.ok(!traces.includes(secret.replace(/^[a-z_]+_|^Basic /, '').slice(5, 30)), name)
  }
})
