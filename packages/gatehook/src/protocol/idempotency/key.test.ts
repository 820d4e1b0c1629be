import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { fingerprintBody } from './key.ts'

const key = (fill: number) => createSecretKey(Buffer.alloc(32, fill))
const fingerprint = (body: unknown) => fingerprintBody(key(1), body).toString('hex')

test('§11.1 member order does not change the fingerprint of a body', () => {
  assert.equal(fingerprint({ a: 1, b: { c: 2, d: 3 } }), fingerprint({ b: { d: 3, c: 2 }, a: 1 }))
})

test('§11.1 bodies with different values have different fingerprints', () => {
  const bodies = [undefined, null, {}, [], { a: 1 }, { a: '1' }, { a: [1] }, [1, 2], [2, 1], 'a']
  assert.equal(new Set(bodies.map(fingerprint)).size, bodies.length)
})

test('a fingerprint depends on the key, so it does not reveal a password', () => {
  const body = { email: 'ada@example.com', password: 'correct horse' }
  assert.notDeepEqual(fingerprintBody(key(1), body), fingerprintBody(key(2), body))
})
