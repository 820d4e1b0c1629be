/**
 * Makes a table of an earlier release the partition `past` of a partitioned table, while nodes read
 * and write it. The steps are visible in the catalog, so that a conversion that was killed resumes:
 *
 * 1. Creates the indexes online that the table lacks.
 * 2. Adds and validates a CHECK that all rows precede a boundary (`boundary.ts`).
 * 3. Renames the table, creates the partitioned one and attaches the former, without a scan.
 */

import type { Log } from '../../../kernel/log.ts'
import type { Database, Tx } from '../database.ts'
import { prepareStatement } from '../sql.ts'
import { dropCheck, readBoundary, validateBoundary } from './boundary.ts'
import { isMoving, isPartitioned, type RunDdl, type TimeTable, timeTables } from './catalog.ts'
import { startOfPeriod } from './periods.ts'
import { createPast, createPeriods } from './upkeep.ts'

/** Partitions the tables without rows in the transaction of the migrations. */
export async function partitionEmptyTables(tx: Tx, ddl: RunDdl, nowMs: number): Promise<void> {
  for (const table of timeTables) {
    const { name, added } = table
    const first = prepareStatement(`SELECT 1 AS row FROM ${name} LIMIT 1`)
    if ((await isPartitioned(tx, table)) || (await tx.get(first([])))) continue
    // A transaction of an earlier release may have inserted rows that were not committed then.
    await ddl(`LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`)
    if (await tx.get(first([]))) continue
    for (const [index, definition] of Object.entries(added)) {
      await ddl(`CREATE INDEX IF NOT EXISTS ${index} ${definition}`)
    }
    const boundaryMs = startOfPeriod(table, nowMs)
    const past = await replaceTable(tx, ddl, table)
    await ddl(`DROP TABLE ${past}`)
    await createPast(ddl, table, boundaryMs)
    await createPeriods(ddl, table, boundaryMs, nowMs)
  }
}

export interface ConversionOptions {
  readonly now: () => number
  readonly log: Log
  readonly signal?: AbortSignal
}

/** Partitions the tables that have rows. Returns whether all are partitioned now. */
export async function partitionTables(db: Database, options: ConversionOptions): Promise<boolean> {
  let isComplete = true
  for (const table of timeTables) isComplete &&= await partitionTable(db, table, options)
  return isComplete
}

async function partitionTable(
  db: Database,
  table: TimeTable,
  { now, log, signal }: ConversionOptions,
): Promise<boolean> {
  const { name, added, former = [] } = table
  if (await isPartitioned(db, table)) return true
  if (await isMoving(db)) return false
  const indexNames = await db.indexes(name)
  if (former.some((index) => indexNames.includes(index))) return false
  const missing = Object.entries(added)
    .filter(([index]) => !indexNames.includes(index))
    .map(([index, definition]) => ({ table: name, name: index, definition }))
  if (missing.length > 0 && !(await db.createIndexes(missing, signal))) return false
  if (signal?.aborted) return false
  await validateBoundary(db, table, { nowMs: now(), signal })
  if (signal?.aborted) return false
  await db.migrate(async (tx, ddl) => {
    await ddl(`LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`)
    const boundary = await readBoundary(tx, table)
    if (!boundary || (await isPartitioned(tx, table)) || (await isMoving(tx))) return
    const past = await replaceTable(tx, ddl, table)
    await ddl(`ALTER TABLE ${name} ATTACH PARTITION ${past}
      FOR VALUES FROM (MINVALUE) TO ('${boundary}')`)
    await dropCheck(ddl, table, past)
    await createPeriods(ddl, table, table.timeOf(boundary), now())
  })
  const isDone = await isPartitioned(db, table)
  if (isDone) log.info({ table: name }, 'a table is partitioned by time')
  return isDone
}

const indexes = prepareStatement(`SELECT c.relname AS name, pg_get_indexdef(c.oid) AS definition
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE i.indrelid = to_regclass(quote_ident(?)) AND i.indisvalid AND NOT i.indisprimary`)
const primaryKey = prepareStatement(`SELECT conname AS name, pg_get_constraintdef(oid) AS definition
  FROM pg_constraint WHERE conrelid = to_regclass(quote_ident(?)) AND contype = 'p'`)
const triggers = prepareStatement(`SELECT tgname AS name, pg_get_triggerdef(oid) AS definition
  FROM pg_trigger WHERE tgrelid = to_regclass(quote_ident(?)) AND NOT tgisinternal`)
const lastNumber = prepareStatement(`SELECT
  coalesce(pg_sequence_last_value(CAST(pg_get_serial_sequence(?, ?) AS regclass)), 0) AS last`)
const grants = prepareStatement(`SELECT a.privilege_type AS privilege,
    CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE CAST(CAST(a.grantee AS regrole) AS text) END AS grantee
  FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
  WHERE c.oid = to_regclass(quote_ident(?)) AND a.grantee <> c.relowner`)

/**
 * Renames the table, and creates a partitioned one with its name, columns, indexes, triggers,
 * sequence and privileges, and without partitions. Returns the new name of the former table.
 */
async function replaceTable(tx: Tx, ddl: RunDdl, table: TimeTable): Promise<string> {
  const { name, column, numbered, loose } = table
  const past = `${name}_past`
  let last = 0
  if (numbered) {
    last = Number((await tx.get(lastNumber([name, numbered.column])))!.last)
    await ddl(`ALTER TABLE ${name} DROP CONSTRAINT ${name}_pkey`)
    await ddl(`ALTER TABLE ${name} ADD CONSTRAINT ${name}_pkey PRIMARY KEY
      USING INDEX ${numbered.index}`)
    await ddl(`ALTER TABLE ${name} ALTER COLUMN ${numbered.column} DROP IDENTITY`)
  }
  const ownIndexes = await tx.all<{ name: string; definition: string }>(indexes([name]))
  const key = (await tx.get<{ name: string; definition: string }>(primaryKey([name])))!
  const ownTriggers = await tx.all<{ name: string; definition: string }>(triggers([name]))
  const privileges = await tx.all<{ privilege: string; grantee: string }>(grants([name]))
  for (const trigger of ownTriggers) await ddl(`DROP TRIGGER ${trigger.name} ON ${name}`)
  await ddl(`ALTER TABLE ${name} RENAME TO ${past}`)
  for (const index of [...ownIndexes, key]) {
    await ddl(`ALTER INDEX ${index.name} RENAME TO ${index.name}_past`)
  }
  await ddl(`CREATE TABLE ${name} (LIKE ${past} INCLUDING DEFAULTS INCLUDING STORAGE)
    PARTITION BY RANGE (${column})`)
  await ddl(`ALTER TABLE ${name} ADD CONSTRAINT ${key.name} ${key.definition}`)
  // Their texts name the table that has the name now.
  for (const index of ownIndexes) {
    if (index.name !== loose?.index) await ddl(index.definition)
  }
  for (const trigger of ownTriggers) await ddl(trigger.definition)
  if (numbered) {
    await ddl(`ALTER TABLE ${name} ALTER COLUMN ${numbered.column}
      ADD GENERATED BY DEFAULT AS IDENTITY (START WITH ${last + 1})`)
  }
  for (const { privilege, grantee } of privileges) {
    await ddl(`GRANT ${privilege} ON ${name} TO ${grantee}`)
  }
  return past
}
