/**
 * §6.11, §7.7: every value that a response, an event or an export contains is accepted by bodies,
 * filters, imports and `gatehook-client`, and means the same. The rig compares each response with
 * the formats and patterns of its document.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { clientOf } from '../../../../test/rig/client.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { type ImportLine, readImportLines } from '../../src/cli/import-rows.ts'
import { boundaryValues } from '../../src/declare/resources/boundary-values.ts'
import { sampleValue } from '../../src/declare/resources/sample.ts'
import { LAST_INSTANT_MS } from '../../src/kernel/time.ts'
import { toJson } from '../../src/protocol/fields/forms.ts'
import { type FieldKindName, fieldKindOf } from '../../src/protocol/fields/kinds/table.ts'
import { everyField, everyKind, kinds, nameOfKind } from '../fixtures/every-kind.ts'
import { ok } from '../lists/rows.ts'

/** JSON texts of bodies. */
const json = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<string> =>
  values.map((value) => JSON.stringify(value))

const unusual = fc.string({ unit: fc.constantFrom(...'=+-@,;\t\r\n\'"\\&%# aé😀'), maxLength: 9 })
const text = fc.oneof(unusual, fc.string({ unit: 'grapheme', maxLength: 20 }), fc.constant('null'))
const double = fc.double({ noNaN: true, noDefaultInfinity: true })
const day = fc
  .integer({ min: -62_167_219_200_000, max: LAST_INSTANT_MS })
  .map((ms) => new Date(ms).toISOString())
const pad = (count: number) => String(count).padStart(2, '0')
const zone = fc.constantFrom('Z', 'z', '+05:30', '-00:00', '-11:59')

const number = fc.oneof(
  double.map(String),
  double.map((value) => value.toExponential()),
  fc.constantFrom(
    '1e16',
    '1E+16',
    '10000000000000000',
    '1152921504606846976',
    '1.0',
    '-0',
    '5e-324',
  ),
  fc.integer({ min: 53, max: 69 }).map((power) => JSON.stringify(2 ** power)),
)
/** Values of an unusual form; other kinds have their sample and the values at their bounds. */
const unusualValues: Readonly<Partial<Record<FieldKindName, fc.Arbitrary<string>>>> = {
  string: json(text),
  email: json(fc.oneof(fc.emailAddress(), fc.constantFrom('Öz@bücher.example', "o'b+c@d.de"))),
  url: json(
    fc
      .webUrl({ withFragments: true, withQueryParameters: true })
      .filter(({ length }) => length <= 200),
  ),
  currency: json(fc.constantFrom('EUR', 'USD', 'JPY')),
  oneOf: json(fc.constantFrom('a', 'b')),
  int: fc.oneof(json(fc.maxSafeInteger()), fc.constantFrom('1e3', '1.0', '-0', '12.5e1')),
  number,
  bool: json(fc.boolean()),
  time: json(
    fc.oneof(
      fc
        .tuple(day, fc.constantFrom('', '.5', '.1234567'), zone)
        .map(([iso, digits, end]) => iso.slice(0, 19) + digits + end)
        .filter((iso) => !/^(0000-01-01|9999-12-31)/.test(iso)),
      day.map((iso) => iso.slice(0, 10)),
    ),
  ),
  date: json(day.map((iso) => iso.slice(0, 10))),
  timeOfDay: json(
    fc.tuple(fc.nat(23), fc.nat(59), fc.option(fc.nat(59), { nil: undefined })).map((parts) =>
      parts
        .filter((part) => part !== undefined)
        .map(pad)
        .join(':'),
    ),
  ),
  duration: json(
    fc.oneof(
      fc.constantFrom('P2W', 'PT90M', 'P1DT0.5S', 'PT0S', 'PT0.123S', 'P999999DT23H'),
      fc.nat(1e9).map((seconds) => `PT${seconds}S`),
    ),
  ),
  decimal: json(
    fc
      .tuple(fc.integer({ min: -9e12, max: 9e12 }), fc.constantFrom('', '.5', '.05'))
      .map(([whole, digits]) => `${whole}${digits}`),
  ),
  uuid: json(
    fc.oneof(
      fc.uuid(),
      fc.uuid().map((id) => id.toUpperCase()),
    ),
  ),
  pattern: json(fc.stringMatching(/^[a-z]{1,9}$/)),
  object: json(fc.record({ city: text, since: day })),
  list: json(fc.array(fc.constantFrom('1', '1.5', '-99.99', '0'), { maxLength: 3 })),
  metadata: json(fc.dictionary(fc.stringMatching(/^[A-Za-z0-9_.-]{1,9}$/), text, { maxKeys: 3 })),
  json: fc.oneof(
    json(fc.oneof(text, fc.constantFrom('1', 'true', '{}', '=1+1', 'a;=1', '"', ''))),
    json(fc.jsonValue({ maxDepth: 2 }).filter((value) => value !== null && clean(value))),
    number,
  ),
}

/** Whether JSON has no member that bodies reject, and none that a merge patch would remove. */
const clean = (value: unknown): boolean =>
  !/"(__proto__|prototype)"|\\u0000|\\ud[89a-f]|:null/i.test(JSON.stringify(value))

function usualValues(kind: string): fc.Arbitrary<string> {
  const { default: _default, ...spec } = kinds[kind]!.spec
  const values = [sampleValue(kind, spec), ...boundaryValues(spec)]
  return json(fc.constantFrom(...values.map((value) => toJson(spec, value))))
}

const valuesOf: Readonly<Record<string, fc.Arbitrary<string>>> = Object.fromEntries(
  Object.keys(kinds)
    .filter((kind) => kind !== 'ref')
    .map((kind) => [kind, unusualValues[kind as FieldKindName] ?? usualValues(kind)]),
)

const PATH = '/api/v1/things'
const names = Object.keys(valuesOf).map(nameOfKind)
type Row = Readonly<Record<string, unknown>> & { readonly id: number }

const bodyOf = (texts: Readonly<Record<string, string>>) =>
  `{${Object.entries(texts).map(([kind, value]) => `"${nameOfKind(kind)}":${value}`)}}`
const valuesIn = (row: object) =>
  Object.fromEntries(names.map((name) => [name, (row as Record<string, unknown>)[name]]))

const fieldNamed = (name: string) => everyField.definition.fields[name]!

/** Returns the text of a filter for a JSON value. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : String(value))

async function selectByFilters({ get, ...caller }: TestApp, row: Row, body: Row) {
  const rows = clientOf({ ...caller }, 'v1').collection<Row>('things')
  for (const name of everyField.definition.filter as readonly string[]) {
    const returned = row[name]
    if (name === 'id' || returned === undefined || returned === null) continue
    const query = `id=${row.id}&fields=id`
    if (fieldKindOf(fieldNamed(name)).isMap) {
      for (const [key, value] of Object.entries(returned)) {
        const { body: page } = await ok(
          get(`${PATH}?${query}&${name}[${key}]=${encodeURIComponent(value)}`),
        )
        assert.equal(page.data.length, 1, `${key} ${value}`)
      }
      continue
    }
    for (const value of new Set([textOf(returned), textOf(body[name])])) {
      // A body's instant with more decimals than a row has equals no row.
      if (fieldKindOf(fieldNamed(name)).cell(fieldNamed(name)).between?.has(value)) continue
      const quoted = `"${value.replaceAll('"', '""')}"`
      for (const filter of [
        `${name}=${encodeURIComponent(value)}`,
        `${name}[in]=${encodeURIComponent(quoted)}`,
        `${name}[gte]=${encodeURIComponent(value)}`,
        `${name}[lte]=${encodeURIComponent(value)}`,
      ]) {
        const { body: page } = await ok(get(`${PATH}?${query}&${filter}`))
        assert.equal(page.data.length, 1, filter)
      }
      const { body: page } = await ok(
        get(`${PATH}?${query}&${name}[ne]=${encodeURIComponent(value)}`),
      )
      assert.equal(page.data.length, 0, `${name}[ne]=${value}`)
    }
    for (const filter of [{ [name]: returned }, { [name]: { in: [returned] } }]) {
      const page = await rows.list({ id: row.id, ...(filter as object) })
      assert.deepEqual(page.data.map(valuesIn), [valuesIn(row)], JSON.stringify(filter))
    }
  }
}

/** Creates a row of each line, and returns their values. */
async function importRows({ post }: TestApp, file: string, isCsv: boolean) {
  async function* parts() {
    yield file
  }
  const rows: object[] = []
  const lines: AsyncIterable<ImportLine> = readImportLines(parts(), everyField.definition, isCsv)
  for await (const line of lines) {
    assert.ok('body' in line, JSON.stringify(line))
    const { status, body, text } = await post(PATH, line.body)
    assert.equal(status, 201, text)
    rows.push(valuesIn(body))
  }
  return rows
}

eachService(
  'every value that a body may have comes back as itself, by every way',
  async (service) => {
    const { get, post, patch } = service
    const rows = clientOf(service, 'v1').collection<Row>('things')
    const expected: object[] = []
    const property = fc.asyncProperty(fc.record(valuesOf), async (texts) => {
      const created = await post(PATH, bodyOf(texts))
      assert.equal(created.status, 201, created.text)
      const row: Row = created.body
      const values = valuesIn(row)
      const patched = await patch(`${PATH}/${row.id}`, values)
      assert.deepEqual([patched.status, valuesIn(patched.body)], [200, values])
      assert.deepEqual(valuesIn(await rows.create(values)), values)
      const { body: events } = await ok(get('/events?limit=2&sort=-id'))
      for (const event of events.data) assert.deepEqual(valuesIn(event.data.object), values)
      await selectByFilters(service, row, { ...row, ...rawValues(texts) })
      expected.push(values, values)
    })
    await fc.assert(property, { numRuns: 6, seed: 31, endOnFailure: true })
    const lines = await get(PATH, { accept: 'application/x-ndjson' })
    const table = await get(PATH, { accept: 'text/csv' })
    assert.deepEqual(await importRows(service, lines.text, false), expected)
    assert.deepEqual(await importRows(service, table.text, true), expected)
  },
  { service: everyKind },
)

/** Returns the values with the spelling of their numbers. */
const rawValues = (texts: Readonly<Record<string, string>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(texts).map(([kind, value]) => [
      nameOfKind(kind),
      value.startsWith('"') ? JSON.parse(value) : value,
    ]),
  )
