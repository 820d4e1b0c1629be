/** §12.7: the log line of a request names the principal of any credential, and no secret. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { api } from '../../service/service.ts'
import { openApp } from '../../src/app.ts'
import { createKey } from '../../src/identity/access/keys.ts'
import { createClient } from '../../src/identity/oauth/client-administration.ts'
import { createLog } from '../../src/kernel/log.ts'
import { loadConfig } from '../../src/platform/config/config.ts'
import { basicOf, emailOf, PASSWORD } from '../people/rig.ts'

async function openLogged(t: TestContext) {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const config = loadConfig({
    GATEHOOK_DATABASE_URL: await freshUrl(t, 'sqlite'),
    GATEHOOK_PORT: '0',
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
  })
  const log = createLog({ level: 'info', destination })
  const app = await openApp({ config, service: api, log })
  onEnd(t, () => app.close())
  const send = (method: 'GET' | 'POST', url: string, headers: object, payload?: object | string) =>
    app.inject({
      method,
      url,
      headers: { host: 'localhost', ...headers },
      ...(payload !== undefined && { payload }),
    })
  const lineOf = () => JSON.parse(lines.findLast((line) => line.includes('"route"'))!)
  return { app, lines, send, lineOf }
}

test('log lines name key, person and client with customer and mode, and no secret', async (t) => {
  const { app, lines, send, lineOf } = await openLogged(t)
  const creator = { actor: { kind: 'system', id: 'test' } as const, customer: 'default' }
  const { id, key } = await createKey(app.administration, { name: 'k', scopes: ['admin'] }, creator)
  const place = { customer: 'cus_default', mode: 'live' }
  const assertPrincipal = (principal_kind: string, principal_id: string, more: object = {}) => {
    const line = lineOf()
    const { customer, mode } = line
    assert.deepEqual({ customer, mode }, place, line.url)
    assert.deepEqual([line.principal_kind, line.principal_id], [principal_kind, principal_id])
    for (const [name, value] of Object.entries(more)) assert.equal(line[name], value, name)
  }

  const fields = { name: 'Ada', email: emailOf('ada'), password: PASSWORD }
  const person = (await send('POST', '/admin/users', { 'x-api-key': key }, fields)).json()
  assertPrincipal('key', id, { key_id: id })
  const login = { username: emailOf('ada'), password: PASSWORD }
  const tokens = (await send('POST', '/auth/login', {}, login)).json()
  assertPrincipal('person', String(person.id), { client_id: 'gatehook' })
  const bearer = { authorization: `Bearer ${tokens.access_token}` }
  await send('GET', '/api/v2/protected', bearer)
  assertPrincipal('person', String(person.id), { client_id: 'gatehook', key_id: undefined })
  assert.match(lineOf().session_id, /^ses_/)
  const basic = basicOf(emailOf('ada'))
  await send('GET', '/api/v2/protected', basic)
  assertPrincipal('person', String(person.id))

  const clientFields = { name: 'App', scopes: ['orders:read'] }
  const client = await createClient(app.oauth.administration, clientFields, creator)
  const proof = btoa(`${client.client_id}:${client.client_secret}`)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const tokenReply = await send(
    'POST',
    '/oauth/token',
    { ...form, authorization: `Basic ${proof}` },
    'grant_type=client_credentials',
  )
  assertPrincipal('client', client.client_id, { client_id: client.client_id })
  const own = tokenReply.json().access_token
  await send('GET', '/api/v2/protected', { authorization: `Bearer ${own}` })
  assertPrincipal('client', client.client_id, { client_id: client.client_id })

  assert.equal(lineOf().error, undefined)
  await send('GET', '/api/v2/protected', { 'x-api-key': `${key}x` })
  assert.equal(lineOf().error, 'invalid_api_key', 'the reason of a rejection')
  assert.equal(lineOf().principal_kind, undefined, 'an invalid credential has no principal')
  await send('GET', '/api/v2/orders', bearer)
  assertPrincipal('person', String(person.id), { status: 200, error: undefined })
  await send('GET', '/admin/keys', bearer)
  assertPrincipal('person', String(person.id), { status: 403, error: 'insufficient_scope' })
  await send('POST', '/auth/login', {}, { ...login, password: 'not the right one' })
  assert.deepEqual([lineOf().status, lineOf().error], [401, 'invalid_credentials'])
  const all = lines.join('')
  const secrets = [PASSWORD, key, tokens.access_token, tokens.refresh_token, own, proof]
  for (const secret of [...secrets, client.client_secret!, basic.authorization.slice(6)]) {
    assert.ok(!all.includes(secret))
  }
})
