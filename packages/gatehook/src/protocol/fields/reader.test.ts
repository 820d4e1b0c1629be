/** The reader and the published schema accept the same values: Ajv validates by the schema. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import { kinds } from '../../../test/fixtures/every-kind.ts'
import { parseTime } from '../../kernel/time.ts'
import { boundUnits, formatDecimal, parseDecimal } from './decimal.ts'
import { DURATION_MAX_MS, DURATION_PATTERN, formatDuration, parseDuration } from './duration.ts'
import { f } from './f.ts'
import type { AnyField } from './fields.ts'
import { toJson } from './forms.ts'
import { fieldKindOf } from './kinds/table.ts'
import { type AnyMember, b, Member } from './members.ts'
import { createObjectReader } from './reader.ts'
import { valueSchema } from './schema.ts'

const isPlainEmail = addFormats.default(new Ajv()).compile({ type: 'string', format: 'email' })

function createValidator(): Ajv {
  const ajv = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true })
  ajv.addVocabulary(['x-open-set', 'x-text'])
  ajv.addKeyword({
    keyword: 'x-minimum',
    type: 'string',
    validate: (bound: string, text: string) => Number(text) >= Number(bound),
  })
  addFormats.default(ajv)
  // The library has no addresses beyond ASCII: each such character counts as a letter.
  ajv.addFormat('idn-email', (text: string) => isPlainEmail(text.replace(/[^\x00-\x9f]/gu, 'x')))
  ajv.addFormat('time-local', true)
  return ajv
}

const responses = createValidator()
const bodies = createValidator()
// A body may also have an instant without its seconds, or as a day.
bodies.addFormat('date-time', (text: string) => parseTime(text) !== undefined)

const fields: readonly AnyField[] = [
  f.string().min(2).max(4),
  f.email(),
  f.url(),
  f.currency(),
  f.oneOf(['a', 'bb']),
  f.int().min(-2).max(3),
  f.int(),
  f.number().min(0),
  f.bool(),
  f.time(),
  f.date(),
  f.duration(),
  f.decimal(4, 2).min(-1.5),
  f.decimal(2, 2),
  f.decimal(15, 0),
  f.uuid(),
  f.timeOfDay(),
  f.pattern(/^(a|bb)-?$/).max(2),
  f.ref('things'),
  // Every further kind of the table.
  ...Object.values(kinds).filter(({ spec }) => fieldKindOf(spec).json !== 'any'),
]
const leaves: readonly AnyMember[] = fields.flatMap(({ spec }) => {
  const member = new Member<unknown>(spec)
  return [member, member.nullable()]
})
const closed = {
  isClosed: true,
  reference: (_name: string, schema: () => Record<string, unknown>) => schema(),
  page: (items: Record<string, unknown>) => items,
}

const leaf = fc.constantFrom(...leaves)
const nested = fc.oneof(
  leaf,
  leaf.map((member) => b.list(member, { min: 1, max: 2 })),
  leaf.map((member) => b.object({ a: member, b: member.optional() }).nullable()),
  leaf.map((member) => b.map(member)),
)
const scalar = fc.oneof(
  fc.constantFrom<unknown>(null, true, 'a', 'bb', 'EUR', '😀😀😀😀', 'a@b.de', 'https://a.de/'),
  fc.constantFrom<unknown>('2026-02-28', '2026-02-30T00:00:00Z', 0, 1, -3, 2 ** 53, 1.5),
  fc.constantFrom<unknown>(
    '1.50',
    '-1.51',
    '100',
    '0.1',
    '00.1',
    '.5',
    '1e3',
    'PT1H',
    'P1W',
    'P1DT',
  ),
  fc.constantFrom<unknown>('09:30', '23:59:59', '24:00', '2026-06-01T12:00:00.5+02:00'),
  fc.constantFrom<unknown>('PT0.5S', 'P999999DT23H', 'P142858W', 'Öz@bücher.de', 'a..b@c.de'),
  fc.constantFrom<unknown>('https://a.de/\t', 'https://a.de/é', 'HTTP://a', 'mailto:a@b.de'),
  fc.constantFrom<unknown>('-0.00', '123456789012345', '018F6F3E-8C1A-7B52-9D3E-2F5A6C7D8E9F'),
  fc.string({ maxLength: 6, unit: 'grapheme' }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const json = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom('a', 'b', 'c'), scalar),
)

test('the reader accepts a value exactly if its schema does', () => {
  const property = fc.property(nested, json, (member, value) => {
    const { errors } = createObjectReader({ members: { it: member.spec } })({ it: value })
    const isValid = bodies.compile(valueSchema(member.spec, closed))(value)
    assert.equal(errors.length === 0, isValid, JSON.stringify(errors))
  })
  fc.assert(property, { numRuns: 2000 })
})

test('each value is tried against each kind', () => {
  const values = fc.sample(scalar, { numRuns: 300, seed: 7 })
  for (const { spec } of leaves) {
    const validate = bodies.compile(valueSchema(spec))
    const isResponse = responses.compile(valueSchema(spec))
    const read = createObjectReader({ members: { it: spec } })
    for (const it of values) {
      const { values: row, errors } = read({ it })
      assert.equal(errors.length === 0, validate(it), JSON.stringify([spec, it]))
      if (errors.length === 0) assert.ok(isResponse(toJson(spec, row.it)), JSON.stringify(it))
    }
  }
})

const SIZE = { precision: 15, scale: 4 }

test('a decimal is exact: text and units convert without a loss, in the same order', () => {
  const anyUnits = fc.integer({ min: -(10 ** 15) + 1, max: 10 ** 15 - 1 })
  const property = fc.property(anyUnits, anyUnits, (left, right) => {
    const texts = [left, right].map((units) => formatDecimal(units, SIZE.scale))
    assert.deepEqual(
      texts.map((text) => parseDecimal(text, SIZE)),
      [left, right],
    )
    assert.equal(Number(texts[0]) < Number(texts[1]), left < right)
  })
  fc.assert(property)
})

test('equal values have one text', () => {
  const read = createObjectReader({
    members: { it: f.decimal(6, 2).spec, uuid: f.uuid().spec, for: f.duration().spec },
  })
  const uuid = '018F6F3E-8C1A-7B52-9D3E-2F5A6C7D8E9F'
  assert.deepEqual(read({ it: '-0', uuid, for: 'PT90M' }).values, {
    it: '0.00',
    uuid: uuid.toLowerCase(),
    for: 5_400_000,
  })
  assert.equal(boundUnits(1.1, 2), 110)
})

test('the pattern of durations is that of their texts', () => {
  const text = fc.stringMatching(
    /^P(\d{0,7}[WDHMS]?T?){0,2}(\d{0,3}H)?(\d{0,3}M)?(\d\.?\d{0,4}S)?$/,
  )
  const property = fc.property(text, (value) => {
    const isShort = parseDuration(value) !== undefined
    // A pattern has no sum: the longest durations are a bound, which the reader applies.
    if (isShort || !/\d{5}/.test(value)) {
      assert.equal(new RegExp(DURATION_PATTERN).test(value), isShort, value)
    }
  })
  fc.assert(property, { numRuns: 5_000 })
})

test('a duration has one shortest text', () => {
  const property = fc.property(fc.integer({ min: 0, max: DURATION_MAX_MS }), (ms) => {
    assert.equal(parseDuration(formatDuration(ms)), ms)
  })
  fc.assert(property)
  const texts = ['PT26H', 'P1W', 'PT0S', 'PT1.5S', 'PT90M', 'P2DT1M']
  const shortest = ['P1DT2H', 'P7D', 'PT0S', 'PT1.5S', 'PT1H30M', 'P2DT1M']
  assert.deepEqual(
    texts.map((text) => formatDuration(parseDuration(text)!)),
    shortest,
  )
  for (const text of ['P', 'PT', 'P1DT', 'P1M', 'P1Y', 'PT1.5H', '-PT1H', 'P1W1D', 'pt1h']) {
    assert.equal(parseDuration(text), undefined, text)
  }
})
