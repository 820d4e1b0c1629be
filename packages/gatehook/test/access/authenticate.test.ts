import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { databases, eachMigrated } from '../../../../test/rig/databases.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { openDesk, random } from './desk.ts'

const PATH = 'GET /api/protected'

eachMigrated('§3.7 a key says who it is, however it is sent', async (db, t) => {
  const { ask, make } = await openDesk(db, t)
  const { id, key } = await make({})
  const ways = [{ 'x-api-key': key }, { authorization: `ApiKey ${key}` }]
  for (const headers of [...ways, { authorization: `apikey   ${key}` }]) {
    const { status, body } = await ask(PATH, { key: undefined, headers })
    assert.deepEqual([status, body], [200, { status: 'ok', user: id }])
  }
  const { status, body } = await ask(`${PATH}?api_key=${key}`, { key: undefined })
  assert.deepEqual([status, body.user], [200, id])
})

eachMigrated('§3.1 what is refused, and with which challenge', async (db, t) => {
  const { ask, make } = await openDesk(db, t)
  const { key } = await make({})
  const metadata = 'https://api.example.test/.well-known/oauth-protected-resource'
  const all = `ApiKey, Bearer resource_metadata="${metadata}"`
  const known: [Record<string, string | string[]>, string, string | undefined][] = [
    [{}, '401 unauthorized', all],
    [{ authorization: '' }, '401 unauthorized', all],
    [{ authorization: 'Digest x' }, '401 unauthorized', all],
    [{ authorization: 'Bearer x' }, '401 invalid_token', 'Bearer error="invalid_token"'],
    [{ authorization: `Bearer ${key}` }, '401 invalid_token', 'Bearer error="invalid_token"'],
    [
      { authorization: 'Basic dTpw' },
      '401 invalid_credentials',
      'Basic realm="gatehook", charset="UTF-8"',
    ],
    [{ 'x-api-key': '' }, '403 invalid_api_key', undefined],
    [{ 'x-api-key': `${key}x` }, '403 invalid_api_key', undefined],
    [{ 'x-api-key': generateApiKey(random, 'live') }, '403 invalid_api_key', undefined],
    [{ 'x-api-key': [key, key] }, '400 ambiguous_credentials', undefined],
    [{ 'x-api-key': key, authorization: `ApiKey ${key}` }, '400 ambiguous_credentials', undefined],
  ]
  for (const [headers, expected, challenge] of known) {
    const reply = await ask(PATH, { key: undefined, headers })
    assert.equal(`${reply.status} ${reply.body.error}`, expected, JSON.stringify(headers))
    assert.equal(reply.headers['www-authenticate'], challenge)
  }
  const inUrl = await ask(`${PATH}?access_token=x`, { key })
  assert.equal(`${inUrl.status} ${inUrl.body.error}`, '400 token_in_url')
})

eachMigrated('§3.6 a missing scope is named; admin implies every scope', async (db, t) => {
  const { ask, make, operator } = await openDesk(db, t)
  const { key: reader } = await make({ scopes: ['things:read'] })
  const { key: other } = await make({ scopes: ['things:write', 'events:read'] })
  assert.equal((await ask('GET /things', { key: reader })).status, 204)
  assert.equal((await ask('GET /things', { key: operator })).status, 204)
  const { status, body } = await ask('GET /things', { key: other })
  assert.deepEqual([status, body.error], [403, 'insufficient_scope'])
  assert.match(body.message, /things:read/)
  assert.equal((await ask('GET /admin/keys', { key: reader })).body.error, 'insufficient_scope')
})

eachMigrated(
  'a wrong, expired, revoked or foreign key is one and the same answer',
  async (db, t) => {
    const { ask, make, time } = await openDesk(db, t)
    const expires_at = new Date(time.nowMs + 60_000).toISOString()
    const [short, gone, far] = [
      await make({ expires_at }),
      await make({}),
      await make({ cidrs: ['10.0.0.0/8', '2001:db8::/32'] }),
    ]
    assert.equal((await ask(PATH, { key: short.key })).status, 200)
    assert.equal((await ask(PATH, { key: far.key, from: '10.9.9.9' })).status, 200)
    assert.equal((await ask(PATH, { key: far.key, from: '2001:db8::1' })).status, 200)
    await ask(`DELETE /admin/keys/${gone.id}`)
    // No moment passes but the one of expiry: the remembered answer is judged again.
    time.nowMs += 60_000
    const bodies = new Set<string>()
    const wrong = [short.key, gone.key, far.key, 'nonsense', generateApiKey(random, 'test')]
    for (const key of wrong) {
      const { status, body } = await ask(PATH, { key, from: '11.0.0.1' })
      assert.equal(status, 403)
      bodies.add(JSON.stringify({ ...body, request_id: '' }))
    }
    assert.equal(bodies.size, 1, [...bodies].join('\n'))
  },
)

test('any bytes as a key are a Failure, never another exception', async (t) => {
  const { verifier } = await openDesk(await databases[0]!.openMigrated(t), t)
  const wellFormed = fc
    .constantFrom('live', 'test')
    .map((mode) => generateApiKey(random, mode as 'live'))
  const any = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), wellFormed)
  const judged = async (key: string) => verifier.verify(key, '127.0.0.1')
  await fc.assert(
    fc.asyncProperty(any, async (key) => {
      await assert.rejects(
        judged(key),
        (error) => error instanceof Failure && error.code === 'invalid_api_key',
      )
    }),
  )
})
