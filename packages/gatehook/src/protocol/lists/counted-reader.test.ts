/** §11.5: a list takes its share for the rows of a long read, whatever its page has. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Reader } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { createCallWork } from '../http/call-work.ts'
import { BoundsExceeded } from './bounds.ts'
import type { Collection } from './collection.ts'
import { countRows } from './counted-reader.ts'
import type { ListRequest } from './grammar.ts'
import { type ListSource, readCursorPage } from './page.ts'

const statement = prepareStatement('SELECT 1 AS one')([])
const readerOf = (count: number) =>
  ({ arrays: async () => Array.from({ length: count }, () => [1]) }) as unknown as Reader

test('the rows of a statement are work beyond that of any request', async () => {
  let workMs = 0
  const share = { restMs: () => 0, addWork: (_: unknown, ms: number) => (workMs += ms) }
  const work = createCallWork('group', share, { elapsedMs: () => 0 })
  await countRows(readerOf(400), work).arrays(statement)
  assert.equal(workMs, 0)
  const rows = await countRows(readerOf(48_000), work).arrays(statement)
  assert.equal(rows.length, 48_000)
  assert.ok(workMs > 60 && workMs < 100, String(workMs))
})

test('every long read of a list has this reader', async () => {
  const counts: number[] = []
  const work = {
    measure: (encode: unknown) => encode,
    count: (bytes: number) => void counts.push(bytes),
  }
  const collection = {
    name: 'rows',
    columns: [
      { name: 'id', kind: 'int' },
      { name: 'a', kind: 'int' },
    ],
    indexes: [],
    scoped: true,
  } as unknown as Collection
  const filters = [{ column: 'a', operator: 'ne', values: [1] }]
  const sort = [{ column: 'id', descending: false }]
  const request = { filters, terms: [], sort, limit: 1 } as unknown as ListRequest
  const db = {
    snapshot: () => Promise.reject(new BoundsExceeded('examined')),
    longRead: (_: unknown, read: (reader: Reader) => Promise<unknown>) => read(readerOf(7)),
  } as unknown as ListSource
  const rowScope = { scope: 1, owner: undefined }
  const task = { db, customer: 1, collection, rowScope, request, encode: () => '1', work }
  await readCursorPage(task as never, undefined)
  assert.ok(counts.includes(7 * 60), JSON.stringify(counts))
})
