/**
 * §3.2: the 403 of a stored key names the reason to the caller with its secret, and the request log
 * names who revoked it. An unknown key has no reason.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { STEP_WORDS } from '../../src/cli/requests.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { headStepNames } from '../../src/pipeline.ts'
import { requestIdOf } from '../monitoring/admin.ts'

const ENV = { env: { GATEHOOK_TEST_CLOCK: '1' } }

eachService(
  'revoked, expired, replaced and misplaced keys have a message of their own',
  async (service) => {
    const operator = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const create = async (members: Record<string, unknown> = {}) => {
      const body = { name: 'k', scopes: ['users:read'], ...members }
      const reply = await operator.post('/admin/keys', body)
      assert.equal(reply.status, 201, reply.text)
      return reply.body as { id: string; key: string }
    }
    const use = async (key: string) => {
      const reply = await service.as(key).get('/api/v2/users')
      assert.deepEqual([reply.status, reply.body.error], [403, 'invalid_api_key'])
      return reply
    }
    const hour = new Date(Date.now() + 3_600_000).toISOString()
    const keys = {
      revoked: await create(),
      expired: await create({ expires_at: hour }),
      replaced: await create(),
      misplaced: await create({ cidrs: ['192.0.2.0/24'] }),
    }
    for (const key of [keys.revoked, keys.expired, keys.replaced]) {
      assert.equal((await service.as(key.key).get('/api/v2/users')).status, 200)
    }
    assert.equal((await operator.delete(`/admin/keys/${keys.revoked.id}`)).status, 204)
    const roll = { overlap_seconds: 60 }
    assert.equal((await operator.post(`/admin/keys/${keys.replaced.id}/roll`, roll)).status, 200)
    await operator.post('/admin/clock', { advance_s: 7200 })
    const reasons = {
      revoked: /was revoked/,
      expired: /has expired/,
      replaced: /newer secret has replaced/,
      misplaced: /not valid from this address/,
    } as const
    for (const [reason, pattern] of Object.entries(reasons)) {
      const reply = await use(keys[reason as keyof typeof keys].key)
      assert.match(reply.body.message, pattern)
      const { body } = await operator.get(`/admin/requests/${requestIdOf(reply)}`)
      assert.equal(body.key_revocation === null, reason !== 'revoked', reason)
      const { id, key } = keys[reason as keyof typeof keys]
      assert.equal(body.credential.id, id, 'the log leads to the key')
      const [row] = (await operator.get(`/admin/keys?id=${id}&revoked=any`)).body.data
      assert.deepEqual([row.id, row.revoked_at === null], [id, reason !== 'revoked'])
      assert.equal((await operator.get(`/admin/keys/${id}/usage`)).status, 200)
      const results = (await operator.get(`/admin/search?q=${key.slice(-4)}`)).body.data
      assert.ok(
        results.some((result: { id: string }) => result.id === id),
        `the end of a ${reason} secret leads to the key`,
      )
    }
    const { body } = await operator.get(
      `/admin/requests/${requestIdOf(await use(keys.revoked.key))}`,
    )
    assert.equal(body.key_revocation.principal.kind, 'key')
    assert.ok(Date.parse(body.key_revocation.at) > 0)
    const unstored = await use(generateApiKey(systemRandom(), 'live'))
    assert.equal(unstored.body.message, 'The API key is not valid.')
    assert.equal((await use(`${keys.revoked.key}x`)).body.message, unstored.body.message)
  },
  ENV,
)

test('the command line has words for every step of the pipeline', () => {
  const steps = new Set(Object.values(headStepNames()).flat())
  for (const step of [...steps, 'parse', 'route', 'body', 'fields', 'repeat', 'handler']) {
    assert.ok(STEP_WORDS[step], step)
  }
})
