import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  brownoutAt,
  calendarMistakes,
  EMPTY_CALENDAR,
  earliestSunset,
  forceReason,
  spanAround,
  stateAt,
} from './calendar.ts'

const at = (text: string) => Date.parse(text)
const announced = {
  ...EMPTY_CALENDAR,
  deprecated_at: at('2027-01-01'),
  sunset_at: at('2027-07-01'),
  brownouts: [{ start: at('2027-06-01T10:00Z'), end: at('2027-06-01T11:00Z') }],
}

test('the state changes at the announced instant', () => {
  assert.equal(stateAt(EMPTY_CALENDAR, at('2099-01-01')), 'supported')
  assert.equal(stateAt(announced, at('2027-01-01') - 1), 'supported')
  assert.equal(stateAt(announced, at('2027-01-01')), 'deprecated')
  assert.equal(stateAt(announced, at('2027-07-01') - 1), 'deprecated')
  assert.equal(stateAt(announced, at('2027-07-01')), 'retired')
})

test('a brownout includes its start, excludes its end, and ends with the version', () => {
  assert.equal(brownoutAt(announced, at('2027-06-01T10:00Z') - 1), undefined)
  assert.equal(brownoutAt(announced, at('2027-06-01T10:00Z')), announced.brownouts[0])
  assert.equal(brownoutAt(announced, at('2027-06-01T11:00Z')), undefined)
  const late = { ...announced, brownouts: [{ start: at('2027-07-02'), end: at('2027-07-03') }] }
  assert.equal(brownoutAt(late, at('2027-07-02')), undefined)
})

test('a span ends at the next announced instants', () => {
  assert.deepEqual(spanAround(announced, at('2027-03-01')), {
    fromMs: at('2027-01-01'),
    untilMs: at('2027-06-01T10:00Z'),
  })
  assert.deepEqual(spanAround(EMPTY_CALENDAR, 0), {
    fromMs: Number.NEGATIVE_INFINITY,
    untilMs: Number.POSITIVE_INFINITY,
  })
})

test('the earliest sunset is six calendar months later, within the month', () => {
  const cases = {
    '2026-11-21T04:05:06.007Z': '2027-05-21T04:05:06.007Z',
    '2026-08-31T00:00:00.000Z': '2027-02-28T00:00:00.000Z',
    '2027-08-31T00:00:00.000Z': '2028-02-29T00:00:00.000Z',
    '2026-12-31T23:59:59.999Z': '2027-06-30T23:59:59.999Z',
  }
  for (const [from, to] of Object.entries(cases)) {
    assert.equal(new Date(earliestSunset(at(from))).toISOString(), to)
  }
})

test('only a short notice and the return of a retired version need force', () => {
  const now = at('2026-12-01')
  const until = (sunset_at: number | null) => ({ ...announced, sunset_at })
  assert.equal(forceReason(EMPTY_CALENDAR, until(at('2027-06-01')), now), undefined)
  assert.match(forceReason(EMPTY_CALENDAR, until(at('2027-06-01') - 1), now)!, /6 calendar months/)
  assert.equal(forceReason(announced, announced, at('2027-06-30')), undefined, 'unchanged')
  assert.equal(forceReason(announced, until(null), at('2027-06-30')), undefined, 'removed')
  assert.match(forceReason(announced, until(null), at('2027-07-01'))!, /retired/)
  assert.match(forceReason(announced, until(at('2028-07-01')), at('2027-07-01'))!, /retired/)
})

test('each contradiction of a calendar has a pointer', () => {
  const pointers = (more: object) =>
    calendarMistakes({ ...announced, ...more }, 'v1').map(({ pointer }) => pointer)
  assert.deepEqual(pointers({}), [])
  assert.deepEqual(pointers({ deprecated_at: null }), ['/deprecated_at'])
  assert.deepEqual(pointers({ sunset_at: at('2026-12-31') }), ['/sunset_at'])
  assert.deepEqual(pointers({ successor: 'v1' }), ['/successor'])
  assert.deepEqual(pointers({ brownouts: [{ start: 5, end: 5 }] }), ['/brownouts/0/end'])
})
