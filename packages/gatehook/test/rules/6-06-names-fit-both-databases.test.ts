/** §6.6: declared names are valid in SQL without quotes; other names are rejected. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import { service } from '../../src/declare/resources/service.ts'
import { isSqlWord } from '../../src/declare/resources/sql-words.ts'
import { indexName } from '../../src/declare/resources/table.ts'
import { raw, sql } from '../../src/platform/storage/sql.ts'
import { f } from '../../src/protocol/fields/f.ts'

/** The keywords of SQLite (https://sqlite.org/lang_keywords.html). PostgreSQL lists its own. */
const SQLITE = `
  abort action after always attach before begin by cascade conflict current cycle database
  detach each exclude exclusive explain fail filter first following generated glob groups ignore
  immediate instead isnull key last match materialized no of others over partition plan pragma
  preceding query raise range recursive regexp reindex release rename replace restrict rollback
  row rows savepoint strict temp temporary ties trigger unbounded vacuum view virtual without
`

eachDatabase('an accepted word works as a table and as a column', async (db) => {
  const keywords =
    db.name === 'postgres' ? await db.all(sql`SELECT word FROM pg_get_keywords()`) : []
  const words = [
    ...keywords.map((row) => String(row.word)),
    ...SQLITE.trim().split(/\s+/),
    'amount',
    'name',
  ]
  for (const word of words.filter((word) => !isSqlWord(word))) {
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

test('reserved words of SQL are rejected', () => {
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
  // Members of older versions and of bodies are no columns.
  const members = { end: f.int(), group: f.string().default('a'), scope: f.string().default('') }
  resource('a', { ...options, fields: { id: f.id(), ends: f.int() } })
    .action('order', { scope: 'r', input: members, run: async () => {} } as never)
    .before('v2', {
      why: 'An end is a time.',
      had: members,
      hadNot: ['ends'],
      up: ({ end }) => ({ ends: end }),
      down: ({ ends }) => ({ end: ends, group: 'a', scope: '' }),
      renamed: { end: 'ends' },
    })
  const table = resource('sqlite_x', { ...options, fields: { id: f.id() } })
  const versions = { v1: { released: '2026-01-01' } }
  assert.throws(() => service({ name: 's', versions, resources: [table] }), /the name is taken/)
})

test('names of indexes have at most 63 characters, and differ', () => {
  const longName = (last: string) =>
    indexName('subscription_items', 'customer_account_id', `current_period_ends_${last}`)
  assert.ok(longName('at').length <= 63)
  assert.notEqual(longName('at'), longName('on'))
})

const subscriptions = resource('subscriptions', {
  fields: {
    id: f.id(),
    billing_account: f.string(),
    first_payment_month: f.string(),
    number_of_the_first_payment: f.string(),
  },
  list: { filter: [], sort: [] },
  access: { read: 'users:read', create: 'users:write', update: false, delete: false },
  events: [],
  // Citus shortens the name of the first index, of 60 characters; the engine that of the other.
  unique: [
    ['billing_account', 'first_payment_month'],
    ['billing_account', 'number_of_the_first_payment'],
  ],
})

eachService(
  'a row that violates a tuple with a long name is a conflict',
  async ({ post }) => {
    const create = async (first_payment_month: string, number_of_the_first_payment: string) => {
      const row = { billing_account: 'a', first_payment_month, number_of_the_first_payment }
      const { status, body } = await post('/api/v1/subscriptions', row)
      return [status, ...(body.errors ?? []).map(({ pointer }: { pointer: string }) => pointer)]
    }
    assert.deepEqual(await create('2026-01', '1'), [201])
    const isTaken = (last: string) => [409, '/billing_account', last]
    assert.deepEqual(await create('2026-01', '2'), isTaken('/first_payment_month'))
    assert.deepEqual(await create('2026-02', '1'), isTaken('/number_of_the_first_payment'))
  },
  {
    service: service({
      name: 'shop',
      versions: { v1: { released: '2026-01-01' } },
      resources: [subscriptions],
    }),
  },
)

test('names that every JavaScript object has are rejected: lookups would find them', () => {
  const options = {
    list: { filter: [], sort: [] },
    access: { read: 'r', create: false, update: false, delete: false },
    events: [],
  } as const
  const names = Object.getOwnPropertyNames(Object.prototype).filter((name) =>
    /^[a-z_]+$/.test(name),
  )
  assert.ok(names.includes('constructor'))
  const why = /every JavaScript object has a member of this name|names are snake_case/
  for (const name of names) {
    assert.throws(() => resource(name, { ...options, fields: { id: f.id() } }), why, name)
    for (const field of [f.int(), f.object({ [name]: f.int() })]) {
      const fields = { id: f.id(), ...Object.fromEntries([[name, field]]) }
      assert.throws(() => resource('a', { ...options, fields }), why, name)
    }
    const inner = f.object(Object.fromEntries([[name, f.int()]]))
    assert.throws(() => resource('a', { ...options, fields: { id: f.id(), inner } }), why, name)
  }
})
