/**
 * Moves an installation to another database while its service runs (§2.8), in this order:
 *
 * 1. Prepares the empty target, and records every change of the source by triggers (`changes.ts`).
 * 2. Copies all tables, then the changed rows, until few changes wait.
 * 3. Stops all writes to the source, and copies the remaining changes.
 * 4. Compares both sides: row counts and checksums of all tables.
 * 5. Creates the foreign keys of the target, and marks both databases as moved.
 *
 * An interrupted move resumes at its last step. Memory is constant.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Random } from '../../../kernel/random.ts'
import { type Database, StorageError, type Tx, type Value } from '../database.ts'
import { countFitting } from '../page-bytes.ts'
import { sql } from '../sql.ts'
import type { Table } from '../table.ts'
import {
  admitWrites,
  countChanges,
  createRecording,
  dropChanges,
  dropRecording,
  type RecordedChange,
  readChanges,
  startRecording,
  stopWrites,
} from './changes.ts'
import {
  COPIED_TABLE,
  createMark,
  dropMark,
  exists,
  type MoveMark,
  type MoveState,
  readMark,
  refuseUnfinishedTarget,
  writeState,
} from './mark.ts'
import {
  countAllRows,
  countRows,
  describeTables,
  fingerprint,
  insertStatements,
  type MovedTable,
  type RowKey,
  requireKeys,
  requireSameTables,
  TableReader,
} from './tables.ts'
import { dropForeignKeys, type ForeignKey, setSequences } from './target-keys.ts'

/** Changes that are copied in one transaction. */
const CHANGES_AT_ONCE = 2_000
/** Writes stop when fewer changes wait: copying them takes less than a second. */
const FEW_CHANGES = 500
/** After this many rounds in which the backlog of changes did not shrink, writes stop too. */
const ROUNDS_WITHOUT_GAIN = 5

export interface MoveProgress {
  readonly step: 'copy' | 'changes' | 'verify'
  readonly fraction: number
  readonly rows: number
}

export interface MoveOptions {
  readonly source: Database
  readonly target: Database
  /** The tables of the engine. */
  readonly tables: readonly Table[]
  /** Throws if a target without an installation has tables of others. Changes nothing. */
  readonly examineTarget: () => Promise<unknown>
  /** Migrates the engine's and the service's tables of the empty target. */
  readonly prepareTarget: () => Promise<void>
  /** Whether the rows of a table follow from others: the target may lack the table. */
  readonly isDerived: (table: string) => boolean
  /** The target without its password, for the operator. */
  readonly targetName: string
  readonly random: Random
  readonly elapsedMs: () => number
  readonly onProgress?: (progress: MoveProgress) => void
  /** Records the step in the transaction that begins or completes the move. */
  readonly audit?: (tx: Tx, step: 'begin' | 'complete') => Promise<unknown>
}

export interface MoveResult {
  readonly rows: number
  readonly tables: number
  /** Whether this call resumed an interrupted move. */
  readonly resumed: boolean
  /**
   * How long the source rejected writes before the target was complete, in milliseconds; null if it
   * has rejected them since an earlier call.
   */
  readonly readOnlyMs: number | null
}

/**
 * Moves the installation. Throws `StorageError` if the target contains another installation, if
 * the source has moved already or is the target of an unfinished move, and if both sides differ at
 * the end. In the last case the source accepts writes again.
 */
export async function moveInstallation(options: MoveOptions): Promise<MoveResult> {
  const { source, target, targetName, random, elapsedMs, audit } = options
  await refuseUnfinishedTarget(source)
  const before = await readMark(source)
  if (before?.state === 'moved') return finishedBefore(options, before)
  const id = before?.id ?? random.bytes(16).toString('hex')
  const state = await openTarget(options, id)
  const tables = await listMovedTables(options)
  await requireSameTables(target, tables)
  requireKeys(tables)
  if (!before) {
    await source.migrate(async (tx, ddl) => {
      await createMark(source, tx, ddl, { id, state: 'copying', target: targetName })
      await createRecording(source, tables, ddl)
      await audit?.(tx, 'begin')
    })
  }
  const isStopped = before?.state === 'stopped' || state === 'moved'
  let stoppedMs = elapsedMs()
  if (state !== 'moved') {
    const foreignKeys = await dropForeignKeys(target, tables)
    if (before?.state !== 'stopped') await startRecording(source, tables)
    await copyTables(options, tables)
    await copyChanges(options, tables, FEW_CHANGES)
    stoppedMs = elapsedMs()
    if (before?.state !== 'stopped') {
      await stopWrites(source, tables)
      await source.migrate(async (tx) => void (await writeState(tx, 'stopped')))
    }
    await copyChanges(options, tables, 0)
    await setSequences(source, target, tables)
    await verify(options, tables)
    await finishTarget(options, foreignKeys)
  }
  await source.migrate(async (tx, ddl) => {
    await writeState(tx, 'moved')
    await dropRecording(source, tables, ddl)
  })
  const readOnlyMs = isStopped ? null : Math.round(elapsedMs() - stoppedMs)
  await target.migrate((_tx, ddl) => dropMark(ddl))
  return { ...(await sizeOf(options)), resumed: before !== undefined, readOnlyMs }
}

/** Returns the tables of the source, except derived ones that the target lacks. */
async function listMovedTables(options: MoveOptions): Promise<MovedTable[]> {
  const { source, target, isDerived, tables: engine } = options
  const moved: MovedTable[] = []
  for (const table of await describeTables(source, engine)) {
    if (!isDerived(table.name) || (await exists(target, table.name))) moved.push(table)
  }
  return moved
}

async function sizeOf(options: MoveOptions): Promise<Pick<MoveResult, 'rows' | 'tables'>> {
  const tables: MovedTable[] = []
  for (const table of await listMovedTables(options)) {
    // One that others have added to the source since did not move.
    if (await exists(options.target, table.name)) tables.push(table)
  }
  return { rows: await countAllRows(options.target, tables), tables: tables.length }
}

/**
 * Completes a move that was interrupted in its last step, or after it: the process may end between
 * the last commit and its exit code. Throws for a move to another target.
 */
async function finishedBefore(options: MoveOptions, before: MoveMark): Promise<MoveResult> {
  const { target, targetName } = options
  const mark = await readMark(target)
  const isTarget = mark
    ? mark.id === before.id
    : targetName === before.target && (await exists(target, 'gh_migrations'))
  if (!isTarget) {
    throw new StorageError(
      `This installation was moved to ${before.target}. To use it again: gatehook move --undo`,
    )
  }
  if (mark) await target.migrate((_tx, ddl) => dropMark(ddl))
  return { ...(await sizeOf(options)), resumed: true, readOnlyMs: null }
}

/** Prepares an empty target, or recognizes the target of this move. Returns its state. */
async function openTarget(
  { target, examineTarget, prepareTarget, targetName }: MoveOptions,
  id: string,
): Promise<MoveState> {
  const mark = await readMark(target)
  if (mark?.state === 'moved' && mark.id === id) return 'moved'
  const isEmptyMove =
    mark && (await target.get(sql`SELECT 1 AS present FROM gh_move_tables`)) === undefined
  if (mark && mark.id !== id && !isEmptyMove) throw occupiedError(targetName)
  if (!mark && (await exists(target, 'gh_migrations'))) throw occupiedError(targetName)
  if (mark) await target.write((tx) => tx.run(sql`UPDATE gh_move SET id = ${id}`))
  else {
    await examineTarget()
    await createTargetTables(target, { id, state: 'copying', target: targetName })
  }
  await prepareTarget()
  return 'copying'
}

const occupiedError = (targetName: string) =>
  new StorageError(
    `${targetName} holds an installation, or an unfinished move of another one; a move ` +
      'overwrites nothing. Name an empty database.',
  )

async function createTargetTables(target: Database, mark: MoveMark): Promise<void> {
  const { text } = target.dialect.types
  await target.migrate(async (tx, ddl) => {
    await createMark(target, tx, ddl, mark)
    await ddl(`CREATE TABLE ${COPIED_TABLE} (name ${text} NOT NULL PRIMARY KEY, copied ${text})`)
    await ddl(`CREATE TABLE gh_move_keys (name ${text} NOT NULL PRIMARY KEY,
      table_name ${text} NOT NULL, definition ${text} NOT NULL)`)
  })
}

const DONE = 'done'

/** Copies each table, from the last key that an interrupted move copied. */
async function copyTables(
  { source, target, onProgress = () => {} }: MoveOptions,
  tables: readonly MovedTable[],
): Promise<void> {
  const rows = await countAllRows(source, tables)
  let copiedRows = 0
  const report = () =>
    onProgress({ step: 'copy', fraction: rows === 0 ? 1 : Math.min(1, copiedRows / rows), rows })
  for (const table of tables) {
    const reader = new TableReader(table)
    const mark = await target.get(sql`SELECT copied FROM gh_move_tables WHERE name = ${table.name}`)
    if (mark?.copied === DONE) {
      copiedRows += await countRows(target, table)
      continue
    }
    let after = mark ? (JSON.parse(mark.copied) as RowKey) : undefined
    for (;;) {
      const { rows: page, next } = await reader.page(source, after)
      const state = next ? JSON.stringify(next) : DONE
      await target.write(async (tx) => {
        for (const statement of insertStatements(table, adaptRows(target, table, page))) {
          await tx.run(statement)
        }
        await tx.run(sql`INSERT INTO gh_move_tables (name, copied) VALUES (${table.name}, ${state})
          ON CONFLICT (name) DO UPDATE SET copied = excluded.copied`)
      })
      copiedRows += page.length
      report()
      if (next === undefined) break
      after = next
    }
  }
}

/** Sets transaction ids to 0 on SQLite, which orders its feed by position. */
function adaptRows({ name }: Database, { columns }: MovedTable, rows: readonly Value[][]) {
  const at = columns.findIndex((column) => column.name === 'txid')
  return name === 'sqlite' && at >= 0 ? rows.map((row) => row.with(at, 0)) : rows
}

/**
 * Copies changed rows. With `few`, while clients write to the source, it returns when fewer changes
 * wait, or when their number no longer shrinks. The rest is copied after writes have stopped.
 */
async function copyChanges(
  { source, target, onProgress = () => {} }: MoveOptions,
  tables: readonly MovedTable[],
  few: number,
): Promise<void> {
  const readers = new Map(
    tables.map((table) => [table.name, { table, rows: new TableReader(table) }]),
  )
  let copiedRows = 0
  let least = Number.POSITIVE_INFINITY
  let roundsWithoutGain = 0
  for (;;) {
    const changes = await fitting(source, readers, await readChanges(source, CHANGES_AT_ONCE))
    if (changes.length === 0) return
    const keysByTable = Map.groupBy(distinctChanges(changes), (change) => change.table)
    const changed: ChangedRows[] = []
    for (const [name, { table, rows }] of readers) {
      const keys = (keysByTable.get(name) ?? []).map(({ key }) => key)
      changed.push({ table, rows, keys, current: await rows.rows(source, keys) })
    }
    await target.write(async (tx) => {
      for (const { rows, keys } of changed) {
        for (const statement of rows.deletions(target.name, keys)) await tx.run(statement)
      }
      // Skips a row whose unique value another row still has: a later change copies it.
      for (const { table, current } of changed) {
        for (const statement of insertStatements(table, adaptRows(target, table, current))) {
          await tx.run(statement)
        }
      }
    })
    await source.write((tx) => dropChanges(tx, changes))
    copiedRows += changes.length
    const waiting = await countChanges(source)
    onProgress({
      step: 'changes',
      fraction: copiedRows / (copiedRows + waiting),
      rows: copiedRows + waiting,
    })
    roundsWithoutGain = waiting < least ? 0 : roundsWithoutGain + 1
    least = Math.min(least, waiting)
    if (few > 0 && (waiting < few || roundsWithoutGain === ROUNDS_WITHOUT_GAIN)) return
  }
}

type ChangeReaders = ReadonlyMap<string, Pick<ChangedRows, 'rows' | 'table'>>

/** Returns the first changes whose rows fit into a page. */
async function fitting(
  source: Database,
  readers: ChangeReaders,
  changes: readonly RecordedChange[],
): Promise<readonly RecordedChange[]> {
  const sizes = new Map<string, ReadonlyMap<string, number>>()
  for (const [name, ofTable] of Map.groupBy(changes, ({ table }) => table)) {
    const keys = distinctChanges(ofTable).map(({ key }) => key)
    sizes.set(name, (await readers.get(name)?.rows.sizes(source, keys)) ?? new Map())
  }
  const bytes = changes.map(({ table, key }) => sizes.get(table)!.get(`${key}`) ?? 0)
  return changes.slice(0, countFitting(bytes))
}

/** The rows of one table that changed; deleted ones have a key only. */
interface ChangedRows {
  readonly table: MovedTable
  readonly rows: TableReader
  readonly keys: readonly RowKey[]
  readonly current: readonly Value[][]
}

const distinctChanges = (changes: readonly RecordedChange[]): RecordedChange[] => [
  ...new Map(changes.map((change) => [`${change.table} ${change.key}`, change])).values(),
]

/** Compares row counts and checksums. On a difference, accepts writes again and throws. */
async function verify(
  { source, target, onProgress = () => {} }: MoveOptions,
  tables: readonly MovedTable[],
): Promise<void> {
  const rows = await countAllRows(source, tables)
  let verifiedRows = 0
  const onRows = (count: number) => {
    verifiedRows += count
    onProgress({
      step: 'verify',
      fraction: rows === 0 ? 1 : Math.min(1, verifiedRows / rows),
      rows,
    })
  }
  for (const table of tables) {
    const both = [fingerprint(source, table, onRows), fingerprint(target, table)] as const
    const [expected, actual] = await Promise.all(both)
    if (isDeepStrictEqual(expected, actual)) continue
    await source.migrate(async (tx, ddl) => {
      await writeState(tx, 'copying')
      await admitWrites(source, tables, ddl)
    })
    throw new StorageError(
      `The table ${table.name} differs: ${expected.rows} rows in the source, ${actual.rows} in ` +
        'the target. The source is in use again; name another empty database.',
    )
  }
}

/** Creates and checks the foreign keys; drops the tables of the move, except `gh_move`. */
async function finishTarget(
  { target, audit }: MoveOptions,
  foreignKeys: readonly ForeignKey[],
): Promise<void> {
  if (target.name === 'sqlite') {
    const broken = await target.get(sql`SELECT "table" AS name FROM pragma_foreign_key_check`)
    if (broken) throw new StorageError(`A row of ${broken.name} refers to a row that is missing.`)
  }
  await target.migrate(async (tx, ddl) => {
    for (const { name, table, definition } of foreignKeys) {
      await ddl(`ALTER TABLE "${table}" ADD CONSTRAINT "${name}" ${definition}`)
    }
    await ddl(`DROP TABLE ${COPIED_TABLE}`)
    await ddl('DROP TABLE gh_move_keys')
    await writeState(tx, 'moved')
    await audit?.(tx, 'complete')
  })
}
