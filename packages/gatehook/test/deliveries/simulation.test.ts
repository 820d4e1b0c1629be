/** The engine in a simulated world (§9.6–9.8, §9.12); a failing test prints its seed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedsOf } from '../../../../test/rig/depth.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { hang, type Receiver, respond, World } from './simulation.ts'

const SECOND = 1_000
const MINUTE = 60_000
const HOUR = 3_600_000
const DAY = 24 * HOUR

const ok: Receiver = () => respond(200)
const broken: Receiver = () => respond(500)

test('ten failed attempts in three days exhaust a delivery', async () => {
  const world = new World(1)
  world.register(1, 1, broken)
  const row = world.add(1)
  await world.run(4 * DAY)
  assert.equal(row.state, 'exhausted')
  assert.equal(row.arrivals.length, 10)
  const hours = (row.arrivals.at(-1)! - row.arrivals[0]!) / HOUR
  assert.ok(hours > 60 && hours < 91, `${hours} h`)
})

test('an endpoint has at most 20 attempts in flight, and gets every delivery once', async () => {
  const world = new World(2)
  world.register(1, 1, ok)
  for (let n = 0; n < 500; n++) world.add(1)
  await world.run(10 * SECOND)
  assert.equal(world.endpoints.get(1)!.mostInFlight, 20)
  assert.equal(world.count('delivered'), 500)
  for (const row of world.rows.values()) assert.equal(row.arrivals.length, 1)
})

test('attempts and unwritten results are at most 256: a crash resends no more', async () => {
  const world = new World(10)
  for (let no = 1; no <= 3; no++) world.register(no, no, ok)
  for (let n = 0; n < 600; n++) world.add(1 + (n % 3))
  world.isFull = true
  await world.run(10 * SECOND)
  const arrivals = () => [...world.rows.values()].reduce((all, row) => all + row.arrivals.length, 0)
  assert.equal(arrivals(), 256)
  world.isFull = false
  world.crash()
  await world.run(10 * SECOND)
  assert.equal(world.count('delivered'), 600)
  assert.equal(arrivals(), 600 + 256)
})

test('after 410 no attempt starts, also while results cannot be written', async () => {
  const world = new World(24)
  let isGone = false
  world.register(1, 1, () => respond(isGone ? 410 : 200))
  for (let n = 0; n < 500; n++) world.add(1)
  await world.run(10 * SECOND)
  isGone = true
  for (let n = 0; n < 500; n++) world.add(1)
  world.isFull = true
  await world.run(SECOND)
  world.isFull = false
  await world.run(SECOND)
  assert.equal(world.count('failed'), 20)
  assert.equal(world.count('pending'), 480)
})

test('60 hanging endpoints do not delay the deliveries of another customer', async () => {
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

test('a delivery that is passed to the engine late arrives once', async () => {
  for (const nodes of [0, 3]) {
    const world = new World(23)
    world.lateMs = 4_000
    for (let n = 0; n < nodes; n++) world.startNode()
    for (let no = 1; no <= 4; no++) world.register(no, no, ok)
    await world.run(5 * SECOND)
    for (let n = 0; n < 600; n++) {
      const row = world.add(1 + (n % 4))
      // Another one, whose wake-up lets the engine read both.
      if (n % 7 === 0) world.add(row.webhook, { body: undefined })
      await world.run(Math.floor(world.random() * 40))
    }
    await world.run(60 * SECOND)
    const arrivals = [...world.rows.values()].map((row) => row.arrivals.length)
    assert.deepEqual([Math.min(...arrivals), Math.max(...arrivals)], [1, 1], `${nodes} nodes`)
  }
})

test('a delivery that is passed without its large body keeps its place among others', async () => {
  const world = new World(5)
  world.register(1, 1, () => respond(200))
  world.add(1)
  await world.run(100)
  world.add(1, { quiet: true })
  const passed = world.add(1, { quiet: true })
  const due = { ...passed, body: '{}' }
  const committed = [{ webhookNo: 1, revision: 1, dueAt: passed.nextAt!, due }]
  void world.engine.wake([1], [], committed)
  await world.run(1_000)
  const ids = [...world.rows.values()].map(({ arrivals }) => arrivals.length)
  assert.deepEqual(ids, [1, 1, 1])
  assert.deepEqual(world.arrivals.slice(1), ['dlv_2', 'dlv_3'])
})

test('customers with equal queues progress at an equal rate', async () => {
  const world = new World(17)
  const afterMs = () => 1 + Math.floor(world.random() * 10)
  for (let no = 1; no <= 60; no++)
    world.register(no, no, () => ({ ...respond(200), afterMs: afterMs() }))
  for (let n = 0; n < 12_000; n++) world.add(1 + (n % 60))
  await world.run(250)
  const sent = Array.from({ length: 60 }, (_, at) => world.count('delivered', at + 1))
  const [least, most] = [Math.min(...sent), Math.max(...sent)]
  assert.ok(most <= 2 * least, `${least} to ${most}`)
})

test('an open breaker stops attempts, and one successful probe resumes them', async () => {
  const world = new World(4)
  let isHealthy = false
  let attempts = 0
  world.register(1, 1, () => {
    attempts += 1
    return respond(isHealthy ? 200 : 500)
  })
  for (let n = 0; n < 1_000; n++) world.add(1)
  await world.run(SECOND)
  const before = attempts
  assert.ok(before < 40, `${before} attempts before it opened`)
  await world.run(28 * SECOND)
  assert.equal(attempts, before)
  isHealthy = true
  await world.run(2 * MINUTE)
  assert.equal(world.count('delivered'), 1_000)
})

test('a resent delivery is the next attempt, and its success closes an open breaker', async () => {
  const world = new World(41)
  let isHealthy = false
  world.register(1, 1, () => respond(isHealthy ? 200 : 500))
  const rows = Array.from({ length: 1_000 }, () => world.add(1))
  await world.run(SECOND)
  const attempts = () => rows.reduce((sum, { arrivals }) => sum + arrivals.length, 0)
  const before = attempts()
  const [first, last] = [rows[0]!, rows.at(-1)!]
  world.resend(last)
  await world.run(SECOND)
  assert.deepEqual([last.arrivals.length, attempts()], [1, before + 1], 'a failure changes nothing')
  isHealthy = true
  world.resend(first)
  await world.run(10 * SECOND)
  assert.equal(first.state, 'delivered')
  assert.ok(world.count('delivered') > 900, 'the breaker is closed')
})

test('resent deliveries of a hanging endpoint are attempted one at a time', async () => {
  const world = new World(42)
  let reply = respond(500)
  world.register(1, 1, () => reply)
  const rows = Array.from({ length: 100 }, () => world.add(1))
  await world.run(SECOND)
  reply = hang
  const waiting = rows.filter(({ arrivals }) => arrivals.length === 0).slice(0, 50)
  for (const row of waiting) world.resend(row)
  await world.run(29 * SECOND)
  assert.equal(waiting.filter(({ arrivals }) => arrivals.length > 0).length, 2)
})

test('a hold until Retry-After delays a resent delivery', async () => {
  const world = new World(43)
  world.register(1, 1, (_, now) => (now - world.now < HOUR ? respond(429, '600') : respond(200)))
  const row = world.add(1)
  await world.run(SECOND)
  world.resend(row)
  await world.run(9 * MINUTE)
  assert.equal(row.arrivals.length, 1)
  await world.run(2 * MINUTE)
  assert.equal(row.arrivals.length, 2)
})

test('429 with Retry-After puts the endpoint on hold, and no other of its customer', async () => {
  const world = new World(5)
  const start = world.now
  world.register(1, 1, (_, now) => (now - start < HOUR ? respond(429, '3600') : respond(200)))
  world.register(2, 1, ok)
  world.add(1)
  await world.run(SECOND)
  const [held, other] = [world.add(1), world.add(2)]
  await world.run(HOUR - 2 * SECOND)
  assert.equal(held.arrivals.length, 0)
  assert.equal(other.state, 'delivered')
  world.crash()
  await world.run(SECOND)
  assert.equal(held.arrivals.length, 0, 'the hold survives a restart')
  await world.run(2 * MINUTE)
  assert.equal(held.state, 'delivered')
})

test('410 disables the registration; its deliveries resume when it is active again', async () => {
  const world = new World(6)
  let isGone = true
  world.register(1, 1, () => respond(isGone ? 410 : 200))
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
  isGone = false
  world.change(1, { sends: true })
  await world.run(2 * SECOND)
  assert.equal(later.state, 'delivered')
})

test('five days of failures, two of them 12 h apart, disable a registration', async () => {
  const world = new World(7)
  const start = world.now
  world.register(1, 1, broken)
  world.register(2, 2, broken)
  world.register(3, 3, (_, now) => respond(now - start < 2 * DAY ? 500 : 200))
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

test('a delivery older than 30 days is exhausted without an attempt', async () => {
  const world = new World(8)
  world.register(1, 1, ok)
  world.change(1, { sends: false })
  const [row, purged] = [world.add(1), world.add(1, { body: undefined })]
  await world.run(30 * DAY)
  world.change(1, { sends: true })
  await world.run(2 * SECOND)
  assert.deepEqual([row.state, row.arrivals.length], ['exhausted', 0])
  assert.deepEqual([purged.state, purged.arrivals.length], ['exhausted', 0])
})

test('a customer’s rate applies to all its endpoints, and delays no other customer', async () => {
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

/** Fills the queues of endpoints, and returns when a later 100 of endpoint 1 are delivered. */
async function secondsToSend100(world: World, floods: readonly number[], each: number) {
  for (const no of floods) for (let n = 0; n < each; n++) world.add(no)
  await world.run(100)
  const begun = world.now
  for (let n = 0; n < 100; n++) world.add(1)
  while (world.count('delivered', 1) < 100 && world.now < begun + 10 * SECOND) await world.run(10)
  return (world.now - begun) / SECOND
}

const atTheRate = { rate: { limit: 100, windowMs: SECOND, burst: 200 } }
const liveMode = (customer: number) => ({ scope: (customer * 2 + 1) as Scope })

test('at the rate of a customer, its endpoints take turns', async () => {
  const world = new World(21, atTheRate)
  for (const no of [1, 2, 3]) world.register(no, 1, ok)
  const seconds = await secondsToSend100(world, [2, 3], 600)
  assert.ok(seconds <= 4, `${seconds} s beside two flooded endpoints, with a third of the rate`)
})

test('at the rate of a customer, live and test mode take turns', async () => {
  const world = new World(22, atTheRate)
  world.register(1, 1, ok)
  world.change(1, liveMode(1))
  const floods = Array.from({ length: 50 }, (_, at) => at + 2)
  for (const no of floods) world.register(no, 1, ok)
  const seconds = await secondsToSend100(world, floods, 40)
  assert.ok(seconds <= 3, `${seconds} s beside 50 endpoints, with half the rate`)
})

for (const seed of seedsOf([11, 12, 13, 14, 15, 16])) {
  test(`crashes, changes and bad receivers lose no delivery [seed ${seed}]`, async () => {
    const world = new World(seed)
    const { random } = world
    const behaviours: Receiver[] = [
      ok,
      () => (random() < 0.3 ? respond(500) : respond(200)),
      () => (random() < 0.2 ? hang : respond(204)),
      () => (random() < 0.1 ? respond(429, String(Math.floor(random() * 100))) : respond(200)),
      (_, now) => (Math.floor(now / HOUR) % 3 === 0 ? respond(503) : respond(200)),
    ]
    for (let no = 1; no <= 12; no++)
      world.register(no, 1 + (no % 4), behaviours[no % behaviours.length]!)
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
    let duplicates = 0
    for (const row of world.rows.values()) {
      assert.ok(row.attempt <= 10)
      assert.ok(row.arrivals.length >= row.attempt, 'the row counts an attempt that never arrived')
      duplicates += row.arrivals.length - row.attempt
    }
    assert.ok(duplicates <= inFlight + 20 * world.endpoints.size, `${duplicates} duplicates`)
    for (const { mostInFlight } of world.endpoints.values()) assert.ok(mostInFlight <= 20)
  })
}
