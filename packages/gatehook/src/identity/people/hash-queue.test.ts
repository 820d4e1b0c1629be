/** The order in which passwords are hashed, with a hasher that the test drives. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../kernel/failure.ts'
import { createHashQueue, type HashPriority } from './hash-queue.ts'

/** One thread; `finish` ends the running hash. `started` and `rejected` list names. */
function openQueue(maxWaiting?: number) {
  const time = { ms: 0 }
  const options = maxWaiting === undefined ? {} : { maxWaiting }
  const queue = createHashQueue({ concurrency: 1, elapsedMs: () => time.ms, ...options })
  const started: string[] = []
  const rejected: string[] = []
  let running: PromiseWithResolvers<void> | undefined
  const add = (name: string, priority: Partial<HashPriority> = {}): void => {
    const work = () => {
      started.push(name)
      running = Promise.withResolvers<void>()
      return running.promise
    }
    const fullPriority = { rank: 1, account: name, address: name, ...priority }
    queue.run(fullPriority, work).catch((error: unknown) => {
      assert.ok(error instanceof Failure && error.code === 'overloaded')
      rejected.push(name)
    })
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  const finish = async () => {
    await settle()
    running?.resolve()
    await settle()
  }
  const finishAll = async () => {
    for (let before = -1; started.length > before; ) {
      before = started.length
      await finish()
    }
  }
  return { time, started, rejected, add, settle, finish, finishAll }
}

test('lower ranks go first; rank 0 is served oldest first, others newest first', async () => {
  const { add, started, finishAll } = openQueue()
  add('running')
  for (const [name, rank] of [
    ['a', 2],
    ['b', 1],
    ['c', 0],
    ['d', 1],
    ['e', 0],
  ] as const) {
    add(name, { rank })
  }
  await finishAll()
  assert.deepEqual(started, ['running', 'c', 'e', 'd', 'b', 'a'])
})

test('an account and an address alternate with the others', async () => {
  const { add, started, finishAll } = openQueue()
  add('running')
  for (let n = 0; n < 3; n++) add(`account ${n}`, { account: 'victim', address: `a${n}` })
  for (let n = 0; n < 3; n++) add(`address ${n}`, { address: '192.0.2.1' })
  add('alone')
  await finishAll()
  assert.equal(started[1], 'alone')
  assert.deepEqual(started.slice(2, 4).toSorted(), ['account 0', 'address 0'])
  assert.deepEqual(started.slice(4, 6).toSorted(), ['account 1', 'address 1'])
})

test('a full queue rejects the last password in order, which may be the new one', async () => {
  const { add, rejected, settle, started, finishAll } = openQueue(2)
  add('running')
  add('guess 1', { rank: 5 })
  add('guess 2', { rank: 3 })
  add('likely', { rank: 0 })
  await settle()
  assert.deepEqual(rejected, ['guess 1'])
  add('guess 3', { rank: 9 })
  await settle()
  assert.deepEqual(rejected, ['guess 1', 'guess 3'])
  await finishAll()
  assert.deepEqual(started, ['running', 'likely', 'guess 2'])
})

test('a guess that waits for ten seconds is rejected; a likely password is not', async () => {
  const { add, rejected, finish, time, started } = openQueue()
  add('running')
  add('guess')
  add('likely', { rank: 0 })
  add('likely too', { rank: 0 })
  time.ms = 10_000
  await finish()
  assert.deepEqual(rejected, ['guess'])
  await finish()
  assert.deepEqual(started, ['running', 'likely', 'likely too'])
})
