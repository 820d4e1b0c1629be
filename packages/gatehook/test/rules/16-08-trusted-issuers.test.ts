/** §16.8: assertions of trusted issuers become tokens of workloads; each check counts alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { databases } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import {
  bearer,
  createIssuerKey,
  issuerEnv as env,
  GRANT,
  ISSUER,
  openIssuerRig,
  RULE,
  SERVER,
} from '../oauth/issuer-rig.ts'
import { basicOf, form, openOauthFixture } from '../oauth/rig.ts'

const SUB = 'repo:acme/shop:ref:refs/heads/main'
const INVALID = 'The assertion is not valid.'

const withoutLinks = (rows: Record<string, unknown>[]) => rows.map(({ _links, ...row }) => row)

for (const { name } of databases) {
  test(`each check of an assertion refuses alone, and explain names it [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { sign, create, exchange, explain, now } = await openIssuerRig(fixture)
    const { id } = await create()
    const at = await now()
    const other = await createIssuerKey()
    const small = await createIssuerKey('ES256', 'two')
    const refused: [check: string, assertion: string, description?: string][] = [
      ['signature', await sign({}, {}, other)],
      ['signature', await sign({}, { kid: 'two' })],
      ['signature', await sign({}, {}, small)],
      ['sub', await sign({ sub: undefined })],
      ['sub', await sign({ sub: '' })],
      ['sub', await sign({ sub: 7 })],
      ['sub', await sign({ sub: 'a\u0000b' })],
      ['sub', await sign({ sub: 'a\ud800' })],
      ['sub', await sign({ sub: 'x'.repeat(501) })],
      ['exp', await sign({ exp: undefined })],
      ['exp', await sign({ exp: 'later' })],
      ['exp', await sign({ exp: at })],
      ['exp', await sign({ exp: at + 86_401 })],
      ['nbf', await sign({ nbf: at + 30 })],
      ['nbf', await sign({ nbf: 'now' })],
      ['iat', await sign({ iat: at + 30 })],
      ['jti', await sign({ jti: undefined })],
      ['jti', await sign({ jti: '' })],
      ['jti', await sign({ jti: 7 })],
      ['jti', await sign({ jti: 'x'.repeat(256) })],
      ['rule', await sign({ repository: 'acme/other' })],
      ['rule', await sign({ repository: undefined })],
      ['rule', await sign({ repository: ['acme/shop'] })],
      ['rule', await sign({}, { typ: 'at+jwt' })],
      ['rule', await sign({}, { typ: 'logout+jwt' })],
    ]
    for (const aud of [`${SERVER}/oauth/token`, `${SERVER}/`, [SERVER, 'urn:other'], [], 1]) {
      refused.push(['aud', await sign({ aud }), `The aud of the assertion must be ${SERVER}.`])
    }
    for (const [check, assertion, description = INVALID] of refused) {
      const { status, body } = await exchange(assertion)
      assert.deepEqual([status, body.error], [400, 'invalid_grant'], check)
      assert.equal(body.error_description, description, check)
      const { failed, valid } = await explain(id, assertion)
      assert.deepEqual([failed, valid], [[check], false], check)
    }
    const long = await sign({ more: 'x'.repeat(8_192) })
    for (const text of ['no JWT', 'a.b.c', long]) {
      const { status, body } = await exchange(text)
      assert.deepEqual(
        [status, body.error, body.error_description],
        [400, 'invalid_grant', INVALID],
      )
    }
    assert.deepEqual((await explain(id, 'no JWT')).failed, ['form'])
    const stranger = await sign({ iss: 'https://stranger.example' })
    assert.equal((await exchange(stranger)).body.error_description, INVALID)
    assert.deepEqual((await explain(id, stranger)).failed, ['iss'])
    const missing = await form(fixture.anonymous, '/oauth/token', { grant_type: GRANT })
    assert.equal(missing.body.error, 'invalid_request')
    for (const typ of [undefined, 'JWT', 'jwt', 'application/jwt']) {
      const assertion = await sign({ aud: [SERVER] }, typ ? { typ } : {})
      assert.equal((await exchange(assertion)).status, 200, String(typ))
    }
    const { admin } = fixture
    const { body: acme } = await admin.post('/admin/customers', { name: 'Acme' })
    await admin.patch(`/admin/issuers/${id}`, { rules: [{ ...RULE, customer: acme.id }] })
    await admin.patch(`/admin/customers/${acme.id}`, { suspended: true })
    const suspended = await sign()
    assert.equal((await exchange(suspended)).body.error, 'invalid_grant')
    assert.deepEqual((await explain(id, suspended)).failed, ['customer'])
  })

  test(`a workload acts for the customer, and is named everywhere [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { admin, anonymous } = fixture
    const { sign, create, exchange, explain, now } = await openIssuerRig(fixture)
    const scopes = ['orders:read', 'webhooks:write', 'webhooks:read']
    const { id } = await create({ rules: [{ ...RULE, scopes }] })
    const at = await now()
    const subject = `${ISSUER}|${SUB}`
    const assertion = await sign({ exp: at + 60, kind: 'person' })
    const explained = await explain(id, assertion)
    const mode = 'live'
    const customer = 'cus_default'
    const principal = { kind: 'workload', id: subject, customer, mode, scopes }
    assert.deepEqual([explained.valid, explained.principal], [true, principal])
    const { status, body } = await exchange(assertion, { scope: 'orders:read webhooks:write' })
    assert.equal(status, 200, body.error_description)
    assert.deepEqual([body.expires_in, body.scope], [60, 'orders:read webhooks:write'])
    assert.ok(!('refresh_token' in body))
    const claims = decodeJwt(body.access_token)
    assert.deepEqual(
      [claims.kind, claims.sub, claims.client_id, claims.aud, claims.sid],
      ['workload', subject, id, SERVER, undefined],
    )
    const headers = bearer(body.access_token)
    const protectedReply = await anonymous.get('/api/v1/protected', headers)
    assert.deepEqual(protectedReply.body, { status: 'ok', user: subject })
    assert.equal((await anonymous.get('/api/v2/orders', headers)).status, 200)
    const denied = await anonymous.post('/api/v2/orders', {}, headers)
    assert.deepEqual([denied.status, denied.body.error], [403, 'insufficient_scope'])
    assert.match(denied.headers['www-authenticate']!, /^Bearer error="insufficient_scope"/)
    const account = await anonymous.get('/auth/sessions', headers)
    assert.deepEqual([account.status, account.body.error], [403, 'first_party_required'])
    assert.equal((await anonymous.get('/admin/issuers', headers)).status, 403)
    // The log names issuer and subject, the request of the token included.
    await fixture.app.work()
    const log = await admin.get(`/admin/requests?client_id=${id}&limit=100`)
    const callers = new Set(
      log.body.data.map(({ credential }: { credential: object }) => JSON.stringify(credential)),
    )
    assert.deepEqual(
      [...callers].map((text) => JSON.parse(String(text))),
      [{ kind: 'workload', id, name: null, hint: null, subject }],
    )
    assert.ok(log.body.data.some(({ path }: { path: string }) => path === '/oauth/token'))
    assert.doesNotMatch(log.text, new RegExp(assertion.slice(-40)))
    const usage = await admin.get('/admin/versions/v2/usage')
    const row = usage.body.data.find(({ client_id }: { client_id: string }) => client_id === id)
    assert.equal(row.subject, subject)
    const traffic = await admin.get('/admin/versions/v2/callers')
    const caller = traffic.body.data.find(({ id: caller }: { id: string }) => caller === id)
    assert.deepEqual([caller.kind, caller.name], ['workload', ISSUER])
    // The audit trail names it as the actor.
    const revoked = await anonymous.post('/auth/logout', undefined, headers)
    assert.equal(revoked.status, 204, revoked.text)
    const trail = await admin.get('/admin/audit?action=token.revoke')
    const { kind, id: actor } = trail.body.data[0].principal
    assert.deepEqual([kind, actor], ['workload', subject])
    assert.equal((await anonymous.get('/api/v2/orders', headers)).status, 401)
    for (const [scope, error] of [
      ['orders:write', 'invalid_scope'],
      ['admin', 'invalid_scope'],
    ] as const) {
      assert.equal((await exchange(await sign(), { scope })).body.error, error)
    }
    const api = await exchange(await sign(), { resource: `${SERVER}/api` })
    assert.equal(decodeJwt(api.body.access_token).aud, `${SERVER}/api`)
    const unused = await sign()
    const target = await exchange(unused, { resource: 'https://other.example' })
    assert.equal(target.body.error, 'invalid_target')
    assert.equal((await exchange(unused)).status, 200, 'a refused request consumes nothing')
  })

  test(`the kind of a token is that of its grant [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { anonymous, client, person } = fixture
    const grant = { grant_type: 'client_credentials' }
    const own = await form(anonymous, '/oauth/token', grant, basicOf(client))
    assert.equal(decodeJwt(own.body.access_token).kind, 'client')
    const login = { username: person.email, password: 'correct horse battery' }
    const session = await anonymous.post('/auth/login', login)
    assert.equal(decodeJwt(session.body.access_token).kind, 'person')
  })

  test(`an assertion counts once on all nodes, or until it expires [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { sign, create, exchange, explain } = await openIssuerRig(fixture)
    const { id } = await create()
    const assertion = await sign()
    const replies = await Promise.all(Array.from({ length: 5 }, () => exchange(assertion)))
    const statuses = replies.map(({ status }) => status).toSorted()
    assert.deepEqual(statuses, [200, 400, 400, 400, 400])
    const replay = replies.find(({ status }) => status === 400)!
    assert.equal(replay.body.error_description, 'The assertion was used before.')
    assert.deepEqual((await explain(id, assertion)).failed, ['replay'])
    const again = await openService(t, name, { url: fixture.url, env })
    assert.equal((await exchange(assertion, {}, {}, again.as(undefined))).status, 400)
    const { admin } = fixture
    await admin.patch(`/admin/issuers/${id}`, { reuse: 'until_expiry' })
    const many = await sign({ jti: undefined })
    for (let use = 0; use < 2; use++) assert.equal((await exchange(many)).status, 200)
    assert.equal((await admin.patch(`/admin/issuers/${id}`, { reuse: null })).body.reuse, null)
    assert.equal((await exchange(many)).status, 400)
  })

  test(`a deleted issuer, and a narrower rule, end tokens on each node [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { admin, anonymous } = fixture
    const second = (await openService(t, name, { url: fixture.url, env })).as(undefined)
    const { sign, create, exchange, key } = await openIssuerRig(fixture)
    const { id } = await create()
    const token = async () => bearer((await exchange(await sign())).body.access_token)
    const [first, narrowed] = [await token(), await token()]
    const path = '/api/v2/orders'
    assert.equal((await second.get(path, first)).status, 200)
    /** Waits until each node responds so: the second one polls for the changes of the first. */
    const untilBoth = async (status: number, headers: Record<string, string>) => {
      for (const node of [anonymous, second]) {
        await eventually(
          () => node.get(path, headers),
          (reply) => reply.status === status,
        )
      }
    }
    const rules = [{ ...RULE, scopes: ['users:read'] }]
    assert.equal((await admin.patch(`/admin/issuers/${id}`, { rules })).status, 200)
    await untilBoth(403, narrowed)
    const widened = await admin.patch(`/admin/issuers/${id}`, { rules: [RULE] })
    assert.equal(widened.status, 200)
    await untilBoth(200, first)
    assert.equal((await admin.delete(`/admin/issuers/${id}`)).status, 204)
    await untilBoth(401, first)
    const refused = await exchange(await sign())
    assert.equal(refused.body.error_description, INVALID)
    assert.equal((await admin.get(`/admin/issuers/${id}`)).status, 404)
    const again = await admin.post('/admin/issuers', {
      issuer: ISSUER,
      jwks: { keys: [key.jwk] },
      rules: [RULE],
    })
    assert.equal(again.status, 201)
    await untilBoth(401, first)
  })

  test(`issuers are administered like clients [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { admin } = fixture
    const { create, key } = await openIssuerRig(fixture)
    const issuer = await create({ owners: ['namespace_path'] })
    const rule = { ...RULE, customer: 'cus_default', typ: null, person: null, domains: [] }
    assert.deepEqual(issuer, {
      id: issuer.id,
      issuer: ISSUER,
      jwks: { keys: [key.jwk] },
      jwks_uri: null,
      reuse: null,
      owners: ['namespace_path'],
      created_at: issuer.created_at,
      rules: [rule],
    })
    const path = `/admin/issuers/${issuer.id}`
    assert.deepEqual((await admin.get(path)).body, issuer)
    const list = await admin.get('/admin/issuers')
    assert.deepEqual(withoutLinks(list.body.data), [issuer])
    const twice = await admin.post('/admin/issuers', { issuer: ISSUER, rules: [] })
    assert.deepEqual([twice.status, twice.body.error], [409, 'conflict'])
    const uri = await admin.patch(path, { jwks_uri: `${ISSUER}/jwks` })
    assert.deepEqual([uri.body.jwks, uri.body.jwks_uri], [null, `${ISSUER}/jwks`])
    assert.equal((await admin.patch(path, { jwks_uri: null })).body.jwks_uri, null)
    for (const claim of ['iss', 'aud', 'exp', 'iat', 'nbf', 'jti']) {
      assert.equal((await admin.patch(path, { owners: [claim] })).status, 422, claim)
    }
    const orphan = { rules: [{ ...RULE, match: { namespace_path: 'acme' } }] }
    assert.equal((await admin.patch(path, orphan)).status, 200)
    assert.equal((await admin.patch(path, { owners: [] })).status, 422, 'a rule needs the owner')
    const stale = await admin.patch(path, { owners: ['x'] }, { 'if-match': '"stale"' })
    assert.equal(stale.status, 412)
    for (const members of [
      { issuer: 'http://ci.example' },
      { issuer: 'https://ci.example/?a=1' },
      { issuer: 'https://ci.example/#a' },
      { issuer: 'https://user@ci.example/' },
      { issuer: 'ci.example' },
      { issuer: 7 },
      { jwks: {} },
      { jwks: { keys: [] } },
      { jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } },
      { jwks_uri: 'http://ci.example/jwks' },
      { jwks: { keys: [key.jwk] }, jwks_uri: `${ISSUER}/jwks` },
      { reuse: 'always' },
      { owners: 'repository' },
      { rules: {} },
      { rules: undefined },
      { unknown: 1 },
    ]) {
      const body = { issuer: 'https://other.example', rules: [RULE], ...members }
      const { status, text } = await admin.post('/admin/issuers', body)
      assert.equal(status, 422, `${JSON.stringify(members)} ${text}`)
    }
    const actions = (await admin.get('/admin/audit?limit=100')).body.data
      .map(({ action }: { action: string }) => action)
      .filter((action: string) => action.startsWith('issuer.'))
    assert.ok(actions.includes('issuer.create') && actions.includes('issuer.update'))
  })
}

test('a wrong rule is refused with its pointer', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite', { env })
  const { admin } = fixture
  await openIssuerRig(fixture)
  const wrong: [member: string, rule: object][] = [
    ['match', { match: {} }],
    ['match', { match: { ref: 'refs/heads/main' } }],
    ['match', { match: { iss: ISSUER } }],
    ['match', { match: { aud: SERVER } }],
    ['match', { match: { repository: '' } }],
    ['match', { match: { repository: '*' } }],
    ['match', { match: { repository: '/*' } }],
    ['match', { match: { repository: 'acme*' } }],
    ['match', { match: { repository: 'ac*me/*' } }],
    ['match', { match: { repository: 'acme/**' } }],
    ['match', { match: { repository: [] } }],
    ['match', { match: { repository: ['acme/shop', 7] } }],
    ['match', { match: { repository: ['acme/shop', '*'] } }],
    ['match', { match: { repository: 7 } }],
    ['match', { match: { repository: null } }],
    ['match', { match: { repository: {} } }],
    ['match', { match: { repository: 'x'.repeat(501) } }],
    ['match', { match: { sub: '*' } }],
    ['match', { match: { sub: 'repo:*' } }],
    ['match', { match: { sub: 'repo::*' } }],
    ['match', { match: { sub: ['repo:acme/*', 'repo:*'] } }],
    ['match', { match: { sub: { a: 'b' } } }],
    ['match', { match: { repository: 'a/b', more: { a: { b: { c: { d: 'e' } } } } } }],
    ['match', { match: { repository: Array.from({ length: 900 }, (_, at) => `acme/${at}`) } }],
    ['match', { match: ['repository'] }],
    ['match', { match: 'repository' }],
    ['typ', { typ: 'oauth-id-jag+jwt' }],
    ['typ', { typ: 'at+jwt' }],
    ['typ', { typ: 'Application/AT+JWT' }],
    ['typ', { typ: 'JWT', person: 'sub' }],
    ['typ', { typ: 7 }],
    ['customer', { customer: 'cus_none' }],
    ['customer', { customer: undefined }],
    ['mode', { mode: 'both' }],
    ['mode', { mode: undefined }],
    ['scopes', { scopes: ['admin'] }],
    ['scopes', { scopes: ['orders:none'] }],
    ['scopes', { scopes: undefined }],
    ['scopes', { scopes: ['audit:read'], mode: 'test' }],
    ['person', { person: 'name' }],
    ['domains', { domains: ['acme.example'] }],
    ['domains', { domains: ['acme.example'], person: 'sub' }],
    ['domains', { domains: ['@acme.example'], person: 'email' }],
    ['unknown', { unknown: 1 }],
  ]
  for (const [member, change] of wrong) {
    const body = { issuer: ISSUER, rules: [RULE, { ...RULE, ...change }] }
    const reply = await admin.post('/admin/issuers', body)
    assert.equal(reply.status, 422, `${JSON.stringify(change)} ${reply.text}`)
    const { pointer } = reply.body.errors[0]
    assert.ok(pointer.startsWith(`/rules/1/${member}`), `${JSON.stringify(change)} ${pointer}`)
  }
  assert.equal((await admin.get('/admin/issuers')).body.data.length, 0)
})

test('a rule matches texts, lists, beginnings and nested claims; the first decides', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite', { env })
  const { admin } = fixture
  const { sign, create, exchange } = await openIssuerRig(fixture)
  const { id } = await create({ owners: ['kubernetes.io'] })
  const nested = { 'kubernetes.io': { namespace: 'shop', pod: { name: 'web' } } }
  const cases: [match: object, claims: object, matches: boolean][] = [
    [{ sub: 'repo:acme/*' }, {}, true],
    [{ sub: 'repo:acme/shop:*' }, {}, true],
    [{ sub: 'repo:acme/sho/*' }, {}, false],
    [{ sub: 'repo:acme/*' }, { sub: 'repo:acme/' }, false],
    [{ sub: 'repo:acme/*' }, { sub: 'repo:acmeevil/x' }, false],
    [{ sub: 'repo:acme/*' }, { sub: 'Repo:acme/x' }, false],
    [{ repository: ['acme/other', 'acme/shop'] }, {}, true],
    [{ repository: ['acme/other', 'acme/*'] }, {}, true],
    [{ repository: ['acme/other'] }, {}, false],
    [{ repository: 'acme/shop', ref: 'main' }, {}, false],
    [{ repository: 'acme/shop', ref: 'main' }, { ref: 'main' }, true],
    [{ repository: 'acme/shop', ref: 'true' }, { ref: true }, false],
    [nested, nested, true],
    [nested, { 'kubernetes.io': { namespace: 'shop' } }, false],
    [nested, { 'kubernetes.io': { namespace: 'other', pod: { name: 'web' } } }, false],
    [nested, { 'kubernetes.io': 'shop' }, false],
    [{ repository: 'acme/shop', toString: 'x' }, {}, false],
  ]
  for (const [match, claims, matches] of cases) {
    await admin.patch(`/admin/issuers/${id}`, { rules: [{ ...RULE, match }] })
    const { status } = await exchange(await sign({ ...claims }))
    assert.equal(status, matches ? 200 : 400, JSON.stringify([match, claims]))
  }
  const rules = [
    { ...RULE, typ: 'build+jwt', scopes: [] },
    { ...RULE, scopes: ['orders:read'] },
    { ...RULE, scopes: ['orders:write'] },
  ]
  await admin.patch(`/admin/issuers/${id}`, { rules })
  assert.equal((await exchange(await sign())).body.scope, 'orders:read')
  assert.equal((await exchange(await sign({}, { typ: 'build+jwt' }))).body.scope, '')
})
