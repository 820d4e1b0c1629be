/**
 * §6.6: what a declaration may call a field or a resource can stand in SQL; the rest is refused
 * by sentence.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import { f } from '../../src/resources/fields.ts'
import { resource } from '../../src/resources/resource.ts'
import { service } from '../../src/resources/service.ts'
import { isSqlWord } from '../../src/resources/sql-words.ts'
import { indexName } from '../../src/resources/table.ts'
import { raw, sql } from '../../src/storage/sql.ts'

/** Every word either database knows (https://sqlite.org/lang_keywords.html; pg_get_keywords). */
const SQLITE = `
  abort action after always attach before begin by cascade conflict current cycle database
  detach each exclude exclusive explain fail filter first following generated glob groups ignore
  immediate instead isnull key last match materialized no of others over partition plan pragma
  preceding query raise range recursive regexp reindex release rename replace restrict rollback
  row rows savepoint strict temp temporary ties trigger unbounded vacuum view virtual without
`

eachDatabase('a word that is not refused works, as a table and as a column', async (db) => {
  const known = db.name === 'postgres' ? await db.all(sql`SELECT word FROM pg_get_keywords()`) : []
  const words = [
    ...known.map((row) => String(row.word)),
    ...SQLITE.trim().split(/\s+/),
    'amount',
    'name',
  ]
  for (const word of words.filter((one) => !isSqlWord(one))) {
    await db.migrate(async (tx, ddl) => {
      await ddl(
        `CREATE TABLE ${word} (id ${db.dialect.types.int}, ${word} ${db.dialect.types.int})`,
      )
      await ddl(`CREATE INDEX ${word}_x ON ${word} (id, ${word})`)
      await tx.all(
        sql`SELECT ${raw(word)} FROM ${raw(word)} WHERE ${raw(word)} = 1 ORDER BY ${raw(word)}`,
      )
      await tx.run(sql`UPDATE ${raw(word)} SET ${raw(word)} = 2`)
      await ddl(`DROP TABLE ${word}`)
    })
  }
})

test('words of SQL are refused by name', () => {
  const options = {
    list: { filter: [], sort: [] },
    access: { read: 'r', create: false, update: false, delete: false },
    events: [],
  } as const
  assert.throws(
    () => resource('order', { ...options, fields: { id: f.id() } }),
    /order: is a reserved word of SQL/,
  )
  assert.throws(
    () => resource('a', { ...options, fields: { id: f.id(), group: f.int() } }),
    /field group: is a reserved word/,
  )
  const table = resource('sqlite_x', { ...options, fields: { id: f.id() } })
  const versions = { v1: { released: '2026-01-01' } }
  assert.throws(() => service({ name: 's', versions, resources: [table] }), /the name is taken/)
})

test('names of indexes stay within what PostgreSQL keeps, and differ', () => {
  const long = (last: string) =>
    indexName('subscription_items', 'customer_account_id', `current_period_ends_${last}`)
  assert.ok(long('at').length <= 63)
  assert.notEqual(long('at'), long('on'))
})
