/** `tx.attempt`: a part of a transaction that can fail alone. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { sql } from '../../src/storage/sql.ts'

const put = (name: string) => sql`INSERT INTO gh_settings (name, value) VALUES (${name}, ${'1'})`
const names = sql`SELECT name FROM gh_settings WHERE name IN ('a', 'b', 'c') ORDER BY name`

eachMigrated('a failed attempt undoes its own changes only', async (db) => {
  await db.write(async (tx) => {
    await tx.run(put('a'))
    const attempt = tx.attempt(async () => {
      await tx.run(put('b'))
      throw new Error('no')
    })
    await assert.rejects(attempt, /no/)
    await tx.run(put('c'))
  })
  assert.deepEqual(await db.arrays(names), [['a'], ['c']])
})

eachMigrated(
  'a statement that fails inside an attempt leaves the transaction usable',
  async (db) => {
    await db.write(async (tx) => {
      await tx.run(put('a'))
      await assert.rejects(tx.attempt(() => tx.run(put('a'))))
      await tx.run(put('b'))
    })
    assert.deepEqual(await db.arrays(names), [['a'], ['b']])
  },
)

eachMigrated('a nested attempt is undone alone', async (db) => {
  await db.write(async (tx) => {
    await tx.attempt(async () => {
      await tx.run(put('a'))
      await tx
        .attempt(async () => {
          await tx.run(put('b'))
          throw new Error('inner')
        })
        .catch(() => undefined)
      await tx.run(put('c'))
    })
  })
  assert.deepEqual(await db.arrays(names), [['a'], ['c']])
})
