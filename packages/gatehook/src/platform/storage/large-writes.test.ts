/** §11.5: the large changes of a customer take a part of the time of PostgreSQL beside others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backendGroup } from '../../kernel/caller-group.ts'
import type { Scope } from '../../kernel/principal.ts'
import { budgetOf, CHANGE_BOUNDS, type ChangeCost } from './change-budget.ts'
import type { Tx } from './database.ts'
import { createLargeWrites } from './large-writes.ts'

const [noisy, quiet] = [1, 3].map((scope) => backendGroup(scope as Scope))

/** Writes of `noisy` and `quiet` on a clock of the test; each takes as long as the test says. */
function createRig() {
  let nowMs = 0
  const timers: { readonly atMs: number; readonly wake: () => void }[] = []
  const after = (ms: number, wake: () => void) => void timers.push({ atMs: nowMs + ms, wake })
  const writes = createLargeWrites({ elapsedMs: () => nowMs }, after)
  const run = writes.run((change) => change({} as Tx))
  const begun: string[] = []
  const ends: (() => void)[] = []
  const write = (customer: string, name: string, cost: ChangeCost, isLarge = true) => {
    const change = async (tx: Tx) => {
      begun.push(name)
      budgetOf(tx).charge(cost)
      await new Promise<void>((resolve) => void ends.push(resolve))
    }
    return run(change, { customer, isLarge })
  }
  const advance = (ms: number) => {
    nowMs += ms
    for (const timer of timers.splice(0)) {
      if (timer.atMs <= nowMs) timer.wake()
      else timers.push(timer)
    }
  }
  /** Ends the changes that run after `ms`. */
  const end = (ms: number) => {
    advance(ms)
    for (const resolve of ends.splice(0)) resolve()
  }
  const settle = () => new Promise(setImmediate)
  return { writes, begun, write, advance, end, settle }
}

const LARGEST = { words: CHANGE_BOUNDS.words }
const SMALL = { rows: 200 }

test('beside others large changes run one at a time, and the next one rests', async () => {
  const { begun, write, advance, end, settle } = createRig()
  const other = write(quiet!, 'other', SMALL, false)
  const large = ['large 1', 'large 2'].map((name) => write(noisy!, name, LARGEST))
  const small = write(noisy!, 'small', SMALL, false)
  await settle()
  assert.deepEqual(begun.toSorted(), ['large 1', 'other', 'small'])
  end(100)
  await Promise.all([other, small, large[0]])
  await settle()
  assert.equal(begun.length, 3)
  const again = write(quiet!, 'again', SMALL, false)
  advance(2_399)
  await settle()
  assert.equal(begun.length, 4)
  advance(1)
  await settle()
  assert.deepEqual(begun.slice(3), ['again', 'large 2'])
  end(0)
  await Promise.all([again, ...large])
})

test('a customer alone has any number of large changes at once', async () => {
  const { begun, write, end } = createRig()
  const large = ['large 1', 'large 2'].map((name) => write(noisy!, name, LARGEST))
  assert.deepEqual(begun, ['large 1', 'large 2'])
  end(100)
  await Promise.all(large)
})

test('changes of a few rows count nothing, whatever their time', async () => {
  const { begun, write, end, settle } = createRig()
  const writes = [write(quiet!, 'other', SMALL, false), write(noisy!, 'large 1', SMALL)]
  writes.push(write(noisy!, 'large 2', SMALL))
  await settle()
  end(900)
  await settle()
  assert.deepEqual(begun, ['other', 'large 1', 'large 2'])
  end(0)
  await Promise.all(writes)
})

test('the time in which a change waits for locks does not count', async () => {
  const { begun, write, advance, end, settle } = createRig()
  const writes = [write(noisy!, 'large 1', { rows: CHANGE_BOUNDS.rows / 5 }, false)]
  end(4_000)
  await Promise.all(writes)
  advance(1_000)
  writes.push(write(quiet!, 'other', SMALL, false))
  writes.push(write(noisy!, 'large 2', { rows: CHANGE_BOUNDS.rows / 5 }))
  await settle()
  assert.deepEqual(begun, ['large 1', 'other', 'large 2'])
  writes.push(write(noisy!, 'large 3', SMALL))
  advance(4_000)
  writes.push(write(quiet!, 'again', SMALL, false))
  await settle()
  end(0)
  await settle()
  // A fifth of the largest change: 50 ms of work.
  advance(900)
  writes.push(write(quiet!, 'still', SMALL, false))
  advance(299)
  await settle()
  assert.equal(begun.at(-1), 'still')
  advance(1)
  await settle()
  assert.equal(begun.at(-1), 'large 3')
  end(0)
  await Promise.all(writes)
})

test('the database closes after the changes that wait', async () => {
  const { writes, write, advance, end, settle } = createRig()
  const all = [write(quiet!, 'other', SMALL, false), write(noisy!, 'large 1', LARGEST)]
  all.push(write(noisy!, 'large 2', LARGEST))
  await settle()
  let isFinished = false
  const finished = writes.finished().then(() => {
    isFinished = true
  })
  end(10)
  await settle()
  assert.equal(isFinished, false)
  advance(1_000)
  await settle()
  end(0)
  await Promise.all([...all, finished])
})
