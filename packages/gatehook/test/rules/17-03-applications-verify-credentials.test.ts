/**
 * §17.3: `POST /keys/verify` verifies keys and access tokens for applications beside Gatehook, with
 * a reason for each that is not active, and no trace of those that the caller may not see.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { createLog } from '../../src/kernel/log.ts'
import { systemRandom } from '../../src/kernel/random.ts'

const LIMITED = { env: { GATEHOOK_RATE_LIMIT: '50/60', GATEHOOK_TEST_CLOCK: '1' } }
const VERIFY = '/keys/verify'

/** Opens an operator, and an application that verifies the credentials of every customer. */
async function openVerifier(service: TestApp) {
  const operator = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const secret = await service.key({ scopes: ['keys:verify_all'], mode: 'live' })
  const application = service.as(secret)
  const createKey = async (members: Record<string, unknown> = {}) => {
    const body = { name: 'Shop', scopes: ['users:read'], ...members }
    const reply = await operator.post('/admin/keys', body)
    assert.equal(reply.status, 201, reply.text)
    return reply.body as { id: string; key: string }
  }
  const createToken = async (members: Record<string, unknown> = {}) => {
    const body = { name: 'App', scopes: ['users:read'], ...members }
    const client = (await operator.post('/admin/clients', body)).body
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client.client_id,
      client_secret: client.client_secret,
    })
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const reply = await service.as(undefined).send('POST', '/oauth/token', String(form), type)
    assert.equal(reply.status, 200, reply.text)
    return { client, token: reply.body.access_token as string }
  }
  const verify = async (credential: string, more: Record<string, unknown> = {}) => {
    const reply = await application.post(VERIFY, { credential, ...more })
    assert.equal(reply.status, 200, reply.text)
    return reply.body
  }
  return { operator, application, createKey, createToken, verify, secret }
}

eachService(
  'an active key and an active token have all members',
  async (service) => {
    const { operator, createKey, createToken, verify } = await openVerifier(service)
    const organization = { name: 'Org 42', external_id: 'org_42' }
    const customer = (await operator.post('/admin/customers', organization)).body.id
    const expires_at = new Date(Date.now() + 3_600_000).toISOString()
    const members = {
      customer,
      expires_at,
      api_version: 'v1',
      scopes: ['users:read', 'orders:read'],
    }
    const { id, key } = await createKey(members)
    assert.deepEqual(await verify(key, { scopes: ['users:read'] }), {
      active: true,
      kind: 'key',
      id,
      client_id: null,
      first_party: true,
      name: 'Shop',
      customer,
      external_id: 'org_42',
      mode: 'live',
      scopes: ['users:read', 'orders:read'],
      api_version: 'v1',
      expires_at,
      limit: { limit: 50, remaining: 50, reset_s: 60 },
    })
    const { client, token } = await createToken({ mode: 'test' })
    const active = await verify(token)
    assert.ok(Date.parse(active.expires_at) > Date.now())
    assert.deepEqual(
      { ...active, expires_at: null },
      {
        active: true,
        kind: 'client',
        id: client.client_id,
        client_id: client.client_id,
        first_party: true,
        name: null,
        customer: 'cus_default',
        external_id: null,
        mode: 'test',
        scopes: ['users:read'],
        api_version: null,
        expires_at: null,
        limit: { limit: 50, remaining: 50, reset_s: 60 },
      },
    )
    const used = await operator.get(`/admin/keys/${id}`)
    assert.ok(used.body.last_used_at, 'the use of a verified key is stored')
  },
  LIMITED,
)

eachService(
  'each reason has the status and headers of a response',
  async (service) => {
    const { operator, createKey, createToken, verify } = await openVerifier(service)
    const reject = async (
      reason: string,
      status: number,
      [credential, more]: [string, Record<string, unknown>?],
    ) => {
      const { headers, ...answer } = await verify(credential, more)
      const { missing_scopes: _, limit: __, ...rest } = answer
      assert.deepEqual(rest, { active: false, reason, status }, reason)
      return { headers, answer }
    }
    const unknown = generateApiKey(systemRandom(), 'live')
    for (const text of [unknown, 'x', ' ', 'a.b.c', 'Bearer x', `${unknown}x`]) {
      await reject('unknown', text === 'a.b.c' ? 401 : 403, [text])
    }
    const revoked = await createKey()
    assert.equal((await verify(revoked.key)).active, true)
    assert.equal((await operator.delete(`/admin/keys/${revoked.id}`)).status, 204)
    await reject('revoked', 403, [revoked.key])
    const narrow = await createKey({ cidrs: ['192.0.2.0/24'] })
    await reject('address', 403, [narrow.key])
    await reject('address', 403, [narrow.key, { address: '198.51.100.1' }])
    assert.equal((await verify(narrow.key, { address: '192.0.2.9' })).active, true)
    assert.equal((await verify(narrow.key, { address: '::ffff:192.0.2.9' })).active, true)
    const { token } = await createToken()
    const other = await reject('audience', 401, [token, { resource: 'https://other.example' }])
    assert.match(other.headers['www-authenticate'], /^Bearer error="invalid_token"/)
    const scopes = ['users:read', 'users:write', 'reports:read']
    for (const credential of [token, (await createKey()).key]) {
      const { answer } = await reject('scope', 403, [credential, { scopes }])
      assert.deepEqual(answer.missing_scopes, ['users:write', 'reports:read'])
    }
    const customer = (await operator.post('/admin/customers', { name: 'S' })).body.id
    const suspended = await createKey({ customer })
    const suspendedToken = (await createToken({ customer })).token
    await operator.patch(`/admin/customers/${customer}`, { suspended: true })
    await reject('suspended', 403, [suspended.key])
    await reject('suspended', 403, [suspendedToken])
    const expires_at = new Date(Date.now() + 3_600_000).toISOString()
    const expiring = await createKey({ expires_at })
    await operator.post('/admin/clock', { advance_s: 7200 })
    await reject('expired', 403, [expiring.key])
    await reject('expired', 401, [token])
  },
  { env: { GATEHOOK_TEST_CLOCK: '1' } },
)

eachService(
  'the cost counts against the credential, and unknown ones against the caller',
  async (service) => {
    const { application, createKey, verify } = await openVerifier(service)
    const { key } = await createKey()
    const remaining = async (cost?: number) => (await verify(key, { cost })).limit.remaining
    assert.deepEqual([await remaining(10), await remaining(0), await remaining()], [40, 40, 40])
    assert.equal(
      (await service.as(key).get('/api/v2/users')).headers.ratelimit,
      '"default";r=39;t=60',
    )
    const limited = await verify(key, { cost: 40 })
    assert.deepEqual([limited.active, limited.reason, limited.status], [false, 'limited', 429])
    assert.deepEqual([limited.limit.limit, limited.limit.remaining], [50, 0])
    assert.ok(Number(limited.headers['retry-after']) >= 1)
    assert.equal((await verify(key, { cost: 51 })).reason, 'limited')
    assert.equal(await remaining(39), 0)
    assert.equal((await verify(key)).active, true, 'never limited at cost 0')
    for (let count = 0; count < 60; count++) await verify(key)
    for (let count = 0; count < 50; count++) {
      assert.equal((await application.post(VERIFY, { credential: `x${count}` })).status, 200)
    }
    const over = await application.post(VERIFY, { credential: 'x' })
    assert.deepEqual([over.status, over.body.error], [429, 'rate_limited'])
    assert.equal((await verify(key)).active, true, 'the credentials of callers are verified still')
  },
  LIMITED,
)

eachService(
  'a failure before the verification counts against the caller, as does a missing scope',
  async (service) => {
    const { operator, application, createKey, verify } = await openVerifier(service)
    const own = (await createKey()).key
    const statusesOf = async (caller: typeof application, body: unknown, count: number) => {
      const statuses: number[] = []
      for (let n = 0; n < count; n++) statuses.push((await caller.post(VERIFY, body)).status)
      return new Set(statuses)
    }
    const without = service.as((await createKey({ scopes: ['keys:read'] })).key)
    assert.deepEqual(await statusesOf(without, { credential: own }, 50), new Set([403]))
    assert.deepEqual(await statusesOf(without, { credential: own }, 9), new Set([429]))
    for (const [body, status] of [
      [{}, 422],
      ['{', 400],
      [{ credential: 'x' }, 200],
    ] as const) {
      const caller = service.as((await createKey({ scopes: ['keys:verify'] })).key)
      assert.deepEqual(await statusesOf(caller, body, 50), new Set([status]))
      assert.deepEqual(await statusesOf(caller, body, 9), new Set([429]))
      const reply = await caller.post(VERIFY, { credential: own })
      assert.equal(reply.body.active, true, 'a holder of the scope verifies still')
    }
    for (let count = 0; count < 60; count++) assert.equal((await verify(own)).active, true)
    assert.equal((await application.post(VERIFY, {})).status, 422, 'nothing was counted')
    assert.equal((await operator.get('/admin/keys')).status, 200)
  },
  LIMITED,
)

eachService(
  'above a lowered limit a credential is not limited at cost 0',
  async (service) => {
    const { operator, createKey, verify } = await openVerifier(service)
    const { id } = (await operator.post('/admin/customers', { name: 'Org' })).body
    const { key } = await createKey({ customer: id })
    assert.equal((await verify(key, { cost: 40 })).limit.remaining, 10)
    const limits = { rate_limit: { limit: 20, window_s: 60 } }
    const changed = await operator.patch(`/admin/customers/${id}`, { limits })
    assert.equal(changed.status, 200, changed.text)
    const answer = await verify(key)
    assert.deepEqual([answer.active, answer.limit.limit, answer.limit.remaining], [true, 20, 0])
    assert.equal((await verify(key, { cost: 1 })).reason, 'limited')
  },
  LIMITED,
)

eachService('a caller sees credentials of its own customer and mode only', async (service) => {
  const { operator, createKey, createToken, verify } = await openVerifier(service)
  const customer = (await operator.post('/admin/customers', { name: 'Other' })).body.id
  const verifying = { scopes: ['keys:verify'], customer }
  const caller = service.as((await createKey(verifying)).key)
  const own = await createKey({ customer })
  assert.equal((await caller.post(VERIFY, { credential: own.key })).body.active, true)
  const token = (await createToken({ customer })).token
  assert.equal((await caller.post(VERIFY, { credential: token })).body.active, true)
  const revoked = await createKey()
  await operator.delete(`/admin/keys/${revoked.id}`)
  const foreign = [
    (await createKey()).key,
    (await createKey({ customer, mode: 'test' })).key,
    (await createKey({ cidrs: ['192.0.2.0/24'] })).key,
    revoked.key,
  ]
  const unknown = (await caller.post(VERIFY, { credential: 'x' })).text
  for (const credential of foreign) {
    const question = { credential, scopes: ['reports:read'], cost: 1 }
    assert.equal((await caller.post(VERIFY, question)).text, unknown)
  }
  const tokens = [
    (await createToken()).token,
    (await createToken({ customer, mode: 'test' })).token,
  ]
  const unknownToken = (await caller.post(VERIFY, { credential: 'a.b.c' })).text
  for (const credential of tokens) {
    const question = { credential, resource: 'https://other.example' }
    assert.equal((await caller.post(VERIFY, question)).text, unknownToken)
  }
  const keys = (await operator.get(`/admin/keys?customer=default&name=Shop`)).body.data
  assert.ok(keys.every((key: { last_used_at: unknown }) => key.last_used_at === null))
  assert.equal((await verify(own.key)).active, true)
  const without = service.as((await createKey({ customer, scopes: ['keys:read'] })).key)
  const rejected = await without.post(VERIFY, { credential: own.key })
  assert.deepEqual([rejected.status, rejected.body.error], [403, 'insufficient_scope'])
  assert.equal((await service.as(undefined).post(VERIFY, { credential: 'x' })).status, 401)
})

eachService('a malformed question is 422, and names the member', async (service) => {
  const { application } = await openVerifier(service)
  const wrong: readonly [pointer: string, members: Record<string, unknown>][] = [
    ['/credential', {}],
    ['/credential', { credential: '' }],
    ['/credential', { credential: 'x'.repeat(8193) }],
    ['/credential', { credential: 7 }],
    ['/scopes/0', { credential: 'x', scopes: ['Not A Scope'] }],
    ['/address', { credential: 'x', address: 'testclient' }],
    ['/address', { credential: 'x', address: '10.0.0.0/8' }],
    ['/cost', { credential: 'x', cost: 1001 }],
    ['/cost', { credential: 'x', cost: -1 }],
    ['/resource', { credential: 'x', resource: '' }],
    ['/more', { credential: 'x', more: 1 }],
  ]
  for (const [pointer, body] of wrong) {
    const reply = await application.post(VERIFY, body)
    assert.deepEqual([reply.status, reply.body.errors?.[0].pointer], [422, pointer], reply.text)
  }
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`the log names a required scope that no credential can hold, once [${kind}]`, async (t) => {
    const lines: string[] = []
    const destination = { write: (line: string) => void lines.push(line) }
    const log = createLog({ level: 'warn', destination })
    const { createKey, verify } = await openVerifier(await openService(t, kind, { log }))
    const { key } = await createKey()
    const scopes = ['users:reed', 'users:write', 'openid']
    for (let times = 0; times < 2; times++) {
      assert.equal((await verify(key, { scopes })).reason, 'scope')
    }
    const named = lines.map((line) => JSON.parse(line)).filter(({ scope }) => scope !== undefined)
    assert.deepEqual(
      named.map(({ scope }) => scope),
      ['users:reed'],
    )
    assert.ok(!lines.join().includes(key))
  })
}

eachService('keys are introspected by the same callers', async (service) => {
  const { operator, createKey, createToken, secret } = await openVerifier(service)
  const customer = (await operator.post('/admin/customers', { name: 'Other' })).body.id
  const introspect = async (key: string, token: string) => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const form = String(new URLSearchParams({ token }))
    return service.as(key).send('POST', '/oauth/introspect', form, type)
  }
  const { id, key } = await createKey({ customer })
  const verifying = (await createKey({ customer, scopes: ['keys:verify'] })).key
  const { body } = await introspect(verifying, key)
  const { iss, ...members } = body
  assert.ok(iss)
  const expected = { sub: id, scope: 'users:read', customer, mode: 'live' }
  assert.deepEqual(members, { active: true, token_type: 'api_key', ...expected })
  assert.equal((await introspect(secret, key)).body.sub, id)
  const foreign = [await createKey(), await createKey({ customer, mode: 'test' })]
  for (const { key } of foreign) {
    assert.deepEqual((await introspect(verifying, key)).body, { active: false })
  }
  const { token } = await createToken({ customer })
  assert.deepEqual((await introspect(verifying, token)).body, { active: false }, 'tokens need more')
  const tokens = (await createKey({ customer, scopes: ['tokens:introspect'] })).key
  assert.deepEqual((await introspect(tokens, key)).body, { active: false }, 'and keys, too')
  assert.equal((await introspect(tokens, token)).body.active, true)
  const none = (await createKey({ customer })).key
  assert.equal((await introspect(none, key)).status, 403)
})
