/** §16.8: how long tokens of assertions live, whose limit they use up, and explanations. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { bearer, GRANT, ISSUER, issuerEnv, openIssuerRig, RULE } from '../oauth/issuer-rig.ts'
import { basicOf, openOauthFixture } from '../oauth/rig.ts'

const LONG = { ...issuerEnv, GATEHOOK_ACCESS_TOKEN_TTL_S: '3600' }
const TYPE = { typ: 'oauth-id-jag+jwt' }
const PERSON_RULE = { ...RULE, match: { tid: 'acme' }, person: 'sub' }
/** Values of claims that fail each conversion to a text. */
const OBJECTS: readonly unknown[] = [
  { toString: 1, valueOf: 1 },
  [{ toString: 'x' }],
  { __proto__: null },
]

for (const { name } of databases) {
  test(`a token of an assertion lives at most 900 s [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env: LONG })
    const { admin, anonymous, createClient, person } = fixture
    const rig = await openIssuerRig(fixture, [RULE, PERSON_RULE])
    await rig.create()
    const client = await createClient({ grant_types: [GRANT], redirect_uris: [] })
    const identities = [{ issuer: ISSUER, sub: 'u1' }]
    await admin.patch(`/admin/users/${person.id}`, { identities })
    const exp = (await rig.now()) + 7_200
    const claims = { exp, sub: 'u1', tid: 'acme', client_id: client.client_id }
    const workload = await rig.exchange(await rig.sign({ exp }))
    const agent = await rig.exchange(await rig.sign(claims, TYPE), {}, basicOf(client))
    for (const { body } of [workload, agent]) {
      assert.equal(body.expires_in, 900, body.error_description)
      assert.equal((await anonymous.get('/api/v2/orders', bearer(body.access_token))).status, 200)
    }
    await rig.advance(900)
    for (const { body } of [workload, agent]) {
      assert.equal((await anonymous.get('/api/v2/orders', bearer(body.access_token))).status, 401)
    }
  })

  test(`workloads of an issuer share one limit, and no stored response [${name}]`, async (t) => {
    const env = { ...issuerEnv, GATEHOOK_RATE_LIMIT: '100/60' }
    const fixture = await openOauthFixture(t, name, { env })
    const { anonymous } = fixture
    const rig = await openIssuerRig(fixture)
    await rig.create({ rules: [{ ...RULE, scopes: [...RULE.scopes, 'users:write'] }] })
    const tokenOf = async (sub: string) =>
      bearer((await rig.exchange(await rig.sign({ sub }))).body.access_token)
    const callers = [await tokenOf('repo:acme/shop:a'), await tokenOf('repo:acme/shop:b')]
    const left: number[] = []
    const ids = new Set<number>()
    for (const [n, headers] of callers.entries()) {
      const user = { name: 'U', email: `u${n}@example.com` }
      const reply = await anonymous.post('/api/v2/users', user, {
        ...headers,
        'idempotency-key': 'one-key',
      })
      assert.equal(reply.status, 201, reply.text)
      ids.add(reply.body.id)
      left.push(Number(/;r=(\d+)/.exec(reply.headers.ratelimit!)?.[1]))
    }
    assert.equal(left[0]! - left[1]!, 1)
    assert.equal(ids.size, 2)
  })

  test(`an explanation takes claims of any type [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env: issuerEnv })
    const rig = await openIssuerRig(fixture, [RULE, PERSON_RULE])
    const { id } = await rig.create()
    const named = ['iss', 'sub', 'aud', 'jti', 'exp', 'iat', 'nbf', 'client_id', 'resource']
    for (const claim of [...named, 'scope', 'email', 'tid', 'repository']) {
      for (const value of OBJECTS) {
        for (const header of [{}, TYPE]) {
          const assertion = await rig.sign({ tid: 'acme', [claim]: value }, header)
          const { valid, failed, principal } = await rig.explain(id, assertion)
          if (valid) continue
          assert.ok(failed.length > 0, claim)
          if (claim === 'sub') assert.equal(principal, null)
        }
      }
    }
  })
}
