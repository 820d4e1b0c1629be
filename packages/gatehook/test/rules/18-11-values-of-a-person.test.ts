/** §18.11: which values of a person an erasure searches for in the data of others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PersonValues, ValueSearch } from '../../src/operate/erasure/person-values.ts'
import { valuesOfRequest } from '../../src/operate/monitoring/request-values.ts'

const valuesOf = (kind: 'name' | 'other', ...values: readonly unknown[]) => {
  const person = new PersonValues({ id: '1', resource: 'members' })
  person.add(kind, values)
  return person
}

test('a short number of a person is that of others, too', () => {
  const values = valuesOf('other', 2026, 86_400, 40_954_696_475)
  assert.equal(values.mentions('{"created":"2026-11-29T10:00:00Z","limit":86400}'), false)
  assert.deepEqual([values.is(2026), values.is(86_400)], [false, false])
  assert.equal(values.mentions('{"tax":40954696475}'), true)
  assert.equal(values.is(40_954_696_475), true)
  assert.equal(valuesOf('other', '2026').is(2026), false)
})

test('a short text of digits is that of others, too, unless it signs in', () => {
  const values = valuesOf('other', '2026', '123456789', '4930901820')
  assert.equal(values.mentions('{"created":"2026-11-29T10:00:00Z","count":123456789}'), false)
  assert.deepEqual([values.is('2026'), values.is('123456789')], [false, false])
  assert.equal(values.mentions('{"phone":"+49 4930901820"}'), true)
  assert.equal(valuesOf('name', '123456').isName('123456'), true)
  assert.equal(valuesOf('other', '2026-AB').is('2026-ab'), true)
})

test('a long sign-in name is found in an audit row', () => {
  const name = `${'a'.repeat(60)}@${'b'.repeat(60)}.example`
  const values = valuesOf('name', name)
  assert.equal(values.isName(name.toUpperCase()), true)
  assert.equal(values.isAddressIn(JSON.stringify({ before: { email: name } })), true)
  assert.equal(values.isName(`c${name}`), false)
})

test('an address is no part of a longer one', () => {
  const values = valuesOf('name', 'Ann@example.com')
  for (const text of [
    ...['mary-ann@example.com', 'ann@example.com.au', 'x+ann@example.com', "o'ann@example.com"],
    ...['/members?email=mary%2Dann%40example.com', '{"to":"ann@example.community"}'],
  ]) {
    assert.equal(values.names(text), false, text)
    assert.equal(values.mentions(text), false, text)
  }
  for (const text of [
    ...['{"to":"ann@example.com"}', 'No mailbox ann@example.com.', "'ann@example.com'"],
    ...['/members?email=ann%40example.com&a=1', 'a=1&email=ann@example.com', 'ANN@example.com, b'],
  ]) {
    assert.equal(values.names(text), true, text)
  }
  assert.equal(values.isSearchedBy('/members?q=dear+ann@example.com'), true)
})

test('a name that may be a word of others is found as a whole text, except in logs', () => {
  const values = valuesOf('name', 'York')
  values.add('other', 'Park Lane')
  for (const text of ['{"text":"Dear New York"}', '{"to":"york@example.com"}', 'york@example.com'])
    assert.deepEqual([values.names(text), values.identifies(text)], [false, false], text)
  const inner = JSON.stringify({ body: JSON.stringify({ name: 'York' }) })
  for (const text of ['York', '{"name":"york"}', '["a","YORK"]', inner])
    assert.deepEqual([values.names(text), values.identifies(text)], [true, true], text)
  assert.equal(values.isAddressIn('{"before":{"name":"York"}}'), false)
  assert.equal(values.mentions('Dear New York'), true)
  assert.equal(values.identifies('{"street":"Park Lane"}'), false)
  for (const word of ['created_at', 'content-type', 'administrator'])
    assert.equal(valuesOf('other', word).identifies(`{"${word}":"x","b":"a ${word}"}`), false)
  assert.equal(valuesOf('other', 'Park Lane 7').identifies('{"street":"Park Lane 7"}'), true)
  const long = valuesOf('name', 'york.of.penn')
  assert.equal(long.names('Dear york.of.penn, hello'), true)
})

const numbered = (count: number) => Array.from({ length: count }, (_, n) => `value number ${n}.`)

test('each value is in one part, whatever the order in which they are found', () => {
  const all = numbered(400)
  const parts = new Map<string, number>()
  let values = new PersonValues({ id: '1', resource: 'members' })
  let part = 0
  for (; part === 0 || values.hasNextPart; part++) {
    if (part > 0) values.beginNextPart()
    const order = part % 2 === 0 ? all : all.toReversed()
    for (const value of order) {
      values.add('other', value)
      values = new PersonValues({ id: '1', resource: 'members' }, values.stored())
    }
    values.add('name', 'ann@example.com')
    assert.equal(values.names('ann@example.com'), true)
    for (const value of all) {
      if (!values.mentions(value)) continue
      assert.equal(parts.has(value), false, value)
      parts.set(value, part)
    }
  }
  assert.deepEqual([part, parts.size, values.left], [3, 400, 0])
})

test('an erasure has an end, and counts the values after its last part', () => {
  const values = new PersonValues({ id: '1', resource: 'members' })
  const all = numbered(6_010)
  const collect = () => values.add('other', all)
  let parts = 1
  for (collect(); values.hasNextPart; parts++) {
    values.beginNextPart()
    collect()
  }
  assert.deepEqual([parts, values.left], [40, 10])
})

test('other values take no place of a sign-in name, and those without a place are counted', () => {
  const values = valuesOf('other', ...numbered(152))
  for (const name of ['first', 'former', 'last']) values.add('name', `${name}@example.com`)
  values.add('other', ['value number 151.', 'value number 3.'])
  const searched = () => numbered(152).filter((value) => values.mentions(value))
  for (const name of ['first', 'former', 'last']) {
    assert.equal(values.mentions(`GET /users?email=${name}%40example.com`), true, name)
  }
  assert.deepEqual([searched().length, values.left, values.hasNextPart], [150, 2, true])
  const continued = new PersonValues({ id: '1', resource: 'members' }, values.stored())
  assert.equal(continued.left, 2)
  continued.add(
    'name',
    Array.from({ length: 98 }, (_, n) => `name${n}@example.com`),
  )
  assert.equal(continued.left, 3)
})

/** Numbers below a bound, the same in each run. */
function numbers(seed: number): (bound: number) => number {
  let state = seed
  return (bound) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * bound)
  }
}

const SYMBOLS = ['a', 'a', 'b', ' ', ',', '"', 'é', '7']

/** Returns a text that repeats a part of few symbols, so that values overlap. */
function repeated(next: (bound: number) => number, length: number): string {
  const part = Array.from({ length: 1 + next(4) }, () => SYMBOLS[next(SYMBOLS.length)]).join('')
  const tail = next(3) === 0 ? SYMBOLS[next(SYMBOLS.length)] : ''
  return part.repeat(Math.ceil(length / part.length)).slice(0, length) + tail
}

/** Searches for a value at each place of a text, as the rule says it. */
const isWithin = (text: string, value: string): boolean =>
  [value, JSON.stringify(value).slice(1, -1)].some((needle) =>
    Array.from(text, (_, at) => at).some(
      (at) =>
        text.startsWith(needle, at) &&
        !/[\p{L}\p{N}]/u.test(text[at - 1] ?? '') &&
        !/[\p{L}\p{N}]/u.test(text[at + needle.length] ?? ''),
    ),
  )

test('a search for any repeated values finds them in steps that are linear in the text', () => {
  const next = numbers(18_11)
  let matches = 0
  for (let round = 0; round < 1_000; round++) {
    const values = Array.from({ length: 1 + next(12) }, () => repeated(next, 4 + next(12)))
    const search = new ValueSearch(values)
    const end = next(3) === 0 ? ` ${values[0]}` : repeated(next, next(60))
    const text = repeated(next, next(60)) + end
    const expected = values.some((value) => isWithin(text, value))
    assert.equal(search.isIn(text), expected, JSON.stringify({ values, text }))
    assert.ok(search.steps <= 6 * (text.length + 1), String(search.steps))
    matches += Number(expected)
  }
  assert.ok(matches > 100 && matches < 900, String(matches))
})

test('150 values that repeat one character cost the steps of one', () => {
  for (const [unit, end] of [
    ['a', ''],
    ['a ', 'b'],
    [',', 'b'],
    ['a', '@b'],
  ] as const) {
    const values = Array.from({ length: 75 }, (_, n) => unit.repeat(n + 4).slice(0, n + 4) + end)
    const text = `b${unit.repeat(4_000)}`
    const search = new ValueSearch([...values, ...values.map((value) => `${value}c`)])
    assert.equal(search.isIn(`${text}%b`), false)
    assert.ok(search.steps <= 24 * text.length, `${unit}${end}: ${search.steps}`)
  }
})

test('no word that a customer chooses equals a value in the data of others', () => {
  const words = ['admin', 'order.created', '/api/v2/users', 'charset=utf-8', 'application/json']
  const values = valuesOf('name', ...words, 'Ann@example.com')
  values.add('other', ['created_at', 'administrator', 'Nettle Street 5', 40_954_696_475])
  for (const word of [...words, 'created_at', 'administrator', 'created_at 1']) {
    assert.equal(values.isDistinct(word), false, word)
  }
  for (const value of ['ann@example.com', 'nettle street 5', '40954696475', 40_954_696_475]) {
    assert.equal(values.isDistinct(value), true, String(value))
  }
  const ids = ['key_0Vba5SkbQmWx8jRt2LpN4c', '2026-11-30', '2026-11-30T10:00:00.000Z']
  values.add('other', ids)
  for (const id of ids) {
    assert.deepEqual([values.mentions(id), values.isDistinct(id)], [true, false], id)
  }
  assert.equal(values.isDistinct('Dear ann@example.com'), false)
})

test('a request carries the values of its path and bodies, not the words of its route', () => {
  const carried = (path: string, exchange: object | null, error: string | null = null) => [
    ...valuesOfRequest({
      ...{ path, route: '/admin/users/:id', error },
      exchange: exchange && JSON.stringify(exchange),
    }),
  ]
  assert.deepEqual(carried('/admin/users/a%20b?x=c%2Bd&y=e+f,g', null), [
    ...['a b', 'c+d', 'e+f,g', 'e+f', 'g', 'e f,g', 'e f', 'g'],
  ])
  const exchange = { headers: { a: 'b' }, body: { c: ['d', 5] }, answer: { body: { e: 'f' } } }
  assert.deepEqual(carried('/admin/users', exchange), ['', 'd', 5, 'f'])
  assert.deepEqual(carried('/admin/users', exchange, 'not_found'), ['', 'd', 5])
  assert.deepEqual(carried('/admin/users/%zz?%ff', null).length, 2)
})
