/** §4.1: the claims of access tokens, verified by jose with the published key set. */
import assert from 'node:assert/strict'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { CUSTOMER, ISSUER, login, openTokenNode, SCOPE } from '../tokens/token-node.ts'

eachMigrated('§4.1 jose verifies an access token with the key set', async (db, t) => {
  const { tokens, send, time } = await openTokenNode(db, t)
  const { access_token, expires_in } = await tokens.openSession(login)
  const keys = (await send('GET /.well-known/jwks.json')).body
  const { payload, protectedHeader } = await jwtVerify(access_token, createLocalJWKSet(keys), {
    issuer: ISSUER,
    audience: ISSUER,
    typ: 'at+jwt',
    algorithms: ['ES256'],
    requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'client_id', 'scope', 'sid'],
    currentDate: new Date(time.nowMs),
  })
  assert.deepEqual(protectedHeader, { alg: 'ES256', typ: 'at+jwt', kid: keys.keys[0].kid })
  const { jti, sid, iat, exp, ...rest } = payload
  assert.match(String(jti), /^tok_/)
  assert.match(String(sid), /^ses_/)
  assert.deepEqual([iat, exp! - iat!, expires_in], [Math.floor(time.nowMs / 1000), 900, 900])
  assert.deepEqual(rest, {
    iss: ISSUER,
    aud: ISSUER,
    sub: '7',
    client_id: 'gatehook',
    scope: 'things:read things:write',
    customer: CUSTOMER,
    mode: 'test',
    kind: 'person',
    name: 'Ada',
    role: 'admin',
  })
})

eachMigrated('§4.1 a hook adds claims and cannot overwrite reserved ones', async (db, t) => {
  const { tokens } = await openTokenNode(db, t)
  const reservedClaims = {
    ...{ iss: 'x', sub: '1', aud: 'x', exp: 9e9, nbf: 9e9, iat: 0, jti: 'x', sid: 'x' },
    ...{ client_id: 'x', scope: 'admin', customer: 'x', mode: 'live', cnf: {}, act: {} },
    ...{ kind: 'workload', third_party: true, assertion_issuer: 'x', assertion_rule: 'x' },
    assertion_identity: 'x',
    team: { name: 'blue' },
  }
  const plain = (await tokens.readAccessToken((await tokens.openSession(login)).access_token))!
  const grant = { ...login, claims: reservedClaims }
  const person = (await tokens.readAccessToken((await tokens.openSession(grant)).access_token))!
  const clientGrant = { ...grant, kind: 'client' as const, clientId: 'cli_1', subject: 'cli_1' }
  const client = (await tokens.readAccessToken(
    (
      await tokens.issueAccessToken(clientGrant)
    ).access_token,
  ))!
  const names = [
    'iss',
    'sub',
    'aud',
    'scope',
    'client_id',
    'customer',
    'mode',
    'kind',
    'exp',
    'iat',
  ]
  for (const name of names) assert.deepEqual(person[name], plain[name], name)
  assert.deepEqual([person.team, client.team], [{ name: 'blue' }, { name: 'blue' }])
  const assertion = ['assertion_issuer', 'assertion_rule', 'assertion_identity']
  for (const name of ['nbf', 'cnf', 'act', 'third_party', ...assertion])
    assert.equal(person[name], undefined, name)
  assert.deepEqual([client.sid, client.sub], [undefined, 'cli_1'])
})

eachMigrated('§3.7 the principal of a token is a person or a client', async (db, t) => {
  const { tokens, data } = await openTokenNode(db, t)
  const facts = { scope: SCOPE, requireAuthOnRefresh: false, hasSecret: () => false }
  data.clients.set('cli_1', { ...facts, scopes: login.scopes })
  const session = await tokens.openSession(login)
  const { sessionId, ...person } = await tokens.verifyAccessToken(session.access_token, '/api')
  assert.equal(sessionId, (await tokens.findRefreshToken(session.refresh_token))!.sessionId)
  const scopes = new Set(login.scopes)
  const shared = { customer: CUSTOMER, mode: 'test', scope: SCOPE, scopes, name: 'Ada' }
  assert.deepEqual(person, { ...shared, kind: 'person', subject: '7', clientId: 'gatehook' })
  const clientGrant = { ...login, kind: 'client' as const, clientId: 'cli_1', subject: 'cli_1' }
  const client = await tokens.verifyAccessToken(
    (await tokens.issueAccessToken(clientGrant)).access_token,
    '/api',
  )
  const own = { kind: 'client', subject: 'cli_1', clientId: 'cli_1', clientScopes: login.scopes }
  assert.deepEqual(client, { ...shared, ...own })
})

eachMigrated('§4.1 the claims of a hook have a maximum size', async (db, t) => {
  const { tokens } = await openTokenNode(db, t)
  const claims = { essay: 'x'.repeat(8_000) }
  await assert.rejects(tokens.openSession({ ...login, claims }), /too large/)
})
