/**
 * Distribution by Citus (decision 0059), as far as a server without Citus shows it: the second form
 * of each statement returns the same, and a start without the extension is rejected.
 * `GATEHOOK_TEST_CITUS` runs the tests of PostgreSQL on a cluster.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, freshUrl, quietLog } from '../../../../test/rig/databases.ts'
import { planTable } from '../../src/declare/resources/table-plan.ts'
import { referenceTables } from '../../src/engine-tables.ts'
import { dueStore } from '../../src/outbound/deliveries/due-store.ts'
import {
  ConstraintError,
  type Database,
  StorageError,
  type Value,
} from '../../src/platform/storage/database.ts'
import { requireOneServer } from '../../src/platform/storage/distribution/one-server.ts'
import { referenceLock } from '../../src/platform/storage/distribution/row-locks.ts'
import { createRowPages } from '../../src/platform/storage/key-pages.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { checkPages } from '../../src/platform/storage/page-check.ts'
import { translatePostgresError } from '../../src/platform/storage/postgres-errors.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { recordIdsAt } from '../../src/protocol/idempotency/record-ids.ts'
import { createClaim } from '../../src/protocol/idempotency/store.ts'
import { shop } from '../fixtures/shop.ts'

const postgres = databases.find(({ name }) => name === 'postgres')!

const asDistributed = (db: Database): Database => ({
  ...db,
  dialect: { ...db.dialect, distributed: true },
})

const { GATEHOOK_TEST_CITUS } = process.env

test('a server without Citus is rejected', {
  skip: GATEHOOK_TEST_CITUS !== undefined,
}, async (t) => {
  const url = await freshUrl(t, 'postgres')
  await assert.rejects(
    openDatabase({ url, distributed: 'citus' }, { log: quietLog }),
    (error) => error instanceof StorageError && /no extension citus/.test(error.message),
  )
})

test('pages of locked rows are the same when each statement names its scope', async (t) => {
  const db = await postgres.openMigrated(t)
  await db.write(async (tx) => {
    for (const [scope, id] of [
      [2, 'evt_1'],
      [2, 'evt_2'],
      [5, 'evt_1'],
      [6, 'evt_0'],
      [6, 'evt_3'],
    ]) {
      await tx.run(sql`INSERT INTO gh_events (scope, id, type, shape, object, created)
        VALUES (${scope}, ${id}, 'a.b', 'v1', '{}', 0)`)
    }
  })
  const readAll = async (database: Database) => {
    const sized = [{ name: 'type', type: 'text' }]
    const read = createRowPages(database, 'gh_events', 'type', sized)
    const pages: Value[][][] = []
    for (let after: readonly Value[] | undefined; ; ) {
      const { rows, next } = await db.write((tx) => read(tx, after, 2))
      pages.push(rows)
      if (next === undefined) return pages
      after = next
    }
  }
  const expected = await readAll(db)
  assert.equal(expected.flat().length, 5)
  assert.deepEqual(await readAll(asDistributed(db)), expected)
})

test('slices of endpoints are the same without a walk from key to key', async (t) => {
  const db = await postgres.openMigrated(t)
  await db.write(async (tx) => {
    await tx.run(sql`INSERT INTO gh_customers (no, id, name, created_at) VALUES (5, 'c', 'C', 0)`)
    for (const no of [1, 2, 3]) {
      await tx.run(sql`INSERT INTO gh_webhooks
        (no, id, tag, scope, url, events, api_version, active, created_at, updated_at)
        VALUES (${no}, ${`wh_${no}`}, 't', 10, '', '[]', 'v1', ${no === 2 ? 0 : 1}, 0, 0)`)
      for (const at of [100, 90 + no]) {
        await tx.run(sql`INSERT INTO gh_deliveries (id, scope, webhook_no, event_id, event_type,
          version, next_attempt_at, created_at)
          VALUES (${`dlv_${no}_${at}`}, 10, ${no}, 'evt_1', 'a.b', 'v1', ${at}, 0)`)
      }
    }
  })
  for (const [after, limit] of [
    [0, 2],
    [2, 2],
    [0, 10],
  ] as const) {
    const [walked, grouped] = [dueStore(db), dueStore(asDistributed(db))].map((store) =>
      store.readEndpointSlice(after, limit),
    )
    assert.deepEqual(await grouped, await walked)
  }
})

test('a record is claimed once over midnight, also by two statements', async (t) => {
  const db = await postgres.openMigrated(t)
  const day = 86_400_000
  const claim = (hash: string, nowMs: number, database: Database) => {
    const times = { now: nowMs, since: nowMs }
    const ids = recordIdsAt(Buffer.alloc(32, hash), times)
    const values = { scope: 2, ids, fingerprint: Buffer.from('f'), expiresAt: nowMs + day }
    return database.write((tx) => createClaim(database)(tx, { ...values, times }))
  }
  const before = 100 * day - 10
  for (const [hash, database] of [
    ['a', db],
    ['b', asDistributed(db)],
  ] as const) {
    assert.equal(await claim(hash, before, database), true)
    assert.equal(await claim(hash, before + 20, database), false, 'the day before has it')
    assert.equal(await claim(hash, before + day + 20, database), true, 'it has expired')
  }
})

test('a feature that Citus lacks is rejected on distributed tables alone', async (t) => {
  const db = await postgres.open(t)
  const distributed = asDistributed(db)
  const lacking = new Error('lacking')
  requireOneServer(db, () => lacking)
  assert.throws(() => requireOneServer(distributed, () => lacking), lacking)
  assert.equal(await checkPages(distributed, async () => {}), undefined)
})

test('the name of a violated constraint is without the number of its shard', () => {
  const translate = (message: string, code: string, fields = {}) => {
    const error = Object.assign(new Error(message), { code, ...fields })
    const translated = translatePostgresError(error)
    assert.ok(translated instanceof ConstraintError)
    return translated.index
  }
  const unique = 'duplicate key value violates unique constraint'
  assert.equal(translate(`${unique} "users_unique_email_102156"`, '23505'), 'users_unique_email')
  assert.equal(translate(`${unique} "x"`, '23505', { constraint: 'size_102156' }), 'size_102156')
  const foreign = 'insert or update on table "orders_102030" violates foreign key constraint'
  assert.equal(
    translate(`${foreign} "orders_scope_user_id_fkey_102030"`, '23503'),
    'orders_scope_user_id_fkey',
  )
  const start = 'accounts_unique_owner_and_the_first_name_of_the'
  const long = new ConstraintError('unique', `${start}_0123abcd`, '')
  assert.ok(long.isOf(`${start}_contact_in_use`))
  assert.ok(!long.isOf(`${start}_contact`), 'Citus shortens no name of 55 characters')
  assert.ok(!long.isOf('accounts_unique_owner_and_email'))
})

test('rows of reference tables are locked by an advisory lock of their table', () => {
  const lock = (text: string, kind: 'update' | 'share') =>
    referenceLock(text, kind, new Set(referenceTables))
  assert.match(
    lock('SELECT no FROM gh_customers WHERE id = $1', 'share')!,
    /pg_advisory_xact_lock_shared\(\d+, hashtext\(current_schema\(\) \|\| '\.gh_customers'\)\)/,
  )
  assert.match(lock('SELECT 1 FROM gh_people p', 'update')!, /xact_lock\(/)
  assert.equal(lock('SELECT id FROM orders WHERE scope = $1', 'update'), undefined)
  assert.equal(lock('SELECT no FROM gh_webhooks WHERE scope = $1', 'update'), undefined)
})

test('a distributed table gets its references after it is distributed', async (t) => {
  const { dialect } = asDistributed(await postgres.open(t))
  const definition = shop.definition.resources.find(({ fields }) =>
    Object.values(fields).some(({ kind }) => kind === 'ref'),
  )!
  const { ddl } = planTable(definition, { columns: [], indexes: [] }, dialect)
  const at = (part: string) => ddl.findIndex((statement) => statement.includes(part))
  assert.ok(!ddl[0]!.includes('FOREIGN KEY'))
  assert.ok(at('create_distributed_table') > at('CREATE INDEX'))
  assert.ok(at('ADD FOREIGN KEY') > at('create_distributed_table'))
})
