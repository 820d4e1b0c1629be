/** Several nodes in a simulated world (§9.7, §9.8, §9.12); a failing test prints its seed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedsOf } from '../../../../test/rig/depth.ts'
import { hang, type Receiver, type Row, respond, World } from './simulation.ts'

const SECOND = 1_000
const MINUTE = 60_000

/** Short, because nodes renew their leases every few seconds of simulated time. */
const SCHEDULE_S = [1, 2, 4, 8]

/** Each attempt that arrived was recorded: no other node repeated it. */
function assertNoRepetition(rows: Iterable<Row>): void {
  for (const { id, attempt, arrivals } of rows) assert.equal(arrivals.length, attempt, id)
}

test('a customer moves when its attempts have ended and are recorded', async () => {
  const world = new World(61)
  const afterMs = () => SECOND + Math.floor(world.random() * 3 * SECOND)
  for (let no = 1; no <= 4; no++) {
    world.register(no, no, () => ({ ...respond(200), afterMs: afterMs() }))
  }
  const first = world.startNode()
  await world.run(SECOND)
  for (let n = 0; n < 200; n++) world.add(1 + (n % 4))
  await world.run(SECOND)
  const second = world.startNode()
  await world.run(10 * SECOND)
  const heldBy = ({ leases }: typeof first) => [1, 2, 3, 4].filter((no) => leases.holds(no))
  assert.deepEqual([heldBy(first).length, heldBy(second).length], [2, 2])
  await world.run(MINUTE)
  assert.equal(world.count('delivered'), 200)
  assertNoRepetition(world.rows.values())
})

test('an endpoint of a customer that leaves starts no attempt before the next sweep', async () => {
  let isHeld = true
  const holds = () => isHeld
  const leases = { isAlive: true, generation: 0, holds, take: async () => {} }
  const world = new World(63, { leases })
  world.register(1, 1, () => respond(200))
  const row = world.add(1, { quiet: true })
  while (world.engine.hasWindowsToFill) await world.engine.fillWindows()
  isHeld = false
  world.engine.startAttempts()
  assert.equal(row.arrivals.length, 0)
  isHeld = true
  await world.run(SECOND)
  assert.equal(row.arrivals.length, 1)
})

test('a customer whose receiver hangs stays on its node, and waits 5 s for a move', async () => {
  const world = new World(62)
  world.register(1, 1, () => hang)
  world.register(2, 2, () => hang)
  for (const no of [3, 4]) world.register(no, no - 2, () => respond(200))
  const first = world.startNode()
  await world.run(SECOND)
  for (const no of [1, 2]) world.add(no)
  await world.run(SECOND)
  const second = world.startNode()
  for (let n = 0; n < 30; n++) {
    for (const no of [3, 4]) world.add(no)
    await world.run(SECOND)
  }
  const waits = [...world.rows.values()]
    .filter(({ webhook }) => webhook > 2)
    .map(({ arrivals, createdAt }) => arrivals[0]! - createdAt)
  assert.ok(Math.max(...waits) <= 6 * SECOND, `${Math.max(...waits)} ms`)
  assert.ok(Math.max(...waits) > SECOND, 'a move waited')
  assert.equal(world.leases.leases.size, 2)
  assert.ok(first.leases.isAlive && second.leases.isAlive)
})

for (const seed of seedsOf([71, 72, 73, 74])) {
  test(`nodes that join and end lose and repeat no delivery [seed ${seed}]`, async () => {
    const world = new World(seed, { scheduleS: SCHEDULE_S })
    const { random } = world
    const behaviours: Receiver[] = [
      () => respond(200),
      () => (random() < 0.3 ? respond(500) : respond(200)),
      () => ({ ...respond(200), afterMs: Math.floor(random() * 2 * SECOND) }),
      () => (random() < 0.1 ? hang : respond(204)),
    ]
    for (let no = 1; no <= 12; no++) world.register(no, 1 + (no % 6), behaviours[no % 4]!)
    world.startNode()
    for (let step = 0; step < 60; step++) {
      const no = 1 + Math.floor(random() * 12)
      for (let n = 0; n < random() * 30; n++) world.add(no, { quiet: random() < 0.3 })
      const up = world.nodes.filter(({ isUp }) => isUp)
      if (random() < 0.2 && up.length < 4) world.startNode()
      if (random() < 0.1 && up.length > 1) {
        await world.stopNode(up[Math.floor(random() * up.length)]!)
      }
      await world.run(random() * 5 * SECOND)
    }
    await world.run(5 * MINUTE)
    assert.equal(world.count('pending'), 0)
    assertNoRepetition(world.rows.values())
    for (const { mostInFlight } of world.endpoints.values()) assert.ok(mostInFlight <= 20)
  })
}
