import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ResponseReader, UnreadableResponse } from './response.ts'

const LENGTH = 'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{"a":1}'
const CHUNKS =
  'HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n'
const NONE = 'HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'

/** Yields every way to cut the text in two, and byte by byte. */
function* cuts(text: string): Iterable<string[]> {
  yield [text]
  yield [...text]
  for (let at = 1; at < text.length; at++) yield [text.slice(0, at), text.slice(at)]
}

function read(reader: ResponseReader, parts: readonly string[], bodiless = false): boolean[] {
  const shared = Buffer.alloc(4096, 'x')
  return parts.map((part) => reader.feed(shared, shared.write(part, 'latin1'), bodiless))
}

for (const [name, text, status, body] of [
  ['content-length', LENGTH, 200, '{"a":1}'],
  ['chunks', CHUNKS, 201, '{"a":1}'],
  ['no body', NONE, 204, ''],
] as const) {
  test(`${name}: complete at the last byte, for every cut`, () => {
    const reader = new ResponseReader()
    for (const parts of cuts(text)) {
      const complete = read(reader, parts)
      assert.deepEqual(complete, [...parts.slice(1).map(() => false), true])
      assert.equal(reader.status, status)
      assert.equal(reader.body(), body)
    }
  })
}

test('a response to HEAD ends with its head', () => {
  const reader = new ResponseReader()
  assert.deepEqual(read(reader, [LENGTH.slice(0, -7)], true), [true])
  assert.equal(reader.body(), '')
})

test('`closes` reports `Connection: close`', () => {
  const reader = new ResponseReader()
  read(reader, [NONE])
  assert.equal(reader.closes, true)
  read(reader, [LENGTH])
  assert.equal(reader.closes, false)
})

test('a body larger than the buffer', () => {
  const reader = new ResponseReader()
  const body = 'y'.repeat(300_000)
  const text = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const parts = text.match(/.{1,4096}/gs)!
  assert.equal(read(reader, parts).at(-1), true)
  assert.equal(reader.body(), body)
})

test('text that is not one HTTP/1.1 response is an error', () => {
  for (const text of [
    'HTTP/1.0 200 OK\r\n\r\n',
    'HTTP/1.1 200 OK\r\n\r\n',
    `${LENGTH}HTTP/1.1`,
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno size\r\n',
  ]) {
    assert.throws(() => read(new ResponseReader(), [text]), UnreadableResponse)
  }
})
