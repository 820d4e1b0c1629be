import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { test } from 'node:test'
import { Failure } from '../../kernel/failure.ts'
import { systemRandom } from '../../kernel/random.ts'
import { createHasher, type Hasher } from './password.ts'

const random = systemRandom()
const clock = { elapsedMs: () => 0 }
const priority = { rank: 1, account: 'ada', address: '192.0.2.1' }
const verifyWith = (hasher: Hasher, password: string, stored: string | undefined) =>
  hasher.runInTurn(priority, (verifyHash) => verifyHash(password, stored))

test('§3.9 a password is stored as argon2id with 19 MiB, two passes and one lane', async () => {
  const stored = await createHasher({ random, clock }).hash('correct horse', 'ada')
  const [, name, version, parameters, salt, hash] = stored.split('$')
  assert.deepEqual([name, version, parameters], ['argon2id', 'v=19', 'm=19456,t=2,p=1'])
  const derived = argon2Sync('argon2id', {
    message: 'correct horse',
    nonce: Buffer.from(salt!, 'base64'),
    parallelism: 1,
    tagLength: 32,
    memory: 19_456,
    passes: 2,
  })
  assert.equal(derived.toString('base64').replace(/=+$/, ''), hash)
})

test('a password has a new salt each time, and only the same password verifies', async () => {
  const hasher = createHasher({ random, clock })
  const stored = await hasher.hash('correct horse', 'ada')
  assert.notEqual(stored, await hasher.hash('correct horse', 'ada'))
  assert.equal(await verifyWith(hasher, 'correct horse', stored), true)
  assert.equal(await verifyWith(hasher, 'correct horsE', stored), false)
  assert.equal(await verifyWith(hasher, '', stored), false)
})

test('a hash with another cost is verified with that cost', async () => {
  const salt = Buffer.alloc(16, 7)
  const parameters = { nonce: salt, parallelism: 1, tagLength: 32, memory: 64, passes: 1 }
  const derived = argon2Sync('argon2id', { ...parameters, message: 'old one' })
  const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  const stored = `$argon2id$v=19$m=64,t=1,p=1$${text(salt)}$${text(derived)}`
  const hasher = createHasher({ random, clock })
  assert.equal(await verifyWith(hasher, 'old one', stored), true)
  assert.equal(await verifyWith(hasher, 'new one', stored), false)
})

test('an unknown account is hashed like an existing one, and never verifies', async () => {
  const hasher = createHasher({ random, clock, concurrency: 1, maxWaiting: 0 })
  const unknown = verifyWith(hasher, 'correct horse', undefined)
  await assert.rejects(verifyWith(hasher, 'x', undefined), Failure, 'it occupies the only thread')
  assert.equal(await unknown, false)
})

test('§3.9 at most two are hashed at once, some wait, and the others are 503', async () => {
  const hasher = createHasher({ random, clock, concurrency: 2, maxWaiting: 3 })
  const hashes = Array.from({ length: 7 }, () => hasher.hash('correct horse', 'ada'))
  const results = await Promise.allSettled(hashes)
  const failures = results.filter(({ status }) => status === 'rejected')
  assert.equal(failures.length, 2)
  for (const { reason: failure } of failures as PromiseRejectedResult[]) {
    assert.deepEqual([failure.code, failure.status], ['overloaded', 503])
    assert.match(failure.headers['retry-after'], /^\d+$/)
  }
  assert.match(
    await hasher.hash('correct horse', 'ada'),
    /^\$argon2id/,
    'the threads are free again',
  )
})
