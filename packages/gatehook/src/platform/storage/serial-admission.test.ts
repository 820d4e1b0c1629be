/** Repeated serializable runs of a customer delay no run of another one (decision 0068). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALONE_MAX_MS, createSerialAdmission } from './serial-admission.ts'

/** An admission whose bodies run until `end` is called with their name. */
function openAdmission() {
  const clock = { ms: 0, elapsedMs: () => clock.ms }
  const wakes: { readonly atMs: number; readonly wake: () => void }[] = []
  const after = (ms: number, wake: () => void) => void wakes.push({ atMs: clock.ms + ms, wake })
  const admission = createSerialAdmission(clock, after)
  /** Customers whose queue does not move. */
  const queued = new Map<string, Promise<void>>()
  const running: string[] = []
  const ends = new Map<string, { resolve(): void; reject(error: Error): void }>()
  const results = new Map<string, Promise<unknown>>()
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return {
    /** `name`: the customer, then a number. A first run if `attempt` is 1. */
    async start(name: string, attempt = 1) {
      const takeTurn = async <T>(body: () => Promise<T>) => {
        await queued.get(name[0]!)
        return body()
      }
      const run = { attempt, isRepeated: attempt > 1, takeTurn }
      const result = admission.run(name[0], run, () => {
        running.push(name)
        const { promise, resolve, reject } = Promise.withResolvers<void>()
        ends.set(name, { resolve, reject })
        return promise.finally(() => running.splice(running.indexOf(name), 1))
      })
      results.set(name, result)
      await settle()
      return [...running].sort()
    },
    async end(name: string, error?: Error) {
      if (error) ends.get(name)!.reject(error)
      else ends.get(name)!.resolve()
      await (error ? assert.rejects(results.get(name)!, error) : results.get(name))
      await settle()
      return [...running].sort()
    },
    /** Stops the queue of a customer; returns a function that ends the stop. */
    stopQueue(customer: string) {
      const { promise, resolve } = Promise.withResolvers<void>()
      queued.set(customer, promise)
      return async () => {
        queued.delete(customer)
        resolve()
        await settle()
        return [...running].sort()
      }
    },
    async advance(ms: number) {
      clock.ms += ms
      for (const { atMs, wake } of wakes) if (atMs <= clock.ms) wake()
      await settle()
      return [...running].sort()
    },
  }
}

test('a repeated run is alone among those of its customer, in the order of arrival', async () => {
  const { start, end } = openAdmission()
  await start('a1')
  assert.deepEqual(await start('a2'), ['a1', 'a2'])
  assert.deepEqual(await start('a3', 2), ['a1', 'a2'])
  assert.deepEqual(await start('a4'), ['a1', 'a2'], 'a run waits for those that arrived before it')
  assert.deepEqual(await end('a1'), ['a2'])
  assert.deepEqual(await end('a2'), ['a3'])
  assert.deepEqual(await end('a3', new Error('conflict')), ['a4'])
})

test('repeated runs of a customer delay no run of another customer', async () => {
  const { start, end } = openAdmission()
  await start('a1')
  for (const name of ['a2', 'a3', 'a4']) await start(name, 2)
  assert.deepEqual(await start('b1'), ['a1', 'b1'])
  assert.deepEqual(await end('b1'), ['a1'])
  assert.deepEqual(await start('b2', 2), ['a1', 'b2'])
  assert.deepEqual(await end('a1'), ['a2', 'b2'])
  assert.deepEqual(await start('c1'), ['a2', 'b2', 'c1'])
})

test('a run that fails often is alone, and those that wait precede the next one', async () => {
  const { start, end } = openAdmission()
  await start('b1')
  assert.deepEqual(await start('a1', 3), ['b1'])
  assert.deepEqual(await start('b2'), ['b1'])
  assert.deepEqual(await start('a2', 3), ['b1'])
  assert.deepEqual(await start('c1'), ['b1'])
  assert.deepEqual(await end('b1'), ['a1'])
  assert.deepEqual(await end('a1'), ['b2', 'c1'], 'the run of a2 arrives at the process now')
  assert.deepEqual(await end('c1'), ['b2'])
  assert.deepEqual(await end('b2'), ['a2'])
  assert.deepEqual(await end('a2'), [])
  assert.deepEqual(await start('a3', 2), ['a3'])
})

test('a run that waits in the queue of its customer holds no lock of the process', async () => {
  const { start, end, stopQueue } = openAdmission()
  const moveOn = stopQueue('a')
  await start('a1', 3)
  assert.deepEqual(await start('b1'), ['b1'])
  assert.deepEqual(await end('b1'), [])
  const moveFirst = stopQueue('c')
  await start('c1')
  assert.deepEqual(await start('b2', 3), ['b2'], 'nor does a first run')
  assert.deepEqual(await end('b2'), [])
  assert.deepEqual(await moveOn(), ['a1'])
  assert.deepEqual(await end('a1'), [])
  assert.deepEqual(await moveFirst(), ['c1'])
})

test('others wait for a run that is alone for a bounded time, and it for them', async () => {
  const { start, end, advance } = openAdmission()
  await start('b1')
  assert.deepEqual(await start('a1', 3), ['b1'])
  assert.deepEqual(await start('c1'), ['b1'])
  assert.deepEqual(await advance(ALONE_MAX_MS), ['a1', 'b1', 'c1'])
  await end('b1')
  assert.deepEqual(await start('c2'), ['a1', 'c1', 'c2'])
  await end('a1')
})

test('a customer has the process alone for a part of the time', async () => {
  const { start, end, advance } = openAdmission()
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']) {
    await start(name, 3)
    await advance(ALONE_MAX_MS)
    await end(name)
  }
  await start('a7', 3)
  assert.deepEqual(await start('b1'), ['a7', 'b1'], 'its burst is over')
  await end('a7')
  await end('b1')
  await advance(10 * ALONE_MAX_MS)
  await start('a8', 3)
  assert.deepEqual(await start('b2'), ['a8'])
  await end('a8')
})
