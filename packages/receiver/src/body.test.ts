/** The body of an unverified sender takes the memory of its bytes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectBody } from './body.ts'

test('chunks become one buffer, and none is retained', () => {
  const body = collectBody(1_000_000)
  const chunk = new Uint8Array(1)
  for (let count = 0; count < 10_000; count++) assert.ok(body.add(chunk.fill(count)))
  const bytes = body.read()
  assert.equal(bytes.length, 10_000)
  assert.ok(bytes.every((byte, at) => byte === at % 256))
  assert.ok(bytes.buffer.byteLength <= 20_000)
})

test('a body has at most its bytes, and a number of chunks', () => {
  const bytes = collectBody(1_000)
  assert.equal(bytes.add(new Uint8Array(600)), true)
  assert.equal(bytes.add(new Uint8Array(400)), true)
  assert.equal(bytes.read().buffer.byteLength, 1_000)
  assert.equal(bytes.add(new Uint8Array(1)), false)
  const chunks = collectBody(6_400)
  for (let count = 0; count < 1_124; count++) assert.equal(chunks.add(new Uint8Array(1)), true)
  assert.equal(chunks.add(new Uint8Array(1)), false)
})
