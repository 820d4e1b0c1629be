/** Hash threads: their result, their priority, and the replacement of a thread that ends. */
import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createHashPace, HASH_PATIENCE_MS } from './hash-pace.ts'
import { createHashThreads } from './hash-threads.ts'

const derivation = {
  message: 'correct horse',
  nonce: Buffer.alloc(16, 7),
  parallelism: 1,
  tagLength: 32,
  memory: 64,
  passes: 1,
}

test('a thread returns the result of argon2, alone and beside another thread', async () => {
  const derive = createHashThreads()
  const hashes = await Promise.all([
    derive(derivation),
    derive({ ...derivation, message: 'other' }),
  ])
  assert.deepEqual(hashes[0], argon2Sync('argon2id', derivation))
  assert.deepEqual(await derive({ ...derivation, message: 'other' }), hashes[1])
})

test('after an error of argon2, a new thread hashes the next password', async () => {
  const derive = createHashThreads()
  await assert.rejects(derive({ ...derivation, passes: 0 }), /passes/)
  assert.deepEqual(await derive(derivation), argon2Sync('argon2id', derivation))
})

test('a thread that is ending after its idle time gets no more work', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const derive = createHashThreads()
  await derive(derivation)
  t.mock.timers.tick(5 * 60_000)
  assert.deepEqual(await derive(derivation), argon2Sync('argon2id', derivation))
})

/** Returns the nice values of the threads of this process: field 19 of `stat`. */
const threadPriorities = () =>
  readdirSync('/proc/self/task').map((id) => {
    const stat = readFileSync(`/proc/self/task/${id}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })

test('on Linux a hash thread has a lower priority than the other threads', {
  skip: process.platform !== 'linux',
}, async () => {
  const before = getPriority()
  await createHashThreads()(derivation)
  assert.equal(getPriority(), before)
  assert.ok(Math.max(...threadPriorities()) > before, threadPriorities().join())
})

test('a hash that other programs hold up moves to a thread with the normal priority', {
  skip: process.platform !== 'linux',
}, async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let [elapsedMs, cpuMs] = [0, 0]
  const pace = createHashPace({ elapsedMs: () => elapsedMs, cpuMs: () => cpuMs })
  const derive = createHashThreads(pace)
  const lowThreads = () => threadPriorities().filter((nice) => nice > getPriority()).length
  const before = lowThreads()
  const slow = derive(derivation)
  elapsedMs += HASH_PATIENCE_MS
  t.mock.timers.tick(HASH_PATIENCE_MS)
  assert.equal(pace.isStarved(), true)
  assert.deepEqual(await slow, argon2Sync('argon2id', derivation))
  while (lowThreads() > before) await nextTurn() // the thread that was held up ends
  elapsedMs += 60_000
  cpuMs += 60_000
  assert.equal(pace.isStarved(), false)
  await derive(derivation)
  assert.ok(lowThreads() > before, 'the low priority is back')
})
