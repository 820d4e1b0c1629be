/** §2.8: short runs of a restore and a move under load; `npm run chaos` is the long run. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import { emptyFolder } from '../rig/cleanup.ts'
import { freshUrl } from '../rig/databases.ts'
import { moveUnderLoad, restoreUnderLoad } from './relocate.ts'

const sizes = { seed: 11, events: 600, registrations: 2 }
const newKey = () => generateApiKey(systemRandom(), 'live')

test('a backup under load has every event that was acknowledged before it', async (t) => {
  const folder = emptyFolder(t)
  const [source, target] = ['a', 'b'].map((name) => `sqlite:${join(folder, name, 'gatehook.db')}`)
  const options = { source: source!, target: target!, key: newKey(), ...sizes }
  const result = await restoreUnderLoad(options, folder)
  t.diagnostic(JSON.stringify(result))
  assert.equal(result.lost, 0)
  assert.ok(result.acknowledged >= sizes.events / 2)
})

test('a move under load that is killed loses no event and no delivery', async (t) => {
  const source = await freshUrl(t, 'sqlite')
  const target = await freshUrl(t, 'postgres')
  const result = await moveUnderLoad({ source, target, key: newKey(), ...sizes })
  t.diagnostic(JSON.stringify(result))
  assert.equal(result.lost, 0)
  assert.ok(result.kills > 0)
  assert.ok(result.duplicates <= result.inFlight, `${result.duplicates} duplicates`)
})
