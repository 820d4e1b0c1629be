/** Events on PostgreSQL at a fixed time, and their partitions, for tests. */
import type { TestContext } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { eventTable } from '../../src/history/events/tables.ts'
import { createTimeOrderedId, timeOfId } from '../../src/kernel/id.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { retention } from '../../src/outbound/deliveries/retention.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { readPartitions } from '../../src/platform/storage/partitions/catalog.ts'
import { startOfPeriod } from '../../src/platform/storage/partitions/periods.ts'
import { sql } from '../../src/platform/storage/sql.ts'

export const postgres = databases.find(({ name }) => name === 'postgres')!
export const DAY_MS = 86_400_000
export const PERIOD_MS = 3 * DAY_MS
export const startOf = (ms: number) => startOfPeriod(eventTable, ms)
export const START_MS = startOf(Date.UTC(2026, 5, 1)) + DAY_MS
export const scope = scopeOf(1, 'live')
const random = systemRandom()

export const clockAt = (ms: number) => ({ now: () => ms, elapsedMs: () => 0 })

/** Opens a database that was created at `START_MS`. */
export async function openAtStart(t: TestContext): Promise<Database> {
  const db = await postgres.open(t)
  await migrateEngine(db, { clock: clockAt(START_MS) })
  return db
}

export async function addEvent(db: Database, atMs: number): Promise<string> {
  const id = createTimeOrderedId('evt_', atMs, random)
  const created = Math.floor(atMs / 1000)
  await db.write(async (tx) => {
    await tx.run(sql`INSERT INTO gh_events (scope, id, type, shape, object, created)
      VALUES (${scope}, ${id}, 't.x', 'v1', '{}', ${created})`)
    await tx.run(sql`INSERT INTO gh_event_bodies (scope, event_id, version, body)
      VALUES (${scope}, ${id}, 'v1', '{}') ON CONFLICT (scope, event_id, version) DO NOTHING`)
  })
  return id
}

export const purgeAt = (db: Database, ms: number) => retention(db, clockAt(ms)).events!()

export const namesOf = async (db: Database) =>
  (await readPartitions(db, eventTable)).map((p) => p.name)

export const partitionOf = async (db: Database, id: string) =>
  (
    await db.get(sql`SELECT CAST(CAST(tableoid AS regclass) AS text) AS name FROM gh_events
    WHERE id = ${id}`)
  )?.name

export const countRows = async (db: Database) => ({
  events: Number((await db.get(sql`SELECT count(*) AS total FROM gh_events`))!.total),
  bodies: Number((await db.get(sql`SELECT count(*) AS total FROM gh_event_bodies`))!.total),
})

/** Returns the day of the CHECK on a table that is not a partition yet. */
export async function readBoundary(db: Database): Promise<string | undefined> {
  const row = await db.get(sql`SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint
    WHERE conname IN ('gh_events_before', 'gh_events_future_before')`)
  if (!row) return undefined
  const id = /.*'([^']+)'/.exec(row.definition)![1]!
  return new Date(timeOfId(id)!).toISOString().slice(0, 10)
}
