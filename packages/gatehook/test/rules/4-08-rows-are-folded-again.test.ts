/**
 * §4.8: a start folds the addresses of rows that have none folded: of a text that becomes an
 * e-mail address, and of a migration's SQL.
 */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import {
  describePending,
  migrateService,
  planMigration,
} from '../../src/declare/resources/migrate.ts'
import { planStatements } from '../../src/declare/resources/migration-plan.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import { type MigrationOptions, service } from '../../src/declare/resources/service.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { DeclarationError } from '../../src/protocol/fields/declaration-mistakes.ts'
import { f } from '../../src/protocol/fields/f.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: false } as const
const versions = { v1: { released: '2025-01-01' } }

function declare(mail: 'string' | 'email' | 'unique', migrations: MigrationOptions[] = []) {
  const field = { string: f.string(), email: f.email(), unique: f.email().unique() }[mail]
  const fields = { id: f.id(), mail: field, copy: f.email().default('Ö@x.example') }
  const list = { filter: ['mail'], sort: [] } as const
  const letters = resource('letters', { fields, list, access, events: [] })
  return service({ name: 'post', versions, resources: [letters], migrations }).definition
}

const insert = (db: Database, mail: string) =>
  db.write((tx) => tx.run(sql`INSERT INTO letters (scope, mail) VALUES (2, ${mail})`))

const folded = async (db: Database) =>
  (await db.all(sql`SELECT gh_folded_mail AS mail FROM letters ORDER BY id`)).map((row) => row.mail)

eachMigrated('a text that becomes an e-mail address is folded in all rows', async (db) => {
  await migrateService(db, declare('string'))
  await insert(db, 'Öz@x.example')
  await insert(db, 'o\u0308Z@X.example')
  const next = declare('email')
  const planned = (await planStatements(db, next)).statements.map((statement) => statement.sql)
  assert.ok(
    planned.includes('compute the stored fields of all rows of letters, 500 in each transaction'),
  )
  await migrateService(db, next)
  assert.deepEqual(await folded(db), ['öz@x.example', 'öz@x.example'])
  assert.deepEqual(await planMigration(db, next), [])
  const row = await db.get(sql`SELECT copy, gh_folded_copy FROM letters LIMIT 1`)
  assert.deepEqual({ ...row }, { copy: 'Ö@x.example', gh_folded_copy: 'ö@x.example' })
})

eachMigrated('the SQL of a migration changes addresses; the start folds them again', async (db) => {
  await migrateService(db, declare('email'))
  await insert(db, 'Öz@x.example')
  const rename = {
    number: 1,
    name: 'another domain',
    table: 'letters',
    sql: "UPDATE letters SET mail = replace(mail, '@x.example', '@Y.example')",
  }
  const pending = await planMigration(db, declare('email', [rename]))
  assert.deepEqual(pending.flatMap(describePending), [
    'migration 1 another domain of table letters',
  ])
  await migrateService(db, declare('email', [rename]))
  assert.deepEqual(await folded(db), ['öz@y.example'])
})

eachMigrated('rows that are equal by the folding stop the start that makes them so', async (db) => {
  await migrateService(db, declare('email'))
  await insert(db, 'ÖZ@x.example')
  await insert(db, 'öz@y.example')
  const refused = await migrateService(db, declare('unique')).catch((error: Error) => error)
  const index = 'CREATE UNIQUE INDEX letters_unique_mail ON letters (scope, gh_folded_mail)'
  assert.ok(refused instanceof DeclarationError)
  assert.ok(refused.message.includes(index), refused.message)
  const unique = { number: 1, name: 'unique', table: 'letters', sql: index }
  await migrateService(db, declare('unique', [unique]))
  const merge = {
    number: 2,
    name: 'one domain',
    table: 'letters',
    sql: "UPDATE letters SET mail = replace(mail, '@y.example', '@x.example')",
  }
  await assert.rejects(migrateService(db, declare('unique', [unique, merge])), (error) => {
    assert.ok(error instanceof DeclarationError)
    assert.match(error.message, /Rows of letters are equal in the unique index letters_unique_mail/)
    return true
  })
})
