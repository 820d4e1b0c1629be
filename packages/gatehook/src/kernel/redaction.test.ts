/** §12.7: the request log has no value of a secret field, also where its name is misspelled. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { redactBody } from './redaction.ts'

const secretFields = new Set(['pin', 'Code2'])
const white = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\u00a0'), maxLength: 2 })
const spelled = (name: string) =>
  fc
    .tuple(white, fc.array(fc.boolean(), { minLength: name.length, maxLength: name.length }), white)
    .map(([before, upper, after]) => {
      const letters = [...name].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter))
      return before + letters.join('') + after
    })

test('no spelling of a secret field by case or white space reveals its value', () => {
  const filters = ['pin[in]', 'person.pin', 'person.pin[gte]', 'metadata[pin]', 'a.Code2']
  const names = fc.oneof(spelled('pin'), spelled('password'), fc.constantFrom('Code2', ...filters))
  fc.assert(
    fc.property(names, (name) => {
      const { value } = redactBody({ list: [{ [name]: 'hidden-value' }], other: 7 }, secretFields)
      assert.ok(!JSON.stringify(value).includes('hidden-value'), JSON.stringify(name))
      assert.equal((value as { other: number }).other, 7)
    }),
  )
})

test('a JSON text as a value is hidden, however often it is encoded', () => {
  let text = JSON.stringify({ password: 'hidden-value' })
  for (let n = 0; n < 4; n++) {
    for (const body of [text, { body: text }, [` \n${text}`]]) {
      const { value } = redactBody(body, secretFields)
      assert.ok(!JSON.stringify(value).includes('hidden-value'), text)
    }
    text = JSON.stringify(text)
  }
  const { value } = redactBody({ title: 'Re: [draft] a note: "x"' }, secretFields)
  assert.deepEqual(value, { title: 'Re: [draft] a note: "x"' })
})

test('a member of another name keeps its value', () => {
  const { value } = redactBody({ pins: 'a', pi: 'b', ' name ': 'c' }, secretFields)
  assert.deepEqual(value, { pins: 'a', pi: 'b', ' name ': 'c' })
})

test('bytes are logged as their number, and characters as their text', () => {
  const bytes = new Uint8Array([52, 49, 49, 49])
  const input = { bytes, view: new DataView(bytes.buffer, 1), buffer: bytes.buffer }
  const shared = new SharedArrayBuffer(5)
  const { value } = redactBody({ ...input, shared, text: new String('ab') }, secretFields)
  assert.deepEqual(value, {
    bytes: '[4 bytes]',
    view: '[3 bytes]',
    buffer: '[4 bytes]',
    shared: '[5 bytes]',
    text: 'ab',
  })
})

test('a copy reads no more members than its excerpt has, of any value', () => {
  let reads = 0
  const count = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, name) {
        reads++
        return Reflect.get(of, name)
      },
    })
  const cycle: Record<string, unknown> = {}
  for (let n = 0; n < 100; n++) cycle[`m${n}`] = cycle
  const members = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`m${n}`, []]))
  for (const value of [
    count(Array.from({ length: 100_000 }, () => [])),
    count(Array.from({ length: 100_000 }, () => ({}))),
    count(new Array(1e8)),
    count(members),
    cycle,
  ]) {
    reads = 0
    assert.equal(redactBody(value, secretFields).truncated, true)
    assert.ok(reads < 10_000, `${reads} reads`)
  }
})
