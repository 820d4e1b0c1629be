/** Migrations of the engine: once, in order and atomically; one schema on both databases. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  databases,
  eachDatabase,
  freshUrl,
  openForTest,
  type TestDatabase,
} from '../../../../test/rig/databases.ts'
import {
  engineSchema,
  engineTables,
  migrateEngine,
  pendingMigrations,
} from '../../src/engine-tables.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import {
  type AppliedChange,
  migrateSchema,
  pendingChanges,
  type Schema,
} from '../../src/platform/storage/migrate.ts'
import type { Migration } from '../../src/platform/storage/migrations.ts'
import { readSetting, writeSetting } from '../../src/platform/storage/settings.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { text } from '../../src/platform/storage/table.ts'

const clock = wallClock
const TABLES = 1

const LIST_TABLES = {
  sqlite: sql`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'`,
  postgres: sql`SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p')
    AND NOT relispartition AND relnamespace = current_schema()::regnamespace`,
} as const

/** Tables, columns and indexes as the catalog of the database has them. */
async function schemaOf(db: Database) {
  const schema: Record<string, { columns: unknown[]; indexes: string[] }> = {}
  for (const { name } of await db.all<{ name: string }>(LIST_TABLES[db.name])) {
    const columns = (await db.columns(name)).map(({ declaredType: _, ...column }) => column)
    schema[name] = { columns, indexes: await db.indexes(name) }
  }
  return schema
}

const numbersOf = (list: readonly AppliedChange[]) => list.map(({ number }) => number)

eachDatabase('the tables are created, reported and recorded, once', async (db) => {
  assert.deepEqual(numbersOf(await pendingMigrations(db)), [TABLES])
  const reported: number[] = []
  const onProgress = ({ number }: AppliedChange) => void reported.push(number)
  const first = await migrateEngine(db, { clock, onProgress })
  assert.deepEqual([numbersOf(first.applied), first.version], [[TABLES], TABLES])
  assert.deepEqual(reported, [TABLES])
  assert.deepEqual(await pendingMigrations(db), [])
  assert.deepEqual(await migrateEngine(db, { clock }), { applied: [], version: TABLES })
})

/**
 * Feeds and lists of events are read by transaction id on PostgreSQL only. There, events and
 * deliveries are partitioned by id, so that their key is the id, and positions have an index.
 * Idempotency records expire by partition, except for those with secrets.
 */
const POSTGRES_INDEXES = [
  'gh_events_feed',
  'gh_events_types',
  'gh_revocations_feed',
  'gh_events_position',
  'gh_idempotency_secret',
]
const SQLITE_INDEXES = [
  'gh_events_key',
  'gh_events_type',
  'gh_deliveries_key',
  'gh_idempotency_expiry',
]
/** On SQLite, monitoring has a file of its own. */
const isShared = (table: string) => !table.startsWith('gh_monitoring_')

test('both databases have the same tables, columns, nullability and indexes', async (t) => {
  const open = async (database: TestDatabase) => schemaOf(await database.openMigrated(t))
  const [sqlite, postgres] = await Promise.all(databases.map(open))
  const tables = Object.keys(sqlite!)
  assert.ok(tables.length > 5)
  assert.deepEqual(tables.sort(), Object.keys(postgres!).filter(isShared).sort())
  for (const table of tables) {
    const { columns, indexes } = postgres![table]!
    assert.notEqual(columns.length, 0, table)
    const shared = indexes.filter((name) => !POSTGRES_INDEXES.includes(name))
    const own = sqlite![table]!
    const compared = own.indexes.filter((name) => !SQLITE_INDEXES.includes(name))
    assert.deepEqual({ ...own, indexes: compared }, { columns, indexes: shared }, table)
  }
})

/** A change of a later release, as its migration and as its declaration. */
const EXTRA: Migration = {
  number: 2,
  name: 'extra',
  sql: `ALTER TABLE gh_settings ADD note {text};
    CREATE INDEX gh_settings_note ON gh_settings (note)`,
}
const next = (migration = EXTRA): Schema => ({
  tables: engineTables.map((table) =>
    table.name === 'gh_settings'
      ? {
          ...table,
          columns: { ...table.columns, note: text.plain.orNull },
          indexes: { note: { on: 'note', serves: 'notes' } },
        }
      : table,
  ),
  migrations: [migration],
})

for (const database of databases) {
  test(`a migration gives the schema of a new database [${database.name}]`, async (t) => {
    const [old, fresh] = [await database.open(t), await database.open(t)]
    await migrateEngine(old, { clock })
    const { applied, version } = await migrateSchema(old, next(), { clock })
    assert.deepEqual([numbersOf(applied), version], [[2], 2])
    const created = await migrateSchema(fresh, next(), { clock })
    assert.deepEqual([numbersOf(created.applied), created.version], [[TABLES, 2], 2])
    assert.deepEqual(await schemaOf(old), await schemaOf(fresh))
    assert.ok((await old.indexes('gh_settings')).includes('gh_settings_note'))
    assert.deepEqual(await migrateSchema(fresh, next(), { clock }), { applied: [], version: 2 })
  })

  test(`of two concurrent starts, one migrates [${database.name}]`, async (t) => {
    const url = await freshUrl(t, database.name)
    const both = await Promise.all([openForTest(t, url), openForTest(t, url)])
    const results = await Promise.all(both.map((db) => migrateEngine(db, { clock })))
    assert.deepEqual(results.map(({ applied }) => applied.length).sort(), [0, 1])
  })
}

eachDatabase('a failed creation or migration leaves no table', async (db) => {
  const broken = { number: 2, name: 'broken', sql: 'CREATE TABLE gh_x (a {int}); NONSENSE' }
  const gh_y = { ...engineTables[0]!, name: 'gh_y; NONSENSE' }
  const unusable = { ...engineSchema, tables: [...engineTables, gh_y] }
  await assert.rejects(migrateSchema(db, unusable, { clock }))
  assert.deepEqual(await db.columns('gh_migrations'), [])
  assert.deepEqual(numbersOf((await migrateEngine(db, { clock })).applied), [TABLES])
  await assert.rejects(migrateSchema(db, next(broken), { clock }))
  assert.deepEqual(await db.columns('gh_x'), [])
  assert.deepEqual(numbersOf(await pendingChanges(db, next())), [2])
})

eachDatabase('the database of a newer release is rejected and unchanged', async (db) => {
  await migrateSchema(db, next(), { clock })
  await assert.rejects(migrateEngine(db, { clock }), { name: 'StorageError', message: /newer/ })
  await assert.rejects(pendingMigrations(db), { name: 'StorageError' })
})

eachDatabase('a node runs beside an additive migration, and starts after it', async (db) => {
  await migrateEngine(db, { clock })
  await db.write((tx) => writeSetting(tx, 'a', 1))
  await migrateSchema(db, next({ ...EXTRA, additive: true }), { clock })
  await db.write((tx) => writeSetting(tx, 'a', 2))
  assert.equal(await readSetting(db, 'a'), 2)
  assert.deepEqual(await migrateEngine(db, { clock }), { applied: [], version: TABLES })
  assert.deepEqual(await pendingMigrations(db), [])
})

eachDatabase('a migration that was edited after its application is rejected', async (db) => {
  await migrateSchema(db, next(), { clock })
  const edited = next({ ...EXTRA, sql: `${EXTRA.sql}; SELECT 1` })
  const expectedError = { name: 'StorageError', message: /^Migration 2 .*edited/ }
  await assert.rejects(migrateSchema(db, edited, { clock }), expectedError)
  await assert.rejects(pendingChanges(db, edited), expectedError)
})

eachDatabase('statements prepared before a new column still work', async (db) => {
  await migrateEngine(db, { clock })
  const star = sql`SELECT * FROM gh_settings WHERE name = 'a'`
  await db.write((tx) => writeSetting(tx, 'a', 1))
  for (let n = 0; n < 10; n++) {
    await db.all(star)
    await db.write((tx) => tx.all(star))
  }
  await migrateSchema(db, next(), { clock })
  const expected = [{ name: 'a', value: '1', note: null }]
  assert.deepEqual(await Promise.all([db.all(star), db.all(star)]), [expected, expected])
  assert.deepEqual(await db.write((tx) => tx.all(star)), expected)
})

eachDatabase('a setting is stored as JSON and can be replaced', async (db) => {
  await migrateEngine(db, { clock })
  assert.equal(await readSetting(db, 'clock'), undefined)
  await db.write((tx) => writeSetting(tx, 'clock', { offsetMs: 1 }))
  await db.write((tx) => writeSetting(tx, 'clock', { offsetMs: 2, frozenAtMs: null }))
  assert.deepEqual(await readSetting(db, 'clock'), { offsetMs: 2, frozenAtMs: null })
  assert.deepEqual(await db.write((tx) => readSetting(tx, 'clock')), {
    offsetMs: 2,
    frozenAtMs: null,
  })
})
