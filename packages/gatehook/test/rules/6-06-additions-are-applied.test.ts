/** §6.6: a start applies additions; other changes need a reviewed migration. */
import assert from 'node:assert/strict'
import { eachDatabase, freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import { copyAdditions } from '../../src/declare/resources/additions.ts'
import { migrateService, planMigration } from '../../src/declare/resources/migrate.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import {
  type MigrationOptions,
  type Service,
  service,
} from '../../src/declare/resources/service.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { DeclarationError } from '../../src/protocol/fields/declaration-mistakes.ts'
import { f } from '../../src/protocol/fields/f.ts'
import type { AnyField, Fields } from '../../src/protocol/fields/fields.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const

function notes(fields: Fields, migrations: MigrationOptions[] = [], sort: string[] = []): Service {
  const notesResource = resource('notes', {
    fields: { id: f.id(), ...(fields as Record<string, AnyField>) },
    list: { filter: [], sort: ['id', ...(sort as 'id'[])] },
    access,
    events: [],
  })
  return service({
    name: 'n',
    versions: { v1: { released: '2026-01-01' } },
    resources: [notesResource],
    migrations,
  })
}

async function start(db: Database, api: Service): Promise<string[]> {
  const progress: string[] = []
  await migrateService(db, api.definition, (line) => progress.push(line))
  return progress
}

/** Creates a table with one row from the declaration `{ text, size }`. */
async function createNotes(db: Database): Promise<void> {
  await migrateEngine(db, { clock: wallClock })
  await start(db, notes({ text: f.string(), size: f.int() }))
  await db.write((tx) => tx.run(sql`INSERT INTO notes (scope, text, size) VALUES (2, 'a', 7)`))
}

const row = (db: Database) => db.get(sql`SELECT * FROM notes`)
const base = { text: f.string(), size: f.int() }

eachDatabase('a start adds a field with a default, a nullable field and a sort', async (db) => {
  await createNotes(db)
  const more = { ...base, tag: f.string().default('x'), memo: f.string().nullable() }
  assert.equal((await start(db, notes(more, [], ['tag']))).length, 1)
  assert.deepEqual(
    { ...(await row(db)) },
    { id: 1, scope: 2, text: 'a', size: 7, tag: 'x', memo: null },
  )
  assert.ok((await db.indexes('notes')).includes('notes_by_tag'))
  assert.deepEqual(await start(db, notes(more, [], ['tag'])), [], 'no pending changes')
})

const rejections: [string, Fields, RegExp][] = [
  [
    'a field without a default',
    { ...base, tag: f.string() },
    /notes\.tag is new and has no default.*ADD COLUMN tag/,
  ],
  ['a removed field', { text: f.string() }, /notes\.size holds data.*DROP COLUMN size/],
  [
    'another type',
    { ...base, size: f.string() },
    /notes\.size is stored as int, declared as string.*RENAME COLUMN/,
  ],
  [
    'a field that becomes nullable',
    { ...base, size: f.int().nullable() },
    /notes\.size is stored as never null/,
  ],
  [
    'uniqueness',
    { ...base, text: f.string().unique() },
    /notes_unique_text is new.*CREATE UNIQUE INDEX/,
  ],
]
for (const [change, fields, sentence] of rejections) {
  eachDatabase(`a start rejects ${change}`, async (db) => {
    await createNotes(db)
    const before = await db.columns('notes')
    await assert.rejects(start(db, notes({ ...fields, extra: f.int().default(1) })), (error) => {
      assert.ok(error instanceof DeclarationError)
      assert.match(error.message, sentence)
      assert.match(error.message, /migrations/)
      return true
    })
    assert.deepEqual(await db.columns('notes'), before, 'no addition was applied')
  })
}

const rename: MigrationOptions = {
  number: 1,
  name: 'size becomes length',
  table: 'notes',
  sql: 'ALTER TABLE notes RENAME COLUMN size TO length',
}
const retype: MigrationOptions = {
  number: 2,
  name: 'length can have a fraction',
  table: 'notes',
  sql: `ALTER TABLE notes RENAME COLUMN length TO length_old;
    ALTER TABLE notes ADD COLUMN length {real} NOT NULL DEFAULT 0;
    UPDATE notes SET length = length_old / 2.0;
    ALTER TABLE notes DROP COLUMN length_old`,
}
const today = { text: f.string(), length: f.number() }

eachDatabase('reviewed migrations run in order, each once', async (db) => {
  await createNotes(db)
  const renamed = notes({ text: f.string(), length: f.int() }, [rename])
  assert.equal((await planMigration(db, renamed.definition)).length, 1)
  assert.deepEqual(await start(db, renamed), ['migration 1 of the service: size becomes length'])
  assert.deepEqual(await start(db, notes(today, [rename, retype])), [
    'migration 2 of the service: length can have a fraction',
  ])
  assert.deepEqual({ ...(await row(db)) }, { id: 1, scope: 2, text: 'a', length: 3.5 })
  assert.deepEqual(await start(db, notes(today, [rename, retype])), [])
})

eachDatabase('a fresh table needs no migration', async (db) => {
  await migrateEngine(db, { clock: wallClock })
  await start(db, notes(today, [rename, retype]))
  assert.deepEqual((await db.columns('notes')).map(({ name }) => name).sort(), [
    'id',
    'length',
    'scope',
    'text',
  ])
  assert.deepEqual(await start(db, notes(today, [rename, retype])), [])
})

eachDatabase('a failed migration changes nothing and can be retried', async (db) => {
  await createNotes(db)
  const broken = { ...rename, sql: `${rename.sql}; UPDATE nowhere SET x = 1` }
  const renamed = { text: f.string(), length: f.int() }
  await assert.rejects(start(db, notes(renamed, [broken])))
  assert.equal((await row(db))?.size, 7)
  assert.deepEqual(await start(db, notes(renamed, [rename])), [
    'migration 1 of the service: size becomes length',
  ])
})

eachDatabase(
  'the error of a failed migration has its name and the message of the database',
  async (db) => {
    await createNotes(db)
    const broken = { ...rename, number: 2, sql: 'UPDATE nowhere SET x = 1' }
    const renamed = { text: f.string(), length: f.int() }
    await assert.rejects(start(db, notes(renamed, [rename, broken])), (error: Error) => {
      assert.ok(error instanceof DeclarationError)
      assert.match(error.message, /^Your migration 2 \(size becomes length\) failed: .*nowhere/)
      return true
    })
  },
)

eachDatabase('a migration over equal rows fails with the name of the unique index', async (db) => {
  await createNotes(db)
  await db.write((tx) => tx.run(sql`INSERT INTO notes (scope, text, size) VALUES (2, 'a', 8)`))
  const unique = { text: f.string().unique(), size: f.int() }
  const [pending] = await planMigration(db, notes(unique).definition)
  const suggested = /Write: (CREATE .*), after/.exec(pending!.plan.rejected[0]!)![1]!
  const failing = [
    suggested,
    `DELETE FROM notes WHERE size = 9; ${suggested}`,
    suggested.replace(/\(.*/, '(lower(text))'),
    `DELETE FROM notes WHERE size = 8; ${suggested}; INSERT INTO notes (scope, text, size)
      SELECT scope, text, 9 FROM notes`,
  ]
  for (const text of failing) {
    const migration = { number: 1, name: 'texts differ', table: 'notes', sql: text }
    const message =
      'Your migration 1 (texts differ) failed: rows have equal values of the unique index ' +
      'notes_unique_text. Nothing was applied.'
    await assert.rejects(start(db, notes(unique, [migration])), { message }, text)
  }
})

eachDatabase('an edited migration is rejected after it was applied', async (db) => {
  await createNotes(db)
  const renamed = { text: f.string(), length: f.int() }
  await start(db, notes(renamed, [rename]))
  const spaced = { ...rename, sql: `\n ${String(rename.sql).replaceAll(' ', '  ')} ` }
  assert.deepEqual(await start(db, notes(renamed, [spaced])), [], 'white space does not count')
  const edited = { ...rename, sql: `${rename.sql}; UPDATE notes SET length = 0` }
  await assert.rejects(start(db, notes(renamed, [edited])), /migration 1 .* was edited/)
  assert.equal((await row(db))?.length, 7)
})

eachDatabase('the previous declaration starts again after an addition', async (db) => {
  await createNotes(db)
  const more = { ...base, tag: f.string().default('x'), memo: f.string().nullable() }
  await start(db, notes(more))
  assert.deepEqual(await start(db, notes(base)), [])
  await db.write((tx) => tx.run(sql`INSERT INTO notes (scope, text, size) VALUES (2, 'b', 8)`))
  assert.deepEqual(await start(db, notes(more)), [])
  const rows = await db.all(sql`SELECT text, tag, memo FROM notes ORDER BY id`)
  assert.deepEqual(
    rows.map((stored) => ({ ...stored })),
    [
      { text: 'a', tag: 'x', memo: null },
      { text: 'b', tag: 'x', memo: null },
    ],
  )
})

const own: MigrationOptions = {
  number: 3,
  name: 'an archive',
  sql: `CREATE TABLE archive (id {int} NOT NULL PRIMARY KEY, text {text});
    CREATE INDEX notes_by_hand ON notes (text)`,
}

eachDatabase('own tables and indexes are the same, fresh or upgraded', async (db) => {
  await createNotes(db)
  const service = notes(today, [rename, retype, own])
  await start(db, service)
  const schema = async () => ({
    archive: await db.columns('archive'),
    notes: (await db.columns('notes')).toSorted((a, b) => a.name.localeCompare(b.name)),
    indexes: await db.indexes('notes'),
  })
  const upgraded = await schema()
  await db.migrate(async (_tx, ddl) => {
    for (const table of ['archive', 'notes']) await ddl(`DROP TABLE ${table}`)
    await ddl('DELETE FROM gh_service_migrations')
  })
  assert.deepEqual(await start(db, service), [
    'table notes created',
    'migration 3 of the service: an archive',
  ])
  assert.deepEqual(await schema(), upgraded)
  assert.deepEqual(await planMigration(db, service.definition), [])
})

eachDatabase('a move preserves the way back to the previous declaration', async (target, t) => {
  const source = await openForTest(t, await freshUrl(t, target.name))
  await createNotes(source)
  const more = notes({ ...base, tag: f.string().default('x') })
  await start(source, more)
  await migrateEngine(target, { clock: wallClock })
  await start(target, more)
  await assert.rejects(start(target, notes(base)), DeclarationError)
  await copyAdditions(source, target)
  assert.deepEqual(await start(target, notes(base)), [])
})

eachDatabase('a start without softDelete names the deletion of marked rows', async (db) => {
  await migrateEngine(db, { clock: wallClock })
  const wiki = (softDelete: boolean, migrations: MigrationOptions[] = []) =>
    service({
      name: 'n',
      versions: { v1: { released: '2026-01-01' } },
      resources: [
        resource('notes', {
          fields: { id: f.id(), text: f.string() },
          list: { filter: [], sort: ['id'] },
          access,
          events: [],
          softDelete,
        }),
      ],
      migrations,
    })
  await start(db, wiki(true))
  await db.write((tx) =>
    tx.run(sql`INSERT INTO notes (scope, text, deleted_at) VALUES (2, 'a', NULL), (2, 'b', 7)`),
  )
  let advice = ''
  await assert.rejects(start(db, wiki(false)), ({ message }: Error) => {
    advice = message
    return /after the rows that refer to them/.test(message)
  })
  const [remove] = /DELETE FROM notes WHERE deleted_at IS NOT NULL/.exec(advice)!
  const [drop] = /ALTER TABLE notes DROP COLUMN deleted_at/.exec(advice)!
  const indexes = ['notes_by_deleted_at', 'notes_live_by_id', 'notes_deleted']
  const dropped = indexes.map((name) => `DROP INDEX ${name}`)
  const migration = { number: 1, name: 'rows are deleted for good', table: 'notes' }
  const statements = [remove, ...dropped, drop].join('; ')
  await start(db, wiki(false, [{ ...migration, sql: statements }]))
  assert.deepEqual({ ...(await row(db)) }, { id: 1, scope: 2, text: 'a' })
  assert.equal((await db.all(sql`SELECT id FROM notes`)).length, 1)
})
