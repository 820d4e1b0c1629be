/** The due times of recurring jobs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { dayIn, findPassedTimes, type NextDueTime, parseSchedule } from './schedule.ts'

const NOW = Date.UTC(2027, 1, 27, 10, 20, 30)

/** Returns the first due times of an expression, as text. */
function dueTimes(expression: string, count: number): string[] {
  const next = parseSchedule(expression, NOW)
  assert.ok(typeof next === 'function', String(next))
  const times: string[] = []
  for (let at = NOW; times.length < count; ) {
    at = next(at)
    times.push(new Date(at).toISOString())
  }
  return times
}

test('intervals are aligned, so that every node has the same due times', () => {
  assert.deepEqual(dueTimes('15m', 2), ['2027-02-27T10:30:00.000Z', '2027-02-27T10:45:00.000Z'])
  assert.deepEqual(dueTimes('1d', 2), ['2027-02-28T00:00:00.000Z', '2027-03-01T00:00:00.000Z'])
  assert.deepEqual(dueTimes('20s', 1), ['2027-02-27T10:20:40.000Z'])
})

test('cron expressions have five fields, in UTC', () => {
  assert.deepEqual(dueTimes('30 3 * * mon-fri', 2), [
    '2027-03-01T03:30:00.000Z',
    '2027-03-02T03:30:00.000Z',
  ])
  // No clock change in spring: 02:30 exists each day.
  assert.deepEqual(dueTimes('30 2 28 3 *', 1), ['2027-03-28T02:30:00.000Z'])
  assert.deepEqual(dueTimes('0 0 29 2 *', 1), ['2028-02-29T00:00:00.000Z'])
  assert.deepEqual(dueTimes('20 10 27 * *', 1), ['2027-03-27T10:20:00.000Z'])
})

test('other expressions are mistakes', () => {
  const mistakes: readonly [string, RegExp][] = [
    ['', /is no interval/],
    ['0m', /is no interval/],
    ['1w', /is no interval/],
    ['1.5h', /is no interval/],
    ['@daily', /is no interval/],
    ['* * * * * *', /is no interval/],
    ['0 0 30 2 *', /is never due/],
    ['61 * * * *', /is no cron expression/],
    ['* * * * mondays', /is no cron expression/],
    [`${'0,'.repeat(200)}0 * * * *`, /is no interval/],
  ]
  for (const [expression, sentence] of mistakes) {
    assert.match(String(parseSchedule(expression, NOW)), sentence, expression)
  }
})

test('a run after an outage serves the latest due time, and counts the earlier ones', async () => {
  for (const expression of ['7m', '1h', '*/5 2,3 * * *', '0 5 * * *', '* * 1 3 *']) {
    const next = parseSchedule(expression, NOW) as NextDueTime
    const first = next(NOW)
    for (const outageMs of [0, 1, 60_000, 3_600_000, 10 * 86_400_000]) {
      const now = first + outageMs
      const times = [first]
      while (next(times.at(-1)!) <= now) times.push(next(times.at(-1)!))
      const expected = { dueAt: times.at(-1), missed: times.length - 1 }
      assert.deepEqual(await findPassedTimes(next, first, now), expected, expression)
    }
  }
})

test('counting due times has a bound', async () => {
  const next = parseSchedule('1s', NOW) as NextDueTime
  const passed = await findPassedTimes(next, NOW, NOW + 10 * 366 * 86_400_000)
  assert.deepEqual(passed, { dueAt: NOW + 10 * 366 * 86_400_000, missed: 100_000 })
})

const zoneRows: readonly (readonly [zone: string, cron: string, from: string, due: string[]])[] = [
  // The clock skips 02:00 to 03:00: these times are due once, at the change.
  ['Europe/Berlin', '30 2 * * *', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:30Z']],
  [
    'Europe/Berlin',
    '*/20 2 * * *',
    '2026-03-29T00:00Z',
    ['2026-03-29T01:00Z', '2026-03-30T00:00Z'],
  ],
  ['Europe/Berlin', '0 3 * * *', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T01:00Z']],
  // The clock repeats 02:00 to 03:00: the first is due.
  ['Europe/Berlin', '30 2 * * *', '2026-10-24T12:00Z', ['2026-10-25T00:30Z', '2026-10-26T01:30Z']],
  ['Europe/Berlin', '30 * * * *', '2026-10-25T00:00Z', ['2026-10-25T00:30Z', '2026-10-25T02:30Z']],
  // Half an hour, and a whole day.
  [
    'Australia/Lord_Howe',
    '15 2 * * *',
    '2026-10-03T00:00Z',
    ['2026-10-03T15:30Z', '2026-10-04T15:15Z'],
  ],
  [
    'Pacific/Apia',
    '0 6 * * *',
    '2011-12-29T12:00Z',
    ['2011-12-29T16:00Z', '2011-12-30T10:00Z', '2011-12-30T16:00Z'],
  ],
]

for (const [zone, cron, from, due] of zoneRows) {
  test(`${cron} in ${zone} after ${from}`, () => {
    const next = parseSchedule(cron, 0, zone) as NextDueTime
    const times: string[] = []
    for (let at = Date.parse(from); times.length < due.length; times.push(iso(at))) at = next(at)
    assert.deepEqual(times, due)
  })
}

const iso = (ms: number) => new Date(ms).toISOString().replace(':00.000Z', 'Z')

test('due times in a zone ascend, and each local time of the expression has one', () => {
  const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'UTC']
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.integer({ min: 0, max: 59 }),
      fc.integer({ min: 0, max: 23 }),
      fc.integer({ min: Date.UTC(2025, 0), max: Date.UTC(2027, 0) }),
      (zone, minute, hour, fromMs) => {
        const next = parseSchedule(`${minute} ${hour} * * *`, 0, zone) as NextDueTime
        const days: string[] = []
        for (let at = next(fromMs), n = 0; n < 400; n++, at = next(at)) {
          days.push(dayIn(at, zone))
          assert.ok(next(at - 1) === at && next(at) > at)
        }
        const start = Date.parse(days[0]!)
        const expected = days.map((_, n) =>
          new Date(start + n * 86_400_000).toISOString().slice(0, 10),
        )
        assert.deepEqual(days, expected, 'one run on each day')
      },
    ),
    { numRuns: 20 },
  )
})

test('an unknown time zone is named, with the closest', () => {
  assert.match(
    String(parseSchedule('0 5 * * *', 0, 'Europe/Berlim')),
    /Europe\/Berlim.*Europe\/Berlin/,
  )
  assert.match(String(parseSchedule('0 5 * * *', 0, 7 as unknown as string)), /no time zone 7/)
})
