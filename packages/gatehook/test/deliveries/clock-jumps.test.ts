/**
 * The clock jumps, forwards and back, while the engine delivers: what it says decides when a
 * delivery is due (§9.6), but nothing is lost by it, sent twice or kept longer than it jumped.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, hang, type Receiver, World } from './simulation.ts'

const SECOND = 1_000
const MINUTE = 60_000
const HOUR = 3_600_000
const DAY = 24 * HOUR

const ok: Receiver = () => answer(200)

test('forwards: retries are due at once, and each is made once', async () => {
  const world = new World(21)
  let whole = false
  world.register(1, 1, () => answer(whole ? 200 : 500))
  const rows = Array.from({ length: 4 }, () => world.add(1)) // too few for the breaker
  await world.run(20 * SECOND)
  assert.deepEqual(
    rows.map(({ arrivals }) => arrivals.length),
    rows.map(() => 2),
  )
  whole = true
  world.skewMs += HOUR
  await world.run(2 * SECOND)
  assert.equal(world.count('delivered'), 4)
  assert.deepEqual(
    rows.map(({ arrivals }) => arrivals.length),
    rows.map(() => 3),
  )
})

test('forwards: what is under way keeps its real time, and its result', async () => {
  const world = new World(22)
  world.register(1, 1, () => hang)
  const row = world.add(1)
  await world.run(SECOND)
  world.skewMs += DAY
  await world.run(13 * SECOND)
  assert.deepEqual([row.state, row.attempt, row.arrivals.length], ['pending', 0, 1])
  await world.run(2 * SECOND)
  assert.deepEqual([row.state, row.attempt, row.arrivals.length], ['pending', 1, 1])
})

test('forwards: an open breaker and a parked endpoint are over early, no more', async () => {
  const world = new World(23)
  const start = world.now
  world.register(1, 1, (_, now) => (now - start < SECOND ? answer(500) : answer(200)))
  world.register(2, 2, (_, now) => (now - start < SECOND ? answer(429, '7200') : answer(200)))
  for (let n = 0; n < 100; n++) world.add(1)
  const parked = world.add(2)
  await world.run(10 * SECOND)
  assert.ok(world.count('delivered') < 10)
  world.skewMs += 3 * HOUR
  await world.run(2 * SECOND)
  assert.equal(world.count('delivered', 1), 100)
  assert.equal(parked.state, 'delivered')
  assert.equal(parked.arrivals.length, 2)
})

test('forwards past thirty days: what waits is exhausted, told and not dropped', async () => {
  const world = new World(24)
  world.register(1, 1, () => answer(500))
  const row = world.add(1)
  await world.run(SECOND)
  world.skewMs += 31 * DAY
  const fresh = world.add(1)
  await world.run(2 * SECOND)
  assert.deepEqual([row.state, row.attempt, row.arrivals.length], ['exhausted', 1, 1])
  assert.deepEqual([fresh.state, fresh.attempt], ['pending', 1])
})

test('back: what is new goes out at once, what waited waits no longer than the jump', async () => {
  const world = new World(25)
  world.register(1, 1, ok)
  world.change(1, { sends: false })
  const waiting = Array.from({ length: 50 }, () => world.add(1))
  await world.run(SECOND)
  world.skewMs -= HOUR
  world.change(1, { sends: true })
  await world.run(2 * SECOND)
  const fresh = world.add(1)
  await world.run(SECOND)
  assert.equal(fresh.state, 'delivered')
  await world.run(HOUR)
  for (const row of [...waiting, fresh]) {
    assert.deepEqual([row.state, row.arrivals.length], ['delivered', 1])
  }
})

test('back: breaker, park and retries take the jump longer, and then go on', async () => {
  const world = new World(26)
  const start = world.now
  const bad = () => world.now - start < MINUTE
  world.register(1, 1, () => answer(bad() ? 500 : 200))
  world.register(2, 2, () => (bad() ? answer(429, '60') : answer(200)))
  for (let n = 0; n < 40; n++) world.add(1)
  for (let n = 0; n < 40; n++) world.add(2)
  await world.run(30 * SECOND)
  world.skewMs -= 10 * MINUTE
  await world.run(30 * MINUTE)
  assert.equal(world.count('delivered'), 80)
})

test('back by a year: a park and an open breaker of the future are none', async () => {
  const world = new World(27)
  world.skewMs = 365 * DAY
  const start = world.now
  const bad = () => world.now - start < MINUTE
  world.register(1, 1, () => answer(bad() ? 500 : 200))
  world.register(2, 2, () => (bad() ? answer(429, '60') : answer(200)))
  for (let n = 0; n < 40; n++) for (const no of [1, 2]) world.add(no)
  await world.run(30 * SECOND)
  assert.equal(world.count('delivered'), 0)
  world.skewMs = 0
  // What the database says of them is put right by a chore; here the rows are new.
  const fresh = [world.add(1), world.add(2)]
  await world.run(2 * MINUTE)
  for (const row of fresh) assert.equal(row.state, 'delivered')
})

for (const seed of [31, 32, 33]) {
  test(`jumps at random lose nothing and send nothing twice [seed ${seed}]`, async () => {
    const world = new World(seed)
    const { random } = world
    world.register(1, 1, ok)
    world.register(2, 1, () => answer(random() < 0.3 ? 500 : 200))
    world.register(3, 2, () => (random() < 0.1 ? hang : answer(200)))
    world.register(4, 3, () => (random() < 0.1 ? answer(429, '30') : answer(200)))
    for (let step = 0; step < 100; step++) {
      for (let n = 0; n < 5; n++) world.add(1 + Math.floor(random() * 4), { quiet: random() < 0.3 })
      if (random() < 0.3) world.skewMs += (random() - 0.5) * 2 * HOUR
      await world.run(random() * 10 * SECOND)
    }
    await world.run(4 * DAY)
    assert.equal(world.count('pending'), 0)
    assert.equal(world.count('delivered') + world.count('exhausted'), 500)
    for (const row of world.rows.values()) assert.equal(row.arrivals.length, row.attempt)
    assert.equal(
      world.count('delivered', 1),
      [...world.rows.values()].filter(({ webhook }) => webhook === 1).length,
    )
  })
}
