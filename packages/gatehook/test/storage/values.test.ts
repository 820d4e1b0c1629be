/** Both databases return stored values unchanged, and reject values that one cannot store. */
import assert from 'node:assert/strict'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import type { Database, Row } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

async function withTable(db: Database): Promise<void> {
  const { int, real, text, bytes } = db.dialect.types
  await db.migrate(async (_tx, ddl) => {
    await ddl(`CREATE TABLE v (n ${int}, r ${real}, s ${text}, b ${bytes})`)
  })
}

async function roundTrip(db: Database, column: string, value: unknown): Promise<unknown> {
  const statement = {
    sql: `INSERT INTO v (${column}) VALUES (?)`,
    text: `INSERT INTO v (${column}) VALUES ($1)`,
    values: [value],
  }
  return db.write(async (tx) => {
    await tx.run(sql`DELETE FROM v`)
    await tx.run(statement)
    return ((await tx.get(sql`SELECT * FROM v`)) as Row)[column]
  })
}

eachDatabase('integers up to 2^53 - 1 of both signs are stored exactly', async (db) => {
  await withTable(db)
  const integers = [0, 1, -1, 2 ** 31, -(2 ** 40), Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]
  for (const value of integers) assert.equal(await roundTrip(db, 'n', value), value)
})

eachDatabase('reals are stored exactly', async (db) => {
  await withTable(db)
  for (const value of [0.1, -1.5, 1e300, 5e-324, 3]) {
    assert.equal(await roundTrip(db, 'r', value), value)
  }
})

eachDatabase(
  'text of every Unicode plane, empty text and quotes are stored exactly',
  async (db) => {
    await withTable(db)
    for (const value of [
      '',
      'ä',
      '\u{1f980}',
      '\uffff',
      "it's",
      '\\x41',
      '?',
      '$1',
      '\n\r\t\x01',
    ]) {
      assert.equal(await roundTrip(db, 's', value), value)
    }
  },
)

eachDatabase('all bytes are stored exactly, and NULL in each column', async (db) => {
  await withTable(db)
  const all = Uint8Array.from({ length: 256 }, (_, n) => n)
  assert.deepEqual(Uint8Array.from((await roundTrip(db, 'b', all)) as Uint8Array), all)
  for (const column of ['n', 'r', 's', 'b']) assert.equal(await roundTrip(db, column, null), null)
})

eachDatabase('rows are plain objects', async (db) => {
  const row = await db.get(sql`SELECT 1 AS n`)
  assert.equal(Object.getPrototypeOf(row), Object.prototype)
})

eachDatabase('counts, sums and comparisons are numbers', async (db) => {
  await withTable(db)
  await db.write((tx) => tx.run(sql`INSERT INTO v (n) VALUES (2), (40)`))
  const statement = sql`SELECT count(*) AS c, sum(n) AS s, max(n) = 40 AS e FROM v`
  assert.deepEqual(await db.get(statement), { c: 2, s: 42, e: 1 })
})

eachDatabase('booleans, undefined, NaN and objects throw a TypeError', async (db) => {
  await withTable(db)
  for (const value of [true, undefined, Number.NaN, Number.POSITIVE_INFINITY, {}, [1], 1n]) {
    await assert.rejects(() => roundTrip(db, 's', value), TypeError)
    await assert.rejects(() => db.get(sql`SELECT * FROM v WHERE n = ${value}`), TypeError)
  }
})

eachDatabase('NUL and unpaired surrogates give invalid_request', async (db) => {
  await withTable(db)
  for (const value of ['a\0b', '\ud83e', 'x\udd80']) {
    await assert.rejects(() => roundTrip(db, 's', value), { code: 'invalid_request' })
    const read = () => db.get(sql`SELECT * FROM v WHERE s = ${value}`)
    await assert.rejects(read, { code: 'invalid_request' })
  }
})

const WORDS = [
  'b',
  'B',
  'a',
  'ä',
  'z',
  'A',
  '_',
  '-',
  'a b',
  'aB',
  '\u{1f980}',
  '\uffff',
  '',
  '10',
  '9',
]

eachDatabase('text sorts and compares by its bytes', async (db) => {
  await withTable(db)
  await db.write(async (tx) => {
    for (const word of WORDS) await tx.run(sql`INSERT INTO v (s) VALUES (${word})`)
  })
  const byBytes = [...WORDS].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  assert.deepEqual((await db.arrays(sql`SELECT s FROM v ORDER BY s`)).flat(), byBytes)
  const after = await db.arrays(sql`SELECT s FROM v WHERE s > ${'a'} ORDER BY s`)
  assert.deepEqual(after.flat(), byBytes.slice(byBytes.indexOf('a') + 1))
})

eachDatabase('insert returns the generated id', async (db) => {
  await db.migrate(async (_tx, ddl) => {
    const { text } = db.dialect.types
    await ddl(`CREATE TABLE numbered (id ${db.dialect.serial}, s ${text} NOT NULL)`)
  })
  const insert = (s: string) =>
    db.write((tx) => tx.insert(sql`INSERT INTO numbered (s) VALUES (${s})`))
  const first = await insert('a')
  const second = await insert('b')
  assert.ok(second > first)
  assert.equal((await db.get(sql`SELECT s FROM numbered WHERE id = ${second}`))?.s, 'b')
})
