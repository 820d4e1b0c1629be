/** Writes that may commit together: `WriteOptions.group`. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Database, Tx } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const COUNT = 40
const names = Array.from({ length: COUNT }, (_, at) => `group ${String(at).padStart(2, '0')}`)
const put = (name: string) => sql`INSERT INTO gh_settings (name, value) VALUES (${name}, ${'1'})`
const stored = sql`SELECT name FROM gh_settings WHERE name LIKE 'group %' ORDER BY name`

/** Starts a write for each name at once. */
const writeAll = (db: Database, change: (tx: Tx, name: string) => Promise<unknown>) =>
  Promise.allSettled(names.map((name) => db.write((tx) => change(tx, name), { group: 'settings' })))

eachMigrated('writes of a group commit together, and their actions run after it', async (db) => {
  const committed: string[] = []
  await writeAll(db, async (tx, name) => {
    await tx.run(put(name))
    tx.afterCommit(() => committed.push(name))
  })
  assert.deepEqual((await db.arrays(stored)).flat(), names)
  assert.deepEqual(committed.toSorted(), names)
  if (db.name !== 'postgres') return
  const text = "SELECT count(DISTINCT xmin::text) FROM gh_settings WHERE name LIKE 'group %'"
  const [row] = await db.arrays({ sql: '', text, values: [] })
  assert.ok(Number(row![0]) < COUNT / 2, `${row![0]} transactions`)
})

eachMigrated('a write that fails undoes no other one of its group', async (db) => {
  const results = await writeAll(db, async (tx, name) => {
    const at = names.indexOf(name)
    await tx.run(put(at === 20 ? names[19]! : name))
    if (at === 30) throw new Error('refused')
  })
  const failed = results.flatMap(({ status }, at) => (status === 'rejected' ? [at] : []))
  // Either of the two writes of one name is the first one.
  assert.ok(failed.length === 2 && failed[1] === 30 && [19, 20].includes(failed[0]!), `${failed}`)
  assert.deepEqual(
    (await db.arrays(stored)).flat(),
    names.filter((_, at) => at !== 20 && at !== 30),
  )
})

eachMigrated('a write that locks a row excludes the others of its group', async (db) => {
  await db.write((tx) => tx.run(sql`INSERT INTO gh_settings (name, value) VALUES ('sum', '0')`))
  await writeAll(db, async (tx) => {
    const row = await tx.lock<{ value: string }>(
      sql`SELECT value FROM gh_settings WHERE name = 'sum'`,
    )
    const next = String(Number(row!.value) + 1)
    await tx.run(sql`UPDATE gh_settings SET value = ${next} WHERE name = 'sum'`)
  })
  const row = await db.get<{ value: string }>(sql`SELECT value FROM gh_settings WHERE name = 'sum'`)
  assert.equal(row!.value, String(COUNT))
})

eachMigrated('a group whose connection is lost before the commit runs again', async (db) => {
  if (db.name !== 'postgres') return
  let cut = false
  await writeAll(db, async (tx, name) => {
    await tx.run(put(name))
    if (cut || name === names[0]) return // the first one runs alone
    cut = true
    const text = 'SELECT pg_terminate_backend(pg_backend_pid())'
    await tx.get({ sql: '', text, values: [] })
  })
  assert.ok(cut)
  assert.deepEqual((await db.arrays(stored)).flat(), names)
})

eachMigrated('sums of a group are one statement with the commit', async (db) => {
  let statements = 0
  await writeAll(db, async (tx, name) => {
    await tx.run(put(name))
    const add = (sum: number) => {
      statements++
      return sql`INSERT INTO gh_counters (scope, collection, slot, total) VALUES (0, 'x', 0, ${sum})
        ON CONFLICT (scope, collection, slot) DO UPDATE SET total = gh_counters.total + ${sum}`
    }
    if (tx.addLater) tx.addLater('x', 1, add)
    else tx.runLater(add(1))
  })
  const row = await db.get<{ total: number }>(
    sql`SELECT total FROM gh_counters WHERE scope = 0 AND collection = 'x'`,
  )
  assert.equal(row!.total, COUNT)
  if (db.name === 'postgres') assert.ok(statements < COUNT / 2, `${statements} statements`)
})

eachMigrated('a caller that has lost its rights fails alone in its group', async (db) => {
  const verified: string[] = []
  const authorityOf = (name: string) => ({
    hasOldAuthority: () => name === names[7] || !verified.includes(name),
    async requireAuthority() {
      verified.push(name)
      if (name === names[7]) throw new Error('revoked')
    },
  })
  const results = await Promise.allSettled(
    names.map((name) =>
      db.write((tx) => tx.run(put(name)), { group: 'settings', authority: authorityOf(name) }),
    ),
  )
  const failed = results.flatMap(({ status }, at) => (status === 'rejected' ? [at] : []))
  assert.deepEqual(failed, [7])
  assert.deepEqual([...new Set(verified)].toSorted(), names, 'each was verified')
  const rows = (await db.arrays(stored)).flat()
  assert.deepEqual(
    rows,
    names.filter((_, at) => at !== 7),
  )
})
