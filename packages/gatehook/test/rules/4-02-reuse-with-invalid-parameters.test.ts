/** §4.2: reuse revokes the token family, also if the request is invalid in another way. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, eachMigrated } from '../../../../test/rig/databases.ts'
import type { Grant, RefreshingClient, TokenClient } from '../../src/identity/tokens/api.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { basicOf, exchange, form, obtainCode, openOauthFixture } from '../oauth/rig.ts'
import { CUSTOMER, countRows, login, openTokenNode, type TokenNode } from '../tokens/token-node.ts'

const client: TokenClient = {
  scopes: ['things:read'],
  requireAuthOnRefresh: true,
  hasSecret: () => false,
}
const clientLogin: Grant = { ...login, clientId: 'cli_1', scopes: client.scopes }
const presenter: RefreshingClient = { clientId: 'cli_1', authenticated: true }

/** Opens a session whose first token has been rotated twice, and returns that token. */
async function openRotatedSession({ tokens, data }: TokenNode): Promise<string> {
  data.clients.set('cli_1', client)
  const { refresh_token: old } = await tokens.openSession(clientLogin)
  const { refresh_token: next } = await tokens.refreshSession(old, presenter)
  await tokens.refreshSession(next, presenter)
  return old
}

const INVALID_REQUESTS: Record<string, (node: TokenNode) => undefined | (() => string[])> = {
  'a scope that the session lacks': () => () => ['admin'],
  'scopes that do not parse': () => () => {
    throw new Failure('invalid_scope')
  },
  'a person that was deleted': ({ data }) => void data.people.clear(),
  'claims that are too large': ({ data }) =>
    void data.people.set('7', { scopes: login.scopes, claims: { essay: 'x'.repeat(8_000) } }),
  'a suspended customer': ({ data }) =>
    void data.customers.set(CUSTOMER, { no: 1, suspended: true }),
  'a client without scopes': ({ data }) =>
    void data.clients.set('cli_1', { ...client, scopes: [] }),
}

for (const [fault, prepare] of Object.entries(INVALID_REQUESTS)) {
  eachMigrated(`§4.2 reuse with ${fault} revokes the family`, async (db, t) => {
    const node = await openTokenNode(db, t)
    const old = await openRotatedSession(node)
    const parseScopes = prepare(node)
    await assert.rejects(node.tokens.refreshSession(old, presenter, { parseScopes }), {
      code: 'invalid_grant',
    })
    assert.equal(await countRows(db, 'gh_sessions'), 0)
    assert.equal(await countRows(db, 'gh_revocations'), 1)
  })
}

const OTHER_PRESENTERS: Record<string, [RefreshingClient | undefined, string]> = {
  'another client': [{ clientId: 'cli_2', authenticated: true }, 'invalid_grant'],
  'an unauthenticated client': [{ clientId: 'cli_1', authenticated: false }, 'invalid_client'],
  'an unnamed client': [undefined, 'invalid_client'],
}

for (const [name, [other, code]] of Object.entries(OTHER_PRESENTERS)) {
  eachMigrated(`§4.2 reuse by ${name} does not revoke the family`, async (db, t) => {
    const node = await openTokenNode(db, t)
    const old = await openRotatedSession(node)
    await assert.rejects(node.tokens.refreshSession(old, other), { code })
    assert.equal(await countRows(db, 'gh_sessions'), 1)
    assert.equal(await countRows(db, 'gh_revocations'), 0)
  })
}

for (const { name } of databases) {
  test(`§4.2 reuse with an invalid scope at /oauth/token [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const refresh = (refresh_token: string, scope: string | null = null) =>
      form(
        fixture.anonymous,
        '/oauth/token',
        { grant_type: 'refresh_token', refresh_token, scope },
        basicOf(fixture.client),
      )
    for (const scope of ['nosuch', 'users:read  orders:read', 'users:write']) {
      const old = (await exchange(fixture, await obtainCode(fixture))).body.refresh_token
      const next = (await refresh(old)).body.refresh_token
      const newest = (await refresh(next)).body.refresh_token
      const current = await refresh(newest, scope)
      assert.deepEqual([current.status, current.body.error], [400, 'invalid_scope'])
      assert.equal((await refresh(old, scope)).body.error, 'invalid_grant', scope)
      assert.equal((await refresh(newest)).body.error, 'invalid_grant', 'the session has ended')
    }
  })
}
