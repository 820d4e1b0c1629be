import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { fingerprint } from './key.ts'

const key = (fill: number) => createSecretKey(Buffer.alloc(32, fill))

test('§11.1 bodies that say the same have one fingerprint', () => {
  const print = (body: unknown) => fingerprint(key(1), body).toString('hex')
  assert.equal(print({ a: 1, b: { c: 2, d: 3 } }), print({ b: { d: 3, c: 2 }, a: 1 }))
  assert.notEqual(print({ a: 1 }), print({ a: '1' }))
  assert.notEqual(print([1, 2]), print([2, 1]))
  assert.equal(print(undefined), print(undefined))
})

test('a body that holds a password cannot be guessed from its fingerprint alone', () => {
  const body = { email: 'ada@example.com', password: 'correct horse' }
  assert.notDeepEqual(fingerprint(key(1), body), fingerprint(key(2), body))
})
