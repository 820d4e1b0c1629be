import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { databases, eachMigrated } from '../../../../test/rig/databases.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { openTestNode, random } from './test-node.ts'

const PATH = 'GET /api/protected'

eachMigrated('§3.7 /protected returns the id of a key, sent in any header', async (db, t) => {
  const { send, createKey } = await openTestNode(db, t)
  const { id, key } = await createKey({})
  const credentials = [{ 'x-api-key': key }, { authorization: `ApiKey ${key}` }]
  for (const headers of [...credentials, { authorization: `apikey   ${key}` }]) {
    const { status, body } = await send(PATH, { key: undefined, headers })
    assert.deepEqual([status, body], [200, { status: 'ok', user: id }])
  }
  const { status, body } = await send(`${PATH}?api_key=${key}`, { key: undefined })
  assert.deepEqual([status, body.user], [200, id])
})

eachMigrated('§3.1 each rejected credential has its status, code and challenge', async (db, t) => {
  const { send, createKey } = await openTestNode(db, t)
  const { key } = await createKey({})
  const metadata = 'https://api.example.test/.well-known/oauth-protected-resource/api'
  const challengeOfAll = `Bearer resource_metadata="${metadata}", ApiKey`
  const ofToken = challengeOfAll.replace('Bearer ', 'Bearer error="invalid_token", ')
  const cases: [Record<string, string | string[]>, string, string | undefined][] = [
    [{}, '401 unauthorized', challengeOfAll],
    [{ authorization: '' }, '401 unauthorized', challengeOfAll],
    [{ authorization: 'Digest x' }, '401 unauthorized', challengeOfAll],
    [{ authorization: 'Bearer x' }, '401 invalid_token', ofToken],
    [{ authorization: `Bearer ${key}` }, '401 invalid_token', ofToken],
    [
      { authorization: 'Basic dTpw' },
      '401 invalid_credentials',
      `${challengeOfAll}, Basic realm="gatehook", charset="UTF-8"`,
    ],
    [{ 'x-api-key': '' }, '403 invalid_api_key', undefined],
    [{ 'x-api-key': `${key}x` }, '403 invalid_api_key', undefined],
    [{ 'x-api-key': generateApiKey(random, 'live') }, '403 invalid_api_key', undefined],
    [{ 'x-api-key': [key, key] }, '400 ambiguous_credentials', undefined],
    [{ 'x-api-key': key, authorization: `ApiKey ${key}` }, '400 ambiguous_credentials', undefined],
  ]
  for (const [headers, expected, challenge] of cases) {
    const reply = await send(PATH, { key: undefined, headers })
    assert.equal(`${reply.status} ${reply.body.error}`, expected, JSON.stringify(headers))
    assert.equal(reply.headers['www-authenticate'], challenge)
  }
  const inUrl = await send(`${PATH}?access_token=x`, { key })
  assert.equal(`${inUrl.status} ${inUrl.body.error}`, '400 token_in_url')
})

eachMigrated('§3.6 the error names the missing scope; admin implies every scope', async (db, t) => {
  const { send, createKey, operator } = await openTestNode(db, t)
  const { key: reader } = await createKey({ scopes: ['things:read'] })
  const { key: other } = await createKey({ scopes: ['things:write', 'events:read'] })
  assert.equal((await send('GET /things', { key: reader })).status, 204)
  assert.equal((await send('GET /things', { key: operator })).status, 204)
  const { status, body } = await send('GET /things', { key: other })
  assert.deepEqual([status, body.error], [403, 'insufficient_scope'])
  assert.match(body.message, /things:read/)
  assert.equal((await send('GET /admin/keys', { key: reader })).body.error, 'insufficient_scope')
})

eachMigrated('a key that is stored has a reason, any other text has none', async (db, t) => {
  const { send, createKey, time } = await openTestNode(db, t)
  const expires_at = new Date(time.nowMs + 60_000).toISOString()
  const [expiring, revoked, restricted] = [
    await createKey({ expires_at }),
    await createKey({}),
    await createKey({ cidrs: ['10.0.0.0/8', '2001:db8::/32'] }),
  ]
  assert.equal((await send(PATH, { key: expiring.key })).status, 200)
  assert.equal((await send(PATH, { key: restricted.key, from: '10.9.9.9' })).status, 200)
  assert.equal((await send(PATH, { key: restricted.key, from: '2001:db8::1' })).status, 200)
  await send(`DELETE /admin/keys/${revoked.id}`)
  // Only the date advances: the cached key is validated again.
  time.nowMs += 60_000
  const invalidKeys: readonly (readonly [string, string])[] = [
    [expiring.key, 'The API key has expired.'],
    [revoked.key, 'The API key was revoked.'],
    [restricted.key, 'The API key is not valid from this address.'],
    ['nonsense', 'The API key is not valid.'],
    [generateApiKey(random, 'test'), 'The API key is not valid.'],
  ]
  for (const [key, message] of invalidKeys) {
    const { status, body } = await send(PATH, { key, from: '11.0.0.1' })
    assert.deepEqual([status, body.error, body.message], [403, 'invalid_api_key', message])
  }
})

test('any bytes as a key are rejected with invalid_api_key', async (t) => {
  const { verifier } = await openTestNode(await databases[0]!.openMigrated(t), t)
  const wellFormed = fc
    .constantFrom('live', 'test')
    .map((mode) => generateApiKey(random, mode as 'live'))
  const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), wellFormed)
  const verify = async (key: string) =>
    verifier.verify(key, { address: '127.0.0.1', identified: undefined })
  await fc.assert(
    fc.asyncProperty(anyText, async (key) => {
      await assert.rejects(
        verify(key),
        (error) => error instanceof Failure && error.code === 'invalid_api_key',
      )
    }),
  )
})
