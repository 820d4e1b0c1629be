/** The engine in a world made from a seed (printed where it fails): §9.6–9.8, §9.12. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, hang, type Receiver, World } from './simulation.ts'

const SECOND = 1_000
const MINUTE = 60_000
const HOUR = 3_600_000
const DAY = 24 * HOUR

const ok: Receiver = () => answer(200)
const broken: Receiver = () => answer(500)

test('a delivery nobody takes: ten attempts over three days, then exhausted', async () => {
  const world = new World(1)
  world.register(1, 1, broken)
  const row = world.add(1)
  await world.run(4 * DAY)
  assert.equal(row.state, 'exhausted')
  assert.equal(row.arrivals.length, 10)
  const hours = (row.arrivals.at(-1)! - row.arrivals[0]!) / HOUR
  assert.ok(hours > 60 && hours < 91, `${hours} h`)
})

test('at most twenty at a time to one endpoint, and the rest follow', async () => {
  const world = new World(2)
  world.register(1, 1, ok)
  for (let n = 0; n < 500; n++) world.add(1)
  await world.run(10 * SECOND)
  assert.equal(world.endpoints.get(1)!.mostInFlight, 20)
  assert.equal(world.count('delivered'), 500)
  for (const row of world.rows.values()) assert.equal(row.arrivals.length, 1)
})

test('a result not written keeps its place: a crash sends twenty again, no more', async () => {
  const world = new World(10)
  world.register(1, 1, ok)
  for (let n = 0; n < 100; n++) world.add(1)
  world.full = true
  await world.run(10 * SECOND)
  const arrivals = () => [...world.rows.values()].reduce((all, row) => all + row.arrivals.length, 0)
  assert.equal(arrivals(), 20)
  world.full = false
  world.crash()
  await world.run(10 * SECOND)
  assert.equal(world.count('delivered'), 100)
  assert.equal(arrivals(), 120)
})

test('an endpoint that hangs or floods keeps nobody waiting', async () => {
  const world = new World(3)
  for (let no = 1; no <= 60; no++) world.register(no, 1, () => hang)
  world.register(100, 2, ok)
  for (let no = 1; no <= 60; no++) for (let n = 0; n < 100; n++) world.add(no)
  await world.run(2 * SECOND)
  for (let n = 0; n < 50; n++) {
    const row = world.add(100)
    await world.run(100)
    assert.ok(row.arrivals[0]! - row.createdAt <= 10, `waited ${row.arrivals[0]! - row.createdAt}`)
  }
})

test('customers with as much to send keep step, whatever places there are', async () => {
  const world = new World(17)
  const afterMs = () => 1 + Math.floor(world.random() * 10)
  for (let no = 1; no <= 60; no++)
    world.register(no, no, () => ({ ...answer(200), afterMs: afterMs() }))
  for (let n = 0; n < 12_000; n++) world.add(1 + (n % 60))
  await world.run(250)
  const sent = Array.from({ length: 60 }, (_, at) => world.count('delivered', at + 1))
  const [least, most] = [Math.min(...sent), Math.max(...sent)]
  assert.ok(most <= 2 * least, `${least} to ${most}`)
})

test('the breaker leaves a broken endpoint alone, and one probe lets it go on', async () => {
  const world = new World(4)
  let whole = false
  let tried = 0
  world.register(1, 1, () => {
    tried += 1
    return answer(whole ? 200 : 500)
  })
  for (let n = 0; n < 1_000; n++) world.add(1)
  await world.run(SECOND)
  const before = tried
  assert.ok(before < 40, `${before} attempts before it opened`)
  await world.run(28 * SECOND)
  assert.equal(tried, before)
  whole = true
  await world.run(2 * MINUTE)
  assert.equal(world.count('delivered'), 1_000)
})

test('429 with Retry-After parks all of the endpoint, not its customer’s others', async () => {
  const world = new World(5)
  const start = world.now
  world.register(1, 1, (_, now) => (now - start < HOUR ? answer(429, '3600') : answer(200)))
  world.register(2, 1, ok)
  world.add(1)
  await world.run(SECOND)
  const [parked, other] = [world.add(1), world.add(2)]
  await world.run(HOUR - 2 * SECOND)
  assert.equal(parked.arrivals.length, 0)
  assert.equal(other.state, 'delivered')
  world.crash()
  await world.run(SECOND)
  assert.equal(parked.arrivals.length, 0, 'parked through a restart')
  await world.run(2 * MINUTE)
  assert.equal(parked.state, 'delivered')
})

test('410 switches the registration off; what waits goes out when it is on again', async () => {
  const world = new World(6)
  let gone = true
  world.register(1, 1, () => answer(gone ? 410 : 200))
  const first = world.add(1)
  await world.run(SECOND)
  assert.equal(first.state, 'failed')
  assert.deepEqual(
    world.disabled.map(({ reason }) => reason),
    ['gone'],
  )
  const later = world.add(1)
  await world.run(DAY)
  assert.equal(later.state, 'pending')
  assert.equal(later.arrivals.length, 0)
  gone = false
  world.change(1, { sends: true })
  await world.run(2 * SECOND)
  assert.equal(later.state, 'delivered')
})

test('switched off after five days of failures, if two lie half a day apart', async () => {
  const world = new World(7)
  const start = world.now
  world.register(1, 1, broken)
  world.register(2, 2, broken)
  world.register(3, 3, (_, now) => answer(now - start < 2 * DAY ? 500 : 200))
  world.add(1)
  world.add(3)
  await world.run(4.9 * DAY)
  assert.equal(world.disabled.length, 0)
  world.add(2)
  await world.run(DAY)
  assert.deepEqual(
    world.disabled.map(({ no, reason }) => [no, reason]),
    [[1, 'failing']],
  )
  assert.ok(world.disabled[0]!.at - start >= 5 * DAY)
})

test('what is older than thirty days is exhausted without an attempt', async () => {
  const world = new World(8)
  world.register(1, 1, ok)
  world.change(1, { sends: false })
  const [row, lost] = [world.add(1), world.add(1, { body: undefined })]
  await world.run(30 * DAY)
  world.change(1, { sends: true })
  await world.run(2 * SECOND)
  assert.deepEqual([row.state, row.arrivals.length], ['exhausted', 0])
  assert.deepEqual([lost.state, lost.arrivals.length], ['exhausted', 0])
})

test('a customer’s rate holds over its endpoints; others are not held', async () => {
  const world = new World(9, { rate: { limit: 100, windowMs: SECOND, burst: 200 } })
  for (const no of [1, 2, 3]) world.register(no, 1, ok)
  world.register(4, 2, ok)
  for (let n = 0; n < 3_000; n++) world.add(1 + (n % 3))
  await world.run(10)
  for (let n = 0; n < 100; n++) {
    if (n % 10 === 0) world.add(4)
    await world.run(100)
  }
  const arrivals = [...world.rows.values()].filter((row) => row.webhook !== 4 && row.arrivals[0])
  assert.ok(Math.abs(arrivals.length - 1_200) <= 20, `${arrivals.length} in ten seconds`)
  assert.equal(world.count('delivered', 4), 10)
})

for (const seed of [11, 12, 13, 14, 15, 16]) {
  test(`nothing is lost through crashes, changes and bad receivers [seed ${seed}]`, async () => {
    const world = new World(seed)
    const { random } = world
    const moods: Receiver[] = [
      ok,
      () => (random() < 0.3 ? answer(500) : answer(200)),
      () => (random() < 0.2 ? hang : answer(204)),
      () => (random() < 0.1 ? answer(429, String(Math.floor(random() * 100))) : answer(200)),
      (_, now) => (Math.floor(now / HOUR) % 3 === 0 ? answer(503) : answer(200)),
    ]
    for (let no = 1; no <= 12; no++) world.register(no, 1 + (no % 4), moods[no % moods.length]!)
    let inFlight = 0
    for (let step = 0; step < 150; step++) {
      const no = 1 + Math.floor(random() * 12)
      for (let n = 0; n < random() * 30; n++) world.add(no, { quiet: random() < 0.3 })
      if (random() < 0.1) world.change(no, { sends: random() < 0.5 })
      if (random() < 0.15) {
        for (const endpoint of world.endpoints.values()) inFlight += endpoint.inFlight
        world.crash()
      }
      await world.run(random() * (random() < 0.2 ? HOUR : 5 * SECOND))
    }
    for (const no of world.endpoints.keys()) world.change(no, { sends: true })
    await world.run(4 * DAY)
    assert.equal(world.count('pending'), 0)
    assert.equal(world.count('delivered') + world.count('exhausted'), world.rows.size)
    let beyond = 0
    for (const row of world.rows.values()) {
      assert.ok(row.attempt <= 10)
      assert.ok(row.arrivals.length >= row.attempt, 'an attempt is written that was not made')
      beyond += row.arrivals.length - row.attempt
    }
    assert.ok(beyond <= inFlight + 20 * world.endpoints.size, `${beyond} sent twice`)
    for (const { mostInFlight } of world.endpoints.values()) assert.ok(mostInFlight <= 20)
  })
}
