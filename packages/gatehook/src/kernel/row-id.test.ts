/** Ids of rows: their form, their order, and the texts that are none. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemRandom } from './random.ts'
import {
  createRowId,
  isPrefixedId,
  isRowId,
  lowestRowId,
  parseRowId,
  rowIdPattern,
} from './row-id.ts'

const random = systemRandom()
const prefix = fc.stringMatching(/^[a-z][a-z0-9]{0,7}$/)

test('an id has its prefix and form, and sorts by bytes in the order of time', () => {
  fc.assert(
    fc.property(prefix, fc.nat(2 ** 47), fc.nat(2 ** 46), (name, ms, laterMs) => {
      const [id, later] = [
        createRowId(name, ms, random),
        createRowId(name, ms + laterMs + 1, random),
      ]
      assert.ok(isPrefixedId(name, id), id)
      assert.match(id, new RegExp(rowIdPattern(name)))
      assert.equal(parseRowId(name, id), id)
      assert.ok(Buffer.compare(Buffer.from(id), Buffer.from(later)) < 0)
      assert.ok(lowestRowId(name) <= id && isPrefixedId(name, lowestRowId(name)))
    }),
  )
})

test('ids of one millisecond differ, by bytes of the injected randomness', () => {
  const ids = Array.from({ length: 1_000 }, () => createRowId('bk', 7, random))
  assert.equal(new Set(ids).size, 1_000)
  const zeros = { bytes: (length: number) => Buffer.alloc(length) }
  assert.equal(createRowId('bk', 0, zeros), lowestRowId('bk'))
})

test('a parsed text is the id of the kind, and no other text is one', () => {
  fc.assert(
    fc.property(prefix, fc.string({ maxLength: 40 }), (name, text) => {
      const isText = new RegExp(rowIdPattern(name)).test(text)
      assert.equal(parseRowId(name, text), isText ? text : undefined)
      assert.equal(
        parseRowId(name, `${name}_${text}`) !== undefined,
        /^[0-9A-Za-z]{22}$/.test(text),
      )
      const number = parseRowId(undefined, text)
      assert.equal(
        number === undefined,
        !/^[1-9][0-9]{0,15}$/.test(text) || Number(text) >= 2 ** 53,
      )
    }),
  )
  for (const text of ['0', '01', '-1', '1.0', '1e3', ' 1', '9007199254740993', '1'.repeat(17)])
    assert.equal(parseRowId(undefined, text), undefined, text)
  assert.equal(parseRowId(undefined, '9007199254740991'), Number.MAX_SAFE_INTEGER)
})

test('own code has ids of the kind of the resource', () => {
  const id = createRowId('bk', 7, random)
  assert.ok(isRowId('bk', id) && isRowId(undefined, 1))
  for (const value of [7, '7', `${id}1`, undefined, null, {}, [id]])
    assert.equal(isRowId('bk', value), false)
  for (const value of [id, '7', 0, -1, 1.5, Number.NaN, 2 ** 53, null])
    assert.equal(isRowId(undefined, value), false)
})
