/** §11.5: a write waits for one long transaction of other customers at most (SQLite). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LONG_MS, SLOW_MS, WriteLanes } from './write-lanes.ts'

/** A clock, and a function that creates jobs. */
function createRig() {
  let nowMs = 0
  const rejected: string[] = []
  const lanes = new WriteLanes<Job>({ elapsedMs: () => nowMs })
  const job = (customer: string | undefined, name: string): Job => {
    return { customer, name, sinceMs: nowMs, reject: () => void rejected.push(name) }
  }
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { lanes, job, advance, rejected }
}
interface Job {
  readonly customer: string | undefined
  readonly caller?: string
  readonly isLarge?: boolean
  readonly name: string
  readonly sinceMs: number
  readonly reject: (reason: unknown) => void
}
const namesOf = (lanes: WriteLanes<Job>): string[] => {
  const next = lanes.begin()
  const names: string[] = []
  for (let taken = next(); taken; taken = next()) names.push(taken.name)
  return names
}

test('long transactions of a customer take turns with the batches of the others', () => {
  const { lanes, job, advance } = createRig()
  const first = job('a', 'a0')
  lanes.add(first)
  assert.deepEqual(namesOf(lanes), ['a0'])
  for (const name of ['a1', 'a2']) lanes.add(job('a', name))
  lanes.note(first, LONG_MS)
  lanes.note(job('c', 'c0'), LONG_MS)
  for (const name of ['c1', 'a3']) lanes.add(job(name[0], name))
  lanes.add(job('b', 'b1'))
  lanes.add(job(undefined, 'engine'))
  assert.equal(lanes.length, 6)
  advance(LONG_MS * 31)
  const batches = [namesOf(lanes), namesOf(lanes)]
  lanes.add(job('b', 'b2'))
  while (lanes.length > 0) batches.push(namesOf(lanes))
  assert.deepEqual(batches, [['b1', 'engine'], ['a1'], ['b2'], ['c1'], ['a2'], ['a3']])
})

test('a customer whose transaction was short commits with the others again', () => {
  const { lanes, job } = createRig()
  lanes.note(job('a', 'a0'), LONG_MS)
  for (const name of ['a1', 'a2', 'a3']) lanes.add(job('a', name))
  assert.deepEqual(namesOf(lanes), ['a1'])
  lanes.note(job('a', 'a1'), 1)
  assert.deepEqual(namesOf(lanes), ['a2', 'a3'])
  assert.equal(lanes.length, 0)
})

test('beside others a long transaction rests 31 times what the last one took', () => {
  const { lanes, job, advance } = createRig()
  lanes.add(job('b', 'b0'))
  assert.deepEqual(namesOf(lanes), ['b0'])
  lanes.note(job('a', 'a0'), 50)
  lanes.add(job('a', 'a1'))
  assert.equal(lanes.restMs, 1_550)
  assert.deepEqual(namesOf(lanes), [])
  lanes.add(job('b', 'b1'))
  assert.equal(lanes.restMs, 0)
  assert.deepEqual(namesOf(lanes), ['b1'])
  advance(1_550)
  assert.equal(lanes.restMs, 0)
  assert.deepEqual(namesOf(lanes), ['a1'])
})

test('a large transaction of a caller that is not slow rests with those of slow callers', () => {
  const { lanes, job, advance } = createRig()
  lanes.add(job('b', 'b0'))
  assert.deepEqual(namesOf(lanes), ['b0'])
  lanes.note({ ...job('a', 'a0'), caller: 'one' }, 50)
  lanes.add({ ...job('a', 'large'), caller: 'two', isLarge: true })
  lanes.add({ ...job('a', 'small'), caller: 'three' })
  assert.deepEqual(namesOf(lanes), ['small'])
  assert.deepEqual(namesOf(lanes), [])
  assert.equal(lanes.restMs, 1_550)
  advance(1_550)
  assert.deepEqual(namesOf(lanes), ['large'])
})

test('customers with long transactions do not rest for each other', () => {
  const { lanes, job, advance } = createRig()
  for (const customer of ['a', 'b']) lanes.note(job(customer, customer), 50)
  advance(5_000)
  for (const name of ['a1', 'b1']) lanes.add(job(name[0], name))
  lanes.note(job('a', 'a1'), 50)
  assert.equal(lanes.restMs, 0)
})

test('beside others each customer rests for its own transactions only, until the close', () => {
  const { lanes, job, advance } = createRig()
  lanes.add(job('c', 'c1'))
  lanes.note(job('a', 'a0'), 250)
  lanes.note(job('b', 'b0'), LONG_MS)
  advance(31 * LONG_MS)
  for (const name of ['a1', 'b1']) lanes.add(job(name[0], name))
  const batches = [namesOf(lanes), namesOf(lanes), namesOf(lanes)]
  assert.deepEqual(batches, [['c1'], ['b1'], []])
  assert.ok(lanes.restMs > 4_000)
  lanes.endRest()
  assert.equal(lanes.restMs, 0)
  assert.deepEqual(namesOf(lanes), ['a1'])
})

test('a long transaction that waited for more than ten seconds is rejected at its turn', () => {
  const { lanes, job, advance, rejected } = createRig()
  lanes.note(job('a', 'a0'), LONG_MS)
  lanes.add(job('a', 'a1'))
  advance(1)
  lanes.add(job('a', 'a2'))
  advance(10_000)
  assert.deepEqual(namesOf(lanes), ['a2'])
  assert.deepEqual(rejected, ['a1'])
  assert.equal(lanes.length, 0)
})

test('all transactions are removed at once', () => {
  const { lanes, job } = createRig()
  lanes.note(job('a', 'a0'), LONG_MS)
  for (const customer of ['a', 'b', undefined]) lanes.add(job(customer, String(customer)))
  assert.deepEqual(
    lanes
      .clear()
      .map(({ name }) => name)
      .sort(),
    ['a', 'b', 'undefined'],
  )
  assert.equal(lanes.length, 0)
})

test('long transactions of a caller delay no short one of another caller of the customer', () => {
  const { lanes, job, advance } = createRig()
  const of = (caller: string, name: string): Job => ({ ...job('a', name), caller })
  lanes.add(job('b', 'b0'))
  assert.deepEqual(namesOf(lanes), ['b0'])
  lanes.note(of('slow', 's0'), 10 * LONG_MS)
  for (const name of ['s1', 's2']) lanes.add(of('slow', name))
  lanes.add(job('b', 'b1'))
  for (const name of ['q1', 'q2']) lanes.add(of('quick', name))
  assert.deepEqual([namesOf(lanes), namesOf(lanes)], [['b1'], ['q1', 'q2']])
  assert.ok(lanes.restMs > 0, 'the customer rests beside another one')
  lanes.note(of('other', 'o0'), 10 * LONG_MS)
  lanes.add(of('other', 'o1'))
  advance(SLOW_MS - 1)
  const late = [of('slow', 's3'), of('other', 'o2')]
  for (const added of late) lanes.add(added)
  assert.deepEqual(namesOf(lanes), ['o2'], 'callers take turns; what waited too long is rejected')
})

test('a short transaction ends the lane of the only slow caller of a customer', () => {
  const { lanes, job, advance } = createRig()
  const of = (caller: number, name = 'long'): Job => ({ ...job('a', name), caller: String(caller) })
  const callers = Array.from({ length: 2_000 }, (_, caller) => caller)
  lanes.add(job('b', 'b0'))
  assert.deepEqual(namesOf(lanes), ['b0'])
  for (const caller of callers) lanes.note(of(caller), 2 * LONG_MS)
  for (const caller of callers) lanes.note(of(caller), 1)
  for (const caller of callers) lanes.add(of(caller))
  assert.ok(lanes.restMs > 0, 'none of them left its lane, the first one neither')
  lanes.add(job('b', 'b1'))
  assert.deepEqual(namesOf(lanes), ['b1'])
  lanes.clear()
  for (const caller of callers) lanes.note(of(caller), 2 * LONG_MS)
  advance(SLOW_MS)
  lanes.add(job('b', 'b2'))
  for (const caller of callers) lanes.add(of(caller, 'q'))
  assert.deepEqual(namesOf(lanes).slice(0, 2), ['b2', 'q'], 'later they commit with the others')
})

test('a rejected transaction is not said to be one of many of its caller', () => {
  const { lanes, job, advance } = createRig()
  const reasons: unknown[] = []
  lanes.note(job('a', 'a0'), LONG_MS)
  lanes.add({ ...job('a', 'a1'), reject: (reason) => reasons.push(reason) })
  advance(10_001)
  assert.deepEqual(namesOf(lanes), [])
  assert.deepEqual(reasons.map(String), ['Error: Too many large changes wait.'])
})

const HEAVY_MS = 500
interface TimedJob extends Job {
  readonly ms: number
  readonly done: () => void
}
interface Waits {
  readonly longest: number
  readonly count: number
}

/** Runs writers for a minute of the clock, as the queue does. Returns how long each name waited. */
function simulate(
  writers: readonly {
    readonly customer: string
    readonly caller: string
    readonly name: string
    /** The time that each change takes, repeated. */
    readonly changes: readonly number[]
    readonly pauseMs: number
  }[],
): Record<string, Waits> {
  let nowMs = 0
  const lanes = new WriteLanes<TimedJob>({ elapsedMs: () => nowMs })
  const waits: Record<string, Waits> = {}
  const due = writers.map((writer, i) => ({ ...writer, atMs: i / writers.length, index: 0 }))
  const addDue = () => {
    for (const writer of due) {
      if (writer.atMs > nowMs) continue
      const { customer, caller, name, changes } = writer
      const sinceMs = nowMs
      writer.atMs = Number.POSITIVE_INFINITY
      const end = (isDone: boolean) => {
        writer.atMs = nowMs + writer.pauseMs
        const ms = changes[writer.index++ % changes.length]!
        const waitedMs = isDone ? nowMs - sinceMs - ms : Number.POSITIVE_INFINITY
        const { longest, count } = waits[name] ?? { longest: 0, count: 0 }
        waits[name] = { longest: Math.max(longest, waitedMs), count: count + 1 }
      }
      const ms = changes[writer.index % changes.length]!
      const job = { customer, caller, name, sinceMs, ms, done: () => end(true) }
      lanes.add({ ...job, reject: () => end(false) })
    }
  }
  for (let batches = 0; nowMs < 60_000; batches += 1) {
    assert.ok(batches < 60_000, 'a job may begin, and none begins')
    addDue()
    const nextMs = Math.min(...due.map(({ atMs }) => atMs))
    const restMs = lanes.length > 0 ? lanes.restMs : Number.POSITIVE_INFINITY
    if (restMs > 0) {
      nowMs = Math.max(nowMs, Math.min(nextMs, nowMs + restMs))
      continue
    }
    const next = lanes.begin()
    const beganMs = nowMs
    const done: TimedJob[] = []
    for (let job = next(); job; job = next()) {
      nowMs += job.ms
      addDue()
      lanes.note(job, job.ms)
      done.push(job)
      if (nowMs - beganMs >= LONG_MS || done.length === 64) break
    }
    for (const job of done) job.done()
  }
  return waits
}

for (const customers of [1, 3])
  for (const callers of [1, 12, 40])
    for (const changes of [[HEAVY_MS], [HEAVY_MS, 1], [1, HEAVY_MS, 1]]) {
      const writers = `${customers} customers with ${callers} callers, ${changes.join(', ')} ms`
      test(`a write waits for one change of each other customer: ${writers}`, () => {
        const names = (count: number, name: string) =>
          Array.from({ length: count }, (_, i) => name + i)
        const slow = names(customers, 'a').flatMap((customer) =>
          names(callers, customer).map((caller) => {
            return { customer, caller, name: 'slow', changes, pauseMs: 0 }
          }),
        )
        const waits = simulate([
          ...slow,
          { customer: 'b', caller: 'b', name: 'short', changes: [1], pauseMs: 100 },
          { customer: 'c', caller: 'c', name: 'large', changes: [70], pauseMs: 2_000 },
          { customer: 'a0', caller: 'quick', name: 'quick', changes: [1], pauseMs: 100 },
        ])
        const onceMs = customers * HEAVY_MS + 100
        assert.ok(waits.short!.longest <= onceMs, `another customer: ${waits.short!.longest} ms`)
        const large = waits.large!
        assert.ok(large.longest <= 2 * onceMs, `a large one of another: ${large.longest} ms`)
        assert.ok(large.count >= 60_000 / (2_070 + 2 * onceMs))
        if (callers > 1) return
        const { longest } = waits.quick!
        assert.ok(longest <= 2 * onceMs, `the same customer: ${longest} ms`)
      })
    }
