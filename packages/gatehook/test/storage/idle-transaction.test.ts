/** Own code that waits for something other than the database loses its transaction. */
import assert from 'node:assert/strict'
import { mock } from 'node:test'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import type { Database, Tx } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { IDLE_MS } from '../../src/platform/storage/transaction.ts'

async function withTable(db: Database): Promise<void> {
  await db.migrate((_tx, ddl) => ddl(`CREATE TABLE t (id ${db.dialect.types.int} NOT NULL)`))
}

const insert = (tx: Tx, id: number) => tx.run(sql`INSERT INTO t (id) VALUES (${id})`)
const ids = async (db: Database) => (await db.arrays(sql`SELECT id FROM t ORDER BY id`)).flat()

/** Runs `body` with intervals that `pass` lets elapse. */
async function withMockedIntervals(body: (pass: () => void) => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ['setInterval'] })
  try {
    await body(() => mock.timers.tick(IDLE_MS))
  } finally {
    mock.timers.reset()
  }
}

eachDatabase(
  'a transaction of own code that hangs is rolled back, and others go on',
  async (db) => {
    await withTable(db)
    await withMockedIntervals(async (pass) => {
      const { promise: inserted, resolve } = Promise.withResolvers<Tx>()
      const hanging = db.write(
        async (tx) => {
          await insert(tx, 1)
          resolve(tx)
          await new Promise(() => {})
        },
        { serializable: true },
      )
      const rejection = assert.rejects(hanging, /own code has not used its transaction for 10 s/)
      const handle = await inserted
      const other = db.write((tx) => insert(tx, 2))
      pass()
      pass()
      await rejection
      await other
      assert.deepEqual(await ids(db), [2])
      await assert.rejects(insert(handle, 3), /this transaction has ended/)
    })
  },
)

eachDatabase('code that goes on after its transaction changes nothing of others', async (db) => {
  await withTable(db)
  await withMockedIntervals(async (pass) => {
    for (const end of ['fails', 'ends'] as const) {
      const begun = Promise.withResolvers<void>()
      const resumed = Promise.withResolvers<void>()
      let late: Promise<unknown> | undefined
      const hanging = db.write(
        async (tx) => {
          late = tx.attempt(async () => {
            await insert(tx, 1)
            begun.resolve()
            await resumed.promise
            if (end === 'fails') throw new Error('late')
          })
          await late
        },
        { serializable: true },
      )
      const rejection = assert.rejects(hanging, /own code has not used its transaction/)
      await begun.promise
      pass()
      pass()
      await rejection
      await db.write((tx) =>
        tx.attempt(async () => {
          await insert(tx, 2)
          resumed.resolve()
          await assert.rejects(late!, end === 'fails' ? /late/ : /has ended/)
          await tx.get(sql`SELECT 1`)
        }),
      )
    }
    assert.deepEqual(await ids(db), [2, 2])
  })
})

eachDatabase('own code that uses its transaction in time commits', async (db) => {
  await withTable(db)
  await withMockedIntervals(async (pass) => {
    const change = async (tx: Tx) => {
      for (const id of [1, 2, 3]) {
        await insert(tx, id)
        pass()
      }
    }
    await db.write(change, { serializable: true })
    assert.deepEqual(await ids(db), [1, 2, 3])
  })
})

eachDatabase('the transactions of the engine have no such bound', async (db) => {
  await withTable(db)
  await withMockedIntervals(async (pass) => {
    await db.write(async (tx) => {
      pass()
      pass()
      await insert(tx, 1)
    })
    assert.deepEqual(await ids(db), [1])
  })
})
