import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import type { CallWork } from '../http/call-work.ts'
import { Query } from '../http/query.ts'
import { readFingerprint } from './key.ts'

const key = (fill: number) => createSecretKey(Buffer.alloc(32, fill))
const work: CallWork = { measure: (encode) => encode, count: () => undefined }
const callOf = (body: unknown, query = '') => ({
  body,
  query: Query.parse(query),
  startWork: () => work,
})
const fingerprint = async (body: unknown, query?: string, no = 1) =>
  (await readFingerprint(callOf(body, query)))(key(no)).toString('hex')

test('§11.1 member order does not change the fingerprint of a body', async () => {
  const [body, reordered] = [
    { a: 1, b: { c: 2, d: 3 } },
    { b: { d: 3, c: 2 }, a: 1 },
  ]
  assert.equal(await fingerprint(body), await fingerprint(reordered))
})

test('§11.1 bodies with different values have different fingerprints', async () => {
  const bodies = [undefined, null, {}, [], { a: 1 }, { a: '1' }, { a: [1] }, [1, 2], [2, 1], 'a']
  const texts = await Promise.all(bodies.map((body) => fingerprint(body)))
  assert.equal(new Set(texts).size, bodies.length)
})

test('§11.1 the query belongs to a request, credentials and version aside', async () => {
  const queries = ['', 'to=ann', 'to=bob', 'to=ann&to=bob', 'to=']
  const texts = await Promise.all(queries.map((query) => fingerprint({}, query)))
  assert.equal(new Set(texts).size, queries.length)
  assert.equal(await fingerprint({}, 'to=ann&api_key=k&v=v2'), await fingerprint({}, 'to=ann'))
})

test('a fingerprint depends on the key, so it does not reveal a password', async () => {
  const body = { email: 'ada@example.com', password: 'correct horse' }
  assert.notEqual(await fingerprint(body, '', 1), await fingerprint(body, '', 2))
})

test('§11.5 the content of a request is read once for all keys, as work of its call', async () => {
  let countedBytes = 0
  let reads = 0
  const count = (bytes: number) => {
    countedBytes += bytes
    return undefined
  }
  const measure: CallWork['measure'] =
    (encode) =>
    (...input) => {
      reads += 1
      return encode(...input)
    }
  const call = { ...callOf({ text: 'x'.repeat(1_000) }), startWork: () => ({ measure, count }) }
  const fingerprintOf = await readFingerprint(call)
  for (const no of [1, 2, 3]) fingerprintOf(key(no))
  assert.ok(reads === 1 && countedBytes > 1_000 && countedBytes < 1_100)
})
