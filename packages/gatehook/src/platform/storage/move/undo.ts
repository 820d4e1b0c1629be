/**
 * Undoes a move (§18.6): the source accepts writes again, and the target no longer does. Refuses if
 * the target has rows that the source lacks: they were written after the move.
 */
import { type Database, StorageError, type Tx } from '../database.ts'
import type { Table } from '../table.ts'
import { admitWrites, dropRecording, stopWrites } from './changes.ts'
import { createMark, dropMark, readMark } from './mark.ts'
import { describeTables, type MovedTable, TableReader } from './tables.ts'

/** The row that the move writes to the target: its value of `Table.recordsMove`. */
const MOVED = 'installation.moved'

interface LackingRows {
  readonly table: string
  readonly rows: number
}

export interface UndoOptions {
  readonly source: Database
  /** The tables of the engine. */
  readonly tables: readonly Table[]
  /** The source without its password, for the operator of the target. */
  readonly sourceName: string
  /** Opens the target of the move. Throws `StorageError` if it cannot be read. */
  readonly openTarget: (name: string) => Promise<Database>
  /** Whether rows of the target may be lost, and the target may be unreadable. */
  readonly isForced: boolean
  /** Records the operation in its transaction. */
  readonly audit?: (tx: Tx) => Promise<unknown>
}

export interface UndoResult {
  readonly target: string
  /** Whether the target accepts no writes now; false if it was not reachable. */
  readonly targetStopped: boolean
  readonly lost: readonly LackingRows[]
}

/**
 * Accepts writes to a source again, whether its move has finished or not. Returns undefined if no
 * move has begun. Throws `StorageError` as long as rows of the target would be lost.
 */
export async function undoMove(options: UndoOptions): Promise<UndoResult | undefined> {
  const { source, openTarget, isForced, audit } = options
  const mark = await readMark(source)
  if (!mark) return undefined
  const name = mark.target
  // The target of a move that copies still is no installation.
  const target =
    mark.state === 'copying'
      ? undefined
      : await openTarget(name).catch((error: unknown) => {
          if (!isForced) throw error
          return undefined
        })
  try {
    const lost = target ? await stopTarget(options, target, mark.id) : []
    const tables = await describeTables(source, options.tables)
    await source.migrate(async (tx, ddl) => {
      await admitWrites(source, tables, ddl)
      await dropRecording(source, tables, ddl)
      await dropMark(ddl)
      await audit?.(tx)
    })
    return { target: name, targetStopped: target !== undefined, lost }
  } finally {
    await target?.close()
  }
}

/**
 * Makes the target read-only, so that both sides never accept writes. Returns the rows that the
 * source lacks. Throws, and lets the target accept writes again, if these may not be lost.
 */
async function stopTarget(
  { source, sourceName, isForced, tables: engine }: UndoOptions,
  target: Database,
  id: string,
): Promise<LackingRows[]> {
  const tables = await describeTables(target, engine)
  const before = await readMark(target)
  if (before?.state === 'copying') return [] // an unfinished copy that no node uses
  await stopWrites(target, tables)
  await target.migrate(async (tx, ddl) => {
    if (before) await dropMark(ddl)
    await createMark(target, tx, ddl, { id, state: 'moved', target: sourceName })
  })
  const lacking = await listLackingRows(source, target, keysOf(tables, engine))
  if (lacking.length === 0 || isForced) return lacking
  await target.migrate(async (tx, ddl) => {
    await admitWrites(target, tables, ddl)
    await dropMark(ddl)
    if (before) await createMark(target, tx, ddl, before)
  })
  const counts = lacking.map(({ table, rows }) => `${rows} of ${table}`).join(', ')
  throw new StorageError(
    `The target has rows that this database lacks: ${counts}. To use this database all the same, ` +
      'and to lose them: gatehook move --undo --force',
  )
}

/**
 * Returns the columns of the keys, and that of `recordsMove`. Nodes write the rows of some tables
 * without a request.
 */
const keysOf = (tables: readonly MovedTable[], engine: readonly Table[]): MovedTable[] =>
  tables.flatMap((table) => {
    const { ofNodes, recordsMove } = engine.find(({ name }) => name === table.name) ?? {}
    const isRead = (name: string) => table.key.includes(name) || name === recordsMove
    return ofNodes ? [] : { ...table, columns: table.columns.filter(({ name }) => isRead(name)) }
  })

/** Counts the rows of the target whose keys the source lacks, by table. Memory is constant. */
async function listLackingRows(
  source: Database,
  target: Database,
  tables: readonly MovedTable[],
): Promise<LackingRows[]> {
  const lacking: LackingRows[] = []
  for (const table of tables) {
    const isMissing = (await source.columns(table.name)).length === 0
    const reader = new TableReader(table)
    let rows = 0
    for (let after: ReturnType<TableReader['keyOf']> | undefined; ; ) {
      const page = await reader.page(target, after)
      const keys = page.rows.filter((row) => !row.includes(MOVED)).map((row) => reader.keyOf(row))
      const stored = isMissing ? [] : await reader.rows(source, keys)
      rows += keys.length - stored.length
      if (page.next === undefined) break
      after = page.next
    }
    if (rows > 0) lacking.push({ table: table.name, rows })
  }
  return lacking
}
