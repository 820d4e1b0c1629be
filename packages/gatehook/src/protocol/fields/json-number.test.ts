import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseJsonBody } from '../http/json-body.ts'
import { parseNumber } from './json-number.ts'

const bodyNumber = (text: string): unknown => {
  try {
    return parseJsonBody(Buffer.from(`[${text}]`))
  } catch {
    return undefined
  }
}

/** Doubles of all sizes, and the integers that JSON writes without an exponent. */
const doubles = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: 0, max: 70 }).map((power) => 2 ** power),
  fc.bigInt(-(10n ** 21n), 10n ** 21n).map(Number),
)

test('every number that JSON writes is read as itself', () => {
  const property = fc.property(doubles, (value) => {
    for (const text of [JSON.stringify(value), value.toExponential(), value.toPrecision(17)]) {
      assert.equal(parseNumber(text), Number(text) + 0, text)
      assert.deepEqual(bodyNumber(text), [Number(text)], text)
    }
  })
  fc.assert(property, { numRuns: 2_000 })
})

test('filters and bodies accept the same numbers', () => {
  const text = fc.oneof(
    fc.stringMatching(/^-?(0|[1-9]\d{0,20})(\.\d{1,20})?([eE][+-]?\d{1,3})?$/),
    fc.stringMatching(/^[-+.eE0-9]{1,6}$/),
  )
  const property = fc.property(text, (value) => {
    const inBody = bodyNumber(value) as [number] | undefined
    assert.equal(parseNumber(value), inBody && inBody[0] + 0, value)
  })
  fc.assert(property, { numRuns: 5_000 })
})

test('an integer that a double holds exactly is read; one that would lose digits is not', () => {
  for (const text of ['10000000000000000', '9007199254740992', '1152921504606846976']) {
    assert.equal(parseNumber(text), Number(text))
  }
  const inexact = ['9007199254740993', '-9007199254740993', '99999999999999999999', '9'.repeat(400)]
  for (const text of [
    ...inexact,
    '01',
    '+1',
    '0x10',
    '1_000',
    '',
    ' 1',
    'NaN',
    'Infinity',
    '1e999',
  ]) {
    assert.equal(parseNumber(text), undefined, text)
  }
})
