/** §18.10: a node names a database that answers each of its polls late. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRoundTrip } from './round-trip.ts'

test('a database is slow once no poll for some time was fast', async () => {
  let elapsedMs = 0
  const roundTrip = createRoundTrip({
    db: { name: 'postgres' },
    clock: { elapsedMs: () => elapsedMs },
  })
  const [polled, ...others] = roundTrip.polled
  assert.deepEqual(others, [])
  const poll = (ms: number) => {
    polled!.select()
    elapsedMs += ms
    polled!.receive(1, 0)
  }
  for (let n = 0; n < 4; n++) poll(300)
  assert.equal(await roundTrip.warning(), undefined, 'too few polls')
  assert.deepEqual(await roundTrip.metric.read(), [])
  poll(290)
  assert.match(String(await roundTrip.warning()), /^The database takes at least 290 ms to answer/)
  assert.deepEqual(await roundTrip.metric.read(), [{ value: 0.29 }])
  poll(4)
  for (let n = 0; n < 4; n++) poll(300)
  assert.equal(await roundTrip.warning(), undefined, 'a poll was fast')
  poll(300)
  assert.match(String(await roundTrip.warning()), /at least 300 ms/)
})

test('a file has no round trips', () => {
  assert.deepEqual(
    createRoundTrip({ db: { name: 'sqlite' }, clock: { elapsedMs: () => 0 } }).polled,
    [],
  )
})
