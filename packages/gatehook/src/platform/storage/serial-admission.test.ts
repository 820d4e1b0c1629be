/** Repeated serializable runs of a customer delay no run of another one (decision 0068). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSerialAdmission } from './serial-admission.ts'

/** An admission whose bodies run until `end` is called with their name. */
function openAdmission() {
  const admission = createSerialAdmission()
  const running: string[] = []
  const ends = new Map<string, { resolve(): void; reject(error: Error): void }>()
  const results = new Map<string, Promise<unknown>>()
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return {
    /** `name`: the customer, then a number. A first run if `attempt` is 1. */
    async start(name: string, attempt = 1) {
      const run = { attempt, isRepeated: attempt > 1 }
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
