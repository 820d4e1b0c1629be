import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, fields } from '../../gatehook.ts'
import { createOutputConverter, InvalidOutput } from './output.ts'

test('an older member with the name and form of a newer one has the converted value', () => {
  const cents = f.int()
  const price = fields({ id: f.int(), amount: cents }).before('v2', {
    why: 'Amounts are cents.',
    had: { amount: cents },
    hadNot: ['amount'],
    down: ({ amount }) => ({ amount: amount / 100 }),
  })
  const convert = createOutputConverter(price, ['v1', 'v2'])
  const body = Buffer.from('{"id":7,"amount":500,"more":{"a":1}}')
  assert.deepEqual(JSON.parse(convert(body, 'v2')), { id: 7, amount: 500, more: { a: 1 } })
  assert.deepEqual(JSON.parse(convert(body, 'v1')), { id: 7, amount: 5, more: { a: 1 } })
})

test('a list is converted item by item, and a wrong item is named', () => {
  const price = fields({ id: f.int(), cents: f.int() }).before('v2', {
    why: 'Amounts are cents.',
    had: { amount: f.number() },
    hadNot: ['cents'],
    down: ({ cents }) => ({ amount: cents / 100 }),
  })
  const convert = createOutputConverter(price, ['v1', 'v2'], true)
  const body = Buffer.from(' [{"id":1,"cents":50,"more":9007199254740993}, {"id":2,"cents":0}]')
  assert.equal(convert(body, 'v2'), String(body).trim())
  const older = '[{"id":1,"amount":0.5,"more":9007199254740993},{"id":2,"amount":0}]'
  assert.equal(convert(body, 'v1'), older)
  assert.equal(convert(Buffer.from('[]'), 'v1'), '[]')
  for (const [text, problem] of [
    ['[{"id":1,"cents":1},{"id":"2","cents":1}]', /: \/1\/id /],
    ['[{"id":1,"cents":1},7]', /: \/1 the body is not an object$/],
    ['[{"id":1,"cents":1,"cents":1}]', /./],
    ['{"id":1,"cents":1}', /not a list/],
    [`[${'{"id":1,"cents":1},'.repeat(10_000)}{"id":1,"cents":1}]`, /more than 10000 items/],
  ] as const) {
    for (const version of ['v1', 'v2']) {
      assert.throws(() => convert(Buffer.from(text), version), problem, text.slice(0, 60))
    }
  }
})

test('undeclared members pass as they are; declared ones are strict', () => {
  const line = f.object({ n: f.int() })
  const price = fields({ id: f.int(), more: f.json(), lines: f.array(line, { max: 9 }) }).before(
    'v2',
    { why: 'Renamed.', had: { no: f.int() }, hadNot: ['id'], down: ({ id }) => ({ no: id }) },
  )
  const convert = createOutputConverter(price, ['v1', 'v2'])
  const big = '9007199254740993'
  const textOf = (further: string, { more = '1', n = '1', inLine = '2' } = {}) =>
    Buffer.from(`{"id":7,"more":${more},"lines":[{"n":${n},"x":${inLine}}],${further}}`)
  const deep = `${'['.repeat(100)}${big}${']'.repeat(100)}`
  for (const further of [
    `"a":${big},"b":{"c":[-${big}.0e0,1e400]}`,
    '"a":"\\u0000","\\u0000":"\\ud800"',
    `"a":${deep}`,
  ]) {
    const body = textOf(further, { inLine: big })
    assert.equal(convert(body, 'v2'), body.toString())
    assert.equal(convert(body, 'v1'), `{"no":7,"more":1,"lines":[{"n":1,"x":${big}}],${further}}`)
  }
  assert.equal(convert(textOf('"a":1,"a":2'), 'v2'), textOf('"a":1,"a":2').toString())
  const nested = textOf(`"a":${'['.repeat(4e4)}${']'.repeat(4e4)}`)
  assert.equal(convert(nested, 'v2'), nested.toString())
  assert.equal(JSON.parse(convert(nested, 'v1')).no, 7)
  for (const bad of [
    textOf('"id":8'),
    textOf('"a":1', { n: big }),
    textOf('"a":1', { more: `{"x":${big}}` }),
    textOf('"a":1', { more: '"\\u0000"' }),
    textOf('"a":1', { more: deep }),
    textOf(`"a":[${'{},'.repeat(60_000)}{}]`),
    textOf(`"a":${'""'.repeat(200_000)}`),
  ]) {
    assert.throws(() => convert(bad, 'v2'), InvalidOutput, bad.toString().slice(0, 99))
  }
  const withWarnings = `{"id":7,"more":1,"lines":[],"_warnings":1,"a":${big}}`
  assert.equal(convert(Buffer.from(withWarnings), 'v2'), `{"id":7,"more":1,"lines":[],"a":${big}}`)
})
