/**
 * The triggers of a move, which apply to every process that writes to the source. One kind records
 * the key of each changed row; the other rejects all writes at the end of the move.
 *
 * On PostgreSQL each trigger has a transaction of its own: transactions in flight use the tables in
 * any order, so that one which waits for locks on all of them would never get the last.
 */
import type { Database, Tx } from '../database.ts'
import { prepareStatement, sql } from '../sql.ts'
import { MOVED_MESSAGE } from '../transaction.ts'
import type { Ddl } from './mark.ts'
import type { MovedTable, RowKey } from './tables.ts'

const OPERATIONS = ['INSERT', 'UPDATE', 'DELETE'] as const

const text = (value: string): string => `'${value.replaceAll("'", "''")}'`

/** Returns the SQL of the key of `NEW` or `OLD`, a JSON array in which bytes are hex. */
function keySql(name: Database['name'], { columns, key }: MovedTable, row: 'NEW' | 'OLD'): string {
  const parts = key.map((column) => {
    const value = `${row}."${column}"`
    const { type } = columns.find((candidate) => candidate.name === column)!
    if (type !== 'bytes') return value
    return name === 'sqlite' ? `hex(${value})` : `encode(${value}, 'hex')`
  })
  const json = name === 'sqlite' ? 'json_array' : 'json_build_array'
  const array = `${json}(${parts.join(', ')})`
  return name === 'sqlite' ? array : `CAST(${array} AS text)`
}

const insertChange = (name: Database['name'], table: MovedTable, row: 'NEW' | 'OLD'): string =>
  `INSERT INTO gh_move_changes (table_name, row_key)
   VALUES (${text(table.name)}, ${keySql(name, table, row)});`

type TableName = Pick<MovedTable, 'name'>

const triggerName = (table: TableName, suffix: string): string =>
  `"gh_move_${table.name}_${suffix.toLowerCase()}"`

/** Creates the table of changes; on SQLite also the triggers that fill it. */
export async function createRecording(
  { name, dialect }: Database,
  tables: readonly MovedTable[],
  ddl: Ddl,
): Promise<void> {
  await ddl(`CREATE TABLE gh_move_changes (position ${dialect.serial},
    table_name ${dialect.types.text} NOT NULL, row_key ${dialect.types.text} NOT NULL)`)
  for (const table of tables) {
    const [before, after] = [insertChange(name, table, 'OLD'), insertChange(name, table, 'NEW')]
    if (name === 'sqlite') {
      for (const operation of OPERATIONS) {
        const body = { INSERT: after, UPDATE: before + after, DELETE: before }[operation]
        await ddl(`CREATE TRIGGER ${triggerName(table, operation)} AFTER ${operation}
          ON "${table.name}" BEGIN ${body} END`)
      }
      continue
    }
    await ddl(`CREATE FUNCTION ${triggerName(table, 'change')}() RETURNS trigger
      LANGUAGE plpgsql SET search_path FROM CURRENT AS $move$ BEGIN
        IF TG_OP <> 'INSERT' THEN ${before} END IF;
        IF TG_OP <> 'DELETE' THEN ${after} END IF;
        RETURN NULL;
      END $move$`)
  }
}

/** Creates the triggers that record, unless they exist. */
export async function startRecording(db: Database, tables: readonly MovedTable[]): Promise<void> {
  if (db.name === 'sqlite') return
  for (const table of tables) {
    await db.migrate((_tx, ddl) =>
      ddl(`CREATE OR REPLACE TRIGGER gh_move_change AFTER INSERT OR UPDATE OR DELETE
        ON "${table.name}" FOR EACH ROW EXECUTE FUNCTION ${triggerName(table, 'change')}()`),
    )
  }
}

/**
 * Stops writes to all tables, for every process, and waits for transactions in flight. Meanwhile a
 * transaction that writes to a table which has stopped rolls back as a whole. An interrupted stop
 * is completed by another one, or undone by `admitWrites`.
 */
export async function stopWrites(db: Database, tables: readonly MovedTable[]): Promise<void> {
  if (db.name === 'sqlite') return db.migrate((_tx, ddl) => stopFile(tables, ddl))
  await db.migrate((_tx, ddl) =>
    ddl(`CREATE OR REPLACE FUNCTION gh_move_stop() RETURNS trigger LANGUAGE plpgsql AS $move$
      BEGIN RAISE EXCEPTION ${text(MOVED_MESSAGE)} USING ERRCODE = '55000'; END $move$`),
  )
  for (const table of tables) {
    await db.migrate((_tx, ddl) =>
      ddl(`CREATE OR REPLACE TRIGGER gh_move_stop BEFORE INSERT OR UPDATE OR DELETE
        ON "${table.name}" FOR EACH ROW EXECUTE FUNCTION gh_move_stop()`),
    )
  }
}

async function stopFile(tables: readonly MovedTable[], ddl: Ddl): Promise<void> {
  for (const table of tables) {
    for (const operation of OPERATIONS) {
      await ddl(`CREATE TRIGGER IF NOT EXISTS ${triggerName(table, `stop_${operation}`)}
        BEFORE ${operation} ON "${table.name}"
        BEGIN SELECT RAISE(ABORT, ${text(MOVED_MESSAGE)}); END`)
    }
  }
}

/** Drops the triggers that record changes, and the table of changes. */
export async function dropRecording(
  { name }: Database,
  tables: readonly TableName[],
  ddl: Ddl,
): Promise<void> {
  for (const table of tables) {
    if (name === 'sqlite') {
      for (const operation of OPERATIONS) {
        await ddl(`DROP TRIGGER IF EXISTS ${triggerName(table, operation)}`)
      }
    } else {
      await ddl(`DROP FUNCTION IF EXISTS ${triggerName(table, 'change')} CASCADE`)
    }
  }
  await ddl('DROP TABLE IF EXISTS gh_move_changes')
}

/** Drops the triggers that reject writes. */
export async function admitWrites(
  { name }: Database,
  tables: readonly TableName[],
  ddl: Ddl,
): Promise<void> {
  if (name === 'postgres') {
    await ddl('DROP FUNCTION IF EXISTS gh_move_stop CASCADE')
    return
  }
  for (const table of tables) {
    for (const operation of OPERATIONS) {
      await ddl(`DROP TRIGGER IF EXISTS ${triggerName(table, `stop_${operation}`)}`)
    }
  }
}

export interface RecordedChange {
  readonly position: number
  readonly table: string
  readonly key: RowKey
}

/** Returns the oldest recorded changes. A later call returns those of transactions still open. */
export async function readChanges(db: Database, limit: number): Promise<RecordedChange[]> {
  const rows = await db.all(sql`SELECT position, table_name, row_key FROM gh_move_changes
    ORDER BY position LIMIT ${limit}`)
  return rows.map(({ position, table_name, row_key }) => ({
    position: Number(position),
    table: String(table_name),
    key: JSON.parse(row_key) as RowKey,
  }))
}

export async function countChanges(db: Database): Promise<number> {
  const row = await db.get(sql`SELECT count(*) AS changes FROM gh_move_changes`)
  return Number(row!.changes)
}

/** Deletes recorded changes after their rows were copied. */
export async function dropChanges(tx: Tx, changes: readonly RecordedChange[]): Promise<void> {
  const positions = changes.map(({ position }) => position)
  const marks = positions.map(() => '?').join(', ')
  await tx.run(
    prepareStatement(`DELETE FROM gh_move_changes WHERE position IN (${marks})`)(positions),
  )
}
