/** Generates values by the JSON Schemas of documents, and values that differ from them slightly. */
import fc from 'fast-check'
import type { Json } from './targets.ts'

const ITEMS_MAX = 2
const CHARACTERS_MAX = 80

/** By format. Hosts are addresses: a registration resolves the name of a receiver. */
const formats: Readonly<Record<string, fc.Arbitrary<string>>> = {
  'date-time': fc
    .date({ min: new Date(0), max: new Date('2099-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString()),
  date: fc
    .date({ min: new Date(0), max: new Date('2099-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 'YYYY-MM-DD'.length)),
  'idn-email': fc.emailAddress(),
  uri: fc.webPath().map((path) => `https://127.0.0.1:9${path}`),
  uuid: fc.uuid(),
}

function textOf({ format, pattern, minLength = 0, maxLength }: Json): fc.Arbitrary<unknown> {
  const formatted = formats[format]
  if (formatted) return formatted.filter((text) => new RegExp(pattern ?? '', 'u').test(text))
  const max = Math.min(maxLength ?? CHARACTERS_MAX, Math.max(minLength, CHARACTERS_MAX))
  if (pattern === undefined) return fc.string({ minLength, maxLength: max, unit: 'grapheme' })
  // Texts of the size `small` have fewer characters than the minimum of some passwords.
  return fc
    .stringMatching(new RegExp(pattern, 'u'), { size: minLength > 5 ? 'medium' : 'small' })
    .filter((text) => [...text].length >= minLength && [...text].length <= max)
}

function objectOf(schema: Json, resolve: (schema: Json) => Json): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema
  const writable = Object.entries<Json>(properties).filter(([, { readOnly }]) => !readOnly)
  const members = writable.map(([name, member]) => [name, valuesOf(member, resolve)])
  const own = fc.record(Object.fromEntries(members), { requiredKeys: required })
  if (typeof additionalProperties !== 'object') return own
  const key = textOf(propertyNames ?? { pattern: '^[a-z]{1,9}$' }) as fc.Arbitrary<string>
  return fc.dictionary(key, valuesOf(additionalProperties, resolve), { maxKeys: ITEMS_MAX })
}

/** Returns values of a schema; `resolve` follows its reference. */
export function valuesOf(reference: Json, resolve: (schema: Json) => Json): fc.Arbitrary<unknown> {
  const schema = resolve(reference)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const byType: Readonly<Record<string, () => fc.Arbitrary<unknown>>> = {
    null: () => fc.constant(null),
    boolean: () => fc.boolean(),
    integer: () => fc.integer({ min: schema.minimum, max: schema.maximum }),
    number: () =>
      fc.double({ min: schema.minimum, max: schema.maximum, noNaN: true, noDefaultInfinity: true }),
    string: () => textOf(schema),
    array: () =>
      fc.array(valuesOf(schema.items, resolve), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.max(schema.minItems ?? 0, ITEMS_MAX),
      }),
    object: () => objectOf(schema, resolve),
  }
  const types: string[] = schema.type === undefined ? ['string', 'boolean'] : [schema.type].flat()
  const values = fc.oneof(...types.map((type) => byType[type]!()))
  return schema.examples ? fc.oneof(values, fc.constantFrom(...schema.examples)) : values
}

/** Values that some kinds accept and others reject. */
const odd = fc.constantFrom<unknown>(
  ...[null, true, 0, -1, 1.5, 2 ** 53, 1e9, [], {}, ['a'], [''], { a: 'b' }],
  ...['', ' ', 'a', 'a\nb', 'x'.repeat(300), 'x'.repeat(20_000), '😀'.repeat(200)],
  ...['2026-02-28', '2026-02-30', '2016-12-31T23:59:60Z', '2026-06-01T12:00:00.5+02:00'],
  ...['a@b', 'a@b.de', 'a b@c.de', 'https://127.0.0.1:9/é', 'ftp://127.0.0.1/', 'mailto:a@b.de'],
  ...['-0.00', '1e3', '1234567890123456', 'P1W', 'PT90M', 'P1Y', '09:30', '25:00'],
  ...['v9', 'live', '10.0.0.0/8', '::/0', '10.0.0.0/99', 'zzz'],
)

/** Replaces, removes or adds one member of an object, or of an object inside it. */
const changed = (body: Json): fc.Arbitrary<unknown> => {
  if (typeof body !== 'object' || body === null) return odd
  const names = Object.keys(body)
  const added = fc
    .tuple(fc.constantFrom('unexpected', '_links', 'id', 'created_at'), odd)
    .map(([name, value]) => ({ ...body, [name]: value }))
  if (Array.isArray(body) || names.length === 0) return Array.isArray(body) ? odd : added
  const replaced = fc.constantFrom(...names).chain((name) => {
    const value = fc.oneof(odd, changed(body[name]))
    return value.map((member) => ({ ...body, [name]: member }))
  })
  const removed = fc
    .constantFrom(...names)
    .map((name) => Object.fromEntries(Object.entries(body).filter(([each]) => each !== name)))
  return fc.oneof({ weight: 4, arbitrary: replaced }, removed, added)
}

/** Returns bodies of a schema, and as many with one change. */
export function bodiesOf(schema: Json, resolve: (schema: Json) => Json): fc.Arbitrary<unknown> {
  const bodies = valuesOf(schema, resolve)
  return fc.oneof(bodies, bodies.chain(changed))
}
