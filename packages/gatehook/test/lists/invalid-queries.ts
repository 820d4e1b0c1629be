/**
 * Generates query strings that mix valid and invalid parameters, for `fuzz.test.ts`.
 */
import fc from 'fast-check'

const knownNames = [
  'limit',
  'offset',
  'after_id',
  'page',
  'per_page',
  'cursor',
  'pagination',
  'sort',
]
knownNames.push(
  'fields',
  'id',
  'name',
  'email',
  'created_at',
  'amount',
  'status',
  'user_id',
  'currency',
)
knownNames.push('type', 'created', 'customer', 'mode', 'suspended', 'expires_at', 'at', 'action')

const operators = ['', '', '', '[gt]', '[gte]', '[lt]', '[lte]', '[ne]', '[in]', '[eq]', '[]']
operators.push(
  '[',
  '[like]',
  '[GT]',
  '[__proto__]',
  '[constructor]',
  '[gt][lt]',
  '.gt',
  '%00',
  '%20',
)

export const prototype = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'prototype',
  'valueOf',
]

const sqlish = [
  "' OR '1'='1",
  '1; DROP TABLE users',
  'id DESC',
  '(SELECT 1)',
  '1--',
  '1 OR 1=1',
  '"id"',
]
sqlish.push(
  '$1',
  '?',
  '?1',
  ':a',
  '@a',
  '%',
  '_',
  '\\',
  "''",
  'NULL',
  'id) UNION SELECT 1,2,3,4 --',
)

export const numbers = [
  '',
  '0',
  '1',
  '2',
  '3',
  '100',
  '101',
  '-1',
  '-0',
  '+1',
  ' 1',
  '1 ',
  '01',
  '1.0',
  '1e2',
]
numbers.push(
  '0x10',
  '0b1',
  '1_0',
  '١',
  '１',
  '²',
  'NaN',
  'Infinity',
  '-Infinity',
  '9007199254740991',
)
numbers.push(
  '9007199254740992',
  '-9007199254740992',
  '9'.repeat(30),
  `1${'0'.repeat(309)}`,
  '1,2',
  'true',
)

export const texts = [
  'a',
  'ada@example.com',
  'paid',
  'EUR',
  'live',
  'default',
  'cus_default',
  'user.created',
]
texts.push(
  '2026-01-01',
  '2026-02-30',
  '2026-01-01T00:00:00Z',
  '0000-00-00',
  '+275760-09-13T00:00:00Z',
)
texts.push(
  'é',
  '😀',
  '\u202e',
  '\ufeff',
  '\u0001',
  '\r\n',
  '\u007f',
  ',',
  ',,',
  '-',
  '--id',
  '-id,',
  ';',
)
texts.push(
  '<script>',
  '>; rel="next"',
  '"',
  '{}',
  '[]',
  'x'.repeat(3000),
  'id,'.repeat(800),
  ...sqlish,
)

/** Values that no text encodes: broken escapes, NUL, bytes that are not UTF-8. */
const raw = [
  '%',
  '%4',
  '%zz',
  '%00',
  '%c3',
  '%ff%fe',
  '%ed%a0%80',
  'a%00b',
  '%25%30%30',
  '=',
  '==',
  '+',
  '%2B',
]

const pick = (pool: readonly string[]) => fc.constantFrom(...pool)
const encoded = (text: fc.Arbitrary<string>) =>
  text.map((value) => encodeURIComponent(value.toWellFormed()))

const name = fc.oneof(
  {
    arbitrary: fc.tuple(pick(knownNames), pick(operators)).map(([field, tail]) => field + tail),
    weight: 12,
  },
  {
    arbitrary: fc.tuple(pick(prototype), pick(operators)).map(([field, tail]) => field + tail),
    weight: 2,
  },
  {
    arbitrary: fc.oneof(encoded(pick(texts)), encoded(fc.string({ unit: 'binary' })), pick(raw)),
    weight: 2,
  },
)

const columns = pick([
  ...knownNames,
  ...prototype,
  '',
  'scope',
  'rowid',
  'ctid',
  'no',
  'position',
  '*',
])
const columnList = fc
  .array(fc.tuple(pick(['', '', '-', '+', '--']), columns), { maxLength: 12 })
  .map((parts) => parts.map((part) => part.join('')).join(','))

const value = (cursors: readonly string[]) =>
  fc.oneof(
    encoded(fc.oneof(pick(numbers), pick(texts), columnList, pick(prototype), pick(cursors))),
    encoded(pick(['offset', 'cursor', 'keyset', 'page', 'hypermedia'])),
    encoded(fc.string({ unit: 'binary', maxLength: 40 })),
    encoded(fc.array(pick(numbers), { maxLength: 120 }).map((parts) => parts.join(','))),
    pick(raw),
  )

/** Parameters that are valid for some list. */
const validParameter = pick([
  ...[
    'limit=1',
    'limit=100',
    'page=1',
    'page=2',
    'per_page=3',
    'offset=0',
    'offset=2',
    'after_id=1',
  ],
  ...['sort=-id', 'sort=id', 'sort=-created_at,id', 'sort=name', 'fields=id', 'pagination=offset'],
  ...['pagination=hypermedia', 'id[gt]=2', 'id[ne]=3', 'id[in]=1,2,3', 'name[ne]=x', 'name[lt]=z'],
  ...[
    'created_at[gt]=2020-01-01',
    'amount[lte]=4',
    'status[ne]=paid',
    'note=',
    'type=user.created',
  ],
])

const invalidParameter = (cursors: readonly string[]) =>
  fc
    .tuple(name, fc.option(value(cursors), { freq: 12 }))
    .map(([key, text]) => (text === null ? key : `${key}=${text}`))

/** Generates query strings. `cursors`: valid cursors of all lists. */
export const search = (cursors: readonly string[]) =>
  fc
    .array(
      fc.oneof(
        { arbitrary: validParameter, weight: 3 },
        { arbitrary: invalidParameter(cursors), weight: 2 },
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((pairs) => pairs.join('&'))
