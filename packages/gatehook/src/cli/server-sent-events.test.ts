import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { eventReader } from './server-sent-events.ts'

const stream =
  'retry: 1000\n\n: still here\n\nid: evt_1\ndata: {"a":1}\n\n' +
  'id: evt_2\r\ndata:x\r\ndata: y\r\n\r\ndata: last\r\rid'

test('lines end in LF, CRLF or CR; comments and retries are not events', () => {
  assert.deepEqual(eventReader()(stream), [
    { id: 'evt_1', name: undefined, data: '{"a":1}' },
    { id: 'evt_2', name: undefined, data: 'x\ny' },
    { id: 'evt_2', name: undefined, data: 'last' },
  ])
  const [first, second] = eventReader()('event: requests\ndata: 1\n\ndata: 2\n\n')
  assert.deepEqual([first?.name, second?.name], ['requests', undefined])
})

test('chunks may be cut anywhere', () => {
  const whole = eventReader()(stream)
  fc.assert(
    fc.property(fc.array(fc.nat(stream.length), { maxLength: 20 }), (cuts) => {
      const parse = eventReader()
      const at = [0, ...cuts.sort((a, b) => a - b), stream.length]
      const pieces = at.slice(1).map((end, n) => stream.slice(at[n], end))
      assert.deepEqual(pieces.flatMap(parse), whole)
    }),
  )
})

test('an event without an end is rejected', () => {
  const parse = eventReader()
  assert.throws(() => {
    for (let n = 0; n < 20; n++) parse('data: '.padEnd(100_000, 'a'))
  }, /without an end/)
})
