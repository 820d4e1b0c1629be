/** §6.31: a start computes a new stored field of all rows, in batches that it resumes. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import {
  describePending,
  migrateService,
  planMigration,
} from '../../src/declare/resources/migrate.ts'
import { planStatements } from '../../src/declare/resources/migration-plan.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import { service } from '../../src/declare/resources/service.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { DeclarationError } from '../../src/protocol/fields/declaration-mistakes.ts'
import { f } from '../../src/protocol/fields/f.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: false } as const
const fields = { id: f.id(), price: f.decimal(12, 2), count: f.int() }
const ROWS = 1_200

function declare(compute?: (row: { price: string; count: number }) => number) {
  const total = f.computed(f.int().max(5_000).default(0)).stored()
  const options = { access, events: [] }
  const lines = compute
    ? resource('lines', {
        ...options,
        fields: { ...fields, total },
        list: { filter: ['total'], sort: [] },
      }).compute('total', compute)
    : resource('lines', { ...options, fields, list: { filter: [], sort: [] } })
  const versions = { v1: { released: '2025-01-01' } }
  return service({ name: 'till', versions, resources: [lines] }).definition
}

/** Creates the table with rows of several customers. */
async function createLines(db: Database): Promise<void> {
  await migrateService(db, declare())
  await db.write(async (tx) => {
    for (let n = 1; n <= ROWS; n++) {
      await tx.run(sql`INSERT INTO lines (scope, price, count) VALUES (${n % 3}, ${n * 100}, 2)`)
    }
  })
}

const countWrong = async (db: Database) =>
  Number((await db.get(sql`SELECT count(*) AS n FROM lines WHERE total <> price / 50`))!.n)

const double = ({ price, count }: { price: string; count: number }) => Number(price) * count

eachMigrated('a start computes a new stored field of all rows', async (db) => {
  await createLines(db)
  const next = declare(double)
  const plan = (await planStatements(db, next)).statements.map((statement) => statement.sql)
  assert.ok(
    plan.includes('compute the stored fields of all rows of lines, 500 in each transaction'),
  )
  const lines: string[] = []
  await migrateService(db, next, (line) => lines.push(line))
  assert.deepEqual(lines, [
    'table lines: column total, index lines_by_total',
    `table lines: total of ${ROWS} rows computed`,
  ])
  assert.equal(await countWrong(db), 0)
  assert.deepEqual(await planMigration(db, next), [])
  await db.write((tx) => tx.run(sql`UPDATE lines SET total = 1 WHERE id = 1`))
  await migrateService(db, next)
  assert.equal(await countWrong(db), 1, 'a later start computes nothing')
})

eachMigrated('a start whose own code fails stops, and the next start resumes', async (db) => {
  await createLines(db)
  let runs = 0
  const failing = declare((row) => {
    runs++
    if (row.price === '899.00') throw new Error('no price of this line')
    return double(row)
  })
  await assert.rejects(migrateService(db, failing), (error) => {
    assert.ok(error instanceof DeclarationError)
    assert.match(error.message, /computed fields of lines cannot be added: row 899: no price of/)
    return true
  })
  assert.deepEqual((await planMigration(db, failing)).flatMap(describePending), [
    'computed fields of table lines',
  ])
  runs = 0
  const corrected = declare((row) => {
    runs++
    return double(row)
  })
  await migrateService(db, corrected)
  assert.equal(await countWrong(db), 0)
  assert.ok(runs < ROWS, `${runs} rows`)
})

eachMigrated('a value that the field rejects stops the start', async (db) => {
  await createLines(db)
  const tooLarge = declare((row) => double(row) + 4_999)
  await assert.rejects(migrateService(db, tooLarge), /computed fields of lines cannot be added/)
})
