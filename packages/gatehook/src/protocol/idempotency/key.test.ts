import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { Query } from '../http/query.ts'
import { fingerprintCall } from './key.ts'

const key = (fill: number) => createSecretKey(Buffer.alloc(32, fill))
const callOf = (body: unknown, query = '') => ({ body, query: Query.parse(query) })
const fingerprint = (body: unknown, query?: string) =>
  fingerprintCall(key(1), callOf(body, query)).toString('hex')

test('§11.1 member order does not change the fingerprint of a body', () => {
  assert.equal(fingerprint({ a: 1, b: { c: 2, d: 3 } }), fingerprint({ b: { d: 3, c: 2 }, a: 1 }))
})

test('§11.1 bodies with different values have different fingerprints', () => {
  const bodies = [undefined, null, {}, [], { a: 1 }, { a: '1' }, { a: [1] }, [1, 2], [2, 1], 'a']
  assert.equal(new Set(bodies.map((body) => fingerprint(body))).size, bodies.length)
})

test('§11.1 the query belongs to a request, credentials and version aside', () => {
  const queries = ['', 'to=ann', 'to=bob', 'to=ann&to=bob', 'to=']
  assert.equal(new Set(queries.map((query) => fingerprint({}, query))).size, queries.length)
  assert.equal(fingerprint({}, 'to=ann&api_key=k&v=v2'), fingerprint({}, 'to=ann'))
})

test('a fingerprint depends on the key, so it does not reveal a password', () => {
  const body = { email: 'ada@example.com', password: 'correct horse' }
  assert.notDeepEqual(fingerprintCall(key(1), callOf(body)), fingerprintCall(key(2), callOf(body)))
})
