/** §16.8: identity assertions for agents name a person to an authenticated client. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { databases } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import {
  bearer,
  issuerEnv as env,
  GRANT,
  ISSUER,
  openIssuerRig,
  SERVER,
} from '../oauth/issuer-rig.ts'
import { basicOf, type Client, openOauthFixture, PASSWORD } from '../oauth/rig.ts'

const TYPE = { typ: 'oauth-id-jag+jwt' }
const SCOPES = ['users:read', 'orders:read', 'orders:write']
const PERSON_RULE = {
  match: { tid: 'acme' },
  customer: 'default',
  mode: 'live',
  scopes: SCOPES,
  person: 'sub',
}

for (const { name } of databases) {
  const openAgents = async (t: Parameters<typeof openOauthFixture>[0], rules = [PERSON_RULE]) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { admin, createClient, person } = fixture
    const rig = await openIssuerRig(fixture)
    const issuer = await rig.create({ rules })
    const client = await createClient({ grant_types: [GRANT], redirect_uris: [] })
    const identities = [{ issuer: ISSUER, sub: 'u1' }]
    const stored = await admin.patch(`/admin/users/${person.id}`, { identities })
    assert.deepEqual([stored.status, stored.body.identities], [200, identities], stored.text)
    const sign = (claims: object = {}, header: Record<string, unknown> = TYPE) =>
      rig.sign({ sub: 'u1', tid: 'acme', client_id: client.client_id, ...claims }, header)
    const exchange = (assertion: string, fields = {}, sender: Client | undefined = client) =>
      rig.exchange(assertion, fields, sender ? basicOf(sender) : {})
    return { ...rig, ...fixture, issuer, client, sign, exchange, exchangeAlone: rig.exchange }
  }

  test(`each check of an identity assertion refuses alone [${name}]`, async (t) => {
    const agents = await openAgents(t)
    const { admin, issuer, client, createClient, sign, exchange, exchangeAlone, explain } = agents
    const refused: [check: string, assertion: string][] = [
      ['client_id', await sign({ client_id: undefined })],
      ['iat', await sign({ iat: undefined })],
      ['jti', await sign({ jti: undefined })],
      ['cnf', await sign({ cnf: { jkt: 'x' } })],
      ['authorization_details', await sign({ authorization_details: [] })],
      ['scope', await sign({ scope: ['orders:read'] })],
      ['resource', await sign({ resource: 'https://other.example' })],
      ['resource', await sign({ resource: [] })],
      ['resource', await sign({ resource: [7] })],
      ['rule', await sign({ tid: 'other' })],
      ['rule', await sign({}, {})],
      ['rule', await sign({}, { typ: 'at+jwt' })],
      ['person', await sign({ sub: 'u2' })],
      ['person', await sign({ sub: String(agents.person.id) })],
    ]
    for (const [check, assertion] of refused) {
      const { status, body } = await exchange(assertion)
      assert.deepEqual([status, body.error], [400, 'invalid_grant'], check)
      assert.equal(body.error_description, 'The assertion is not valid.')
      const { failed } = await explain(issuer.id, assertion)
      const also = check === 'client_id' ? ['client_id', 'client'] : [check]
      assert.deepEqual(failed, also, check)
    }
    const alone = await exchangeAlone(await sign())
    assert.deepEqual([alone.status, alone.body.error], [401, 'invalid_client'])
    const wrong = await exchange(await sign(), {}, { ...client, client_secret: 'x' })
    assert.deepEqual([wrong.status, wrong.body.error], [401, 'invalid_client'])
    const lacking = await createClient({ grant_types: ['client_credentials'], redirect_uris: [] })
    const unauthorized = await exchange(await sign(), {}, lacking)
    assert.equal(unauthorized.body.error, 'unauthorized_client')
    for (const client_id of [lacking.client_id, 'client_unknown', issuer.id]) {
      assert.deepEqual((await explain(issuer.id, await sign({ client_id }))).failed, ['client'])
    }
    const other = await createClient({ grant_types: [GRANT], redirect_uris: [] })
    assert.equal((await exchange(await sign(), {}, other)).body.error, 'invalid_grant')
    const test = await createClient({ grant_types: [GRANT], redirect_uris: [], mode: 'test' })
    const elsewhere = await sign({ client_id: test.client_id })
    assert.equal((await exchange(elsewhere, {}, test)).body.error, 'invalid_grant')
    assert.deepEqual((await explain(issuer.id, elsewhere)).failed, ['client'])
    const body = { name: 'x', scopes: [], public: true, grant_types: [GRANT] }
    assert.equal((await admin.post('/admin/clients', body)).status, 422)
  })

  test(`a person's token is narrowed by all, and ends with its causes [${name}]`, async (t) => {
    const agents = await openAgents(t)
    const { admin, anonymous, issuer, client, person, sign, exchange, explain, now } = agents
    await admin.patch(`/admin/users/${person.id}`, { scopes: ['orders:read', 'users:read'] })
    const at = await now()
    const assertion = await sign({ scope: 'orders:read orders:write openid', exp: at + 100 })
    const explained = await explain(issuer.id, assertion)
    assert.deepEqual(
      [explained.valid, explained.principal],
      [
        true,
        {
          kind: 'person',
          id: String(person.id),
          customer: 'cus_default',
          mode: 'live',
          scopes: ['orders:read'],
        },
      ],
    )
    const { status, body } = await exchange(assertion)
    assert.equal(status, 200, body.error_description)
    assert.deepEqual([body.scope, body.expires_in], ['orders:read', 100])
    assert.ok(!('refresh_token' in body) && !('id_token' in body))
    const claims = decodeJwt(body.access_token)
    assert.deepEqual(
      [claims.kind, claims.sub, claims.client_id, claims.assertion_issuer],
      ['person', String(person.id), client.client_id, issuer.id],
    )
    const again = await exchange(assertion)
    assert.equal(again.body.error_description, 'The assertion was used before.')
    const sessions = await admin.get(`/admin/users/${person.id}/sessions`)
    assert.deepEqual(sessions.body.data, [], 'it is no sign-in')
    const login = { username: person.email, password: PASSWORD }
    const own = bearer((await anonymous.post('/auth/login', login)).body.access_token)
    assert.equal((await anonymous.get('/auth/sessions', own)).body.data.length, 1)
    assert.equal((await anonymous.get(`/auth/sessions/${claims.sid}`, own)).status, 404)
    const headers = bearer(body.access_token)
    assert.equal((await anonymous.get('/api/v2/orders', headers)).status, 200)
    const account = await anonymous.get('/auth/sessions', headers)
    assert.deepEqual([account.status, account.body.error], [403, 'first_party_required'])
    const trail = await admin.get('/admin/audit?action=session.create')
    assert.equal(trail.body.data[0].detail.issuer, ISSUER)
    const narrow = await exchange(await sign({ resource: `${SERVER}/api` }))
    assert.equal(decodeJwt(narrow.body.access_token).aud, `${SERVER}/api`)
    const beyond = await exchange(await sign({ resource: `${SERVER}/api` }), {
      resource: `${SERVER}/mcp`,
    })
    assert.equal(beyond.body.error, 'invalid_target')
    assert.equal((await exchange(await sign(), { scope: 'admin' })).body.error, 'invalid_scope')
    const tokenOf = async () => bearer((await exchange(await sign())).body.access_token)
    const stateOf = async (sent: object) =>
      (await anonymous.get('/api/v2/orders', sent as Record<string, string>)).status
    // The end of one or all sessions, a removed identity, a disabled person and a deleted issuer
    // end them.
    const path = `/admin/users/${person.id}`
    for (const end of [
      (sid: unknown) => admin.delete(`${path}/sessions/${sid}`),
      (sid: unknown) => anonymous.delete(`/auth/sessions/${sid}`, own),
    ]) {
      const token = (await exchange(await sign())).body.access_token
      const { sid } = decodeJwt(token)
      assert.equal(await stateOf(bearer(token)), 200)
      assert.equal((await end(sid)).status, 204)
      assert.equal(await stateOf(bearer(token)), 401)
      assert.equal((await end(sid)).status, 404)
    }
    const initial = await tokenOf()
    assert.equal(await stateOf(initial), 200)
    assert.equal((await admin.delete(`/admin/users/${person.id}/sessions`)).status, 204)
    assert.equal(await stateOf(initial), 401)
    const first = await tokenOf()
    assert.equal(await stateOf(first), 200)
    await admin.patch(path, { identities: [] })
    assert.equal(await stateOf(first), 401)
    assert.equal((await exchange(await sign())).body.error, 'invalid_grant')
    await admin.patch(path, { identities: [{ issuer: ISSUER, sub: 'u1' }] })
    const second = await tokenOf()
    await admin.patch(path, { disabled: true })
    assert.equal(await stateOf(second), 401)
    assert.equal((await exchange(await sign())).body.error, 'invalid_grant')
    await admin.patch(path, { disabled: false })
    const third = await tokenOf()
    assert.equal(await stateOf(third), 200)
    const node = (await openService(t, name, { url: agents.url, env })).as(undefined)
    assert.equal((await node.get('/api/v2/orders', third)).status, 200)
    assert.equal((await admin.delete(`/admin/issuers/${issuer.id}`)).status, 204)
    assert.equal(await stateOf(third), 401)
    const read = () => node.get('/api/v2/orders', third)
    const { status: ended } = await eventually(read, (reply) => reply.status !== 200)
    assert.equal(ended, 401)
  })

  test(`an e-mail address names a person only if it is verified [${name}]`, async (t) => {
    const rule = { ...PERSON_RULE, person: 'email', domains: ['example.com'] }
    const agents = await openAgents(t, [rule])
    const { admin, person, issuer, sign, exchange, explain } = agents
    const { email } = person
    const verified = { email, email_verified: true }
    const accepted = await exchange(await sign({ ...verified, sub: 'any' }))
    assert.equal(decodeJwt(accepted.body.access_token).sub, String(person.id))
    const folded = await sign({ ...verified, email: email.toUpperCase() })
    assert.equal((await exchange(folded)).status, 200)
    for (const claims of [
      { email },
      { email, email_verified: 'true' },
      { email, email_verified: false },
      { email_verified: true },
      { email: 'nobody@example.com', email_verified: true },
      { email: 'a\u0000@example.com', email_verified: true },
      { email: [email], email_verified: true },
    ]) {
      const assertion = await sign(claims)
      assert.equal((await exchange(assertion)).body.error, 'invalid_grant', JSON.stringify(claims))
      assert.deepEqual((await explain(issuer.id, assertion)).failed, ['person'])
    }
    await agents.app.db.write((tx) => tx.run(sql`UPDATE gh_people SET confirmed = 0`))
    const unconfirmed = await sign(verified)
    assert.equal((await exchange(unconfirmed)).body.error, 'invalid_grant')
    assert.deepEqual((await explain(issuer.id, unconfirmed)).failed, ['person'])
    await agents.app.db.write((tx) => tx.run(sql`UPDATE gh_people SET confirmed = 1`))
    assert.equal((await exchange(await sign(verified))).status, 200)
    const narrower = [{ ...rule, domains: ['other.example'] }]
    await admin.patch(`/admin/issuers/${issuer.id}`, { rules: narrower })
    assert.equal((await exchange(await sign(verified))).status, 400)
    const { body: acme } = await admin.post('/admin/customers', { name: 'Acme' })
    const foreign = [{ ...rule, domains: [], customer: acme.id }]
    await admin.patch(`/admin/issuers/${issuer.id}`, { rules: foreign })
    assert.equal((await exchange(await sign(verified))).status, 400, 'the customer of the rule')
  })

  test(`an identity belongs to one person, and ends with it [${name}]`, async (t) => {
    const agents = await openAgents(t)
    const { admin, app, person, createPerson, sign, exchange } = agents
    const other = await createPerson()
    const identities = [{ issuer: ISSUER, sub: 'u1' }]
    const taken = await admin.patch(`/admin/users/${other.id}`, { identities })
    assert.deepEqual([taken.status, taken.body.error], [409, 'conflict'])
    const both = { identities: [...identities, ...identities] }
    assert.deepEqual(
      (await admin.patch(`/admin/users/${person.id}`, both)).body.identities,
      identities,
    )
    const read = await admin.get(`/admin/users/${person.id}`)
    assert.deepEqual(read.body.identities, identities)
    for (const wrong of [
      {},
      [{}],
      [{ issuer: ISSUER }],
      [{ issuer: 1, sub: 'a' }],
      [{ issuer: ISSUER, sub: '' }],
    ]) {
      const reply = await admin.patch(`/admin/users/${person.id}`, { identities: wrong })
      assert.equal(reply.status, 422, JSON.stringify(wrong))
    }
    const exported = await admin.get(`/admin/users/${person.id}/export`)
    assert.match(exported.text, /"table":"gh_identities"/)
    assert.equal((await admin.delete(`/admin/users/${person.id}`)).status, 202)
    assert.equal((await exchange(await sign())).body.error, 'invalid_grant')
    await app.erasure.runDue()
    const free = await admin.patch(`/admin/users/${other.id}`, { identities })
    assert.equal(free.status, 200, free.text)
    assert.equal((await exchange(await sign())).status, 200)
  })

  test(`rules leave with their customer [${name}]`, async (t) => {
    const agents = await openAgents(t)
    const { admin, app, issuer } = agents
    const { body: acme } = await admin.post('/admin/customers', { name: 'Acme' })
    const workload = { ...PERSON_RULE, person: undefined, customer: acme.id }
    const rules = [PERSON_RULE, workload]
    await admin.patch(`/admin/issuers/${issuer.id}`, { rules })
    const exported = await admin.get(`/admin/customers/${acme.id}/export`)
    assert.match(exported.text, /"table":"gh_issuer_rules"/)
    assert.equal((await admin.delete(`/admin/customers/${acme.id}`)).status, 202)
    await app.erasure.runDue()
    const left = (await admin.get(`/admin/issuers/${issuer.id}`)).body.rules
    assert.deepEqual(
      left.map(({ customer }: { customer: string }) => customer),
      ['cus_default'],
    )
  })
}
