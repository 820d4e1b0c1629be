/** §4.7, §13: access tokens lose the scopes that their client lost, on each node within 2 s. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { basicOf, form } from '../oauth/rig.ts'
import { eachNode, login, SCOPE, type TokenNode } from '../tokens/token-node.ts'

const clientData = { scope: SCOPE, requireAuthOnRefresh: false, hasSecret: () => false }
const scopesOf = async ({ tokens }: TokenNode, jwt: string) => [
  ...(await tokens.verifyAccessToken(jwt, '/api')).scopes,
]

eachNode('§4.7 tokens have at most the scopes of their client', async ([a, b]) => {
  const both = ['things:read', 'things:write']
  const setScopes = (scopes: string[]) => a.data.clients.set('cli_1', { ...clientData, scopes })
  const publishChange = () =>
    a.db.write((tx) => a.tokens.publishClientChange(tx, login.scope, 'cli_1'))
  setScopes(both)
  await Promise.all([a.tokens.tick(), b.tokens.tick()])
  const { access_token: code } = await a.tokens.openSession({ ...login, clientId: 'cli_1' })
  const own = { ...login, kind: 'client' as const, clientId: 'cli_1', subject: 'cli_1' }
  const { access_token: client } = await a.tokens.issueAccessToken(own)
  const { access_token: untouched } = await a.tokens.openSession(login)
  for (const node of [a, b]) {
    for (const jwt of [code, client, untouched]) assert.deepEqual(await scopesOf(node, jwt), both)
  }
  for (const now of [['things:read'], both, []]) {
    setScopes(now)
    await publishChange()
    a.time.pass(1_000)
    await b.tokens.tick()
    for (const node of [a, b]) {
      assert.deepEqual(await scopesOf(node, code), now)
      assert.deepEqual(await scopesOf(node, client), now)
      assert.deepEqual(await scopesOf(node, untouched), both)
    }
  }
})

eachNode(
  '§4.7 while the feed is stale, a node reads a client’s scopes from the database',
  async ([a, b]) => {
    a.data.clients.set('cli_1', { ...clientData, scopes: ['things:read', 'things:write'] })
    await b.tokens.tick()
    const { access_token } = await a.tokens.openSession({ ...login, clientId: 'cli_1' })
    assert.equal((await scopesOf(b, access_token)).length, 2)
    a.data.clients.set('cli_1', { ...clientData, scopes: ['things:read'] })
    await a.db.write((tx) => a.tokens.publishClientChange(tx, login.scope, 'cli_1'))
    b.time.pass(2_001)
    assert.deepEqual(await scopesOf(b, access_token), ['things:read'])
  },
)

eachService('a PATCH of a client’s scopes applies to tokens issued before', async (service) => {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const registration = { name: 'App', redirect_uris: [], scopes: ['users:read', 'orders:read'] }
  const client = (await admin.post('/admin/clients', registration)).body
  const anonymous = service.as(undefined)
  const grant = { grant_type: 'client_credentials' }
  const { body } = await form(anonymous, '/oauth/token', grant, basicOf(client))
  const bearer = { authorization: `Bearer ${body.access_token}` }
  const users = async () => (await anonymous.get('/api/v2/users', bearer)).status
  assert.equal(await users(), 200)
  const path = `/admin/clients/${client.client_id}`
  assert.equal((await admin.patch(path, { scopes: ['orders:read'] })).status, 200)
  assert.equal(await users(), 403)
  assert.equal((await anonymous.get('/api/v2/orders', bearer)).status, 200)
  const token = { token: body.access_token }
  const introspection = await form(anonymous, '/oauth/introspect', token, basicOf(client))
  assert.deepEqual([introspection.body.active, introspection.body.scope], [true, 'orders:read'])
  assert.equal((await admin.patch(path, { scopes: registration.scopes })).status, 200)
  assert.equal(await users(), 200)
})
