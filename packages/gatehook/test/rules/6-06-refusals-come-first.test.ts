/**
 * §6.6: a start checks all migrations before it applies the first one. If one fails with the rows
 * alone, the sentence lists the applied ones, and the release before additions can start again.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migratedUrl, openForTest } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import { type MigrationOptions, service } from '../../src/declare/resources/service.ts'
import { NodesRunError } from '../../src/platform/nodes/registry.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { DeclarationError } from '../../src/protocol/fields/declaration-mistakes.ts'
import { f } from '../../src/protocol/fields/f.ts'
import type { AnyField, Fields } from '../../src/protocol/fields/fields.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const
const table = 'notes'

function notes(fields: Fields, migrations: MigrationOptions[] = []) {
  const notesResource = resource(table, {
    fields: { id: f.id(), ...(fields as Record<string, AnyField>) },
    list: { filter: [], sort: ['id'] },
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

const former = { text: f.string(), size: f.int() }
const region = f.string()
const addRegion = {
  ...{ number: 1, name: 'a region', table },
  sql: "ALTER TABLE notes ADD COLUMN region {text} NOT NULL DEFAULT 'eu'",
}
const dropSize = {
  ...{ number: 2, name: 'no size', table },
  sql: 'ALTER TABLE notes DROP COLUMN size',
}
const wrong = { ...dropSize, sql: 'ALTER TABLE notes DROP COLUMN sizes' }
/** Fails with rows only, which the rehearsal on PostgreSQL does not have. */
const uniqueText = {
  ...{ number: 2, name: 'texts differ', table },
  sql: 'CREATE UNIQUE INDEX notes_unique_text ON notes (scope, text)',
}

test('a migration that needs rows is applied [postgres]', async (t) => {
  const db = await openForTest(t, await migratedUrl(t, 'postgres'))
  await migrateService(db, notes(former).definition)
  await db.write((tx) => tx.run(sql`INSERT INTO notes (scope, text, size) VALUES (1, 'a', 1)`))
  const copy = {
    ...{ number: 2, name: 'a copy', table },
    sql: 'INSERT INTO notes (scope, text, size) SELECT max(scope), max(text), max(size) FROM notes',
  }
  await migrateService(db, notes({ ...former, region }, [addRegion, copy]).definition)
  assert.equal((await db.get<{ n: number }>(sql`SELECT count(*)::int AS n FROM notes`))!.n, 2)
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`no migration is applied if nodes use a column of a later one [${kind}]`, async (t) => {
    const url = await migratedUrl(t, kind)
    const node = await openService(t, kind, { url, service: notes(former) })
    await node.app.work()
    const db = await openForTest(t, url)
    const { definition } = notes({ text: f.string(), region }, [addRegion, dropSize])
    await assert.rejects(migrateService(db, definition), (error) => {
      assert.ok(error instanceof NodesRunError)
      assert.match(error.message, /migration 2 .*Nothing was applied\. End these nodes/)
      return true
    })
    const names = (await db.columns(table)).map(({ name }) => name)
    assert.deepEqual(names.sort(), ['id', 'scope', 'size', 'text'])
    await migrateService(db, notes(former).definition)
  })

  test(`wrong SQL: what was applied, and the former release starts [${kind}]`, async (t) => {
    const db = await openForTest(t, await migratedUrl(t, kind))
    await migrateService(db, notes(former).definition)
    const { definition } = notes({ ...former, region }, [addRegion, wrong])
    const applied =
      kind === 'sqlite'
        ? /migration 2 .* failed: .*sizes.*\. Nothing was applied\.$/
        : /failed: .*sizes.*\. Nothing of it was applied\. Applied before it: migration 1 \(/
    await assert.rejects(migrateService(db, definition), (error) => {
      assert.ok(error instanceof DeclarationError)
      assert.match(error.message, applied)
      return true
    })
    await migrateService(db, notes(former).definition)
  })

  test(`the release before a reviewed addition can start again [${kind}]`, async (t) => {
    const db = await openForTest(t, await migratedUrl(t, kind))
    await migrateService(db, notes(former).definition)
    await db.write((tx) =>
      tx.run(sql`INSERT INTO notes (scope, text, size) VALUES (1, 'a', 1), (1, 'a', 2)`),
    )
    const { definition } = notes({ ...former, region, text: f.string().unique() }, [
      addRegion,
      uniqueText,
    ])
    const applied =
      kind === 'sqlite'
        ? /failed: .*\. Nothing was applied\.$/
        : /failed: .*\. Nothing of it was applied\. Applied before it: migration 1 \(a region\)\.$/
    await assert.rejects(migrateService(db, definition), applied)
    await migrateService(db, notes({ ...former, region }, [addRegion]).definition)
    await migrateService(db, notes(former).definition)
    await db.write((tx) => tx.run(sql`INSERT INTO notes (scope, text, size) VALUES (1, 'b', 1)`))
    assert.equal((await db.get(sql`SELECT region FROM notes WHERE text = 'b'`))!.region, 'eu')
  })

  test(`a release that does not declare the column it adds is refused [${kind}]`, async (t) => {
    const db = await openForTest(t, await migratedUrl(t, kind))
    await migrateService(db, notes(former).definition)
    const { definition } = notes(former, [addRegion])
    await assert.rejects(migrateService(db, definition), /notes\.region holds data/)
    assert.equal((await db.columns(table)).length, 4)
  })
}
