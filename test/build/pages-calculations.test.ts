/** The calculations of the pages: differences of texts, axes, charts, words for numbers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

/** Types of pages need those of a browser, which this program does not have. */
const load = (path: string) => import(`../../packages/pages/src/${path}`)
const { lineDifference } = await load('console/events/line-difference.ts')
const { axisTo, bandsOf, daysOf } = await load('console/versions/version-axis.ts')
const chart = await load('parts/chart-shapes.ts')
const format = await load('format.ts')
const { stripWords } = await load('console/webhooks/webhook-shapes.ts')
const { matchText, parseMatch } = await load('forms/claim-lines.ts')
const { adviceOf } = await load('portal/delivery-advice.ts')
const { rowsMissingIn } = await load('console/requests/missing-rows.ts')

const DAY_MS = 86_400_000

test('a difference has the lines of both texts in order, and the fewest signs for one line', () => {
  const line = fc.constantFrom('a', 'b', 'c', '')
  const text = fc.array(line, { maxLength: 12 }).map((lines) => lines.join('\n'))
  const textOf = (lines: { sign: string; text: string }[], sign: string) =>
    lines.flatMap((each) => ([' ', sign].includes(each.sign) ? [each.text] : [])).join('\n')
  const property = fc.property(text, text, (before, after) => {
    const lines = lineDifference(before, after)
    assert.equal(textOf(lines, '-'), before)
    assert.equal(textOf(lines, '+'), after)
  })
  fc.assert(property, { seed: 33 })
  const signsOf = (before: string, after: string) =>
    lineDifference(before, after).map(({ sign }: { sign: string }) => sign)
  assert.deepEqual(signsOf('a\nb\nc', 'a\nb\nc'), [' ', ' ', ' '])
  assert.deepEqual(signsOf('a\nb\nc', 'a\nc'), [' ', '-', ' '])
  assert.deepEqual(signsOf('a\nc', 'a\nb\nc'), [' ', '+', ' '])
})

test('a list that loads loses no request of the stream, and repeats none', () => {
  const rowAt = (second: number) => ({ id: `req_${second}`, at: `2026-01-01T00:00:0${second}Z` })
  const [first, second, third, fourth, fifth] = [1, 2, 3, 4, 5].map(rowAt)
  const list = [fourth, second] // the server had not stored the third one
  assert.deepEqual(rowsMissingIn(list, [fifth, fourth, third, first]), [fifth, third])
  assert.deepEqual(rowsMissingIn([], [fifth]), [fifth])
})

test('long texts are compared as a whole', () => {
  const long = 'x\n'.repeat(600)
  const signs = lineDifference(long, `${long}y`).map(({ sign }: { sign: string }) => sign)
  assert.deepEqual([...new Set(signs)], ['-', '+'])
})

test('the top of a chart is at or above every value, and at most twice the highest', () => {
  const value = fc.option(fc.double({ min: 0, max: 1e9, noNaN: true }))
  const values = fc.array(value, { minLength: 1, maxLength: 8 })
  const property = fc.property(values, values, (low, high) => {
    const series = [{ values: low }, { values: high }]
    const steps = Math.max(low.length, high.length)
    const at = (list: (number | null)[], step: number) => list[step] ?? 0
    const sums = Array.from({ length: steps }, (_, step) => at(low, step) + at(high, step))
    const highest = Math.max(...sums)
    const top = chart.niceTop('area', series)
    assert.ok(top >= highest * (1 - 1e-9), `${top} is below ${highest}`)
    if (highest > 0) assert.ok(top <= highest * 2, `${top} is far above ${highest}`)
    const lines = chart.bandsOf(top, format.short)
    assert.equal(lines[0], top)
    assert.equal(lines.at(-1), 0)
  })
  fc.assert(property, { seed: 33 })
})

const version = {
  released: '2025-06-01',
  deprecated_at: '2026-11-01T00:00:00.000Z',
  sunset_at: '2027-02-01T00:00:00.000Z',
  brownouts: [{ start: '2027-01-10T10:00:00.000Z', end: '2027-01-10T11:00:00.000Z' }],
}
const NOW_MS = Date.parse('2026-12-01T12:34:56Z')

test('the axis of a version has twelve weeks of the past, its end, and a margin', () => {
  const axis = axisTo(version, NOW_MS)
  assert.equal(axis.fromMs, Date.parse('2026-09-08T00:00:00Z'))
  assert.ok(axis.toMs > Date.parse(version.sunset_at))
  const days = daysOf(axis)
  assert.deepEqual([days[0], days.at(-1)], [axis.fromMs, axis.toMs])
  assert.ok(days.every((ms: number) => ms % DAY_MS === 0))
  const open = axisTo({ ...version, sunset_at: null }, NOW_MS)
  assert.equal(open.toMs, Date.parse('2026-12-01T00:00:00Z') + 90 * DAY_MS)
  const far = axisTo({ ...version, sunset_at: '2036-01-01T00:00:00.000Z' }, NOW_MS)
  assert.equal(far.toMs, Date.parse('2026-12-01T00:00:00Z') + 800 * DAY_MS)
})

test('the bands of a version follow each other, with brownouts above them', () => {
  const bands = bandsOf(version, axisTo(version, NOW_MS))
  const words = bands.map(({ label }: { label: string }) => label)
  assert.deepEqual(words, ['supported', 'deprecated', '410', ''])
  const [supported, deprecated, gone, brownout] = bands
  assert.equal(supported.left, 0)
  assert.ok(Math.abs(supported.width - deprecated.left) < 1e-9)
  assert.ok(Math.abs(deprecated.left + deprecated.width - gone.left) < 1e-9)
  assert.ok(Math.abs(gone.left + gone.width - 1) < 1e-9)
  assert.ok(brownout.left > deprecated.left && brownout.left < gone.left)
  assert.equal(deprecated.note, 'brownout 10 Jan')
  const [only] = bandsOf(
    { ...version, deprecated_at: null, sunset_at: null, brownouts: [] },
    axisTo({ ...version, sunset_at: null }, NOW_MS),
  )
  assert.equal(only.label, 'supported, no end announced')
})

test('numbers have three digits and a unit, shares and times their own words', () => {
  const { short, percent, duration, period } = format
  assert.deepEqual([812, 9_999, 35_100, 1_240_000, 2e9].map(short), [
    '812',
    '9,999',
    '35.1 k',
    '1.24 M',
    '2 G',
  ])
  assert.deepEqual([0, 0.5, 0.9974, 1].map(percent), ['0 %', '50 %', '99.74 %', '100 %'])
  assert.deepEqual([0, 0.4, 31, 1200].map(duration), ['0 ms', '< 1 ms', '31 ms', '1.2 s'])
  assert.deepEqual([0, 1_503_000, 244_800_000, 90 * DAY_MS].map(period), [
    '0 s',
    '25 min',
    '2 d 20 h',
    '90 d',
  ])
})

test('the strip of attempts has words', () => {
  assert.equal(stripWords(''), 'no attempt')
  assert.equal(stripWords('..oowx'), '2 accepted, 1 late, 0 slow, 1 failed')
})

test('each failed attempt has advice, and an accepted one has none', () => {
  for (let status = 300; status < 600; status++)
    assert.ok(adviceOf({ status, error: null }), `${status}`)
  for (const status of [200, 202, 204]) assert.equal(adviceOf({ status, error: null }), undefined)
  assert.match(adviceOf({ status: null, error: 'timeout: 15 s' }), /did not respond in time/)
  assert.match(adviceOf({ status: 400, error: 'x; bad_body: no id' }), /rejected .*: no id\.$/)
  assert.match(adviceOf({ status: 401, error: '401; signature_mismatch: x' }), /another secret/)
})

test('claims of a rule are lines, and come back as they were', () => {
  const text = fc.string({ unit: 'grapheme-ascii', minLength: 1 }).map((each) => `v${each}`.trim())
  const value = fc.oneof(
    text,
    fc.array(text, { minLength: 2, maxLength: 3 }),
    fc.dictionary(fc.constantFrom('env', 'ref'), text, { minKeys: 1, noNullPrototype: true }),
  )
  const names = fc.constantFrom('sub', 'repository', 'project_id', 'context')
  const property = fc.property(fc.dictionary(names, value, { minKeys: 1 }), (match) => {
    assert.deepEqual(parseMatch(matchText(match)), { ...match })
  })
  fc.assert(property, { seed: 33 })
  assert.deepEqual(parseMatch(' ref = a=b \n\nref=c'), { ref: ['a=b', 'c'] })
  assert.deepEqual(parseMatch('ref\n{=x'), { ref: '', '{': 'x' })
})
