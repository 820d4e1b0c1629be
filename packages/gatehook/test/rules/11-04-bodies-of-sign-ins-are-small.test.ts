/**
 * §11.4: bodies wait in memory for the hash of a password, so those of endpoints without a
 * credential are bounded to 128 KiB, and each name in them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { api } from '../../service/service.ts'
import { catalogOf } from '../../src/cli/openapi.ts'
import { engineOperations } from '../../src/documents.ts'

const MAX_BYTES = 131_072
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

eachService('an endpoint without a credential reads 128 KiB', async (service) => {
  const anyone = service.as(undefined)
  for (const [path, text, headers] of [
    ['/auth/login', '{"username":"a","password":"b"}', {}],
    ['/auth/refresh', '{"refresh_token":"a"}', {}],
    ['/auth/logout', '{"refresh_token":"a"}', {}],
    ['/console/session', '{"token":"a"}', {}],
    ['/oauth/token', 'grant_type=client_credentials', FORM],
    ['/oauth/introspect', 'token=a', FORM],
    ['/oauth/revoke', 'token=a', FORM],
    ['/oauth/sign-in', 'ticket=a', FORM],
    ['/oauth/consent', 'ticket=a', FORM],
    ['/oauth/device', 'ticket=a', FORM],
    ['/oauth/device_authorization', 'client_id=a', FORM],
  ] as const) {
    const fits = await anyone.post(path, text.padEnd(MAX_BYTES), headers)
    assert.ok(fits.status < 500 && fits.status !== 413, `${path} ${fits.status}`)
    const more = await anyone.post(path, text.padEnd(MAX_BYTES + 1), headers)
    assert.equal(more.status, 413, path)
  }
  const order = JSON.stringify({ user_id: 1, amount: 1 }).padEnd(MAX_BYTES + 1)
  assert.equal((await service.post('/api/v2/orders', order)).status, 422)
})

test('each text beside a password has a maximum: the server keeps it while it hashes', () => {
  const bodies = engineOperations(catalogOf(api.definition)).filter(({ input = {} }) =>
    Object.values(input).some(({ spec }) => spec.format === 'password'),
  )
  assert.ok(bodies.length >= 6)
  const unbounded = bodies.flatMap(({ id, input = {} }) =>
    Object.entries(input)
      // A password of any length is wrong, not malformed, and a long one waits for no thread.
      .filter(([, { spec }]) => /^(text|pattern)$/.test(spec.kind) && spec.format !== 'password')
      .filter(([, { spec }]) => spec.max === undefined)
      .map(([name]) => `${id} ${name}`),
  )
  assert.deepEqual(unbounded, [])
})
