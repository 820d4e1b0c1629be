/** §4.4: the body of `/auth/refresh`, and the authentication of clients there. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { TokenClient } from '../../src/identity/tokens/api.ts'
import { login, openTokenNode, type TokenNode } from '../tokens/token-node.ts'

eachMigrated('§4.4 a missing or mistyped member is 400', async (db, t) => {
  const { send } = await openTokenNode(db, t)
  const bodies = [undefined, {}, [], 'x', { refresh_token: 7 }, { refresh_token: null }]
  for (const body of [...bodies, { token: 'x' }, { refresh_token: ['x'] }]) {
    const sent = typeof body === 'string' ? JSON.stringify(body) : body
    const headers = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
    const reply = await send('POST /auth/refresh', { body: sent, headers })
    assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_request'], sent as string)
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const asForm = await send('POST /auth/refresh', { body: 'refresh_token=x', headers: form })
  assert.equal(asForm.status, 415)
})

const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

const client: TokenClient = {
  scopes: ['things:read'],
  requireAuthOnRefresh: false,
  hasSecret: (secret) => secret === 's3cret',
}

const code = { ...login, clientId: 'cli_1', scopes: ['things:read'] }

function refreshAs(
  { send }: TokenNode,
  refresh_token: string,
  headers: Record<string, string> = {},
) {
  return send('POST /auth/refresh', { body: { refresh_token }, headers })
}

eachMigrated('§4.4 tokens of a code need no client authentication', async (db, t) => {
  const node = await openTokenNode(db, t)
  node.data.clients.set('cli_1', client)
  const first = await node.tokens.openSession(code)
  const { status, body } = await refreshAs(node, first.refresh_token)
  assert.deepEqual([status, body.scope], [200, 'things:read'])
  assert.equal((await node.tokens.readAccessToken(body.access_token))!.client_id, 'cli_1')
  for (const authorization of ['Basic', 'Basic a b', 'basic x']) {
    const rejected = await refreshAs(node, body.refresh_token, { authorization })
    assert.deepEqual([rejected.status, rejected.body.error], [401, 'invalid_client'], authorization)
  }
  const expired = { authorization: `Bearer ${first.access_token}` }
  assert.equal((await refreshAs(node, body.refresh_token, expired)).status, 200)
})

eachMigrated(
  '§4.4 a client may require authentication; a failure consumes no token',
  async (db, t) => {
    const node = await openTokenNode(db, t)
    node.data.clients.set('cli_1', { ...client, requireAuthOnRefresh: true })
    node.data.clients.set('cli_2', client)
    const { refresh_token } = await node.tokens.openSession(code)
    const table: [string, Record<string, string>][] = [
      ['invalid_client', {}],
      ['invalid_client', basic('cli_1', 'wrong')],
      ['invalid_client', basic('nobody', 's3cret')],
      ['invalid_client', { authorization: 'Basic %%%' }],
      ['invalid_client', basic('%zz', 's3cret')],
      ['invalid_grant', basic('cli_2', 's3cret')],
    ]
    for (const [error, headers] of table) {
      const reply = await refreshAs(node, refresh_token, headers)
      assert.deepEqual([reply.status, reply.body.error], [401, error])
      const challenge = reply.headers['www-authenticate']
      assert.equal(/^Basic /.test(String(challenge)), error === 'invalid_client')
    }
    assert.equal((await refreshAs(node, refresh_token, basic('cli_1', 's3cret'))).status, 200)
  },
)

eachMigrated('§5.3 a refresh may request fewer scopes, and no others', async (db, t) => {
  const { tokens, data } = await openTokenNode(db, t)
  const both = ['things:read', 'things:write']
  data.clients.set('cli_1', { ...client, scopes: both })
  const { refresh_token } = await tokens.openSession({ ...code, scopes: both })
  const presenter = { clientId: 'cli_1', authenticated: true }
  const refresh = (scopes: string[]) =>
    tokens.refreshSession(refresh_token, presenter, { parseScopes: () => scopes })
  await assert.rejects(refresh(['admin']), { code: 'invalid_scope' })
  const narrowed = await refresh(['things:read'])
  assert.equal(narrowed.scope, 'things:read')
  const whole = await tokens.refreshSession(narrowed.refresh_token, presenter)
  assert.equal(whole.scope, both.join(' '), 'the session retains its scopes')
})

eachMigrated('§4.4 a deleted client cannot refresh', async (db, t) => {
  const node = await openTokenNode(db, t)
  node.data.clients.set('cli_1', client)
  const { refresh_token } = await node.tokens.openSession(code)
  node.data.clients.delete('cli_1')
  assert.equal((await refreshAs(node, refresh_token)).body.error, 'invalid_grant')
})
