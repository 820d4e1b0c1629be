import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ITEMS_BYTES_MAX } from '../http/answer-budget.ts'
import { mostRows } from './wide-rows.ts'

/** Bytes that the database stores of a row whose JSON has six bytes for each character. */
const storedBytes = (maxRowBytes: number) => maxRowBytes / 2

test('the largest rows of one read fit into a response, or it reads one row', () => {
  for (const maxRowBytes of [200, 90_000, 400_000, 6 * 2 ** 20, 6 * 2 ** 24]) {
    const rows = mostRows({ maxRowBytes })
    assert.ok(rows === 1 || rows * storedBytes(maxRowBytes) <= ITEMS_BYTES_MAX, `${maxRowBytes}`)
  }
  assert.equal(mostRows({ maxRowBytes: 6 * 2 ** 24 }), 1)
})
