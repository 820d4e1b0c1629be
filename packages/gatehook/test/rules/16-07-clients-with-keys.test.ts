/** §16.7: a client authenticates by `private_key_jwt`; each check counts alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { databases, eachMigrated } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { createFetchBudget } from '../../src/identity/oauth/fetch-budget.ts'
import { createKeySets } from '../../src/identity/oauth/key-set.ts'
import { createLimiter } from '../../src/protocol/quota/store.ts'
import { codeOf, documentEnv, openDocumentHost, signIn } from '../oauth/document-host.ts'
import {
  authorizePath,
  CALLBACK,
  form,
  type OauthFixture,
  openBrowser,
  openOauthFixture,
  VERIFIER,
} from '../oauth/rig.ts'

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const ISSUER = 'https://api.example.com'
const env = { GATEHOOK_PUBLIC_URL: ISSUER, GATEHOOK_TEST_CLOCK: '1' }
const FAILED = 'Client authentication failed.'

async function createKey(alg = 'ES256', kid: string | undefined = 'one') {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), alg, kid, use: 'sig' } }
}
type Key = Awaited<ReturnType<typeof createKey>>

let count = 0
/** Returns an assertion of the client; `undefined` omits a claim. */
function assertionOf(
  key: Key,
  id: string,
  now: number,
  claims: Record<string, unknown> = {},
  header = {},
) {
  const all = { iss: id, sub: id, aud: ISSUER, exp: now + 60, jti: `jti ${++count}`, ...claims }
  const protectedHeader = { alg: key.alg, ...(key.kid && { kid: key.kid }), ...header }
  return new SignJWT(all).setProtectedHeader(protectedHeader).sign(key.privateKey)
}

const rigOf = (fixture: OauthFixture) => {
  const { admin, anonymous, createClient } = fixture
  return {
    now: async () => Math.floor(Date.parse((await admin.get('/admin/clock')).body.now) / 1000),
    advance: (advance_s: number) => admin.post('/admin/clock', { advance_s, freeze: true }),
    register: (keys: object) =>
      createClient({ grant_types: ['client_credentials'], redirect_uris: [], ...keys }),
    token: (assertion: string, fields: Record<string, string | null> = {}) =>
      form(anonymous, '/oauth/token', {
        grant_type: 'client_credentials',
        client_assertion_type: TYPE,
        client_assertion: assertion,
        ...fields,
      }),
  }
}

for (const { name } of databases) {
  test(`each check of an assertion refuses alone [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { now, advance, register, token } = rigOf(fixture)
    await advance(0)
    const at = await now()
    const [key, other] = [await createKey(), await createKey()]
    const client = await register({ jwks: { keys: [key.jwk] } })
    assert.equal(client.client_secret, undefined)
    const id = client.client_id
    assert.equal((await token(await assertionOf(key, id, at))).status, 200)
    const refused: [check: string, assertion: Promise<string> | string, description?: string][] = [
      ['iss', assertionOf(key, id, at, { iss: 'other' })],
      ['sub', assertionOf(key, id, at, { sub: 'other' })],
      ['no exp', assertionOf(key, id, at, { exp: undefined })],
      ['exp in the past', assertionOf(key, id, at, { exp: at })],
      ['exp far ahead', assertionOf(key, id, at, { exp: at + 3601 })],
      ['nbf', assertionOf(key, id, at, { nbf: at + 30 })],
      ['iat', assertionOf(key, id, at, { iat: at + 30 })],
      ['no jti', assertionOf(key, id, at, { jti: undefined })],
      ['a long jti', assertionOf(key, id, at, { jti: 'x'.repeat(256) })],
      ['the key', assertionOf(other, id, at)],
      ['the kid', assertionOf(key, id, at, {}, { kid: 'two' })],
      ['no JWT', 'no JWT'],
      ['too long', 'x'.repeat(9000)],
      ['unsigned', `${btoa('{"alg":"none"}')}.${btoa(JSON.stringify({ sub: id }))}.`],
    ]
    for (const aud of [`${ISSUER}/oauth/token`, `${ISSUER}/`, [ISSUER, 'urn:other'], [], 1]) {
      const check = `aud ${aud}`
      const assertion = assertionOf(key, id, at, { aud })
      refused.push([check, assertion, `The aud of the assertion must be ${ISSUER}.`])
    }
    for (const [check, assertion, description = FAILED] of refused) {
      const { status, body } = await token(await assertion, { client_id: id })
      assert.deepEqual([status, body.error], [401, 'invalid_client'], check)
      assert.equal(body.error_description, description, check)
    }
    const list = await assertionOf(key, id, await now(), { aud: [ISSUER] })
    assert.equal((await token(list)).status, 200)
    const both = await token(list, { client_secret: 'x' })
    assert.equal(both.body.error, 'invalid_request')
    const type = await token(list, { client_assertion_type: 'other' })
    assert.equal(type.body.error, 'invalid_request')
  })

  test(`each deviation from the form of an assertion refuses alone [${name}]`, async (t) => {
    const { now, advance, register, token } = rigOf(await openOauthFixture(t, name, { env }))
    await advance(0)
    const at = await now()
    const key = await createKey()
    const id = (await register({ jwks: { keys: [key.jwk] } })).client_id
    const sign = (header = {}) => assertionOf(key, id, at, {}, header)
    const deviations: Readonly<Record<string, string>> = {
      'an extension': await sign({ crit: ['b64'], b64: true }),
      'a number as kid': await sign({ kid: 7 }),
      'null as kid': await sign({ kid: null }),
      'a fourth part': `${await sign()}.x`,
      'a padded part': `${await sign()}==`,
      'another signature': (await sign()).replace(/[^.]+$/, 'A'.repeat(86)),
      'a short signature': (await sign()).slice(0, -4),
      'claims that are a list': (await sign()).replace(/\.[^.]+\./, `.${btoa('[]')}.`),
    }
    for (const [name, assertion] of Object.entries(deviations)) {
      assert.equal((await token(assertion, { client_id: id })).status, 401, name)
    }
    assert.equal((await token(await sign(), { client_id: id })).status, 200)
  })

  test(`an assertion counts once, on all nodes and after a restart [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { now, advance, register, token } = rigOf(fixture)
    await advance(0)
    const key = await createKey()
    const client = await register({ jwks: { keys: [key.jwk] } })
    const assertion = await assertionOf(key, client.client_id, await now())
    const replies = await Promise.all(Array.from({ length: 5 }, () => token(assertion)))
    const statuses = replies.map(({ status }) => status).toSorted()
    assert.deepEqual(statuses, [200, 401, 401, 401, 401])
    const again = await openService(t, name, { url: fixture.url, env })
    const next = rigOf({ ...fixture, anonymous: again.as(undefined) })
    assert.equal((await next.token(assertion)).status, 401)
    // Another client may have the same jti.
    const other = await register({ jwks: { keys: [key.jwk] } })
    const same = { jti: `jti ${count}` }
    const own = await assertionOf(key, other.client_id, await now(), same)
    assert.equal((await token(own)).status, 200)
  })

  test(`every algorithm and endpoint takes assertions [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { admin, anonymous } = fixture
    const { now, advance, register, token } = rigOf(fixture)
    await advance(0)
    const at = await now()
    const algorithms = ['ES256', 'RS256', 'PS256', 'EdDSA', 'Ed25519']
    const keys = await Promise.all(algorithms.map((alg) => createKey(alg, undefined)))
    const second = await createKey('ES256', undefined)
    const jwks = { keys: [second, ...keys].map(({ jwk }) => jwk) }
    const client = await register({ jwks })
    const id = client.client_id
    for (const key of keys) {
      assert.equal((await token(await assertionOf(key, id, at))).status, 200, key.alg)
    }
    for (const alg of ['ES384', 'RS512']) {
      const key = await createKey(alg, undefined)
      assert.equal((await token(await assertionOf(key, id, at))).status, 401, alg)
    }
    const access = (await token(await assertionOf(second, id, at))).body.access_token
    for (const path of ['/oauth/introspect', '/oauth/revoke']) {
      const fields = { token: access, client_assertion_type: TYPE }
      const client_assertion = await assertionOf(second, id, at)
      assert.equal((await form(anonymous, path, { ...fields, client_assertion })).status, 200)
      assert.equal((await form(anonymous, path, { ...fields, client_assertion })).status, 401)
    }
    // Keys or secrets, never both; a former key ends with the next set.
    const { client_id: plain } = fixture.client
    assert.equal((await admin.patch(`/admin/clients/${plain}`, { jwks })).status, 422)
    const rotated = await admin.post(`/admin/clients/${id}/rotate-secret`, {})
    assert.equal(rotated.body.error, 'invalid_state')
    const [retained] = keys
    const patch = await admin.patch(`/admin/clients/${id}`, { jwks: { keys: [retained!.jwk] } })
    assert.deepEqual(patch.body.jwks, { keys: [retained!.jwk] })
    assert.equal((await token(await assertionOf(second, id, at))).status, 401)
    assert.equal((await token(await assertionOf(retained!, id, at))).status, 200)
    const small = await generateKeyPair('RS256', { extractable: true })
    const { d } = await exportJWK(small.privateKey)
    const url = 'https://app.example/jwks.json'
    for (const keysOfClient of [
      { jwks: {} },
      { jwks: { keys: [] } },
      { jwks: { keys: [{ ...second.jwk, d }] } },
      { jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } },
      { jwks: { keys: [{ kty: 'RSA', e: 'AQAB', n: 'AQAB' }] } },
      { jwks_uri: 'http://app.example/jwks.json' },
      { jwks_uri: `${url}#x` },
      { jwks, jwks_uri: url },
      { jwks, public: true },
    ]) {
      const body = { name: 'x', scopes: ['orders:read'], ...keysOfClient }
      const { status } = await admin.post('/admin/clients', body)
      assert.equal(status, 422, JSON.stringify(keysOfClient))
    }
  })

  test(`clients that describe themselves have keys [${name}]`, async (t) => {
    const host = await openDocumentHost(t)
    const fixture = await openOauthFixture(t, name, {
      env: { ...documentEnv, GATEHOOK_CLIENT_REGISTRATION: 'open', GATEHOOK_TEST_CLOCK: '1' },
    })
    const { anonymous } = fixture
    const { now, token } = rigOf(fixture)
    const issuer = (await anonymous.get('/.well-known/oauth-authorization-server')).body.issuer
    const key = await createKey()
    host.serve('/jwks.json', { keys: [key.jwk] })
    const jwks_uri = host.id('/jwks.json')
    const members = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri }
    const registered = await anonymous.post('/oauth/register', {
      client_name: 'Agent',
      redirect_uris: [CALLBACK],
      ...members,
    })
    assert.equal(registered.status, 201, registered.text)
    assert.equal(registered.body.jwks_uri, jwks_uri)
    assert.ok(!('client_secret' in registered.body))
    for (const id of [host.document(members), registered.body.client_id]) {
      const redeem = async (aud: string) =>
        token(await assertionOf(key, id, await now(), { aud }), {
          grant_type: 'authorization_code',
          code: await codeOf(fixture, id),
          redirect_uri: CALLBACK,
          code_verifier: VERIFIER,
        })
      assert.equal((await redeem('urn:other')).status, 401)
      const { status, body } = await redeem(issuer)
      assert.equal(status, 200, body.error_description)
      const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token }
      const bare = await form(anonymous, '/oauth/token', { ...refresh, client_id: id })
      assert.equal(bare.body.error, 'invalid_client')
      const login = await anonymous.post('/auth/refresh', { refresh_token: body.refresh_token })
      assert.equal(login.body.error, 'invalid_client')
    }
    const elsewhere = { ...members, jwks_uri: 'https://other.example/jwks.json' }
    const path = authorizePath({ client_id: host.document(elsewhere, '/elsewhere.json') })
    assert.equal((await signIn(openBrowser(fixture.app), path, fixture)).status, 400)
  })
}

test('an assertion whose subject is no text is refused at every endpoint', async (t) => {
  const { anonymous } = await openOauthFixture(t, 'sqlite', { env })
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  for (const sub of [7, null, [], {}, true]) {
    const client_assertion = `${part({ alg: 'ES256' })}.${part({ sub })}.AAAA`
    for (const path of ['token', 'introspect', 'revoke', 'device_authorization']) {
      const fields = { client_assertion_type: TYPE, client_assertion, token: 'x' }
      const { status, body } = await form(anonymous, `/oauth/${path}`, {
        ...fields,
        grant_type: 'client_credentials',
      })
      assert.deepEqual([status, body.error], [401, 'invalid_client'], `${path} ${sub}`)
    }
  }
})

const UNLIMITED = { countFetch: async () => undefined }

test('a key set is fetched when the rule says so', async () => {
  let nowMs = 1_000_000_000_000
  let answer: { keys: { kid: string }[] } | Error = { keys: [] }
  let fetches = 0
  const key = await createKey('ES256', 'one')
  const fetchDocument = async () => {
    fetches++
    if (answer instanceof Error) throw answer
    return { value: answer, lifetimeMs: 0 }
  }
  const fetchTrusted = fetchDocument
  const clock = { now: () => nowMs }
  const { find } = createKeySets({ ...UNLIMITED, fetchDocument, fetchTrusted, clock })
  const keys = { jwksUri: 'https://app.example/jwks.json' }
  const use = async (afterS: number, kid = 'one') => {
    nowMs += afterS * 1000
    const before = fetches
    const select = await find(keys, kid).catch(() => undefined)
    const header = { alg: 'ES256', kid }
    const selected = await select?.(header).catch(() => undefined)
    return `${selected ? 'found' : 'missing'} ${fetches - before}`
  }
  answer = { keys: [key.jwk] as never }
  assert.equal(await use(0), 'found 1')
  assert.equal(await use(599), 'found 0')
  assert.equal(await use(1), 'found 1', 'every 10 minutes')
  assert.equal(await use(59, 'two'), 'missing 0')
  assert.equal(await use(1, 'two'), 'missing 1', 'an unknown key once a minute')
  assert.equal(await use(30, 'three'), 'missing 0')
  answer = new Error('away')
  assert.equal(await use(600), 'found 1')
  assert.equal(await use(59), 'found 0', 'a failure is repeated once a minute')
  assert.equal(await use(86_400 - 30 - 600 - 59 - 61), 'found 1')
  assert.equal(await use(61), 'missing 1', 'unusable after 24 h')
  answer = { keys: [key.jwk] as never }
  assert.equal(await use(60), 'found 1')
  answer = { keys: [] }
  assert.equal(await use(600), 'missing 1', 'a removed key ends')
})

eachMigrated('fetches of key sets are limited for a customer and a host', async (db) => {
  const nowMs = 1_000_000_000_000
  const clock = { now: () => nowMs, elapsedMs: () => nowMs }
  const key = await createKey('ES256', 'one')
  const fetched: string[] = []
  const fetchDocument = async (url: string) => {
    fetched.push(url)
    return { value: { keys: [key.jwk] }, lifetimeMs: 0 }
  }
  const countFetch = createFetchBudget(createLimiter(db, clock))
  const { find } = createKeySets({
    countFetch,
    fetchDocument,
    fetchTrusted: fetchDocument,
    clock,
  })
  const count = async (customer: string, hosts: number, each: number) => {
    fetched.length = 0
    for (let n = 0; n < hosts * each; n++) {
      const source = { jwksUri: `https://h${n % hosts}.example/${customer}/${n}` }
      await find(source, 'one', customer).catch(({ message }) => assert.match(message, /too many/))
    }
    return fetched.length
  }
  assert.equal(await count('first', 1, 40), 30, 'of one host')
  assert.equal(await count('first', 10, 20), 30, 'of one customer')
  assert.equal(await count('second', 1, 40), 30, 'of a host that another customer uses')
  for (let n = 0; n < 8; n++) assert.equal(await count(`more ${n}`, 1, 40), 30)
  assert.equal(await count('last', 1, 40), 0, 'of a host for all')
  assert.equal(await count('other', 9, 1), 8, 'whatever others fetch')
})

eachMigrated('fetches for unknown keys stop no refresh of others', async (db) => {
  let nowMs = 1_000_000_000_000
  const clock = { now: () => nowMs, elapsedMs: () => nowMs }
  const [before, after] = [await createKey('ES256', 'before'), await createKey('ES256', 'after')]
  let own = before
  const fetchDocument = async (url: string) => ({
    value: { keys: [url.includes('own') ? own.jwk : before.jwk] },
    lifetimeMs: 0,
  })
  const countFetch = createFetchBudget(createLimiter(db, clock))
  const { find } = createKeySets({
    countFetch,
    fetchDocument,
    fetchTrusted: fetchDocument,
    clock,
  })
  const isFound = async (kid: string) => {
    const select = await find({ jwksUri: 'https://own.example/jwks' }, kid, 'own')
    return Promise.resolve(select({ alg: 'ES256', kid })).then(
      () => true,
      () => false,
    )
  }
  assert.equal(await isFound('before'), true)
  own = after
  for (let minute = 0; minute < 10; minute++) {
    nowMs += 60_000
    for (let n = 0; n < 140; n++) {
      const source = { jwksUri: `https://h${n % 4}.example/${n}` }
      // The owners of other sets, and strangers, name keys that no set has.
      await find(source, `unknown ${minute}`, n % 3 === 0 ? '' : `other ${n % 2}`).catch(() => {})
    }
  }
  assert.deepEqual([await isFound('after'), await isFound('before')], [true, false])
})
