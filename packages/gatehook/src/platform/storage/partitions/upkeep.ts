/**
 * Creates the partitions of the next days, and drops those whose rows have all expired. Each is one
 * transaction that changes the catalog only and locks the table for milliseconds, with the short
 * waits of `Database.migrate`.
 */
import type { Database, Tx } from '../database.ts'
import { prepareStatement } from '../sql.ts'
import { dropCheck, readBoundary, readNewestMs, validateBoundary } from './boundary.ts'
import { isMoving, lockTable, type RunDdl, readPartitions, type TimeTable } from './catalog.ts'
import {
  expiredPartitions,
  nextPeriod,
  type Partition,
  type Period,
  partitionName,
  periodsFrom,
  startOfFuture,
  startOfPeriod,
} from './periods.ts'

/** The janitor tries again after a minute. */
const ATTEMPTS = 3
/** A larger `future` is examined before the table is locked. */
const LOCKED_SCAN_BYTES = 16_777_216
/** The longest time for which rows of `future` are examined while the table is locked. */
const ATTACH_MS = 2_000

const nameOf = (table: TimeTable, part: 'past' | 'future') => `${table.name}_${part}`

/** Creates the partitions of a new table. */
export async function createPartitions(
  ddl: RunDdl,
  table: TimeTable,
  nowMs: number,
): Promise<void> {
  const boundaryMs = startOfPeriod(table, nowMs)
  await createPast(ddl, table, boundaryMs)
  await createPeriods(ddl, table, boundaryMs, nowMs)
}

/** Returns the clause of a new partition. */
const storageOf = ({ vacuumShare }: TimeTable): string =>
  vacuumShare === undefined ? '' : ` WITH (autovacuum_vacuum_scale_factor = ${vacuumShare})`

/** Creates the partition of all rows before an instant. */
async function createPast(ddl: RunDdl, table: TimeTable, toMs: number): Promise<void> {
  const name = nameOf(table, 'past')
  await ddl(`CREATE TABLE ${name} PARTITION OF ${table.name}
    FOR VALUES FROM (MINVALUE) TO ('${table.boundAt(toMs)}')${storageOf(table)}`)
  if (table.purgedBy) await ddl(`CREATE INDEX ON ${name} (${table.purgedBy})`)
}

/** Creates the partitions of periods, and of all rows after them. */
async function createPeriods(
  ddl: RunDdl,
  table: TimeTable,
  fromMs: number,
  nowMs: number,
): Promise<void> {
  const at = (ms: number) => `'${table.boundAt(ms)}'`
  let endMs = fromMs
  for (const period of periodsFrom(table, fromMs, nowMs)) {
    await ddl(`CREATE TABLE ${partitionName(table.name, period)} PARTITION OF ${table.name}
      FOR VALUES FROM (${at(period.fromMs)}) TO (${at(period.toMs)})${storageOf(table)}`)
    endMs = period.toMs
  }
  const future = nameOf(table, 'future')
  await ddl(`CREATE TABLE ${future} PARTITION OF ${table.name}
    FOR VALUES FROM (${at(endMs)}) TO (MAXVALUE)${storageOf(table)}`)
  if (table.purgedBy) await ddl(`CREATE INDEX ON ${future} (${table.purgedBy})`)
}

/** Creates the missing partitions of the next days. Returns whether there were any. */
export async function extendPartitions(
  db: Database,
  table: TimeTable,
  nowMs: number,
  scanBytes = LOCKED_SCAN_BYTES,
): Promise<boolean> {
  const isMissing = (partitions: readonly Partition[]) =>
    partitions.length > 0 && periodsFrom(table, startOfFuture(table, partitions), nowMs).length > 0
  if (!isMissing(await readPartitions(db, table))) return false
  await examineFuture(db, table, nowMs, scanBytes)
  await db.migrate(
    async (tx, ddl) => {
      if (!(await lockTable(tx, ddl, table))) return
      // Another node may have created them.
      const partitions = await readPartitions(tx, table)
      if (!isMissing(partitions)) return
      const fromMs = startOfFuture(table, partitions)
      const closedMs = await closeFuture({ db, tx, ddl }, table, { fromMs, toMs: nowMs })
      if (closedMs !== undefined) await createPeriods(ddl, table, closedMs, nowMs)
    },
    undefined,
    ATTEMPTS,
  )
  return true
}

const sizeOf = prepareStatement(`SELECT
  CAST(pg_relation_size(to_regclass(quote_ident(?))) AS BIGINT) AS bytes`)

/** Lets `closeFuture` attach a large partition without a scan. */
async function examineFuture(
  db: Database,
  table: TimeTable,
  nowMs: number,
  scanBytes: number,
): Promise<void> {
  const name = nameOf(table, 'future')
  const partition = (await readPartitions(db, table)).find((part) => part.name === name)
  const future = { ...table, name, from: partition?.from }
  const size = await db.get<{ bytes: number | null }>(sizeOf([future.name]))
  if (Number(size?.bytes) <= scanBytes || (await isMoving(db))) return
  if ((await readNewestMs(db, db.dialect, future)) > nextPeriod(table, nowMs)) return
  await validateBoundary(db, future, nowMs)
}

/**
 * Drops `future`, which is empty unless no janitor ran for days or a clock ran ahead. Then it
 * becomes the partition of one long period. Returns the instant from which on partitions are
 * missing; undefined if a row is so far ahead that `future` stays.
 */
async function closeFuture(
  { db, tx, ddl }: { readonly db: Database; readonly tx: Tx; readonly ddl: RunDdl },
  table: TimeTable,
  { fromMs, toMs }: Period,
): Promise<number | undefined> {
  const future = { ...table, name: nameOf(table, 'future') }
  if (!(await tx.get(prepareStatement(`SELECT 1 AS row FROM ${future.name} LIMIT 1`)([])))) {
    await ddl(`DROP TABLE ${future.name}`)
    return fromMs
  }
  await ddl(`SET LOCAL statement_timeout = ${ATTACH_MS}`)
  const boundary = await readBoundary(tx, future)
  const newestMs = boundary === undefined ? await readNewestMs(tx, db.dialect, future) : 0
  if (newestMs > nextPeriod(table, toMs)) return undefined
  const endMs = boundary ? table.timeOf(boundary) : nextPeriod(table, Math.max(newestMs, toMs) + 1)
  const name = partitionName(table.name, { fromMs, toMs: endMs })
  const [from, to] = [fromMs, endMs].map((ms) => `'${table.boundAt(ms)}'`)
  await ddl(`ALTER TABLE ${table.name} DETACH PARTITION ${future.name}`)
  await ddl(`ALTER TABLE ${future.name} RENAME TO ${name}`)
  await ddl(
    `ALTER TABLE ${table.name} ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${to})`,
  )
  await dropCheck(ddl, future, name)
  return endMs
}

const rowsOf = prepareStatement(`SELECT CAST(reltuples AS BIGINT) AS total FROM pg_class
  WHERE oid = to_regclass(quote_ident(?))`)

/** Rows that stay longer than others of their partition. */
interface RetainedRows {
  /** SQL without parameters. */
  readonly condition: string
  /** None of them is older. */
  readonly sinceMs: number
}

interface Expiry {
  readonly nowMs: number
  readonly beforeMs: number
  readonly retained?: RetainedRows
}

/** With more rows that stay, their partitions stay too. */
const RETAINED_MAX = 10_000

/**
 * Creates the missing partitions and drops those that ended before an instant. Returns the number
 * of dropped rows, an estimate, and the failure to create one: expired rows must not stay for it.
 * SQLite has no partitions.
 */
export async function renewPartitions(
  db: Database,
  table: TimeTable,
  { nowMs, beforeMs, retained }: Expiry,
): Promise<{ readonly dropped: number; readonly failure: unknown }> {
  let failure: unknown
  if (db.name === 'sqlite') return { dropped: 0, failure }
  await extendPartitions(db, table, nowMs).catch((error: unknown) => {
    failure = error
  })
  let dropped = 0
  if (retained) dropped += await dropPartitions(db, table, retained.sinceMs)
  dropped += await dropPartitions(db, table, beforeMs, retained)
  return { dropped, failure }
}

/**
 * Drops the partitions of periods that ended before an instant; rows that stay move to `past`.
 * Returns the estimated number of rows in the partitions.
 */
async function dropPartitions(
  db: Database,
  table: TimeTable,
  beforeMs: number,
  retained?: RetainedRows,
): Promise<number> {
  const isExpired = (partitions: readonly Partition[]) =>
    expiredPartitions(table, partitions, beforeMs)
  if (isExpired(await readPartitions(db, table)).length === 0) return 0
  let droppedRows = 0
  await db.migrate(
    async (tx, ddl) => {
      droppedRows = 0
      if (!(await lockTable(tx, ddl, table))) return
      const expired = isExpired(await readPartitions(tx, table))
      const last = expired.at(-1)
      if (!last) return
      // `past` ends where the first period begins, so its rows have expired too.
      const names = [nameOf(table, 'past'), ...expired.map(({ name }) => name)]
      if (retained && !(await copyRetained(tx, ddl, names, retained))) return
      for (const name of names) {
        droppedRows += Math.max(0, Number((await tx.get(rowsOf([name])))?.total ?? 0))
      }
      await ddl(`DROP TABLE ${names.join(', ')}`)
      await createPast(ddl, table, table.timeOf(last.to!))
      if (retained) await ddl(`INSERT INTO ${table.name} SELECT * FROM ${RETAINED}`)
    },
    undefined,
    ATTEMPTS,
  )
  return droppedRows
}

const RETAINED = 'gh_retained_rows'
const retainedRows = prepareStatement(`SELECT count(*) AS total FROM ${RETAINED}`)

/** Copies the rows of the partitions that stay. Returns false if they are too many. */
async function copyRetained(
  tx: Tx,
  ddl: RunDdl,
  names: readonly string[],
  { condition }: RetainedRows,
): Promise<boolean> {
  const rows = names.map((name) => `SELECT * FROM ${name} WHERE ${condition}`)
  await ddl(`CREATE TEMPORARY TABLE ${RETAINED} ON COMMIT DROP AS
    SELECT * FROM (${rows.join(' UNION ALL ')}) AS stays LIMIT ${RETAINED_MAX + 1}`)
  return Number((await tx.get(retainedRows([])))!.total) <= RETAINED_MAX
}
