/** §3.1: exactly one credential on every kind of path; an invalid one is never anonymous. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

const PATHS = [
  '/api/v1/users',
  '/api/users',
  '/api/v2/protected',
  '/events',
  '/webhooks',
  '/admin/keys',
]

eachService(
  '§3.1 no credential is 401 with challenges, Basic only after a Basic attempt',
  async ({ as }) => {
    const { get } = as(undefined)
    for (const path of PATHS) {
      const { status, body, headers } = await get(path)
      assert.deepEqual([path, status, body.error], [path, 401, 'unauthorized'])
      assert.match(
        headers['www-authenticate']!,
        /^Bearer resource_metadata="http:[^"]*\/oauth-protected-resource(\/api)?".*, ApiKey$/,
      )
      const basic = await get(path, { authorization: `Basic ${btoa('unknown:wrong')}` })
      assert.deepEqual([path, basic.status, basic.body.error], [path, 401, 'invalid_credentials'])
      assert.match(
        basic.headers['www-authenticate']!,
        /^Bearer .*, ApiKey, Basic realm="gatehook", charset="UTF-8"$/,
      )
    }
  },
)

eachService('§3.1 two credentials are 400, also equal ones', async ({ as, key }) => {
  const secret = await key()
  const { get } = as(undefined)
  const pairs: readonly [string, Record<string, string>][] = [
    ['', { 'x-api-key': secret, authorization: `ApiKey ${secret}` }],
    ['', { 'x-api-key': secret, authorization: 'Bearer x' }],
    [`?api_key=${secret}`, { 'x-api-key': secret }],
    [`?api_key=${secret}&api_key=${secret}`, {}],
  ]
  for (const path of PATHS) {
    for (const [query, headers] of pairs) {
      const { status, body } = await get(path + query, headers)
      assert.deepEqual([status, body.error], [400, 'ambiguous_credentials'], path)
    }
  }
})

eachService('§3.1 an unknown scheme and a malformed credential are 401 or 403', async ({ as }) => {
  const { get } = as(undefined)
  const cases: readonly [string, number, string][] = [
    ['Digest x', 401, 'unauthorized'],
    ['Negotiate', 401, 'unauthorized'],
    ['', 401, 'unauthorized'],
    ['Bearer', 401, 'invalid_token'],
    ['Bearer x.y.z', 401, 'invalid_token'],
    ['ApiKey', 403, 'invalid_api_key'],
    ['Basic !!!', 401, 'invalid_credentials'],
  ]
  for (const path of PATHS) {
    for (const [authorization, expected, code] of cases) {
      const { status, body } = await get(path, { authorization })
      assert.deepEqual([status, body.error], [expected, code], `${path} ${authorization}`)
    }
  }
})
