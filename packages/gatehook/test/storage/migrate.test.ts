/** Migrations of the engine: once, in order and atomically; one schema on both databases. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  databases,
  eachDatabase,
  freshUrl,
  openForTest,
  type TestDatabase,
} from '../../../../test/rig/databases.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { migrateEngine, pendingMigrations } from '../../src/platform/storage/migrate.ts'
import { type Migration, migrations } from '../../src/platform/storage/migrations.ts'
import { readSetting, writeSetting } from '../../src/platform/storage/settings.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const clock = wallClock
/** The numbers of the files: not derived from the table that the engine reads. */
const numbers = readdirSync(join(import.meta.dirname, '../../src/platform/storage/migrations'))
  .map((file) => Number.parseInt(file, 10))
  .sort((a, b) => a - b)
const last = numbers.at(-1)!

const LIST_TABLES = {
  sqlite: sql`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'`,
  postgres: sql`SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p')
    AND NOT relispartition AND relnamespace = current_schema()::regnamespace`,
} as const

/** Tables, columns and indexes as the catalog of the database has them. */
async function schemaOf(db: Database) {
  const schema: Record<string, { columns: unknown[]; indexes: string[] }> = {}
  for (const { name } of await db.all<{ name: string }>(LIST_TABLES[db.name])) {
    schema[name] = { columns: await db.columns(name), indexes: await db.indexes(name) }
  }
  return schema
}

const numbersOf = (list: readonly Migration[]) => list.map(({ number }) => number)

eachDatabase('missing migrations are applied, reported and recorded, once', async (db) => {
  assert.deepEqual(numbersOf(await pendingMigrations(db)), numbers)
  const reported: number[] = []
  const onProgress = ({ number }: Migration) => void reported.push(number)
  const first = await migrateEngine(db, { clock, onProgress })
  assert.deepEqual([numbersOf(first.applied), first.version], [numbers, last])
  assert.deepEqual(reported, numbers)
  assert.deepEqual(await pendingMigrations(db), [])
  assert.deepEqual(await migrateEngine(db, { clock }), { applied: [], version: last })
})

/**
 * Feeds are read by transaction id on PostgreSQL only. There, events and deliveries are partitioned
 * by id, so that their key is the id, and numbers have an index. Idempotency records expire by
 * partition, except for those with secrets.
 */
const POSTGRES_INDEXES = [
  'gh_events_feed',
  'gh_revocations_feed',
  'gh_events_position',
  'gh_deliveries_no',
  'gh_idempotency_secret',
]
const SQLITE_INDEXES = ['gh_events_id', 'gh_deliveries_id', 'gh_idempotency_expiry']
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

const EXTRA: Migration = {
  number: last + 1,
  name: 'extra',
  sql: 'ALTER TABLE gh_settings ADD note {text}; CREATE INDEX gh_extra ON gh_settings(note)',
}

for (const database of databases) {
  test(`migrations one by one or at once give the same schema [${database.name}]`, async (t) => {
    const all = [...migrations, EXTRA]
    const old = await database.open(t)
    for (let n = 1; n <= all.length; n++) {
      await migrateEngine(old, { clock, migrations: all.slice(0, n) })
    }
    const fresh = await database.open(t)
    await migrateEngine(fresh, { clock, migrations: all })
    assert.deepEqual(await schemaOf(old), await schemaOf(fresh))
    assert.ok((await old.indexes('gh_settings')).includes('gh_extra'))
  })

  test(`of two concurrent starts, one migrates [${database.name}]`, async (t) => {
    const url = await freshUrl(t, database.name)
    const both = await Promise.all([openForTest(t, url), openForTest(t, url)])
    const results = await Promise.all(both.map((db) => migrateEngine(db, { clock })))
    const applied = results.map((result) => result.applied.length)
    assert.deepEqual(applied.sort(), [0, numbers.length])
  })
}

eachDatabase('a failed migration leaves no table', async (db) => {
  const broken = { number: last + 1, name: 'broken', sql: 'CREATE TABLE gh_x (a {int}); NONSENSE' }
  await assert.rejects(migrateEngine(db, { clock, migrations: [...migrations, broken] }))
  assert.deepEqual(await db.columns('gh_x'), [])
  assert.deepEqual(await db.columns('gh_migrations'), [])
  assert.deepEqual(numbersOf((await migrateEngine(db, { clock })).applied), numbers)
})

eachDatabase('the database of a newer release is rejected and unchanged', async (db) => {
  await migrateEngine(db, { clock, migrations: [...migrations, EXTRA] })
  await assert.rejects(migrateEngine(db, { clock }), { name: 'StorageError', message: /newer/ })
  await assert.rejects(pendingMigrations(db), { name: 'StorageError' })
})

eachDatabase('a release before an additive migration can use the database', async (db) => {
  await migrateEngine(db, { clock, migrations: [...migrations, { ...EXTRA, additive: true }] })
  assert.deepEqual(await migrateEngine(db, { clock }), { applied: [], version: last })
  assert.deepEqual(await pendingMigrations(db), [])
  await db.write((tx) => writeSetting(tx, 'a', 1))
})

eachDatabase('a migration that was edited after its application is rejected', async (db) => {
  await migrateEngine(db, { clock, migrations: [...migrations, EXTRA] })
  const edited = [...migrations, { ...EXTRA, sql: `${EXTRA.sql}; SELECT 1` }]
  const expectedError = {
    name: 'StorageError',
    message: new RegExp(`^Migration ${EXTRA.number} .*edited`),
  }
  await assert.rejects(migrateEngine(db, { clock, migrations: edited }), expectedError)
  await assert.rejects(pendingMigrations(db, edited), expectedError)
})

eachDatabase('missing checksums are added', async (db) => {
  await migrateEngine(db, { clock })
  await db.migrate(async (_tx, ddl) => {
    await ddl('ALTER TABLE gh_migrations DROP COLUMN checksum')
    await ddl('ALTER TABLE gh_migrations DROP COLUMN additive')
  })
  assert.deepEqual(await pendingMigrations(db), [])
  await migrateEngine(db, { clock })
  const rows = await db.all(sql`SELECT checksum FROM gh_migrations`)
  assert.equal(rows.length, numbers.length)
  for (const { checksum } of rows) assert.match(checksum, /^[0-9a-f]{64}$/)
})

eachDatabase('statements prepared before a new column still work', async (db) => {
  await migrateEngine(db, { clock })
  const star = sql`SELECT * FROM gh_settings WHERE name = 'a'`
  await db.write((tx) => writeSetting(tx, 'a', 1))
  for (let n = 0; n < 10; n++) {
    await db.all(star)
    await db.write((tx) => tx.all(star))
  }
  await migrateEngine(db, { clock, migrations: [...migrations, EXTRA] })
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
