/** A constraint error has the same constraint name on both databases. */
import assert from 'node:assert/strict'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import { ConstraintError, type Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

async function withTables(db: Database): Promise<void> {
  const { types, serial } = db.dialect
  await db.migrate(async (_tx, ddl) => {
    await ddl(`
      CREATE TABLE parent (id ${serial}, email ${types.text} NOT NULL, area ${types.int});
      CREATE UNIQUE INDEX parent_email ON parent (area, email);
      CREATE UNIQUE INDEX parent_folded ON parent (lower(email));
      CREATE INDEX parent_area ON parent (area);
      CREATE TABLE child (code ${types.text} NOT NULL PRIMARY KEY,
        parent_id ${types.int} NOT NULL REFERENCES parent (id), tag ${types.text} UNIQUE)`)
  })
  await db.write(async (tx) => {
    await tx.run(sql`INSERT INTO parent (email, area) VALUES ('a', 1)`)
    await tx.run(sql`INSERT INTO child (code, parent_id, tag) VALUES ('x', 1, 't')`)
  })
}

const constraintError = async (db: Database, statement: ReturnType<typeof sql>) => {
  const error = await db.write((tx) => tx.run(statement)).catch((thrown) => thrown)
  assert.ok(error instanceof ConstraintError, String(error))
  return error
}

eachDatabase('a unique index is named', async (db) => {
  await withTables(db)
  const duplicate = sql`INSERT INTO parent (email, area) VALUES ('a', 1)`
  const conflictingUpdate = sql`UPDATE parent SET area = 1, email = 'a' WHERE id = 2`
  await db.write((tx) => tx.run(sql`INSERT INTO parent (email, area) VALUES ('b', 1)`))
  for (const statement of [duplicate, conflictingUpdate]) {
    const { kind, index } = await constraintError(db, statement)
    assert.equal(kind, 'unique')
    assert.match(String(index), /^parent_(email|folded)$/)
  }
})

eachDatabase('a unique index on an expression is named', async (db) => {
  await withTables(db)
  const error = await constraintError(db, sql`INSERT INTO parent (email, area) VALUES ('A', 1)`)
  assert.deepEqual([error.kind, error.index], ['unique', 'parent_folded'])
})

eachDatabase('a unique index of several columns is named', async (db) => {
  await withTables(db)
  await db.migrate(async (_tx, ddl) => ddl('DROP INDEX parent_folded'))
  const error = await constraintError(db, sql`INSERT INTO parent (email, area) VALUES ('a', 1)`)
  assert.deepEqual([error.kind, error.index], ['unique', 'parent_email'])
})

eachDatabase(
  'keys and unnamed constraints have the names that PostgreSQL generates',
  async (db) => {
    await withTables(db)
    const key = await constraintError(db, sql`INSERT INTO parent (id, email) VALUES (1, 'c')`)
    assert.deepEqual([key.kind, key.index], ['unique', 'parent_pkey'])
    const text = await constraintError(db, sql`INSERT INTO child (code, parent_id) VALUES ('x', 1)`)
    assert.deepEqual([text.kind, text.index], ['unique', 'child_pkey'])
    const tag = await constraintError(
      db,
      sql`INSERT INTO child (code, parent_id, tag) VALUES ('y', 1, 't')`,
    )
    assert.deepEqual([tag.kind, tag.index], ['unique', 'child_tag_key'])
  },
)

eachDatabase('a missing parent and a parent with children give a reference error', async (db) => {
  await withTables(db)
  const orphan = await constraintError(db, sql`INSERT INTO child (code, parent_id) VALUES ('y', 9)`)
  assert.equal(orphan.kind, 'reference')
  assert.equal((await constraintError(db, sql`DELETE FROM parent WHERE id = 1`)).kind, 'reference')
  assert.deepEqual(await db.get(sql`SELECT count(*) AS n FROM parent`), { n: 1 })
})

eachDatabase('a serial key never reuses a number', async (db) => {
  await withTables(db)
  const insert = () =>
    db.write(async (tx) => {
      await tx.run(sql`INSERT INTO parent (email) VALUES ('z')`)
      const row = await tx.get(sql`SELECT id FROM parent WHERE email = 'z'`)
      await tx.run(sql`DELETE FROM parent WHERE email = 'z'`)
      return Number(row?.id)
    })
  await db.write((tx) => tx.run(sql`DELETE FROM child`))
  await db.write((tx) => tx.run(sql`DELETE FROM parent`))
  const first = await insert()
  assert.ok((await insert()) > first)
})
