/** §18.1: reads that wait for a lock leave connections to the others (PostgreSQL). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOCK_MS } from './lock-wait.ts'
import { createReadLanes } from './postgres-lanes.ts'

const COUNT = 4

/** The part of a client of pg that a lane uses. */
function openClient() {
  const stream = { writableCorked: 0, cork() {}, uncork() {}, destroy() {} }
  return { on() {}, end: async () => {}, connection: { stream } }
}

test('reads of a table that waited for its lock in vain share a lane for a time', async () => {
  const clock = { ms: 0, elapsedMs: () => clock.ms }
  const lanes = createReadLanes(async () => openClient() as never, COUNT, clock)
  const lanesOf = async (text: string) => {
    const used = new Set<object>()
    const gate = Promise.withResolvers<void>()
    const uses: Promise<void>[] = []
    for (let n = 0; n < 3 * COUNT; n++) {
      const lane = lanes.choose(text)
      used.add(lane)
      const use = lane.use(
        () => gate.promise,
        () => {},
      )
      uses.push(use)
    }
    gate.resolve()
    await Promise.all(uses)
    return used
  }
  const text = 'SELECT * FROM locked'
  assert.equal((await lanesOf(text)).size, COUNT, 'before, all lanes')
  lanes.noteBlocked(text)
  const locked = await lanesOf(text)
  assert.equal(locked.size, 1)
  for (const more of ['WHERE a = $1', 'ORDER BY from_id DESC']) {
    assert.deepEqual(await lanesOf(`${text} ${more}`), locked, more)
  }
  const others = await lanesOf('SELECT * FROM other JOIN third ON true')
  assert.equal(others.size, COUNT - 1)
  assert.ok(others.isDisjointFrom(locked))
  clock.ms = 2 * LOCK_MS
  assert.equal((await lanesOf(text)).size, COUNT, 'later, all lanes again')
})

test('a read that repeats itself after the end opens no connection', async () => {
  let opened = 0
  const open = async () => {
    opened++
    return openClient() as never
  }
  const lanes = createReadLanes(open, COUNT)
  await lanes.close()
  const use = lanes.choose('SELECT 1').use(
    async () => {},
    () => {},
  )
  await assert.rejects(use, { code: 'storage_unavailable' })
  assert.equal(opened, 0)
})
