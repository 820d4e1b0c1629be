/**
 * Undoes a move (§18.6): the source accepts writes again, and the target no longer does. Refuses if
 * the target has rows that the source lacks: they were written after the move. A change of a row
 * and a deletion count as such. The source skips the ids that the target may have assigned (§6.8).
 */
import { type Database, StorageError, type Tx } from '../database.ts'
import { ID_SKIP, skipIds } from '../id-skip.ts'
import { lastAssigned } from '../sequences.ts'
import type { Table } from '../table.ts'
import { admitWrites, dropRecording, stopWrites } from './changes.ts'
import { createMark, dropMark, readMark } from './mark.ts'
import {
  countRows,
  describeTables,
  lineReader,
  listTables,
  type MovedTable,
  TableReader,
} from './tables.ts'

/** The row that the move writes to the target: its value of `Table.recordsMove`. */
const MOVED = 'installation.moved'

interface LostChanges {
  readonly table: string
  /** Rows of the target that the source lacks, or has with other values. */
  readonly rows: number
  /** Rows of the source that the target has no longer. */
  readonly deleted: number
}

/** Returns the numbers of rows by table: `2 of users, 3 deleted of orders`. */
export const describeLost = (lost: readonly LostChanges[]): string =>
  lost
    .flatMap(({ table, rows, deleted }) => [
      ...(rows > 0 ? [`${rows.toLocaleString('en')} of ${table}`] : []),
      ...(deleted > 0 ? [`${deleted.toLocaleString('en')} deleted of ${table}`] : []),
    ])
    .join(', ')

export interface UndoOptions {
  readonly source: Database
  /** The tables of the engine. */
  readonly tables: readonly Table[]
  /** Returns the tables that starts and migrations of the service created. */
  readonly listCreated: (db: Database) => Promise<ReadonlySet<string>>
  /** Whether the rows of a table follow from others, so that none is lost. */
  readonly isDerived: (table: string) => boolean
  /** The source without its password, for the operator of the target. */
  readonly sourceName: string
  /** Opens the target of the move. Throws `StorageError` if it cannot be read. */
  readonly openTarget: (name: string) => Promise<Database>
  /** Whether rows of the target may be lost, and the target may be unreadable. */
  readonly isForced: boolean
  /** Returns the most ids that a target which cannot be read has assigned. */
  readonly countIds: (tx: Tx) => Promise<number>
  /** Records the operation in its transaction. */
  readonly audit?: (tx: Tx) => Promise<unknown>
}

export interface UndoResult {
  readonly target: string
  /** Whether the target accepts no writes now; false if it was not read, or never finished. */
  readonly targetStopped: boolean
  /** Why the target was not read, and accepts writes still. */
  readonly targetFault?: string
  readonly lost: readonly LostChanges[]
  /** Ids of each table that the source skips, since the target may have assigned them. */
  readonly skippedIds: number
}

/** The target compared with the source. */
interface Difference {
  readonly lost: readonly LostChanges[]
  /** The most ids of a table that the target assigned. */
  readonly assignedIds: number
}

const SAME: Difference = { lost: [], assignedIds: 0 }

/**
 * Accepts writes to a source again, whether its move has finished or not. Returns undefined if no
 * move has begun. Throws `StorageError` as long as rows of the target would be lost.
 */
export async function undoMove(options: UndoOptions): Promise<UndoResult | undefined> {
  const { source, openTarget, isForced, countIds, audit } = options
  const mark = await readMark(source)
  if (!mark) return undefined
  const name = mark.target
  let targetFault: string | undefined
  // The target of a move that copies still is no installation.
  const target =
    mark.state === 'copying'
      ? undefined
      : await openTarget(name).catch((error: unknown) => {
          if (!isForced) throw error
          targetFault = (error as Error).message
          return undefined
        })
  try {
    const { lost, assignedIds } = target ? await stopTarget(options, target, mark.id) : SAME
    let skippedIds = 0
    const tables = (await listTables(source)).map((name) => ({ name }))
    await source.migrate(async (tx, ddl) => {
      await admitWrites(source, tables, ddl)
      await dropRecording(source, tables, ddl)
      await dropMark(ddl)
      const assigned = targetFault === undefined ? assignedIds : await countIds(tx)
      const isSame = targetFault === undefined && lost.length === 0 && assigned === 0
      skippedIds = isSame ? 0 : ID_SKIP + assigned
      if (skippedIds > 0) await skipIds(source, tx, skippedIds)
      await audit?.(tx)
    })
    const targetStopped = target !== undefined
    const fault = targetFault === undefined ? {} : { targetFault }
    return { target: name, targetStopped, ...fault, lost, skippedIds }
  } finally {
    await target?.close()
  }
}

/**
 * Makes the target read-only, so that both sides never accept writes. Returns what the source
 * lacks. Throws, and lets the target accept writes again, if these may not be lost.
 */
async function stopTarget(options: UndoOptions, target: Database, id: string): Promise<Difference> {
  const { source, sourceName, isForced } = options
  const before = await readMark(target)
  if (before && before.id !== id) {
    throw new StorageError(
      `The target itself is moved to ${before.target}. Undo that move first, where ` +
        'GATEHOOK_DATABASE_URL names the target of this one: gatehook move --undo',
    )
  }
  if (before?.state === 'copying') return SAME // an unfinished copy that no node uses
  const tables = await listOwnTables(options, target)
  await stopWrites(target, tables)
  await target.migrate(async (tx, ddl) => {
    if (before) await dropMark(ddl)
    await createMark(target, tx, ddl, { id, state: 'moved', target: sourceName })
  })
  const compared = await comparedTables(options, tables)
  const lost = await listLost(source, target, compared)
  if (lost.length === 0 || isForced) {
    return { lost, assignedIds: await countAssigned(source, target, compared) }
  }
  await target.migrate(async (tx, ddl) => {
    await admitWrites(target, tables, ddl)
    await dropMark(ddl)
    // The mark of an undo that was interrupted ends with it.
    if (before && before.target !== sourceName) await createMark(target, tx, ddl, before)
  })
  throw new StorageError(
    `The target has rows that this database lacks: ${describeLost(lost)}. To use this database ` +
      'all the same, and to lose them: gatehook move --undo --force',
  )
}

/** Returns the tables of the installation, without those of others in its schema. */
async function listOwnTables(
  { tables, listCreated, isDerived }: UndoOptions,
  db: Database,
): Promise<MovedTable[]> {
  const created = await listCreated(db)
  const engine = new Set(tables.map(({ name }) => name))
  const isOwn = (name: string) => engine.has(name) || created.has(name) || isDerived(name)
  return describeTables(db, tables, isOwn)
}

interface ComparedTable {
  /** With the columns that are compared. */
  readonly table: MovedTable
  /** Whether its changes and deletions count, too. */
  readonly isOfService: boolean
  /** Whether the source has no such table. */
  readonly isNew: boolean
}

/**
 * Returns the tables of the service with the columns that both sides have. Of those of the engine,
 * the columns of the keys, and that of `recordsMove`: nodes change their rows without a request,
 * and requests that change one add another to the audit trail, refreshes of tokens aside: their
 * persons sign in again. Nodes add rows to some of them, too.
 */
async function comparedTables(
  { source, tables: engine, isDerived }: UndoOptions,
  tables: readonly MovedTable[],
): Promise<ComparedTable[]> {
  const compared: ComparedTable[] = []
  for (const table of tables) {
    const own = engine.find(({ name }) => name === table.name)
    if (own?.ofNodes || isDerived(table.name)) continue
    const stored = new Set((await source.columns(table.name)).map(({ name }) => name))
    const isCompared = (name: string) =>
      own ? table.key.includes(name) || name === own.recordsMove : stored.has(name)
    const isNew = stored.size === 0
    const columns = isNew ? table.columns : table.columns.filter(({ name }) => isCompared(name))
    compared.push({ table: { ...table, columns }, isOfService: own === undefined, isNew })
  }
  return compared
}

/** Returns the most ids that the target assigned in a table of the service, to deleted rows too. */
async function countAssigned(
  source: Database,
  target: Database,
  tables: readonly ComparedTable[],
): Promise<number> {
  let most = 0
  for (const { table, isOfService, isNew } of tables) {
    if (!isOfService || isNew) continue
    const after = await lastAssigned(source, table.name)
    most = Math.max(most, (await lastAssigned(target, table.name)) - after)
  }
  return most
}

/** Counts the changes of the target by table. Memory is constant. */
async function listLost(
  source: Database,
  target: Database,
  tables: readonly ComparedTable[],
): Promise<LostChanges[]> {
  const lost: LostChanges[] = []
  for (const compared of tables) {
    const countIn = compared.table.key.length === 0 ? compareCounts : compareRows
    const changes = await countIn(source, target, compared)
    if (changes.rows > 0 || changes.deleted > 0) lost.push(changes)
  }
  return lost
}

/** Of a table added after the move, which copies none without a key, or that has lost its key. */
async function compareCounts(
  source: Database,
  target: Database,
  { table, isNew }: ComparedTable,
): Promise<LostChanges> {
  const stored = isNew ? 0 : await countRows(source, table)
  const more = (await countRows(target, table)) - stored
  return { table: table.name, rows: Math.max(0, more), deleted: Math.max(0, -more) }
}

async function compareRows(
  source: Database,
  target: Database,
  { table, isOfService, isNew }: ComparedTable,
): Promise<LostChanges> {
  const reader = new TableReader(table)
  const lineOf = lineReader(table)
  let rows = 0
  let storedCount = 0
  for (let after: ReturnType<TableReader['keyOf']> | undefined; ; ) {
    const page = await reader.page(target, after)
    const present = isOfService ? page.rows : page.rows.filter((row) => !row.includes(MOVED))
    const keys = present.map((row) => reader.keyOf(row))
    const stored = isNew ? [] : await reader.rows(source, keys)
    const lines = new Set(stored.map(lineOf))
    rows += isOfService
      ? present.filter((row) => !lines.has(lineOf(row))).length
      : keys.length - stored.length
    storedCount += stored.length
    if (page.next === undefined) break
    after = page.next
  }
  const deleted = isOfService && !isNew ? (await countRows(source, table)) - storedCount : 0
  return { table: table.name, rows, deleted }
}
