import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareRuns } from './shared-runs.ts'

function stage(rest: { times: number; maxMs: number; joins?: boolean } = { times: 0, maxMs: 0 }) {
  const runs: PromiseWithResolvers<number>[] = []
  const rests: number[] = []
  let nowMs = 0
  const call = shareRuns(
    () => {
      const run = Promise.withResolvers<number>()
      runs.push(run)
      return run.promise
    },
    { clock: { elapsedMs: () => nowMs }, wait: async (ms) => void rests.push(ms), ...rest },
  )
  return { runs, rests, call, pass: (ms: number) => void (nowMs += ms) }
}
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

test('each call has the result of a run that began after it, and calls share runs', async () => {
  const { runs, call } = stage()
  const [first, second] = [call(), call()]
  await nextTurn()
  const [later, last] = [call(), call()]
  await nextTurn()
  assert.equal(runs.length, 1)
  runs[0]!.resolve(1)
  assert.deepEqual(await Promise.all([first, second]), [1, 1])
  await nextTurn()
  assert.equal(runs.length, 2)
  runs[1]!.resolve(2)
  assert.deepEqual(await Promise.all([later, last]), [2, 2])
})

test('a run that fails rejects its own calls alone', async () => {
  const { runs, call } = stage()
  const first = call()
  await nextTurn()
  const second = call()
  runs[0]!.reject(new Error('no'))
  await assert.rejects(first, /no/)
  await nextTurn()
  runs[1]!.resolve(2)
  assert.equal(await second, 2)
})

test('a run is followed by a rest, which has a bound', async () => {
  const { runs, rests, call, pass } = stage({ times: 10, maxMs: 500 })
  const durations = [3, 2_000, 4]
  for (const [at, duration] of durations.entries()) {
    const result = call()
    await nextTurn()
    pass(duration)
    runs[at]!.resolve(at)
    assert.equal(await result, at)
    pass(10)
  }
  assert.deepEqual(rests, [20, 490])
})

test('with `joins`, a call during a run has its result, a later one another', async () => {
  const { runs, call } = stage({ times: 0, maxMs: 0, joins: true })
  const first = call()
  await nextTurn()
  const beside = call()
  runs[0]!.resolve(1)
  assert.deepEqual(await Promise.all([first, beside]), [1, 1])
  const later = call()
  await nextTurn()
  assert.equal(runs.length, 2)
  runs[1]!.reject(new Error('late'))
  await assert.rejects(later, /late/)
  const last = call()
  await nextTurn()
  runs[2]!.resolve(3)
  assert.equal(await last, 3)
})
