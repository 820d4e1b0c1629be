/** §4.3: `POST /auth/login` issues tokens for a name and a password. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { service as declare, f, resource } from '../../src/gatehook.ts'
import { NAME_MAX } from '../../src/identity/people/sign-in-bounds.ts'
import { basicOf, bearerOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())

eachService('the response is an access token response that must not be cached', async (service) => {
  const { createPerson, login, anonymous } = await openPeople(service)
  const ada = await createPerson('ada', { role: 'owner', scopes: ['orders:read', 'events:read'] })
  const { status, body, headers } = await login(emailOf('ada'))
  assert.equal(status, 200)
  const { access_token, refresh_token, ...rest } = body
  assert.deepEqual(rest, {
    token_type: 'Bearer',
    expires_in: 900,
    scope: 'orders:read events:read',
  })
  assert.equal(headers['cache-control'], 'no-store')
  assert.match(refresh_token, /^\S{43,}$/)
  const { sub, client_id, customer, mode, name, role } = claimsOf(access_token)
  assert.deepEqual(
    [sub, client_id, customer, mode, name, role],
    [String(ada.id), 'gatehook', 'cus_default', 'test', 'ada', 'owner'],
  )
  const orders = await anonymous.get('/api/v2/orders', bearerOf(access_token))
  assert.equal(orders.status, 200)
  const users = await anonymous.get('/api/v2/users', bearerOf(access_token))
  assert.deepEqual([users.status, users.body.error], [403, 'insufficient_scope'])
})

eachService('wrong credentials are 401, malformed bodies 400, without tokens', async (service) => {
  const { createPerson, anonymous } = await openPeople(service)
  await createPerson('ada')
  const username = emailOf('ada')
  const table: [body: unknown, expected: string][] = [
    [{ username, password: 'wrong password' }, '401 invalid_credentials'],
    [{ username: 'nobody', password: PASSWORD }, '401 invalid_credentials'],
    [{ username: '', password: '' }, '401 invalid_credentials'],
    [{ username, password: 'x'.repeat(5000) }, '401 invalid_credentials'],
    [{ username: 'x'.repeat(NAME_MAX), password: 'x' }, '401 invalid_credentials'],
    [{ username: 'x'.repeat(NAME_MAX + 1), password: 'x' }, '400 invalid_request'],
    [{ username: 'a\u0000b', password: 'x' }, '400 invalid_json'],
    [{ username }, '400 invalid_request'],
    [{ password: PASSWORD }, '400 invalid_request'],
    [{ username, password: 12345678 }, '400 invalid_request'],
    [{ username: [username], password: PASSWORD }, '400 invalid_request'],
    [{ username, password: null }, '400 invalid_request'],
    [[username, PASSWORD], '400 invalid_request'],
    ['"text"', '400 invalid_request'],
    ['{', '400 invalid_json'],
  ]
  for (const [body, expected] of table) {
    const reply = await anonymous.post('/auth/login', body)
    assert.equal(`${reply.status} ${reply.body.error}`, expected, JSON.stringify(body).slice(0, 99))
    assert.equal(reply.body.access_token, undefined)
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  assert.equal((await anonymous.post('/auth/login', 'username=a&password=b', form)).status, 415)
})

eachService('a person changes the password, and the other sessions end', async (service) => {
  const { createPerson, login, anonymous } = await openPeople(service)
  await createPerson('ada')
  const username = emailOf('ada')
  const { access_token, refresh_token } = (await login(username)).body
  const change = (body: unknown, headers = bearerOf(access_token)) =>
    anonymous.post('/auth/password', body, headers)
  const passwords = { current: PASSWORD, new: 'another horse' }
  assert.equal((await anonymous.post('/auth/password', passwords)).status, 401)
  assert.equal(
    (await service.post('/auth/password', passwords)).status,
    403,
    'a key has no password',
  )
  assert.equal((await change({ current: PASSWORD })).body.error, 'invalid_request')
  assert.equal((await change({ ...passwords, current: 'wrong' })).body.error, 'invalid_credentials')
  assert.equal((await change({ ...passwords, new: 'short' })).body.error, 'validation_failed')
  const other = (await login(username)).body
  assert.equal((await change(passwords)).status, 204)
  const refresh = (token: string) => anonymous.post('/auth/refresh', { refresh_token: token })
  assert.equal((await refresh(other.refresh_token)).status, 401)
  assert.equal((await refresh(refresh_token)).status, 200, 'its own session continues')
  assert.equal((await login(username)).status, 401)
  assert.equal((await login(username, 'another horse')).status, 200)
  const third = { current: 'another horse', new: 'a third horse' }
  assert.equal((await change(third, basicOf(username, 'another horse'))).status, 204)
  assert.equal((await login(username, 'a third horse')).status, 200)
})

test('a service’s own claims are in the token; reserved ones are not overwritten', async (t) => {
  const members = resource('members', {
    fields: { id: f.id(), handle: f.string().unique(), plan: f.string().default('free') },
    list: { filter: [], sort: ['id'] },
    access: { read: 'members:read', create: 'members:write', update: false, delete: false },
    events: [],
  }).signsIn({ username: 'handle' })
  const claims = ({ row, subject }: { row: Record<string, unknown>; subject: string }) => ({
    plan: row.plan,
    who: subject,
    sub: '1000000',
    scope: 'admin',
    customer: 'cus_other',
    iss: 'evil',
  })
  const own = declare({
    name: 'clubs',
    versions: { v1: { released: '2026-01-01' } },
    resources: [members],
    claims,
  })
  const service = await openService(t, 'sqlite', { service: own })
  const { operator, token } = await openPeople(service)
  const body = { handle: 'ada', plan: 'gold', password: PASSWORD, role: 'chair' }
  const created = await operator.post('/admin/users', body)
  assert.equal(created.status, 201, created.text)
  assert.deepEqual(
    [created.body.handle, created.body.plan, created.body.mode, created.body.role],
    ['ada', 'gold', 'live', 'chair'],
  )
  const tokenClaims = claimsOf(await token('ADA'))
  assert.deepEqual(
    [tokenClaims.plan, tokenClaims.who, tokenClaims.role],
    ['gold', String(created.body.id), 'chair'],
  )
  assert.deepEqual(
    [tokenClaims.sub, tokenClaims.customer],
    [String(created.body.id), 'cus_default'],
  )
  assert.equal(tokenClaims.scope.includes('admin'), false)
  assert.notEqual(tokenClaims.iss, 'evil')
})

test('a service without people has no login, and works', async (t) => {
  const notes = resource('notes', {
    fields: { id: f.id(), text: f.string() },
    list: { filter: [], sort: ['id'] },
    access: { read: 'notes:read', create: 'notes:write', update: false, delete: 'notes:write' },
    events: ['note.created'],
  })
  const own = declare({
    name: 'notes',
    versions: { v1: { released: '2026-01-01' } },
    resources: [notes],
  })
  const service = await openService(t, 'sqlite', { service: own })
  const { login, anonymous, operator } = await openPeople(service)
  assert.equal((await login('ada')).status, 404)
  assert.equal((await operator.post('/admin/users', {})).status, 404)
  assert.equal((await anonymous.get('/api/v1/notes', basicOf('ada'))).status, 401)
  const { body } = await service.post('/api/v1/notes', { text: 'x' })
  assert.equal((await service.delete(`/api/v1/notes/${body.id}`)).status, 204)
})
