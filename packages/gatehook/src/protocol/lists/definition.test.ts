/** A list follows from its definition: columns, JSON, hidden columns, members of other tables. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { b } from '../fields/members.ts'
import { addMembers, createList, inOrderOf, itemOf } from './definition.ts'

const list = createList({
  row: b.object({ id: b.text(), alias: b.text().nullable(), at: b.time(), total: b.int(0) }),
  path: '/things',
  name: 'things',
  table: 'gh_things',
  filter: ['id'],
  sort: ['id'],
  repeated: { alias: 'name' },
  hidden: [{ name: 'name', type: 'text' }],
  added: ['total'],
})
const row = ['t1', 0, 'Ada']
const stored = { id: 't1', alias: 'Ada', at: '1970-01-01T00:00:00.000Z' }
const reader = {} as Reader

/** Returns a group of added members, and the rows of each read. */
function recordReads(name: string) {
  const reads: (readonly Row[])[] = []
  const read = async (_: Reader, rows: readonly Row[]) => {
    reads.push(rows)
    return rows.map(({ name: owner }) => ({ [name]: `${owner} ${rows.length}` }))
  }
  return { reads, group: { names: [name], read } }
}

test('columns are the members without added and repeated ones, then the hidden columns', () => {
  const { collection, view } = list
  assert.deepEqual(
    collection.columns.map(({ name }) => name),
    ['id', 'at', 'name'],
  )
  assert.deepEqual(view.fields, ['id', 'alias', 'at', 'total'])
  assert.deepEqual(JSON.parse(view.item(row, {})), stored)
  const item = view.item(row, { fields: new Set(['alias', 'total']), links: true })
  assert.deepEqual(JSON.parse(item), { alias: 'Ada', _links: { self: '/things/t1' } })
})

test('a list in the order of another column has the same items', () => {
  const { collection, view } = inOrderOf({ name: 'no', type: 'int' }, list)
  assert.equal(collection.columns[0]!.name, 'no')
  assert.deepEqual(view.renamed, { id: 'no' })
  assert.deepEqual(JSON.parse(view.item([7, ...row], {})), stored)
})

test('added members are read once for all rows, from cells that the JSON lacks', async () => {
  const { reads, group } = recordReads('total')
  const { read } = addMembers(list.collection, [group])
  const members = await read(reader, [row, ['t2', 0, 'Bo']], 0)
  assert.deepEqual(members, ['"total":"Ada 2"', '"total":"Bo 2"'])
  assert.equal(reads.length, 1)
  const item = await itemOf(reader, list, row, [group])
  assert.deepEqual(JSON.parse(item), { ...stored, total: 'Ada 1' })
})

test('added members that the request does not select are not read', async () => {
  const [selected, other] = [recordReads('total'), recordReads('other')]
  const { read } = addMembers(list.collection, [selected.group, other.group])
  const fields = new Set(['id', 'total'])
  assert.deepEqual(await read(reader, [row], 0, fields), ['"total":"Ada 1"'])
  assert.deepEqual([selected.reads.length, other.reads.length], [1, 0])
})
