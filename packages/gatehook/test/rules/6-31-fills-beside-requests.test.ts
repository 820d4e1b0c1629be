/** §6.31, §7.12: a fill beside requests writes what its marks name, rests, and is resumed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachMigrated, migratedUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { type AwaitedFills, createAwaitedFills } from '../../src/declare/resources/awaited-fills.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import { service } from '../../src/declare/resources/service.ts'
import { type Clock, wallClock } from '../../src/kernel/clock.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { f } from '../../src/protocol/fields/f.ts'

const options = {
  access: { read: 'r', create: 'w', update: 'w', delete: 'w' },
  events: [],
} as const
const list = { filter: [], sort: [] } as const
const count = f.int().default(1)
const { definition } = service({
  name: 'till',
  versions: { v1: { released: '2025-01-01' } },
  resources: [
    resource('guests', {
      ...options,
      fields: { id: f.id(), mail: f.email(), count, key: f.computed(f.int().unique()).stored() },
      list,
    }).compute('key', (row) => row.count),
    resource('lines', {
      ...options,
      fields: { id: f.id(), text: f.string(), count, double: f.computed(f.int()).stored() },
      list,
      search: ['text'],
    }).compute('double', (row) => row.count * 2),
  ],
})
const ROWS = 1_200
/** The value of the mark of words. */
const WORDS = 'text 1'

/** Rows without the values that the fill writes. */
async function createLines(db: Database, rows: number): Promise<void> {
  await migrateService(db, definition)
  await db.write(async (tx) => {
    for (let n = 1; n <= rows; n++) {
      await tx.run(sql`INSERT INTO lines (scope, text, count, double) VALUES (2, 'plum', 5, 0)`)
    }
  })
}

const createFills = (db: Database, clock: Clock = wallClock, lookMs?: number) =>
  createAwaitedFills({ db, clock, log: quietLog, service: definition, ...(lookMs && { lookMs }) })

const mark = (db: Database, ...marks: readonly (readonly [resource: string, value: string])[]) =>
  db.write(async (tx) => {
    for (const [name, value] of marks) {
      await tx.run(sql`INSERT INTO gh_awaited_fills (resource, value) VALUES (${name}, ${value})`)
    }
  })

const hasWork = async (db: Database, { polled }: AwaitedFills) => {
  const [[work] = []] = await db.arrays(sql`SELECT ${polled[0]!.select()}`)
  return Number(work) > 0
}

const countDoubles = async (db: Database) =>
  Number((await db.get(sql`SELECT count(*) AS n FROM lines WHERE double = 10`))!.n)
const wordsOf = async (db: Database) =>
  (await db.arrays(sql`SELECT word FROM gh_words_lines ORDER BY word`)).flat()

eachMigrated('a mark of a computed field rewrites no words', async (db) => {
  await createLines(db, 1)
  const fills = createFills(db)
  // A node that lacks a column does not know whether it needs a fill.
  await mark(db, ['lines', 'double'], ['lines', 'count'])
  await fills.run()
  assert.deepEqual([await countDoubles(db), await wordsOf(db)], [1, []])
  assert.equal(await hasWork(db, fills), false)
})

eachMigrated('a node that ends before it writes words leaves them to the next run', async (db) => {
  await createLines(db, 1)
  const fills = createFills(db)
  await mark(db, ['lines', WORDS])
  await fills.run(async () => false)
  assert.deepEqual([await countDoubles(db), await wordsOf(db)], [0, []])
  assert.equal(await hasWork(db, fills), true)
  await fills.run()
  assert.deepEqual([await countDoubles(db), await wordsOf(db)], [0, ['plum']])
  assert.equal(await hasWork(db, fills), false)
})

test('a stop ends the rest after a batch, and the next run resumes [postgres]', async (t) => {
  const db = await openForTest(t, await migratedUrl(t, 'postgres'))
  await createLines(db, ROWS)
  await mark(db, ['lines', 'double'])
  let elapsedMs = 0
  // Each batch takes hours of this clock, and so does the rest.
  const clock = { now: wallClock.now, elapsedMs: () => (elapsedMs += 1e7) }
  const fills = createFills(db, clock, 1)
  fills.polled[0]!.receive(1, 0)
  await fills.start()
  await eventually(
    () => countDoubles(db),
    (rows) => rows > 0,
  )
  await fills.stop()
  assert.equal(await countDoubles(db), 500)
  assert.equal(await hasWork(db, fills), true)
  await createFills(db).run()
  assert.equal(await countDoubles(db), ROWS)
})

test('rows with the right folded text are not written [postgres]', async (t) => {
  const db = await openForTest(t, await migratedUrl(t, 'postgres'))
  await migrateService(db, definition)
  await db.write((tx) =>
    tx.run(sql`INSERT INTO guests (scope, mail, gh_folded_mail, count, key) VALUES
      (2, 'A@x.example', 'a@x.example', 1, 1), (2, 'B@x.example', '', 2, 2)`),
  )
  // `xmin` is the transaction that wrote the row.
  const read = () => db.arrays(sql`SELECT gh_folded_mail, xmin::text FROM guests ORDER BY id`)
  const [right, wrong] = await read()
  await mark(db, ['guests', 'gh_folded_mail'])
  await createFills(db).run()
  const [unchanged, folded] = await read()
  assert.deepEqual(unchanged, right)
  assert.equal(folded![0], 'b@x.example')
  assert.notEqual(folded![1], wrong![1])
})

eachMigrated('equal values in a unique index delay no other resource', async (db) => {
  await createLines(db, 1)
  await db.write((tx) =>
    tx.run(sql`INSERT INTO guests (scope, mail, count, key) VALUES
      (2, 'a@x.example', 7, 1), (2, 'b@x.example', 7, 2)`),
  )
  await mark(db, ['guests', 'key'], ['lines', 'double'], ['lines', WORDS])
  const fills = createFills(db)
  await fills.run()
  assert.deepEqual([await countDoubles(db), await wordsOf(db)], [1, ['plum']])
  assert.deepEqual(await db.arrays(sql`SELECT key FROM guests ORDER BY id`), [[1], [2]])
  assert.equal(await hasWork(db, fills), true)
  await db.write((tx) => tx.run(sql`UPDATE guests SET count = 8 WHERE mail = 'b@x.example'`))
  await fills.run()
  assert.deepEqual(await db.arrays(sql`SELECT key FROM guests ORDER BY id`), [[7], [8]])
})
