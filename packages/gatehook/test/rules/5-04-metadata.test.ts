/** §5.4, §5.5: the metadata documents derive from the configured issuer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openOauthFixture } from '../oauth/rig.ts'

const env = {
  GATEHOOK_PUBLIC_URL: 'https://api.example.com',
  GATEHOOK_CORS_ORIGINS: 'https://spa.example',
}

test('the metadata of the server has all endpoints', async (t) => {
  const { anonymous } = await openOauthFixture(t, 'sqlite', { env })
  const { body } = await anonymous.get('/.well-known/oauth-authorization-server')
  assert.equal(body.issuer, 'https://api.example.com')
  for (const [name, path] of [
    ['authorization_endpoint', '/oauth/authorize'],
    ['token_endpoint', '/oauth/token'],
    ['device_authorization_endpoint', '/oauth/device_authorization'],
    ['revocation_endpoint', '/oauth/revoke'],
    ['introspection_endpoint', '/oauth/introspect'],
    ['jwks_uri', '/.well-known/jwks.json'],
  ] as const) {
    assert.equal(body[name], `https://api.example.com${path}`)
    const preflight = await anonymous.send('OPTIONS', path)
    assert.equal(preflight.status, 204, path)
  }
  assert.deepEqual(body.code_challenge_methods_supported, ['S256'])
  assert.deepEqual(body.response_types_supported, ['code'])
  assert.deepEqual(body.grant_types_supported, [
    ...['authorization_code', 'client_credentials', 'refresh_token'],
    'urn:ietf:params:oauth:grant-type:device_code',
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
  ])
  assert.equal(body.authorization_response_iss_parameter_supported, true)
  assert.equal(body.request_parameter_supported, false)
  assert.equal(body.request_uri_parameter_supported, false)
  assert(body.scopes_supported.includes('orders:read'))
  assert(!('registration_endpoint' in body))
  const resources = ['', '/api', '/mcp'].map((path) => body.issuer + path)
  assert.deepEqual(body.protected_resources, resources)
  const openid = await anonymous.get('/.well-known/openid-configuration')
  assert.deepEqual(openid.body, body)
})

test('each resource has metadata of its own, which the challenges of its paths name', async (t) => {
  const { anonymous } = await openOauthFixture(t, 'sqlite', { env })
  const root = 'https://api.example.com'
  const wellKnown = '/.well-known/oauth-protected-resource'
  for (const [resource, path] of [
    ['', '/events'],
    ['', '/admin/keys'],
    ['/api', '/api/v2/orders'],
    ['/api', '/api/orders/1'],
    ['/mcp', '/mcp'],
  ] as const) {
    const { body } = await anonymous.get(`${wellKnown}${resource}`)
    assert.equal(body.resource, `${root}${resource}`)
    assert.deepEqual(body.authorization_servers, [root])
    assert.deepEqual(body.bearer_methods_supported, ['header'])
    assert.equal(body.scopes_supported.includes('orders:read'), true)
    assert.equal(body.scopes_supported.includes('events:read'), resource === '')
    assert.equal(body.scopes_supported.includes('admin'), resource === '')
    const method = path === '/mcp' ? 'POST' : 'GET'
    const refused = await anonymous.send(method, path)
    const challenge = `Bearer resource_metadata="${root}${wellKnown}${resource}", `
    assert.ok(refused.headers['www-authenticate']!.startsWith(challenge), path)
  }
})

test('a Host header does not affect the metadata', async (t) => {
  const { anonymous } = await openOauthFixture(t, 'sqlite', { env })
  for (const path of [
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-protected-resource',
  ]) {
    for (const headers of [
      { host: '127.0.0.1:1234' },
      { host: 'localhost', 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' },
    ]) {
      const { text } = await anonymous.get(path, headers)
      assert.doesNotMatch(text, /127\.0\.0\.1|localhost|evil/)
      assert.match(text, /https:\/\/api\.example\.com/)
    }
  }
  assert.equal((await anonymous.get('/oauth/authorize', { host: 'evil.example' })).status, 421)
})

test('configured origins may read metadata and request tokens', async (t) => {
  const { anonymous } = await openOauthFixture(t, 'sqlite', { env })
  const origin = 'https://spa.example'
  const requests = [
    anonymous.get('/.well-known/oauth-authorization-server', { origin }),
    anonymous.post('/oauth/token', '', {
      origin,
      'content-type': 'application/x-www-form-urlencoded',
    }),
    anonymous.send('OPTIONS', '/oauth/token', undefined, {
      origin,
      'access-control-request-method': 'POST',
    }),
  ]
  for (const { headers } of await Promise.all(requests)) {
    assert.equal(headers['access-control-allow-origin'], origin)
  }
  const stranger = await anonymous.get('/.well-known/oauth-authorization-server', {
    origin: 'https://evil.example',
  })
  assert(!('access-control-allow-origin' in stranger.headers))
  const page = await anonymous.get('/oauth/authorize', { origin })
  assert(!('access-control-allow-origin' in page.headers), 'no other origin may read the pages')
})
