/**
 * §17.2 with the drivers of two languages, `pg` and `psycopg`: 30 times kill -9 of applications,
 * nodes and the database while transactions emit events. Needs Python with venv.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killWhileEmitting } from '../chaos/emission-kill.ts'

test('kill -9 loses no emitted event, and adds none', async (t) => {
  const result = await killWhileEmitting({
    seed: 17,
    rounds: 30,
    minutes: 8,
    clients: ['pg', 'psycopg'],
  })
  t.diagnostic(JSON.stringify(result))
  assert.deepEqual([result.lost, result.phantom], [0, 0])
  assert.equal(result.rounds, 30)
  assert.ok(result.acknowledged > 100, `${result.acknowledged} commits`)
  assert.ok(result.doubled <= result.inFlight, `${result.doubled} doubled`)
})
