import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { engineEvents } from './engine-types.ts'

const ROOMS = new URL('../', import.meta.url)
/** Where the type of an event stands in the source of the one who records it. */
const RECORDED = /(?:\btype: |\btold\(tx, admin, )'([a-z_]+\.[a-z_]+)'/g
/** Said to one receiver only, never recorded. */
const UNRECORDED = ['webhook.ping']

test('every event the engine records is one that can be asked for (§9.1)', () => {
  const recorded = new Set(
    globSync('**/*.ts', { cwd: ROOMS, exclude: ['**/*.test.ts'] }).flatMap((file) =>
      [...readFileSync(new URL(file, ROOMS), 'utf8').matchAll(RECORDED)].map(([, type]) => type!),
    ),
  )
  for (const type of UNRECORDED) recorded.delete(type)
  for (const type of ['webhook.disabled', 'key.revoked', 'login.throttled']) {
    assert.ok(recorded.has(type), `the search finds ${type}`)
  }
  for (const type of recorded) assert.ok(engineEvents[type], type)
})
