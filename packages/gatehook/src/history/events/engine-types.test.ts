import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { engineEvents } from './engine-types.ts'

const SOURCE = new URL('../../', import.meta.url)
/** The type of an event in the source that records it. */
const RECORDED = /(?:\btype: |\brecordKeyEvent\(tx, admin, )'([a-z_]+\.[a-z_]+)'/g
/** The server sends these to one receiver and does not record them. */
const UNRECORDED = ['webhook.ping']

test('a registration can name every event that the engine records (§9.1)', () => {
  const recorded = new Set(
    globSync('**/*.ts', { cwd: SOURCE, exclude: ['**/*.test.ts'] }).flatMap((file) =>
      [...readFileSync(new URL(file, SOURCE), 'utf8').matchAll(RECORDED)].map(([, type]) => type!),
    ),
  )
  for (const type of UNRECORDED) recorded.delete(type)
  for (const type of ['webhook.disabled', 'key.revoked', 'login.throttled']) {
    assert.ok(recorded.has(type), `the search finds ${type}`)
  }
  for (const type of recorded) assert.ok(engineEvents[type], type)
})
