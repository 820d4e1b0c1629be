import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, fields } from '../../gatehook.ts'
import { createOutputConverter } from './output.ts'

test('an older member with the name and form of a newer one has the converted value', () => {
  const cents = f.int()
  const price = fields({ id: f.int(), amount: cents }).before('v2', {
    why: 'Amounts are cents.',
    had: { amount: cents },
    hadNot: ['amount'],
    down: ({ amount }) => ({ amount: amount / 100 }),
  })
  const convert = createOutputConverter(price, ['v1', 'v2'])
  const body = Buffer.from('{"id":7,"amount":500,"more":{"a":1}}')
  assert.deepEqual(JSON.parse(convert(body, 'v2')), { id: 7, amount: 500, more: { a: 1 } })
  assert.deepEqual(JSON.parse(convert(body, 'v1')), { id: 7, amount: 5, more: { a: 1 } })
})
