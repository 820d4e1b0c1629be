import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tx } from './database.ts'
import { createWriteGroups, UnknownOutcome } from './write-groups.ts'

const tx = {} as Tx

/** Groups whose transactions begin when `step` is called; `log` names their writes. */
function createGroups({
  fail,
  slow = new Promise(() => {}),
}: {
  readonly fail?: () => Error | undefined
  readonly slow?: Promise<void>
} = {}) {
  let elapsedMs = 0
  let timers = 0
  const awaitSlow = () => {
    timers++
    return { ended: slow, cancel: () => void timers-- }
  }
  const log: string[] = []
  const waiting: (() => void)[] = []
  const awaitStep = () => new Promise<void>((resolve) => waiting.push(resolve))
  const run = createWriteGroups({
    clock: { elapsedMs: () => elapsedMs },
    awaitSlow,
    async runAlone({ change }) {
      await awaitStep()
      const value = await change(tx)
      log.push(`${value}`)
      return value
    },
    async runTogether(changes) {
      await awaitStep()
      const error = fail?.()
      if (error) throw error
      const values = await Promise.all(changes.map(({ change }) => change(tx)))
      log.push(values.join('+'))
      return values
    },
  })
  return {
    log,
    /** Timers that run. */
    timers: () => timers,
    add: (value: string) => run('orders', async () => value, undefined),
    /** Runs all transactions that have begun, and waits until those after them have. */
    async step() {
      await new Promise(setImmediate)
      for (const resume of waiting.splice(0)) resume()
      await new Promise(setImmediate)
    },
    advance: (ms: number) => (elapsedMs += ms),
  }
}

const letters = (count: number) => Array.from({ length: count }, (_, at) => `w${at}`)

test('writes that arrive while others of their key run are the next group', async () => {
  const groups = createGroups()
  const all = letters(23).map(groups.add)
  await groups.step()
  assert.deepEqual(groups.log, ['w0', 'w1', 'w2', 'w3'])
  await groups.step()
  assert.deepEqual(groups.log.slice(4), [letters(20).slice(4).join('+'), 'w20+w21+w22'])
  assert.deepEqual(await Promise.all(all), letters(23))
})

test('a write that ends leaves no timer', async () => {
  const groups = createGroups()
  const write = groups.add('w0')
  await new Promise(setImmediate)
  assert.equal(groups.timers(), 1)
  await groups.step()
  assert.deepEqual([await write, groups.timers()], ['w0', 0])
})

test('each write of a failed group runs alone, and no group forms for a second', async () => {
  let failures = 1
  const groups = createGroups({ fail: () => (failures-- > 0 ? new Error('no') : undefined) })
  const all = letters(6).map(groups.add)
  await groups.step()
  await groups.step()
  await groups.step()
  assert.deepEqual(groups.log.slice(4), ['w4', 'w5'])
  assert.deepEqual(await Promise.all(all), letters(6))
  const paused = letters(6).map(groups.add)
  await groups.step()
  await groups.step()
  assert.deepEqual(groups.log.slice(10), ['w4', 'w5'])
  await Promise.all(paused)
  groups.advance(1_000)
  const later = letters(6).map(groups.add)
  await groups.step()
  await groups.step()
  assert.deepEqual(groups.log.slice(16), ['w4+w5'])
  await Promise.all(later)
})

test('writes that run alone for long leave their places to the next group', async () => {
  const slow = Promise.withResolvers<void>()
  const groups = createGroups({ slow: slow.promise })
  const all = letters(6).map(groups.add)
  await new Promise(setImmediate)
  slow.resolve()
  await groups.step()
  assert.deepEqual(groups.log, ['w0', 'w1', 'w2', 'w3', 'w4+w5'])
  await Promise.all(all)
})

test('a group that the server may have committed does not run again', async () => {
  const cause = new Error('lost')
  const groups = createGroups({ fail: () => new UnknownOutcome('at the commit', { cause }) })
  const all = letters(6).map(groups.add)
  const results = Promise.allSettled(all)
  await groups.step()
  await groups.step()
  assert.deepEqual(groups.log, ['w0', 'w1', 'w2', 'w3'])
  const reasons = (await results).map((result) => 'reason' in result && result.reason)
  assert.deepEqual(reasons, [false, false, false, false, cause, cause])
})
