/** §3.2: the form of a key, its headers, and the same 403 for every invalid key. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { eachService } from '../../../../test/rig/service.ts'
import { generateApiKey, parseApiKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Returns the CRC-32 in base62, six digits: a second implementation, from the rule. */
function checksum(text: string): string {
  let [rest, out] = [crc32(text), '']
  for (let at = 0; at < 6; at++) {
    out = DIGITS[rest % 62] + out
    rest = Math.floor(rest / 62)
  }
  return out
}

test('§3.2 prefix, 32 random characters, 6 of checksum', () => {
  for (const mode of ['live', 'test'] as const) {
    const key = generateApiKey(systemRandom(), mode)
    assert.match(key, new RegExp(`^gk_${mode}_[0-9A-Za-z]{38}$`))
    assert.equal(key.slice(-6), checksum(key.slice(0, -6)))
    const at = key.length - 10
    const typo = key.slice(0, at) + (key[at] === 'a' ? 'b' : 'a') + key.slice(at + 1)
    assert.equal(parseApiKey(typo), undefined)
  }
})

eachService(
  '§3.2 a key is accepted in either header; an invalid one is 403',
  async ({ as, key, post }) => {
    const { get } = as(undefined)
    const secret = await key()
    for (const headers of [{ 'x-api-key': secret }, { authorization: `ApiKey ${secret}` }]) {
      assert.equal((await get('/api/v2/users', headers)).status, 200)
    }
    const admin = as(await key({ mode: 'live', scopes: ['admin'] }))
    const input = { name: 'one', scopes: ['users:read'], mode: 'test' }
    const createKey = async (options: object) =>
      (await admin.post('/admin/keys', { ...input, ...options })).body
    const restricted = await createKey({ cidrs: ['203.0.113.0/24'] })
    const revoked = await createKey({})
    assert.equal((await as(revoked.key).get('/api/v2/users')).status, 200)
    assert.equal((await admin.delete(`/admin/keys/${revoked.id}`)).status, 204)
    for (const invalidKey of [
      restricted.key,
      revoked.key,
      `${secret}x`,
      'x',
      generateApiKey(systemRandom(), 'test'),
    ]) {
      const { status, body } = await as(invalidKey).get('/api/v2/users')
      assert.deepEqual([status, body.error], [403, 'invalid_api_key'])
    }
    assert.equal((await post('/admin/keys', input)).status, 403)
  },
)
