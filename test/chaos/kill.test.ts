/** §9.12: a short run of kill -9; `npm run chaos` is the long run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import { freshUrl, type Kind } from '../rig/databases.ts'
import { chaos } from './kill.ts'

for (const [kind, nodes] of [
  ['sqlite', 1],
  ['postgres', 2],
] as const satisfies readonly (readonly [Kind, number])[]) {
  test(`kill -9 loses no delivery [${kind}, nodes: ${nodes}]`, async (t) => {
    const key = generateApiKey(systemRandom(), 'live')
    const databaseUrl = await freshUrl(t, kind)
    const sizes = { seed: 7, events: 1_200, kills: 2, registrations: 2 }
    const result = await chaos({ databaseUrl, key, nodes, ...sizes })
    t.diagnostic(JSON.stringify(result))
    assert.equal(result.lost, 0)
    assert.ok(result.acknowledged > 1_000)
    assert.ok(result.duplicates <= result.inFlight, `${result.duplicates} duplicates`)
  })
}
