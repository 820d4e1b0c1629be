import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { test } from 'node:test'
import { Failure } from '../kernel/failure.ts'
import { systemRandom } from '../kernel/random.ts'
import { createHasher, type Hasher } from './password.ts'

const random = systemRandom()
const clock = { elapsedMs: () => 0 }
const turn = { rank: 1, account: 'ada', address: '192.0.2.1' }
const verifyWith = (hasher: Hasher, password: string, stored: string | undefined) =>
  hasher.inTurn(turn, (verify) => verify(password, stored))

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

test('the same password is never stored twice the same; only itself verifies', async () => {
  const hasher = createHasher({ random, clock })
  const [one, other] = [
    await hasher.hash('correct horse', 'ada'),
    await hasher.hash('correct horse', 'ada'),
  ]
  assert.notEqual(one, other)
  assert.equal(await verifyWith(hasher, 'correct horse', one), true)
  assert.equal(await verifyWith(hasher, 'correct horsE', one), false)
  assert.equal(await verifyWith(hasher, '', one), false)
})

test('a hash made with other parameters is verified with those', async () => {
  const salt = Buffer.alloc(16, 7)
  const parameters = { nonce: salt, parallelism: 1, tagLength: 32, memory: 64, passes: 1 }
  const derived = argon2Sync('argon2id', { ...parameters, message: 'old one' })
  const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  const stored = `$argon2id$v=19$m=64,t=1,p=1$${text(salt)}$${text(derived)}`
  const hasher = createHasher({ random, clock })
  assert.equal(await verifyWith(hasher, 'old one', stored), true)
  assert.equal(await verifyWith(hasher, 'new one', stored), false)
})

test('nobody’s account verifies nothing, and takes the work of somebody’s', async () => {
  const hasher = createHasher({ random, clock, atOnce: 1, waitingMax: 0 })
  const nobodys = verifyWith(hasher, 'correct horse', undefined)
  await assert.rejects(verifyWith(hasher, 'x', undefined), Failure, 'the one place is taken by it')
  assert.equal(await nobodys, false)
})

test('§3.9 at most two are hashed at once, some wait, the rest are told to come back', async () => {
  const hasher = createHasher({ random, clock, atOnce: 2, waitingMax: 3 })
  const asked = Array.from({ length: 7 }, () => hasher.hash('correct horse', 'ada'))
  const settled = await Promise.allSettled(asked)
  const refused = settled.filter((one) => one.status === 'rejected').map((one) => one.reason)
  assert.equal(refused.length, 2)
  for (const failure of refused) {
    assert.deepEqual([failure.code, failure.status], ['overloaded', 503])
    assert.match(failure.headers['retry-after'], /^\d+$/)
  }
  assert.match(
    await hasher.hash('correct horse', 'ada'),
    /^\$argon2id/,
    'all places are free again',
  )
})
