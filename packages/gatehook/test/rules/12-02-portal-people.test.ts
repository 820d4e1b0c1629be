/**
 * §12.2, §6.7: a person signs in to the portal with its password. A person who sees only own rows
 * reaches neither keys nor webhooks; the session ends with the password, the scopes or the person.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { emailOf, openPeople, PASSWORD } from '../people/rig.ts'
import { OWN, openPortal } from '../portal/rig.ts'

/** The scopes of a person who sees every row and administers keys and webhooks. */
const TEAM = [
  'users:read',
  'orders:read',
  'users:all',
  'orders:all',
  'keys:read',
  'keys:write',
  'webhooks:read',
  'webhooks:write',
  'events:read',
]

eachService('a person of the team manages keys and webhooks', async (service) => {
  const { createPerson, anonymous } = await openPeople(service)
  const { withCookieOf } = await openPortal(service)
  await createPerson('team', { scopes: TEAM })
  const credentials = { username: emailOf('team'), password: PASSWORD }
  const reply = await anonymous.post('/portal/session', credentials)
  assert.equal(reply.status, 201, reply.text)
  assert.deepEqual(reply.body.signed_in, { kind: 'person', name: emailOf('team') })
  assert.equal(reply.body.mode, 'test')
  assert.deepEqual(reply.body.key_scopes, TEAM)
  const portal = withCookieOf(reply)
  const key = await portal.post('/portal/api/keys', { name: 'k', scopes: ['orders:read'] })
  assert.equal(key.status, 201, key.text)
  assert.equal(key.body.mode, 'test')
  const wide = await portal.post('/portal/api/keys', { name: 'k', scopes: ['orders:write'] })
  assert.equal(wide.status, 403)
  assert.equal((await portal.get('/portal/api/webhooks')).status, 200)
})

eachService('a person who sees own rows gets neither keys nor webhooks', async (service) => {
  const { createPerson, anonymous } = await openPeople(service)
  const { withCookieOf } = await openPortal(service)
  // Without `orders:all`, a key with `orders:read` would show rows of others.
  await createPerson('own', { scopes: TEAM.filter((scope) => scope !== 'orders:all') })
  const credentials = { username: emailOf('own'), password: PASSWORD }
  const reply = await anonymous.post('/portal/session', credentials)
  assert.equal(reply.status, 201, reply.text)
  const { sections, key_scopes, scopes, sees_all_rows } = reply.body
  assert.equal(sees_all_rows, false)
  assert.deepEqual(sections, { keys: 'hidden', webhooks: 'hidden', events: 'read' })
  assert.deepEqual(key_scopes, [])
  assert.deepEqual(scopes, ['users:read', 'orders:read', 'users:all', 'events:read'])
  const portal = withCookieOf(reply)
  for (const [method, path, body] of [
    ['GET', 'keys'],
    ['POST', 'keys', { name: 'k', scopes: ['orders:read'] }],
    ['GET', 'webhooks'],
    ['POST', 'webhooks', { url: 'https://hooks.example/', events: ['*'] }],
    ['GET', 'deliveries/dlv_1'],
    ['GET', 'health'],
    ['GET', 'errors'],
    ['GET', 'requests/req_1'],
  ] as const) {
    const { status, body: answer } = await portal.send(method, `/portal/api/${path}`, body)
    assert.equal(status, 403, `${method} ${path}`)
    assert.match(answer.error, /^(insufficient_scope|forbidden)$/, `${method} ${path}`)
  }
})

eachService('the scope admin of a person does not reach the portal', async (service) => {
  const { createPerson, anonymous } = await openPeople(service)
  const { withCookieOf } = await openPortal(service)
  await createPerson('chief', { scopes: ['admin'], mode: 'live' })
  const credentials = { username: emailOf('chief'), password: PASSWORD }
  const reply = await anonymous.post('/portal/session', credentials)
  assert.equal(reply.status, 201, reply.text)
  assert.deepEqual(reply.body.scopes, [])
  const portal = withCookieOf(reply)
  assert.equal((await portal.get('/portal/api/keys')).status, 403)
  assert.equal((await portal.get('/portal/api/webhooks')).status, 403)
})

eachService('a new password, scope or state ends the session', async (service) => {
  const { createPerson, anonymous, operator } = await openPeople(service)
  const { withCookieOf } = await openPortal(service)
  const changes: readonly (readonly [string, (id: number) => Promise<{ status: number }>])[] = [
    ['password', (id) => operator.put(`/admin/users/${id}/password`, { password: 'a new one 7' })],
    ['scopes', (id) => operator.patch(`/admin/users/${id}`, { scopes: ['users:read'] })],
    ['disabled', (id) => operator.patch(`/admin/users/${id}`, { disabled: true })],
  ]
  for (const [name, change] of changes) {
    const { id } = await createPerson(name, { scopes: TEAM })
    const credentials = { username: emailOf(name), password: PASSWORD }
    const portal = withCookieOf(await anonymous.post('/portal/session', credentials))
    assert.equal((await portal.get('/portal/api/keys')).status, 200)
    assert.ok((await change(id)).status < 300)
    assert.equal((await portal.get('/portal/api/keys')).status, 401, name)
  }
})

eachService('a wrong password is 401, and the throttle counts it', async (service) => {
  const { createPerson, anonymous } = await openPeople(service)
  await createPerson('ada')
  const attempt = (password: string) =>
    anonymous.post('/portal/session', { username: emailOf('ada'), password })
  for (let n = 0; n < 10; n++) assert.equal((await attempt('wrong')).status, 401)
  assert.equal((await attempt(PASSWORD)).status, 429)
  const both = { token: 'x', username: emailOf('ada'), password: PASSWORD }
  assert.equal((await anonymous.post('/portal/session', both)).body.error, 'invalid_request')
})

eachService('a further sign-in of a person ends the oldest session', async (service) => {
  const { createPerson, anonymous } = await openPeople(service)
  const { withCookieOf } = await openPortal(service)
  await createPerson('ada', { scopes: TEAM })
  const credentials = { username: emailOf('ada'), password: PASSWORD }
  const sessions = []
  for (let n = 0; n < 21; n++) {
    sessions.push(withCookieOf(await anonymous.post('/portal/session', credentials)))
  }
  const statuses = await Promise.all(
    sessions.map(async (session) => (await session.get('/portal/session', OWN)).status),
  )
  assert.deepEqual(statuses, [401, ...Array.from({ length: 20 }, () => 200)])
})
