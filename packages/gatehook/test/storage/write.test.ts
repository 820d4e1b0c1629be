/** Transactions, alone and concurrent: commits, rollbacks, acknowledgements. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, eachDatabase } from '../../../../test/rig/databases.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

async function withTable(db: Database): Promise<void> {
  const { int, text } = db.dialect.types
  await db.migrate(async (_tx, ddl) => {
    await ddl(`CREATE TABLE t (id ${int} NOT NULL PRIMARY KEY, name ${text});
      CREATE UNIQUE INDEX t_name ON t (name)`)
  })
}

const insert = (db: Database, id: number, name: string | null = null) =>
  db.write((tx) => tx.run(sql`INSERT INTO t (id, name) VALUES (${id}, ${name})`))

const ids = async (db: Database): Promise<unknown[]> =>
  (await db.arrays(sql`SELECT id FROM t ORDER BY id`)).flat()

eachDatabase(
  'a write returns its result, and its rows are visible once it resolves',
  async (db) => {
    await withTable(db)
    assert.equal(await insert(db, 1, 'a'), 1)
    assert.deepEqual(await db.all(sql`SELECT * FROM t`), [{ id: 1, name: 'a' }])
    assert.deepEqual(await db.get(sql`SELECT name FROM t WHERE id = ${1}`), { name: 'a' })
    assert.equal(await db.get(sql`SELECT name FROM t WHERE id = ${2}`), undefined)
    assert.deepEqual(await db.arrays(sql`SELECT name, id FROM t`), [['a', 1]])
    const changed = await db.write((tx) => tx.run(sql`UPDATE t SET name = 'b' WHERE id > ${5}`))
    assert.equal(changed, 0)
  },
)

eachDatabase('an exception rolls back the whole transaction and rejects the write', async (db) => {
  await withTable(db)
  const failure = new Error('failure')
  const failing = db.write(async (tx) => {
    await tx.run(sql`INSERT INTO t (id) VALUES (1)`)
    throw failure
  })
  await assert.rejects(failing, failure)
  assert.deepEqual(await ids(db), [])
})

eachDatabase('a write of one statement commits, or changes nothing', async (db) => {
  await withTable(db)
  const add = (name: string) =>
    db.write((tx) => tx.run(sql`INSERT INTO t (id, name) VALUES (${name.length}, ${name})`), {
      single: true,
    })
  assert.equal(await add('a'), 1)
  await assert.rejects(add('b'), { name: 'Error', kind: 'unique' })
  assert.equal(await add('bb'), 1, 'the connection is usable')
  assert.deepEqual(await ids(db), [1, 2])
})

eachDatabase('concurrent writes commit although others fail', async (db) => {
  await withTable(db)
  const outcomes = await Promise.allSettled(
    Array.from({ length: 200 }, (_, id) =>
      db.write(async (tx) => {
        await tx.run(sql`INSERT INTO t (id) VALUES (${id})`)
        if (id % 3 === 0) throw new Error('no')
        return id
      }),
    ),
  )
  const expectedIds = Array.from({ length: 200 }, (_, id) => id).filter((id) => id % 3 !== 0)
  assert.deepEqual(
    outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : [])),
    expectedIds,
  )
  assert.deepEqual(await ids(db), expectedIds)
})

eachDatabase(
  'a write that runs again after the failure of another takes effect once',
  async (db) => {
    await withTable(db)
    const committedIds: number[] = []
    const write = (id: number) =>
      db.write(async (tx) => {
        tx.afterCommit(() => committedIds.push(id))
        await tx.run(sql`INSERT INTO t (id) VALUES (${id})`)
        if (id === 2) throw new Error('no')
        return (await tx.all(sql`SELECT id FROM t WHERE id = ${id}`)).length
      })
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(write))
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'failed')),
      [1, 'failed', 1, 1],
    )
    assert.deepEqual(committedIds.toSorted(), [1, 3, 4])
    assert.deepEqual(await ids(db), [1, 3, 4])
  },
)

eachDatabase('a failed script of several statements changes nothing', async (db) => {
  const { int } = db.dialect.types
  const twice = `CREATE TABLE half (id ${int}); CREATE TABLE half (id ${int})`
  await assert.rejects(db.migrate(async (_tx, ddl) => ddl(twice)))
  assert.deepEqual(await db.columns('half'), [])
})

eachDatabase('before the commit, only the transaction sees its changes', async (db) => {
  await withTable(db)
  const count = sql`SELECT count(*) AS n FROM t`
  let reached = () => {}
  const inside = new Promise<void>((resolve) => (reached = resolve))
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const writing = db.write(async (tx) => {
    await tx.run(sql`INSERT INTO t (id) VALUES (1)`)
    assert.deepEqual(await tx.get(count), { n: 1 })
    reached()
    await held
  })
  await inside
  assert.deepEqual(await db.get(count), { n: 0 })
  release()
  await writing
  assert.deepEqual(await db.get(count), { n: 1 })
})

eachDatabase(
  'afterCommit runs once, when the rows are visible, and never after a rollback',
  async (db) => {
    await withTable(db)
    const seen: string[] = []
    await db.write(async (tx) => {
      tx.afterCommit(() => seen.push('committed'))
      await tx.run(sql`INSERT INTO t (id) VALUES (1)`)
      assert.deepEqual(seen, [])
    })
    assert.deepEqual(seen, ['committed'])
    await assert.rejects(
      db.write(async (tx) => {
        tx.afterCommit(() => seen.push('rolled back'))
        throw new Error('no')
      }),
    )
    await insert(db, 2)
    assert.deepEqual(seen, ['committed'])
  },
)

eachDatabase('an error caught inside the transaction still rolls it back', async (db) => {
  await withTable(db)
  await insert(db, 1, 'a')
  const write = db.write(async (tx) => {
    await tx.run(sql`INSERT INTO t (id) VALUES (2)`)
    await tx.run(sql`INSERT INTO t (id, name) VALUES (3, 'a')`).catch(() => undefined)
  })
  await assert.rejects(write, { kind: 'unique', index: 't_name' })
  assert.deepEqual(await ids(db), [1])
})

eachDatabase('a failed attempt is undone with its afterCommit actions', async (db) => {
  await withTable(db)
  await insert(db, 1, 'a')
  const seen: number[] = []
  await db.write(async (tx) => {
    await tx.run(sql`INSERT INTO t (id) VALUES (2)`)
    tx.afterCommit(() => seen.push(2))
    const attempt = tx.attempt(async () => {
      tx.afterCommit(() => seen.push(3))
      await tx.run(sql`INSERT INTO t (id) VALUES (3)`)
      await tx.run(sql`INSERT INTO t (id, name) VALUES (4, 'a')`)
    })
    await assert.rejects(attempt, { kind: 'unique', index: 't_name' })
    await tx.attempt(() => tx.run(sql`INSERT INTO t (id) VALUES (5)`))
  })
  assert.deepEqual(await ids(db), [1, 2, 5])
  assert.deepEqual(seen, [2])
})

eachDatabase('lock and hold return the row', async (db) => {
  await withTable(db)
  await insert(db, 1, 'a')
  await db.write(async (tx) => {
    assert.deepEqual(await tx.lock(sql`SELECT * FROM t WHERE id = ${1}`), { id: 1, name: 'a' })
    assert.deepEqual(await tx.hold(sql`SELECT name FROM t WHERE id = ${1}`), [{ name: 'a' }])
    assert.equal(await tx.lock(sql`SELECT * FROM t WHERE id = ${2}`), undefined)
  })
})

eachDatabase('a row that another transaction holds can be locked for a change', async (db) => {
  await withTable(db)
  await insert(db, 1, 'a')
  if (db.name !== 'postgres') return
  const row = sql`SELECT name FROM t WHERE id = ${1}`
  const held = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const holder = db.write(async (tx) => {
    await tx.hold(row)
    held.resolve()
    await ended.promise
  })
  await held.promise
  assert.deepEqual(await db.write((tx) => tx.lock(row, 'change')), { name: 'a' })
  ended.resolve()
  await holder
})

eachDatabase('concurrent increments under a row lock are all applied', async (db) => {
  await withTable(db)
  await insert(db, 1, '0')
  await Promise.all(
    Array.from({ length: 40 }, () =>
      db.write(async (tx) => {
        const row = await tx.lock(sql`SELECT name FROM t WHERE id = ${1}`)
        await tx.run(sql`UPDATE t SET name = ${String(Number(row?.name) + 1)} WHERE id = ${1}`)
      }),
    ),
  )
  assert.deepEqual(await db.get(sql`SELECT name FROM t`), { name: '40' })
})

eachDatabase(
  'methods of the database throw inside a transaction and inside a snapshot',
  async (db) => {
    await withTable(db)
    const statement = sql`SELECT 1 AS n`
    const outer: (() => Promise<unknown>)[] = [
      () => db.all(statement),
      () => db.get(statement),
      () => db.arrays(statement),
      () => db.write(async () => 1),
      () => db.snapshot(async () => 1),
    ]
    for (const use of outer) {
      await assert.rejects(
        () => db.write(() => use()),
        /^Error: a read or write outside of the open transaction \(db\./,
      )
      await assert.rejects(
        () => db.snapshot(() => use()),
        /^Error: a read or write outside of the open transaction \(db\./,
      )
    }
    assert.deepEqual(await db.get(statement), { n: 1 })
  },
)

eachDatabase('code that a transaction started can use the database after its end', async (db) => {
  await withTable(db)
  let later: Promise<unknown> | undefined
  let ended = () => {}
  const end = new Promise<void>((resolve) => (ended = resolve))
  await db.write(async (tx) => {
    await tx.run(sql`INSERT INTO t (id) VALUES (1)`)
    later = end.then(() => ids(db))
  })
  ended()
  assert.deepEqual(await later, [1])
})

eachDatabase('a handle throws after the end of its transaction', async (db) => {
  await withTable(db)
  const statement = sql`SELECT 1 AS n`
  const handle = await db.write(async (tx) => ({ tx }))
  await assert.rejects(() => handle.tx.get(statement), /has ended/)
  await assert.rejects(() => handle.tx.run(statement), /has ended/)
  assert.throws(() => handle.tx.afterCommit(() => {}), /has ended/)
  const reader = await db.snapshot(async (inside) => ({ inside }))
  await assert.rejects(() => reader.inside.get(statement), /has ended/)
})

for (const database of databases) {
  test(`closing finishes waiting writes and rejects new ones [${database.name}]`, async (t) => {
    const db = await database.open(t)
    await withTable(db)
    const writes = Promise.all(Array.from({ length: 100 }, (_, id) => insert(db, id)))
    const closed = db.close()
    await assert.rejects(() => insert(db, 1000), { code: 'storage_unavailable' })
    await assert.rejects(() => ids(db), { code: 'storage_unavailable' })
    assert.equal((await writes).length, 100)
    await closed
  })
}

eachDatabase('queued counts transactions until they resolve', async (db) => {
  await withTable(db)
  assert.equal(db.queued(), 0)
  const writes = Promise.all(Array.from({ length: 5 }, (_, n) => insert(db, n)))
  assert.equal(db.queued(), 5)
  await writes
  assert.equal(db.queued(), 0)
})
