/**
 * §16.1: every 401 of a path that takes access tokens has a Bearer challenge first, then ApiKey. A
 * token that lacks a scope gets 403 with the scope; other responses of 403 have no challenge.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { basicOf, form, openOauthFixture, PASSWORD } from '../oauth/rig.ts'

const env = { GATEHOOK_PUBLIC_URL: 'https://api.example.com', GATEHOOK_TEST_CLOCK: '1' }
const METADATA = 'https://api.example.com/.well-known/oauth-protected-resource'
const TAKES_TOKENS = ['credential', 'account', 'administration']

for (const { name } of databases) {
  test(`every path that takes tokens has its challenges [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { app, anonymous } = fixture
    const client = await fixture.createClient({
      redirect_uris: [],
      grant_types: ['client_credentials'],
      scopes: ['orders:read', 'users:write'],
    })
    const grant = { grant_type: 'client_credentials', scope: 'users:write' }
    const { body } = await form(anonymous, '/oauth/token', grant, basicOf(client))
    const narrow = { authorization: `Bearer ${body.access_token}` }
    const paths = app.permissions.filter(({ callers }) => TAKES_TOKENS.includes(callers))
    assert.ok(paths.length > 100)
    const targets = paths.map(({ method, path, scope, role }) => {
      const url = path
        .replace('/api/', '/api/v2/')
        .replace(':customer/:mode', 'default/live')
        .replace(/:version/g, 'v2')
        .replace(/:\w+/g, '1')
      const own = url === '/mcp' ? '/mcp' : url.startsWith('/api/') ? '/api' : ''
      const resource = METADATA + own
      const needs = scope === undefined ? '' : `, scope="${scope}"`
      const send = (headers: Record<string, string>) =>
        anonymous.send(method, url, undefined, headers)
      return { send, resource, needs, role, at: `${method} ${url}` }
    })
    // Rejections wait only beside requests with a valid credential, which come after all of them.
    for (const { send, resource, needs, at } of targets) {
      const none = await send({})
      assert.equal(none.status, 401, at)
      const challenge = `Bearer resource_metadata="${resource}"${needs}, ApiKey`
      assert.equal(none.headers['www-authenticate'], challenge, at)
      const unknownScheme = await send({ authorization: 'Digest x' })
      assert.equal(unknownScheme.headers['www-authenticate'], challenge, at)
      const invalid = await send({ authorization: 'Bearer x.y.z' })
      assert.equal(invalid.status, 401, at)
      assert.equal(
        invalid.headers['www-authenticate'],
        challenge.replace('Bearer ', 'Bearer error="invalid_token", '),
        at,
      )
      const basic = await send({ authorization: `Basic ${btoa('unknown@x.example:wrong-wrong')}` })
      if (basic.status === 401) {
        const ofBasic = 'Basic realm="gatehook", charset="UTF-8"'
        assert.equal(basic.headers['www-authenticate'], `${challenge}, ${ofBasic}`, at)
      }
      const key = await send({ 'x-api-key': 'gk_live_x' })
      assert.deepEqual([key.status, key.headers['www-authenticate']], [403, undefined], at)
    }
    for (const { send, resource, needs, role, at } of targets) {
      const lacking = await send(narrow)
      if (lacking.body?.error !== 'insufficient_scope') {
        assert.equal(lacking.headers['www-authenticate'], undefined, `${at}: ${lacking.text}`)
        continue
      }
      assert.equal(
        lacking.headers['www-authenticate'],
        `Bearer error="insufficient_scope"${needs}, resource_metadata="${resource}"`,
        `${at} ${role}`,
      )
    }
  })
}

test('a scope that the handler requires is named with that of the path', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite', { env })
  const { admin, anonymous, person } = fixture
  const client = await fixture.createClient({
    redirect_uris: [],
    grant_types: ['client_credentials'],
    scopes: ['orders:read', 'webhooks:write'],
  })
  const grant = { grant_type: 'client_credentials' }
  const { body } = await form(anonymous, '/oauth/token', grant, basicOf(client))
  const token = { authorization: `Bearer ${body.access_token}` }
  const registration = { url: 'https://example.com/x', events: ['user.created'] }
  const lacking = await anonymous.post('/webhooks', registration, token)
  assert.equal(lacking.status, 403, lacking.text)
  assert.match(lacking.headers['www-authenticate']!, /, scope="webhooks:write users:read", /)
  // A key with the same mistake has no challenge: it is no access token.
  const key = await admin.post('/admin/keys', { name: 'k', scopes: ['webhooks:write'] })
  const ofKey = await anonymous.post('/webhooks', registration, { 'x-api-key': key.body.key })
  assert.deepEqual([ofKey.status, ofKey.headers['www-authenticate']], [403, undefined])
  const login = await anonymous.post('/auth/login', { username: person.email, password: PASSWORD })
  const own = { authorization: `Bearer ${login.body.access_token}` }
  const wrong = await anonymous.post('/auth/password', { current: 'x', new: 'y'.repeat(12) }, own)
  assert.equal(wrong.status, 401)
  assert.match(wrong.headers['www-authenticate']!, /^Bearer resource_metadata="[^"]+", ApiKey$/)
  const ended = await anonymous.post('/auth/logout', undefined, { authorization: 'Bearer x.y.z' })
  assert.match(ended.headers['www-authenticate']!, /^Bearer error="invalid_token", resource_/)
  const introspected = await form(anonymous, '/oauth/introspect', { token: 'x' }, token)
  assert.deepEqual(introspected.body.error, 'insufficient_scope')
  assert.match(introspected.headers['www-authenticate']!, /^Bearer error="insufficient_scope"/)
})
