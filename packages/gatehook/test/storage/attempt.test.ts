/** `tx.attempt`: a part of a transaction that can fail alone. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Tx } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

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

const BITS = 6

eachMigrated('every nesting of failed and successful attempts undoes what failed', async (db) => {
  const expected: string[] = []
  for (let n = 0; n < 2 ** BITS; n++) {
    const bits = Array.from({ length: BITS }, (_, bit) => (n & (1 << bit)) !== 0)
    const [outerFails, firstFails, secondFails, isLater, startsWithRow, endsWithRow] = bits
    const store = async (tx: Tx, part: string) => {
      const statement = put(`nest ${String(n).padStart(2, '0')} ${part}`)
      if (isLater) tx.runLater(statement)
      else await tx.run(statement)
    }
    const attempt = (tx: Tx, fails: boolean | undefined, change: () => Promise<void>) =>
      tx
        .attempt(async () => {
          await change()
          if (fails) throw new Error('no')
        })
        .catch(() => undefined)
    await db.write(async (tx) => {
      await attempt(tx, outerFails, async () => {
        if (startsWithRow) await store(tx, 'a')
        await attempt(tx, firstFails, () => store(tx, 'b'))
        await attempt(tx, secondFails, () => store(tx, 'c'))
        if (endsWithRow) await store(tx, 'd')
      })
    })
    const parts = [
      startsWithRow && 'a',
      !firstFails && 'b',
      !secondFails && 'c',
      endsWithRow && 'd',
    ]
    for (const part of parts) {
      if (part && !outerFails) expected.push(`nest ${String(n).padStart(2, '0')} ${part}`)
    }
  }
  const stored = await db.arrays(
    sql`SELECT name FROM gh_settings WHERE name LIKE 'nest %' ORDER BY name`,
  )
  assert.deepEqual(stored.flat(), expected)
})
