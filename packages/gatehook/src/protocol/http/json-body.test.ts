import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Failure } from '../../kernel/failure.ts'
import { MAX_DEPTH, parseJsonBody } from './json-body.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

/** Returns the first error of a failure as `code pointer`, or the message without one. */
function refusalOf(body: string | Uint8Array): string {
  try {
    parseJsonBody(typeof body === 'string' ? bytes(body) : body)
  } catch (error) {
    assert(error instanceof Failure)
    assert.equal(error.code, 'invalid_json')
    const [first] = error.errors ?? []
    return first ? `${first.code} ${first.pointer}` : error.message
  }
  return 'accepted'
}

test('a mistake is reported with its code and pointer', () => {
  const cases: [string, string][] = [
    ['{"a":1,"a":2}', 'duplicate_member /a'],
    ['{"a":1,"\\u0061":2}', 'duplicate_member /a'],
    ['{"x":[{"a/b":{"~":1,"~":1}}]}', 'duplicate_member /x/0/a~1b/~0'],
    ['[1,{"":1,"":2}]', 'duplicate_member /1/'],
    ['{"__proto__":1}', 'prototype_key /__proto__'],
    ['{"\\u005f_proto__":1}', 'prototype_key /__proto__'],
    ['{"constructor":{"prototype":{}}}', 'prototype_key /constructor/prototype'],
    ['{"n":1e400}', 'number_too_large /n'],
    ['[-1e999]', 'number_too_large /0'],
    ['[0, 9007199254740993]', 'number_too_large /1'],
    ['{"n":-99999999999999999999}', 'number_too_large /n'],
    ['{"s":"\\u0000"}', 'nul /s'],
    ['["a","\\ud800"]', 'lone_surrogate /1'],
    ['{"\\udc00":1}', 'lone_surrogate '],
    ['{"a":{"b":1,"\\u0000":2}}', 'nul /a'],
  ]
  for (const [body, expected] of cases) assert.equal(refusalOf(body), expected, body)
})

test('a fraction is not rounded to a whole number', () => {
  const rounded = ['0.99999999999999999999', '9007199254740990.6', '1.00000000000000000001e0']
  for (const number of [...rounded, '-1e-400', '4503599627370496500000.01e-3', '12e-999']) {
    assert.equal(refusalOf(`{"n":${number}}`), 'number_too_precise /n', number)
  }
  for (const number of ['1.0', '-0.0', '0e-9', '0.05e2', '120e-1', '1.5', '1e20', '1.5e1']) {
    assert.equal(refusalOf(`[${number}]`), 'accepted', number)
  }
  assert.equal(
    refusalOf(`[0.${'0'.repeat(1_000_000)}1]`),
    'number_too_precise /0',
    'in linear time',
  )
})

test('nesting is limited to 32 levels', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  assert.equal(refusalOf(nested(MAX_DEPTH)), 'accepted')
  assert.match(refusalOf(nested(MAX_DEPTH + 1)), /^too_deep /)
  assert.match(refusalOf(nested(40_000)), /^too_deep /)
})

test('text that is not JSON or not UTF-8 is rejected', () => {
  for (const text of ['', ' ', '{', '{"a":1,}', "{'a':1}", 'NaN', '01', '"\t"', '{"a":1}x']) {
    assert.match(refusalOf(text), /not valid JSON/, JSON.stringify(text))
  }
  assert.match(refusalOf(Uint8Array.of(0x22, 0xff, 0x22)), /UTF-8/)
  assert.match(refusalOf(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)), /UTF-8/)
})

test('valid JSON is parsed', () => {
  const texts = [
    '5',
    'null',
    '"x"',
    '{"constructor":1,"prototype":2}',
    '{"a":{"x":1},"b":{"x":1}}',
    '[{"a":[]},{"a":{}},[],{}]',
    '{"n":9007199254740991,"m":-9007199254740991,"f":0.12345678901234567890,"e":1e20}',
    '{"s":"\\"}]{[,:","t":"\\\\","u":"\\ud83d\\ude00"}',
    '{ "a" : [ 1 , 2 ] , "b" : "a" }',
  ]
  for (const text of texts) assert.deepEqual(parseJsonBody(bytes(text)), JSON.parse(text), text)
  assert.deepEqual(parseJsonBody(bytes('\uFEFF{"a":1}')), { a: 1 }, 'a byte order mark is skipped')
})

test('any JSON value is parsed unchanged; any other bytes throw a Failure', () => {
  const value = fc.jsonValue({ maxDepth: 6, noUnicodeString: false })
  fc.assert(
    fc.property(value, (json) => {
      const text = JSON.stringify(json)
      const refusal = refusalOf(text)
      if (refusal === 'accepted') assert.deepEqual(parseJsonBody(bytes(text)), JSON.parse(text))
      else assert.match(refusal, /^(?:prototype_key|nul|lone_surrogate|number_too_large) /)
    }),
  )
  fc.assert(fc.property(fc.uint8Array(), (any) => void refusalOf(any)))
  const shards = fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', 'a', '1', '-', 'e', ' ')
  fc.assert(
    fc.property(fc.array(shards), (parts) => void refusalOf(parts.join(''))),
    { numRuns: 500 },
  )
})
