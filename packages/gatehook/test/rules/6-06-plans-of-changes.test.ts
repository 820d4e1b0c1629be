/** §6.6: `gatehook migrate --plan` lists statements, locks and estimates, and changes nothing. */
import assert from 'node:assert/strict'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { planStatements } from '../../src/declare/resources/migration-plan.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import { type MigrationOptions, service } from '../../src/declare/resources/service.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { f } from '../../src/protocol/fields/f.ts'
import type { AnyField } from '../../src/protocol/fields/fields.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: false } as const

function declare(more: Record<string, AnyField>, migrations: MigrationOptions[] = []) {
  const names = Object.keys(more) as 'id'[]
  const notes = resource('notes', {
    fields: { id: f.id(), text: f.string(), ...more },
    list: { filter: names, sort: ['id'] },
    access,
    events: [],
  })
  const versions = { v1: { released: '2026-01-01' } }
  return service({ name: 'n', versions, resources: [notes], migrations }).definition
}

const addRows = sql`INSERT INTO notes (scope, text) VALUES (2, 'a'), (2, 'b')`

eachDatabase('a plan has the locks and estimates of additions', async (db) => {
  await migrateEngine(db, { clock: wallClock })
  await migrateService(db, declare({}))
  await db.write((tx) => tx.run(addRows))
  if (db.name === 'postgres') await db.all(sql`ANALYZE notes`)
  const next = declare({ size: f.int().default(0) })
  const { statements, rejected, dependent } = await planStatements(db, next)
  assert.deepEqual([rejected, dependent], [[], []])
  const [column, index] = statements
  assert.equal(statements.length, 2)
  assert.match(column!.sql, /^ALTER TABLE notes ADD COLUMN size/)
  assert.deepEqual([column!.rows, column!.seconds, column!.runs], [0, 0, 'at start'])
  assert.deepEqual([index!.rows, index!.seconds, index!.table], [2, 1, 'notes'])
  const expected =
    db.name === 'postgres'
      ? [
          'reads and writes',
          'CREATE INDEX CONCURRENTLY notes_by_size ON notes (scope, size, id)',
          'SHARE UPDATE EXCLUSIVE',
          'nothing',
          'while the service runs',
        ]
      : [
          'writes',
          'CREATE INDEX notes_by_size ON notes (scope, size)',
          'the database file',
          'writes',
          'at start',
        ]
  const { sql: text, lock, blocks, runs } = index!
  assert.deepEqual([column!.blocks, text, lock, blocks, runs], expected)
  const names = (await db.columns('notes')).map(({ name }) => name)
  assert.deepEqual(names, ['scope', 'id', 'text'], 'nothing changed')
  await migrateService(db, next)
  assert.deepEqual((await planStatements(db, next)).statements, [])
})

eachDatabase('a plan has reviewed migrations, and changes that need one', async (db) => {
  assert.ok((await planStatements(db, declare({}))).statements.length > 50, 'a new database')
  await migrateEngine(db, { clock: wallClock })
  await migrateService(db, declare({ size: f.int().default(0) }))
  const refused = await planStatements(db, declare({}))
  assert.match(refused.rejected[0]!, /^notes\.size holds data/)
  const text = 'UPDATE notes SET size = 1; ALTER TABLE notes DROP COLUMN size'
  const migration = { number: 1, name: 'no size', table: 'notes', sql: `DROP INDEX x; ${text}` }
  const plan = await planStatements(db, declare({}, [migration]))
  assert.deepEqual(
    plan.statements.map(({ sql: statement, origin }) => [statement, origin]),
    ['DROP INDEX x', ...text.split('; ')].map((part) => [part, 'migration 1 no size']),
  )
  assert.deepEqual([plan.rejected, plan.dependent], [[], ['notes']])
})

eachDatabase('work in batches has the locks of its database', async (db) => {
  await migrateEngine(db, { clock: wallClock })
  await migrateService(db, declare({}))
  const notes = resource('notes', {
    fields: { id: f.id(), text: f.string() },
    list: { filter: [], sort: ['id'] },
    search: ['text'],
    access,
    events: [],
  })
  const versions = { v1: { released: '2026-01-01' } }
  const next = service({ name: 'n', versions, resources: [notes] }).definition
  const { statements } = await planStatements(db, next)
  const words = statements.find(({ sql: text }) => text.startsWith('index the words'))
  const expected =
    db.name === 'postgres' ? ['ROW EXCLUSIVE', 'nothing'] : ['the database file', 'writes']
  assert.deepEqual([words!.lock, words!.blocks], expected)
})

eachDatabase('a plan has the search index of each table that a migration changes', async (db) => {
  const declareBoth = (migrations: MigrationOptions[]) => {
    const tables = ['notes', 'letters', 'cards'].map((name) =>
      resource(name, {
        fields: { id: f.id(), text: f.string() },
        list: { filter: [], sort: ['id'] },
        search: ['text'],
        access,
        events: [],
      }),
    )
    const versions = { v1: { released: '2026-01-01' } }
    return service({ name: 'n', versions, resources: tables, migrations }).definition
  }
  await migrateEngine(db, { clock: wallClock })
  await migrateService(db, declareBoth([]))
  const text = "UPDATE notes SET text = 'a'; UPDATE letters SET text = 'a'"
  const next = declareBoth([{ number: 1, name: 'same', table: 'notes', sql: text }])
  const work = (await planStatements(db, next)).statements.map(({ sql: words }) => words)
  assert.deepEqual(work, [
    ...text.split('; '),
    'index the words of all rows of notes, 1,000 in each transaction',
    'index the words of all rows of letters, 1,000 in each transaction',
  ])
  await migrateService(db, next)
  assert.deepEqual((await planStatements(db, next)).statements, [])
})
