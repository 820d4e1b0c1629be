import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isListField, isSortField, readListOptions } from './list-options.ts'

test('a field has an index unless each entry says index: false', () => {
  const options = readListOptions({
    filter: ['a', { field: 'b', index: false }],
    sort: ['c', ['a', 'c'], { field: 'd', index: false }],
  })
  assert.deepEqual(options, {
    filter: ['a', 'b'],
    filterIndexes: ['a'],
    prefix: [],
    contains: [],
    sort: ['c', 'a', 'd'],
    sortIndexes: [['c'], ['a', 'c']],
    related: { filter: [], sort: [], filterIndexes: [], sortIndexes: [] },
  })
})

test('plain JavaScript declares names, tuples and { field, index: false } only', () => {
  assert.ok(['a', { field: 'a', index: false }].every(isListField))
  assert.ok(['a', ['a', 'b'], { field: 'a', index: false }].every(isSortField))
  const others = [null, 7, {}, { field: 'a' }, { field: 'a', index: true }, { index: false }]
  assert.ok(!others.some(isListField))
  assert.ok(![...others, ['a', 7]].some(isSortField))
})
