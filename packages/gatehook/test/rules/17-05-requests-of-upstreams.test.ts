/** §17.5: requests as an upstream receives them, and their parts that it never receives. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose'
import { openService } from '../../../../test/rig/service.ts'
import { createConsoleLink, createOperator } from '../../src/identity/people/operators.ts'
import { eachForward, inFrontOf, openUpstream, replyJson } from '../forwards/upstream-rig.ts'

const paid = { id: 7, total_cents: 4950, note: 'ä', paid_at: null, further: { list: [1] } }

eachForward('an upstream receives the listed headers, and those of set', async (api, upstream) => {
  const sent = {
    accept: 'application/vnd.gatehook.api.v2+json',
    'accept-language': 'de',
    'accept-encoding': 'gzip',
    'if-none-match': '"a"',
    range: 'bytes=0-1',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    'x-request-id': 'mine',
    'x-tenant': 'blue',
    cookie: 'a=b',
    forwarded: 'for=6.6.6.6',
    'x-forwarded-for': '6.6.6.6',
    'x-forwarded-host': 'evil.example',
    'gatehook-assertion': 'forged',
    'gatehook-customer': 'cus_other',
    'x-other': '1',
    te: 'trailers',
  }
  assert.equal((await api.get('/api/v2/invoices?status=a%26b&api-version=v2', sent)).status, 200)
  const [{ path, headers }] = upstream.received as [(typeof upstream.received)[number]]
  assert.equal(path, '/base/invoices?status=a%26b')
  const { 'gatehook-assertion': assertion, host, connection, ...rest } = headers
  assert.equal(host, new URL(upstream.url).host)
  assert.deepEqual(rest, {
    accept: 'application/json',
    'accept-language': 'de',
    'accept-encoding': 'gzip',
    'if-none-match': '"a"',
    range: 'bytes=0-1',
    traceparent: sent.traceparent,
    'x-tenant': 'blue',
    'x-request-id': 'mine',
    authorization: 'Bearer of-the-team',
  })
  const keys = createLocalJWKSet((await api.get('/.well-known/assertion-jwks.json')).body)
  const issuer = `${api.app.publicUrl()}/assertions`
  const verified = await jwtVerify(String(assertion), keys, {
    issuer,
    audience: 'billing',
    typ: 'gatehook-assertion+jwt',
    algorithms: ['ES256'],
  })
  const { payload } = verified
  assert.equal(payload.exp! - payload.iat!, 60)
  assert.deepEqual([payload.method, payload.path], ['GET', path])
  assert.deepEqual(
    [payload.customer, payload.mode, payload.external_id],
    ['cus_default', 'test', null],
  )
  assert.equal(payload.request_id, 'mine')
  assert.ok(String(payload.scope).split(' ').includes('invoices:read'))
  // No other key signs it, and no path accepts it.
  const others = createLocalJWKSet((await api.get('/.well-known/jwks.json')).body)
  await assert.rejects(jwtVerify(String(assertion), others))
  const bearer = { authorization: `Bearer ${assertion}` }
  assert.equal((await api.as(undefined).get('/api/v2/invoices', bearer)).status, 401)
})

eachForward(
  'headers that Connection names, and credentials in a URL, do not pass',
  async (api, upstream) => {
    const named = { connection: 'close, X-Tenant', 'x-tenant': 'blue' }
    assert.equal((await api.get('/api/v2/invoices', named)).status, 200)
    assert.equal(upstream.received[0]!.headers['x-tenant'], undefined)
    const key = await api.key({ scopes: ['invoices:read'] })
    const query = `b=2&api_key=${key}&a=1&a=%2F&version=v2`
    assert.equal((await api.as(undefined).get(`/api/invoices/7/pdf?${query}`)).status, 200)
    assert.equal(upstream.received[1]!.path, '/base/files/7?b=2&a=1&a=%2F')
    assert.ok(!JSON.stringify(upstream.received).includes(key))
  },
)

eachForward('a parameter of the path is one encoded segment', async (api, upstream) => {
  upstream.respond = replyJson(200, paid)
  for (const id of [
    '%2e%2e',
    '%2e',
    '..%2fadmin',
    'a%2f..%2f..%2fadmin',
    '..%5cadmin',
    'a%0d%0ab',
  ]) {
    assert.equal((await api.get(`/api/v2/invoices/${id}`)).status, 404, id)
  }
  assert.equal(upstream.received.length, 0)
  assert.equal((await api.get('/api/v2/invoices/a%2fb%3fc%23d%20e')).status, 200)
  assert.equal(upstream.received[0]!.path, '/base/invoices/a%2Fb%3Fc%23d%20e')
})

eachForward('a parameter that is a whole number is 404 for another text', async (api, upstream) => {
  upstream.respond = replyJson(200, paid)
  for (const id of ['abc', '1.5', '-1', '07', '1e3', '9007199254740992', '%31x']) {
    assert.equal((await api.get(`/api/v2/numbered/${id}`)).status, 404, id)
  }
  assert.equal(upstream.received.length, 0)
  assert.equal((await api.get('/api/v2/numbered/9007199254740991')).status, 200)
  const { paths } = (await api.get('/openapi/v2.json')).body
  const [{ schema }] = paths['/api/v2/numbered/{id}'].get.parameters
  assert.deepEqual([schema.type, schema.minimum], ['integer', 0])
})

eachForward(
  'undeclared and repeated parameters are 400, and reach no upstream',
  async (api, upstream) => {
    for (const query of ['other=1', 'status=a&status=b', `status=${'x'.repeat(21)}`]) {
      assert.equal((await api.get(`/api/v2/invoices?${query}`)).status, 400, query)
    }
    assert.equal((await api.get('/api/v2/invoices/7?status=a')).status, 400)
    assert.equal(upstream.received.length, 0)
  },
)

eachForward(
  'bodies are validated and converted up; omitted members of a PATCH stay absent',
  async (api, upstream) => {
    upstream.respond = replyJson(201, paid)
    assert.equal((await api.post('/api/v1/invoices', { total: '49' })).status, 422)
    assert.equal((await api.post('/api/v2/invoices', { total: 49.5 })).status, 422)
    assert.equal(upstream.received.length, 0)
    const created = await api.post('/api/v1/invoices', { total: 49.5 })
    assert.deepEqual([created.status, created.body.total], [201, 49.5])
    await api.patch('/api/v2/invoices/7', { note: null })
    const bodies = upstream.received.map(({ body }) => JSON.parse(body))
    assert.deepEqual(bodies, [{ total_cents: 4950 }, { note: null }])
    // Without an input any body passes.
    const text = { 'content-type': 'text/plain' }
    await api.send('POST', '/api/v2/payments', undefined, text)
    assert.deepEqual(
      [upstream.received[2]!.body, upstream.received[2]!.headers['content-length']],
      ['', '0'],
    )
  },
)

eachForward('a change with an output compares no If-Match, and says so', async (api, upstream) => {
  const refused = await api.post('/api/v2/invoices', { total_cents: 1 }, { 'if-match': '"a"' })
  assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_request'])
  assert.equal(upstream.received.length, 0)
  await api.patch('/api/v2/invoices/7', { note: null }, { 'if-match': '"a"' })
  assert.equal(upstream.received[0]!.headers['if-match'], '"a"')
})

eachForward('a key without the scope reaches no upstream', async (api, upstream) => {
  const other = api.as(await api.key({ scopes: ['invoices:write'] }))
  assert.equal((await other.get('/api/v2/invoices')).status, 403)
  assert.equal((await api.as(undefined).get('/api/v2/invoices')).status, 401)
  assert.equal(upstream.received.length, 0)
})

for (const name of ['sqlite', 'postgres'] as const) {
  test(`an acting operator is asserted with the scopes that it can use [${name}]`, async (t) => {
    const upstream = await openUpstream(t)
    const { as, app, key } = await openService(t, name, { service: inFrontOf(upstream.url) })
    const actor = { kind: 'cli', id: 'test' } as const
    const anonymous = as(undefined)
    const headersOf = async (role: 'viewer' | 'support' | 'administrator') => {
      const operator = { email: `${role}@example.com`, password: 'correct horse battery', role }
      await createOperator(app.administration, app.hasher, operator, actor)
      const { path } = await createConsoleLink(app.administration, operator.email, actor)
      const token = path.split('#token=')[1]
      const reply = await anonymous.post('/console/session', { token })
      const cookie = String([reply.headers['set-cookie']].flat()[0]).split(';')[0]!
      return { cookie, 'x-gatehook-console': '1' }
    }
    const scopesOf = async (headers: Record<string, string>) => {
      const path = '/admin/as/default/live/api/v2/invoices'
      const { status, text } = await anonymous.get(path, headers)
      assert.equal(status, 200, text)
      const { headers: received } = upstream.received.at(-1)!
      const { scope } = decodeJwt<{ scope: string }>(String(received['gatehook-assertion']))
      return scope.split(' ')
    }
    for (const role of ['viewer', 'support'] as const) {
      assert.deepEqual(await scopesOf(await headersOf(role)), ['invoices:read'], role)
    }
    const admin = { 'x-api-key': await key({ scopes: ['admin'], mode: 'live' }) }
    for (const headers of [await headersOf('administrator'), admin]) {
      const scopes = await scopesOf(headers)
      assert.ok(scopes.includes('invoices:write') && scopes.includes('invoices:read'))
      assert.ok(!scopes.includes('admin') && !scopes.includes('audit:read'), scopes.join())
    }
  })
}
