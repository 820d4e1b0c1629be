/** Readers of whole tables bound the bytes of a page: callers size the values of rows. */
import assert from 'node:assert/strict'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import { CustomerRows, type RowPosition } from '../../src/platform/storage/customer-rows.ts'
import type { Database, Reader, Value } from '../../src/platform/storage/database.ts'
import { createRowPages } from '../../src/platform/storage/key-pages.ts'
import { TableReader } from '../../src/platform/storage/move/tables.ts'
import { PAGE_BYTES } from '../../src/platform/storage/page-bytes.ts'
import { prepareStatement } from '../../src/platform/storage/sql.ts'
import { byScope, bytes, int, text } from '../../src/platform/storage/table.ts'
import { bytesOfRows } from './read-bytes.ts'

const HALF = PAGE_BYTES / 2
/** Rows that fill pages together, one that is larger than a page, and small ones. */
const SIZES = [10, HALF, HALF - 64, 20, PAGE_BYTES + 8, 30, HALF, HALF, HALF, 40, 50]
const OWN_IDS = SIZES.map((_, place) => 2 * place)
const ALL_IDS = OWN_IDS.flatMap((id) => [id, id + 1])
const OWN = 2
const OTHER = 4

/** Creates rows of a customer, and between them as many of another one. */
async function createCrates(db: Database, key: readonly string[]): Promise<void> {
  const types = db.dialect.types
  await db.migrate((_, ddl) =>
    ddl(`CREATE TABLE crates (scope ${types.int} NOT NULL, id ${types.int} NOT NULL,
      words ${types.text} NOT NULL, data ${types.bytes}, PRIMARY KEY (${key.join(', ')}))`),
  )
  const insert = prepareStatement('INSERT INTO crates VALUES (?, ?, ?, ?)')
  for (const [place, size] of SIZES.entries()) {
    const isText = place % 2 === 0
    const cells = isText ? ['ж'.repeat(size / 2), null] : ['', Buffer.alloc(size)]
    await db.write(async (tx) => {
      await tx.run(insert([OWN, 2 * place, ...cells]))
      await tx.run(insert([OTHER, 2 * place + 1, ...cells]))
    })
  }
}

interface Page {
  readonly rows: readonly (readonly Value[])[]
  readonly next: unknown
}

/** Reads all pages, and returns the ids. No statement may read more bytes than a page has. */
async function readAll<P extends Page>(
  idAt: number,
  readPage: (watch: <R extends Reader>(reader: R) => R, position: unknown) => Promise<P>,
): Promise<Value[]> {
  const ids: Value[] = []
  for (let position: unknown = undefined; ; ) {
    let largest = 0
    const watch = <R extends Reader>(reader: R): R => ({
      ...reader,
      async arrays(statement) {
        const rows = await reader.arrays(statement)
        largest = Math.max(largest, bytesOfRows(rows))
        return rows
      },
    })
    const { rows, next } = await readPage(watch, position)
    assert.ok(largest <= PAGE_BYTES || rows.length === 1, `${largest} bytes, ${rows.length} rows`)
    ids.push(...rows.map((row) => row[idAt]!))
    if (next === undefined) return ids
    position = next
  }
}

const declared = {
  ...{ name: 'crates', belongs: byScope },
  columns: { scope: int, id: int, words: text.personal, data: bytes.secret.orNull },
}

for (const key of [['scope', 'id'], ['id']]) {
  eachDatabase(`rows of a customer, by ${key}`, async (db) => {
    await createCrates(db, key)
    const rows = new CustomerRows({ ...declared, key }, Object.keys(declared.columns))
    const customer = { id: 'c', no: OWN / 2, scope: OWN }
    const ids = await readAll(1, (watch, position = { owner: 0 }) =>
      rows.page(watch(db), customer, position as RowPosition, 200),
    )
    assert.deepEqual(ids, OWN_IDS)
    const first = await rows.page(db, customer, { owner: 0 }, 1)
    assert.deepEqual([first.rows.length, first.rows[0]?.[1]], [1, 0])
  })
}

eachDatabase('rows of a customer, by an index of the rows that have one', async (db) => {
  const { types } = db.dialect
  await db.migrate(async (_, ddl) => {
    await ddl(`CREATE TABLE visits (id ${types.int} PRIMARY KEY, customer ${types.text})`)
    await ddl('CREATE INDEX visits_customer ON visits (customer, id) WHERE customer IS NOT NULL')
  })
  const customers = ['c', 'other', null, 'other', 'c', null]
  const insert = prepareStatement('INSERT INTO visits VALUES (?, ?)')
  for (const [id, customer] of customers.entries())
    await db.write((tx) => tx.run(insert([id, customer])))
  const on = { on: 'customer, id', where: 'customer IS NOT NULL', serves: 'those of a customer' }
  const rows = new CustomerRows({
    ...{ name: 'visits', key: ['id'], belongs: { customer: 'customer' }, indexes: { on } },
    columns: { id: int, customer: text.plain.orNull },
  })
  const read = async (hasUnowned: boolean) => {
    const examined: Value[] = []
    const reader: Reader = {
      ...db,
      async arrays(statement) {
        const heads = await db.arrays(statement)
        examined.push(...heads.map(([customer]) => customer!))
        return heads
      },
    }
    const place = { id: 'c', no: 1, hasUnowned }
    const page = await rows.page(reader, place, { owner: 0 }, 200)
    return { ids: page.rows.map((row) => row[1]), examined }
  }
  assert.deepEqual(await read(false), { ids: [0, 4], examined: ['c', 'c'] })
  assert.deepEqual(await read(true), { ids: [0, 2, 4, 5], examined: customers })
})

eachDatabase('rows that a fill locks', async (db) => {
  await createCrates(db, ['scope', 'id'])
  const columns = [
    { name: 'words', type: 'text' },
    { name: 'data', type: 'bytes' },
  ]
  const read = createRowPages(db, 'crates', 'words, data', columns)
  const ids = await readAll(1, (watch, after) =>
    db.write((tx) => read(watch(tx), after as readonly Value[] | undefined, 1_000)),
  )
  assert.deepEqual(ids, [...OWN_IDS, ...OWN_IDS.map((id) => id + 1)])
})

eachDatabase('rows that a move copies, and the bytes of changed ones', async (db) => {
  await createCrates(db, ['id'])
  const reader = new TableReader({
    ...{ name: 'crates', key: ['id'] },
    columns: await db.columns('crates'),
  })
  const ids = await readAll(1, (watch, after) =>
    reader.page(watch(db), after as readonly number[] | undefined),
  )
  assert.deepEqual(ids, ALL_IDS)
  const sizes = await reader.sizes(db, [[0], [8], [99]])
  assert.deepEqual(
    [...sizes],
    [
      ['0', SIZES[0]],
      ['8', SIZES[4]],
    ],
  )
})
