/** One transaction, and many at once: what commits, what rolls back, who is told when. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, eachDatabase } from '../../../../test/rig/databases.ts'
import type { Database } from '../../src/storage/database.ts'
import { sql } from '../../src/storage/sql.ts'

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

eachDatabase('what a write returns and stores is there when it resolves', async (db) => {
  await withTable(db)
  assert.equal(await insert(db, 1, 'a'), 1)
  assert.deepEqual(await db.all(sql`SELECT * FROM t`), [{ id: 1, name: 'a' }])
  assert.deepEqual(await db.get(sql`SELECT name FROM t WHERE id = ${1}`), { name: 'a' })
  assert.equal(await db.get(sql`SELECT name FROM t WHERE id = ${2}`), undefined)
  assert.deepEqual(await db.arrays(sql`SELECT name, id FROM t`), [['a', 1]])
  const changed = await db.write((tx) => tx.run(sql`UPDATE t SET name = 'b' WHERE id > ${5}`))
  assert.equal(changed, 0)
})

eachDatabase('an exception rolls back the whole transaction and reaches the caller', async (db) => {
  await withTable(db)
  const ours = new Error('ours')
  const failing = db.write(async (tx) => {
    await tx.run(sql`INSERT INTO t (id) VALUES (1)`)
    throw ours
  })
  await assert.rejects(failing, ours)
  assert.deepEqual(await ids(db), [])
})

eachDatabase('of many writes at once, those that fail do not hurt the others', async (db) => {
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
  const kept = Array.from({ length: 200 }, (_, id) => id).filter((id) => id % 3 !== 0)
  assert.deepEqual(
    outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : [])),
    kept,
  )
  assert.deepEqual(await ids(db), kept)
})

eachDatabase('who runs again beside one that failed is done once', async (db) => {
  await withTable(db)
  const told: number[] = []
  const write = (id: number) =>
    db.write(async (tx) => {
      tx.afterCommit(() => told.push(id))
      await tx.run(sql`INSERT INTO t (id) VALUES (${id})`)
      if (id === 2) throw new Error('no')
      return (await tx.all(sql`SELECT id FROM t WHERE id = ${id}`)).length
    })
  const outcomes = await Promise.allSettled([1, 2, 3, 4].map(write))
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'failed')),
    [1, 'failed', 1, 1],
  )
  assert.deepEqual(told.toSorted(), [1, 3, 4])
  assert.deepEqual(await ids(db), [1, 3, 4])
})

eachDatabase('of statements that fail together nothing stays', async (db) => {
  const { int } = db.dialect.types
  const twice = `CREATE TABLE half (id ${int}); CREATE TABLE half (id ${int})`
  await assert.rejects(db.migrate(async (_tx, ddl) => ddl(twice)))
  assert.deepEqual(await db.columns('half'), [])
})

eachDatabase(
  'a transaction sees its own changes, nobody else does before it commits',
  async (db) => {
    await withTable(db)
    const count = sql`SELECT count(*) AS n FROM t`
    let reached = () => {}
    const inside = new Promise<void>((resolve) => (reached = resolve))
    let goOn = () => {}
    const held = new Promise<void>((resolve) => (goOn = resolve))
    const writing = db.write(async (tx) => {
      await tx.run(sql`INSERT INTO t (id) VALUES (1)`)
      assert.deepEqual(await tx.get(count), { n: 1 })
      reached()
      await held
    })
    await inside
    assert.deepEqual(await db.get(count), { n: 0 })
    goOn()
    await writing
    assert.deepEqual(await db.get(count), { n: 1 })
  },
)

eachDatabase(
  'afterCommit runs once, after the rows can be read; never after a rollback',
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
  const sly = db.write(async (tx) => {
    await tx.run(sql`INSERT INTO t (id) VALUES (2)`)
    await tx.run(sql`INSERT INTO t (id, name) VALUES (3, 'a')`).catch(() => undefined)
  })
  await assert.rejects(sly, { kind: 'unique', index: 't_name' })
  assert.deepEqual(await ids(db), [1])
})

eachDatabase(
  'what was attempted in vain is undone alone, and its afterCommit with it',
  async (db) => {
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
  },
)

eachDatabase('lock and hold read the row', async (db) => {
  await withTable(db)
  await insert(db, 1, 'a')
  await db.write(async (tx) => {
    assert.deepEqual(await tx.lock(sql`SELECT * FROM t WHERE id = ${1}`), { id: 1, name: 'a' })
    assert.deepEqual(await tx.hold(sql`SELECT name FROM t WHERE id = ${1}`), { name: 'a' })
    assert.equal(await tx.lock(sql`SELECT * FROM t WHERE id = ${2}`), undefined)
  })
})

eachDatabase(
  'what is read under lock is not changed by others: no increment is lost',
  async (db) => {
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
  },
)

eachDatabase(
  'the database itself throws inside a transaction and inside a snapshot',
  async (db) => {
    await withTable(db)
    const one = sql`SELECT 1 AS one`
    const outer: (() => Promise<unknown>)[] = [
      () => db.all(one),
      () => db.get(one),
      () => db.arrays(one),
      () => db.write(async () => 1),
      () => db.snapshot(async () => 1),
    ]
    for (const use of outer) {
      await assert.rejects(() => db.write(() => use()), /^Error: bug: db\./)
      await assert.rejects(() => db.snapshot(() => use()), /^Error: bug: db\./)
    }
    assert.deepEqual(await db.get(one), { one: 1 })
  },
)

eachDatabase(
  'what was started inside a transaction may use the database once it ended',
  async (db) => {
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
  },
)

eachDatabase('a handle kept after its transaction throws', async (db) => {
  await withTable(db)
  const one = sql`SELECT 1 AS one`
  const kept = await db.write(async (tx) => ({ tx }))
  await assert.rejects(() => kept.tx.get(one), /has ended/)
  await assert.rejects(() => kept.tx.run(one), /has ended/)
  assert.throws(() => kept.tx.afterCommit(() => {}), /has ended/)
  const reader = await db.snapshot(async (inside) => ({ inside }))
  await assert.rejects(() => reader.inside.get(one), /has ended/)
})

for (const database of databases) {
  test(`closing finishes what waits and refuses what comes [${database.name}]`, async (t) => {
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

eachDatabase('transactions that wait are counted until they are answered', async (db) => {
  await withTable(db)
  assert.equal(db.queued(), 0)
  const writes = Promise.all(Array.from({ length: 5 }, (_, n) => insert(db, n)))
  assert.equal(db.queued(), 5)
  await writes
  assert.equal(db.queued(), 0)
})
