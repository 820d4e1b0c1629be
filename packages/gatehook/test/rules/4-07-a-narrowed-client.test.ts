/** §4.7, §13: what a client lost, its access tokens lose, too, on every node within 2 s. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { basicOf, form } from '../oauth/rig.ts'
import { eachNode, login, SCOPE, type TokenNode } from '../tokens/token-node.ts'

const known = { scope: SCOPE, requireAuthOnRefresh: false, hasSecret: () => false }
const scopesOf = async ({ tokens }: TokenNode, jwt: string) => [
  ...(await tokens.verifyAccessToken(jwt)).scopes,
]

eachNode('§4.7 a client’s tokens carry no more than the client', async ([a, b]) => {
  const both = ['things:read', 'things:write']
  const clientIs = (scopes: string[]) => a.data.clients.set('cli_1', { ...known, scopes })
  const changed = () => a.db.write((tx) => a.tokens.publishClientChange(tx, 'cli_1'))
  clientIs(both)
  await Promise.all([a.tokens.tick(), b.tokens.tick()])
  const { access_token: code } = await a.tokens.openSession({ ...login, clientId: 'cli_1' })
  const own = { ...login, clientId: 'cli_1', subject: 'cli_1' }
  const { access_token: client } = await a.tokens.issueClientToken(own)
  const { access_token: untouched } = await a.tokens.openSession(login)
  for (const node of [a, b]) {
    for (const jwt of [code, client, untouched]) assert.deepEqual(await scopesOf(node, jwt), both)
  }
  for (const now of [['things:read'], both, []]) {
    clientIs(now)
    await changed()
    a.time.pass(1_000)
    await b.tokens.tick()
    for (const node of [a, b]) {
      assert.deepEqual(await scopesOf(node, code), now)
      assert.deepEqual(await scopesOf(node, client), now)
      assert.deepEqual(await scopesOf(node, untouched), both)
    }
  }
})

eachNode('§4.7 while the feed is silent, the database says what a client may', async ([a, b]) => {
  a.data.clients.set('cli_1', { ...known, scopes: ['things:read', 'things:write'] })
  await b.tokens.tick()
  const { access_token } = await a.tokens.openSession({ ...login, clientId: 'cli_1' })
  assert.equal((await scopesOf(b, access_token)).length, 2)
  a.data.clients.set('cli_1', { ...known, scopes: ['things:read'] })
  await a.db.write((tx) => a.tokens.publishClientChange(tx, 'cli_1'))
  b.time.pass(2_001)
  assert.deepEqual(await scopesOf(b, access_token), ['things:read'])
})

eachService('a PATCH of a client’s scopes counts for tokens it has already', async (service) => {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const wish = { name: 'App', redirect_uris: [], scopes: ['users:read', 'orders:read'] }
  const client = (await admin.post('/admin/clients', wish)).body
  const anybody = service.as(undefined)
  const granted = { grant_type: 'client_credentials' }
  const { body } = await form(anybody, '/oauth/token', granted, basicOf(client))
  const bearer = { authorization: `Bearer ${body.access_token}` }
  const users = async () => (await anybody.get('/api/v2/users', bearer)).status
  assert.equal(await users(), 200)
  const path = `/admin/clients/${client.client_id}`
  assert.equal((await admin.patch(path, { scopes: ['orders:read'] })).status, 200)
  assert.equal(await users(), 403)
  assert.equal((await anybody.get('/api/v2/orders', bearer)).status, 200)
  const token = { token: body.access_token }
  const told = await form(anybody, '/oauth/introspect', token, basicOf(client))
  assert.deepEqual([told.body.active, told.body.scope], [true, 'orders:read'])
  assert.equal((await admin.patch(path, { scopes: wish.scopes })).status, 200)
  assert.equal(await users(), 200)
})
