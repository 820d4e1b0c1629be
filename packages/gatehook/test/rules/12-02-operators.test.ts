/**
 * §12.2: operators are accounts of the engine. A one-time link or a password opens a session, which
 * authenticates them under `/admin`, from the console's own pages only.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import {
  createConsoleLink,
  createOperator,
  setOperatorDisabled,
} from '../../src/identity/people/operators.ts'
import { gatehook, installed, jsonOf } from '../cli/command.ts'
import { emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const actor = { kind: 'system', id: 'test' } as const
const EMAIL = 'op@example.com'
const own = { 'x-gatehook-console': '1' }

const operatorOf = ({ app }: TestApp) =>
  createOperator(app.administration, app.hasher, { email: EMAIL, password: PASSWORD }, actor)

const tokenOf = async ({ app }: TestApp, email?: string) =>
  (await createConsoleLink(app.administration, email, actor)).path.split('#token=')[1]!

/** Returns `name=value` of the cookie that a response sets. */
const cookieOf = (headers: Readonly<Record<string, unknown>>) =>
  String([headers['set-cookie']].flat()[0]).split(';')[0]!

async function signIn(service: TestApp) {
  const { anonymous } = await openPeople(service)
  const token = await tokenOf(service, EMAIL)
  const reply = await anonymous.post('/console/session', { token })
  assert.equal(reply.status, 201, reply.text)
  return { anonymous, cookie: cookieOf(reply.headers), reply }
}

eachService('a session acts as the operator', async (service) => {
  const { id } = await operatorOf(service)
  const { anonymous, cookie, reply } = await signIn(service)
  assert.match(
    String([reply.headers['set-cookie']].flat()[0]),
    /^gatehook_console=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
  )
  const createReply = await anonymous.post('/admin/customers', { name: 'Acme' }, { cookie, ...own })
  assert.equal(createReply.status, 201)
  const session = await anonymous.get('/console/session', { cookie, ...own })
  assert.deepEqual([session.body.operator, session.body.email], [id, EMAIL])
  const auditPath = '/admin/audit?action=customer.create&sort=-id'
  const audit = await anonymous.get(auditPath, { cookie, ...own })
  const { actor_kind, actor_id } = audit.body.data[0]
  assert.deepEqual([actor_kind, actor_id], ['operator', id])
  for (const path of ['/api/v2/protected', '/events']) {
    assert.equal(
      (await anonymous.get(path, { cookie, ...own })).status,
      401,
      'other paths do not accept the session',
    )
  }
  assert.equal((await anonymous.delete('/console/session', { cookie, ...own })).status, 204)
  assert.equal((await anonymous.get('/admin/audit', { cookie, ...own })).status, 401)
})

eachService(
  'a link works once, within thirty minutes',
  async (service) => {
    const { anonymous, operator } = await openPeople(service)
    const exchange = (token: unknown) => anonymous.post('/console/session', { token })
    const token = await tokenOf(service)
    assert.match(token, /^[\w-]{43}$/)
    const all = await Promise.all(Array.from({ length: 5 }, () => exchange(token)))
    const statuses = all.map((reply) => reply.status).toSorted()
    assert.deepEqual(statuses, [201, 401, 401, 401, 401])
    const late = await tokenOf(service)
    assert.equal((await operator.post('/admin/clock', { advance_s: 1801 })).status, 200)
    assert.equal((await exchange(late)).status, 401)
    assert.equal((await exchange('invalid')).status, 401)
    assert.equal((await exchange(7)).body.error, 'invalid_request')
    assert.equal((await exchange(undefined)).body.error, 'invalid_request')
  },
  { env: { GATEHOOK_TEST_CLOCK: '1' } },
)

eachService('pages, forms and hosts of other origins cannot use the cookie', async (service) => {
  await operatorOf(service)
  const { anonymous, cookie } = await signIn(service)
  const post = (headers: Record<string, string>) =>
    anonymous.post('/admin/customers', { name: 'x' }, { cookie, ...headers })
  const refused: [headers: Record<string, string>, code: string][] = [
    [{}, 'forbidden'],
    [{ 'sec-fetch-site': 'same-origin' }, 'forbidden'],
    [{ ...own, 'sec-fetch-site': 'none' }, 'forbidden'],
    [{ ...own, 'sec-fetch-site': 'cross-site' }, 'cross_site_request'],
    [{ ...own, 'sec-fetch-site': 'same-site' }, 'cross_site_request'],
    [{ ...own, origin: 'https://evil.example' }, 'cross_site_request'],
    [{ ...own, origin: 'null' }, 'cross_site_request'],
    [{ ...own, origin: 'http://sub.localhost' }, 'cross_site_request'],
    [{ ...own, origin: 'https://localhost' }, 'cross_site_request'],
  ]
  for (const [headers, code] of refused) {
    const { status, body } = await post(headers)
    assert.deepEqual([status, body.error], [403, code], JSON.stringify(headers))
  }
  const get = (headers: Record<string, string>) =>
    anonymous.get('/admin/audit', { cookie, ...headers })
  assert.equal((await get({})).status, 403)
  assert.equal((await get({ 'sec-fetch-site': 'same-site' })).status, 403)
  assert.equal((await get({ 'sec-fetch-site': 'same-origin' })).status, 200)
  assert.equal((await post({ ...own, origin: 'http://localhost' })).status, 201)
  const login = { email: EMAIL, password: PASSWORD }
  const forced = await anonymous.post('/console/session', login, { 'sec-fetch-site': 'cross-site' })
  assert.equal(forced.status, 403, 'a foreign page cannot sign a person in')
  const invalid = await anonymous.post(
    '/console/session',
    { a: 1 },
    { 'sec-fetch-site': 'cross-site' },
  )
  assert.equal(invalid.body.error, 'forbidden', 'the origin precedes the body')
  assert.equal((await anonymous.delete('/console/session', { cookie })).status, 403)
  assert.equal((await get(own)).status, 200, 'nor out')
})

eachService(
  'a header overrides the cookie; two cookies of the name are ignored',
  async (service) => {
    await operatorOf(service)
    const { anonymous, cookie } = await signIn(service)
    const twice = { cookie: `${cookie}; ${cookie}`, ...own }
    assert.equal((await anonymous.get('/admin/audit', twice)).status, 401)
    const { status, body } = await service.get('/admin/audit', { cookie, ...own })
    assert.deepEqual([status, body.error], [403, 'insufficient_scope'])
  },
)

eachService('a disabled operator loses the session and cannot sign in', async (service) => {
  await operatorOf(service)
  const { anonymous, cookie } = await signIn(service)
  const link = await tokenOf(service, EMAIL)
  await setOperatorDisabled(service.app.administration, EMAIL, true, actor)
  assert.equal((await anonymous.get('/admin/audit', { cookie, ...own })).status, 401)
  assert.equal((await anonymous.post('/console/session', { token: link })).status, 401)
  const signInReply = await anonymous.post('/console/session', { email: EMAIL, password: PASSWORD })
  assert.deepEqual([signInReply.status, signInReply.body.error], [401, 'invalid_credentials'])
  await assert.rejects(tokenOf(service, EMAIL), { code: 'invalid_state' })
})

eachService('operators and people have separate names, passwords and counts', async (service) => {
  const { createPerson, login, anonymous } = await openPeople(service)
  await createPerson('op')
  await operatorOf(service)
  assert.equal(EMAIL, emailOf('op'))
  const asOperator = (password: string) =>
    anonymous.post('/console/session', { email: EMAIL, password })
  for (let n = 0; n < 10; n++) assert.equal((await asOperator('wrong')).status, 401)
  assert.equal((await asOperator(PASSWORD)).status, 429)
  assert.equal((await login(EMAIL)).status, 200)
})

test('on HTTPS the cookie is Secure and bound to the host', async (t) => {
  const service = await openService(t, 'sqlite', { env: { GATEHOOK_TRUST_PROXY: '127.0.0.1' } })
  await operatorOf(service)
  const { anonymous } = await openPeople(service)
  const https = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' }
  const body = { token: await tokenOf(service, EMAIL) }
  const { headers } = await anonymous.post('/console/session', body, https)
  assert.match(
    String([headers['set-cookie']].flat()[0]),
    /^__Host-gatehook_console=.*; Secure; SameSite=Strict$/,
  )
  const cookie = cookieOf(headers)
  assert.equal((await anonymous.get('/admin/audit', { ...https, ...own, cookie })).status, 200)
  const bare = cookie.replace('__Host-', '')
  assert.equal(
    (await anonymous.get('/admin/audit', { ...https, ...own, cookie: bare })).status,
    401,
  )
})

test('the command line creates, lists and disables operators, and creates links', async (t) => {
  const place = { ...(await installed(t)), input: PASSWORD }
  const createReply = await jsonOf(place, 'operators', 'create', EMAIL)
  assert.match(createReply.id, /^op_/)
  assert.equal(createReply.password, undefined)
  const twice = await gatehook(place, 'operators', 'create', EMAIL.toUpperCase())
  assert.deepEqual([twice.exit, /There is an operator/.test(twice.stderr)], [1, true])
  assert.match(
    (await gatehook(place, 'operators', 'link', EMAIL)).stdout,
    /once, as op.*@.*, until/,
  )
  const { url } = await jsonOf(place, 'operators', 'link', EMAIL)
  assert.match(url, /^http:\/\/127\.0\.0\.1:8787\/console#token=[\w-]{43}$/)
  await jsonOf({ ...place, input: 'another horse' }, 'operators', 'password', EMAIL)
  await jsonOf(place, 'operators', 'disable', EMAIL)
  const { data } = await jsonOf(place, 'operators', 'list')
  assert.deepEqual(
    data.map((operator: Record<string, unknown>) => [operator.email, operator.disabled]),
    [[EMAIL, true]],
  )
  const unknown = await gatehook(place, 'operators', 'disable', 'nobody@example.com')
  assert.match(unknown.stderr, /There is no operator nobody@example.com/)
})

test('a link without an address creates an operator, and names those that exist', async (t) => {
  const place = { ...(await installed(t)), input: PASSWORD }
  const ofFirst = await gatehook(place, 'operators', 'link')
  assert.match(ofFirst.stdout, /^Opens the console once, and creates an operator there, until/)
  assert.doesNotMatch(ofFirst.stdout, /that exists/)
  await jsonOf(place, 'operators', 'create', EMAIL, '--role', 'viewer')
  const { exit, stdout } = await gatehook(place, 'operators', 'link')
  assert.equal(exit, 0)
  const advice = `For an operator that exists:\n  gatehook operators link ${EMAIL}  viewer\n`
  assert.ok(stdout.includes(advice), stdout)
})
