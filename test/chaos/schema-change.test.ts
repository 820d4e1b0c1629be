/** §6.6: a short change under load; `npm run chaos` changes a million rows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import { freshFolder, freshUrl } from '../rig/databases.ts'
import { changeUnderLoad } from './schema-change.ts'

test('no request fails while a declaration changes, and kill -9 loses no index', async (t) => {
  const result = await changeUnderLoad({
    databaseUrl: await freshUrl(t, 'postgres'),
    key: generateApiKey(systemRandom(), 'live'),
    folder: await freshFolder(),
    rows: 60_000,
    quietMs: 0,
  })
  t.diagnostic(JSON.stringify(result))
  assert.equal(result.failed, 0)
  assert.ok(result.requests > 200)
})
