/** Threads that hash: what they give, how they give way, what becomes of one that falls over. */
import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { test } from 'node:test'
import { hashThreads } from './hash-threads.ts'

const asked = {
  message: 'correct horse',
  nonce: Buffer.alloc(16, 7),
  parallelism: 1,
  tagLength: 32,
  memory: 64,
  passes: 1,
}

test('a thread derives what argon2 does, one after the other or beside another', async () => {
  const derive = hashThreads()
  const made = await Promise.all([derive(asked), derive({ ...asked, message: 'other' })])
  assert.deepEqual(made[0], argon2Sync('argon2id', asked))
  assert.deepEqual(await derive({ ...asked, message: 'other' }), made[1])
})

test('what argon2 refuses is refused, and the next is derived by a new thread', async () => {
  const derive = hashThreads()
  await assert.rejects(derive({ ...asked, passes: 0 }), /passes/)
  assert.deepEqual(await derive(asked), argon2Sync('argon2id', asked))
})

test('one that is being ended for its idleness gets no more work', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const derive = hashThreads()
  await derive(asked)
  t.mock.timers.tick(5 * 60_000)
  assert.deepEqual(await derive(asked), argon2Sync('argon2id', asked))
})

/** Nice values of the threads of this process: field 19 of `stat`, the name's blanks apart. */
const priorities = () =>
  readdirSync('/proc/self/task').map((id) => {
    const stat = readFileSync(`/proc/self/task/${id}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })

test('on Linux it gives way to the rest of the process', {
  skip: process.platform !== 'linux',
}, async () => {
  const before = getPriority()
  await hashThreads()(asked)
  assert.equal(getPriority(), before)
  assert.ok(Math.max(...priorities()) > before, priorities().join())
})
