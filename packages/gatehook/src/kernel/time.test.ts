import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hasMoreThanMillis, isoTime, parseTime, retryAfterS } from './time.ts'

test('dates and instants parse, except for days that do not exist', () => {
  assert.equal(parseTime('2026-12-01'), Date.UTC(2026, 11, 1))
  assert.equal(parseTime('2024-02-29T12:30:00.5+02:00'), Date.UTC(2024, 1, 29, 10, 30, 0, 500))
  for (const text of ['2026-02-30', '2026-13-01', '2026-00-10', '2026-12-00', '2026-12-32']) {
    assert.equal(parseTime(text), undefined, text)
    assert.equal(parseTime(`${text}T00:00:00Z`), undefined, text)
  }
  for (const text of ['2026-1-1', '20260101', '2026-12-01T00:00:00', 'soon', '']) {
    assert.equal(parseTime(text), undefined, text)
  }
})

test('years of the first century stay there', () => {
  for (const text of ['0001-01-01T00:00:00.000Z', '0099-12-31T23:59:59.999Z']) {
    const ms = parseTime(text)
    assert.equal(isoTime(ms!), text)
    assert.equal(parseTime(text.slice(0, 10)), Date.parse(text.slice(0, 10)))
  }
})

test('a formatted instant parses to the same instant', () => {
  for (const ms of [0, 1, 86_399_999, 86_400_000, Date.UTC(2027, 1, 28, 23, 59, 59, 999)]) {
    assert.equal(isoTime(ms), new Date(ms).toISOString())
    assert.equal(parseTime(isoTime(ms)), ms)
  }
})

test('years have four digits: a text is read exactly if its instant is written so', () => {
  const text = fc
    .tuple(
      fc.constantFrom('0000-01-01', '0000-01-02', '9999-12-30', '9999-12-31', '2026-06-01'),
      fc.constantFrom('00:00:00', '11:59:59', '23:59:59.999'),
      fc.constantFrom('Z', '+00:01', '-00:01', '+14:00', '-23:59', '+23:59'),
    )
    .map(([day, time, zone]) => `${day}T${time}${zone}`)
  const property = fc.property(text, (value) => {
    const date = new Date(value)
    const isWritable = /^\d{4}-/.test(date.toISOString())
    assert.equal(parseTime(value), isWritable ? date.getTime() : undefined, value)
    assert.match(isoTime(date.getTime()), /^\d{4}-\d{2}-\d{2}T/)
  })
  fc.assert(property, { numRuns: 500 })
  assert.equal(isoTime(8.64e15), '9999-12-31T23:59:59.999Z')
  assert.equal(isoTime(-8.64e15), '0000-01-01T00:00:00.000Z')
})

test('an instant has more than milliseconds if a later digit is not zero', () => {
  for (const [digits, expected] of [
    ['', false],
    ['.5', false],
    ['.999', false],
    ['.999000', false],
    ['.0001', true],
    ['.500000001', true],
  ] as const) {
    assert.equal(hasMoreThanMillis(`2026-01-01T00:00:00${digits}Z`), expected, digits)
  }
})

test('a wait is a whole number of seconds, at least 1, and never too short', () => {
  const waits = [-5, 0, 1, 999, 1000, 1001, 59_001].map(retryAfterS)
  assert.deepEqual(waits, [1, 1, 1, 1, 1, 2, 60])
})
