/**
 * A constraint compares with rows that the snapshot of a transaction of own code does not contain.
 * Such a violation repeats the transaction on PostgreSQL, whatever the code of its error. SQLite
 * runs one transaction at a time.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { databases, eachDatabase, freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { ConstraintError, type Database, type Tx } from '../../src/platform/storage/database.ts'
import { SERIALIZABLE_ATTEMPTS_MAX } from '../../src/platform/storage/postgres-transaction.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const postgres = databases.find(({ name }) => name === 'postgres')!

async function withTables(db: Database, more = ''): Promise<void> {
  const { int, text } = db.dialect.types
  await db.migrate(async (_tx, ddl) => {
    await ddl(`
      CREATE TABLE parent (id ${int} NOT NULL PRIMARY KEY);
      CREATE TABLE numbered (number ${int} NOT NULL UNIQUE, name ${text},
        parent_id ${int} REFERENCES parent (id));
      CREATE TABLE log (name ${text})${more}`)
  })
}

const last = async (tx: Tx) =>
  (await tx.get<{ n: number }>(sql`SELECT coalesce(max(number), 0) AS n FROM numbered`))!.n
const insert = (tx: Tx, number: number, name: string) =>
  tx.run(sql`INSERT INTO numbered (number, name) VALUES (${number}, ${name})`)
const rows = async (db: Database) =>
  (await db.arrays(sql`SELECT number, name FROM numbered ORDER BY number`)).map((row) => [...row])
const logged = async (db: Database) => (await db.arrays(sql`SELECT name FROM log`)).flat()

/** Two nodes on one database. */
async function twoNodes(t: TestContext, more = '') {
  const url = await freshUrl(t, 'postgres')
  const db = await openForTest(t, url)
  await withTables(db, more)
  return { db, other: await openForTest(t, url) }
}

/**
 * Runs a transaction of own code on a snapshot that precedes what `others` commit. Each run of it
 * has a turn of `others`, until there are no more.
 */
async function withStaleSnapshots<T>(
  db: Database,
  others: readonly (() => Promise<unknown>)[],
  change: (tx: Tx) => Promise<T>,
) {
  let runs = 0
  let commits = 0
  const result = db.write(
    async (tx) => {
      tx.afterCommit(() => commits++)
      await tx.get(sql`SELECT count(*) AS n FROM parent`)
      await others[runs++]?.()
      await tx.run(sql`INSERT INTO log (name) VALUES ('ran')`)
      return change(tx)
    },
    { serializable: true },
  )
  const outcome = await result.catch((error) => error)
  return { outcome, runs, commits }
}

test('a unique violation that a repeat does not meet repeats the transaction', async (t) => {
  const { db, other } = await twoNodes(t)
  const commit = (number: number) => () => other.write((tx) => insert(tx, number, 'other'))
  const next = async (tx: Tx) => {
    const number = (await last(tx)) + 1
    await insert(tx, number, 'own')
    return number
  }
  // The other node is faster in three runs, each time with the next number.
  const others = [commit(1), commit(2), commit(3)]
  const { outcome, runs, commits } = await withStaleSnapshots(db, others, next)
  assert.deepEqual([outcome, runs, commits], [4, 4, 1])
  assert.deepEqual((await rows(db)).at(-1), [4, 'own'])
  assert.deepEqual(await logged(db), ['ran'])
})

test('the code that catches such a violation is repeated too', async (t) => {
  const { db, other } = await twoNodes(t)
  const { outcome, runs } = await withStaleSnapshots(
    db,
    [() => other.write((tx) => insert(tx, 1, 'other'))],
    async (tx) => {
      const number = (await last(tx)) + 1
      await tx.attempt(() => insert(tx, number, 'own')).catch(() => undefined)
      return number
    },
  )
  assert.deepEqual([outcome, runs], [2, 2])
  assert.deepEqual(await rows(db), [
    [1, 'other'],
    [2, 'own'],
  ])
})

test('a missing reference and an excluded row of another transaction repeat it too', async (t) => {
  const { db, other } = await twoNodes(
    t,
    `; CREATE TABLE ranges (span int8range, EXCLUDE USING gist (span WITH &&))`,
  )
  await db.write((tx) => tx.run(sql`INSERT INTO parent (id) VALUES (1)`))
  const reference = await withStaleSnapshots(
    db,
    [() => other.write((tx) => tx.run(sql`DELETE FROM parent WHERE id = 1`))],
    async (tx) => {
      const parent = await tx.get(sql`SELECT id FROM parent WHERE id = 1`)
      if (!parent) return 'missing'
      return tx.run(sql`INSERT INTO numbered (number, parent_id) VALUES (1, 1)`)
    },
  )
  assert.deepEqual([reference.outcome, reference.runs], ['missing', 2])
  const book = (tx: Tx) => tx.run(sql`INSERT INTO ranges (span) VALUES (int8range(1, 5))`)
  const exclusion = await withStaleSnapshots(db, [() => other.write(book)], async (tx) =>
    (await tx.get(sql`SELECT 1 AS found FROM ranges`)) ? 'full' : book(tx),
  )
  assert.deepEqual([exclusion.outcome, exclusion.runs], ['full', 2])
})

test('a change that other nodes end twenty times is stored', async (t) => {
  const { db, other } = await twoNodes(t)
  await db.write((tx) => insert(tx, 1, 'first'))
  const rename = (name: string) => (tx: Tx) =>
    tx.run(sql`UPDATE numbered SET name = ${name} WHERE number = 1`)
  const others = Array.from({ length: 20 }, (_, n) => () => other.write(rename(`other ${n}`)))
  const { outcome, runs, commits } = await withStaleSnapshots(db, others, rename('own'))
  assert.deepEqual([outcome, runs, commits], [1, 21, 1])
  assert.deepEqual(await rows(db), [[1, 'own']])
})

test('violations by ever new rows of others end in 503, as other conflicts do', async (t) => {
  const { db, other } = await twoNodes(t)
  const others = Array.from(
    { length: SERIALIZABLE_ATTEMPTS_MAX },
    (_, n) => () => other.write((tx) => insert(tx, n + 1, 'other')),
  )
  const { outcome, runs } = await withStaleSnapshots(db, others, async (tx) =>
    insert(tx, (await last(tx)) + 1, 'own'),
  )
  assert.ok(outcome instanceof Failure)
  assert.deepEqual([outcome.code, runs], ['storage_unavailable', SERIALIZABLE_ATTEMPTS_MAX])
  assert.deepEqual(await logged(db), [])
})

eachDatabase('a true duplicate is a violation for the code, at most in two runs', async (db) => {
  await withTables(db)
  await db.write((tx) => insert(tx, 1, 'first'))
  const { outcome, runs } = await withStaleSnapshots(db, [], (tx) => insert(tx, 1, 'own'))
  assert.ok(outcome instanceof ConstraintError)
  assert.deepEqual([outcome.kind, runs], ['unique', db.name === 'sqlite' ? 1 : 2])
  const several = await withStaleSnapshots(db, [], async (tx) => {
    await insert(tx, 2, 'own')
    for (const number of [1, 2, 1]) {
      await tx.attempt(() => insert(tx, number, 'own')).catch(() => undefined)
    }
    return 'done'
  })
  assert.deepEqual([several.outcome, several.runs], ['done', db.name === 'sqlite' ? 1 : 2])
})

test('a violation outside own code is not repeated', async (t) => {
  const db = await postgres.open(t)
  await withTables(db)
  let runs = 0
  const twice = db.write(async (tx) => {
    runs++
    await insert(tx, 1, 'a')
    await insert(tx, 1, 'b')
  })
  await assert.rejects(twice, ConstraintError)
  assert.equal(runs, 1)
})
