/** The mark of a move, a row in the table `gh_move` of both databases. */
import { type Database, StorageError, type Tx } from '../database.ts'
import { sql } from '../sql.ts'

export type Ddl = (sql: string) => Promise<void>

export type MoveState = 'copying' | 'stopped' | 'moved'

export interface MoveMark {
  readonly id: string
  readonly state: MoveState
  readonly target: string
}

export const exists = async (db: Database, table: string) => (await db.columns(table)).length > 0

export async function readMark(db: Database): Promise<MoveMark | undefined> {
  if (!(await exists(db, 'gh_move'))) return undefined
  return (await db.get(sql`SELECT id, state, target FROM gh_move`)) as MoveMark | undefined
}

/** The progress of the copy; the target has this table until the move has verified every row. */
export const COPIED_TABLE = 'gh_move_tables'

/** Returns whether the database is the target of a move that has not verified all rows. */
export const isUnfinishedTarget = (db: Database): Promise<boolean> => exists(db, COPIED_TABLE)

/** Throws `StorageError` for the target of an unfinished move: both databases would take writes. */
export async function refuseUnfinishedTarget(db: Database): Promise<void> {
  if (!(await isUnfinishedTarget(db))) return
  throw new StorageError(
    'This database is the target of a move that has not finished, and lacks rows of its source. ' +
      'Run gatehook move again where the source is, or use the source.',
  )
}

export async function createMark(
  { dialect }: Database,
  tx: Tx,
  ddl: Ddl,
  { id, state, target }: MoveMark,
): Promise<void> {
  const { text } = dialect.types
  await ddl(`CREATE TABLE gh_move (id ${text} NOT NULL PRIMARY KEY, state ${text} NOT NULL,
    target ${text} NOT NULL)`)
  await tx.run(sql`INSERT INTO gh_move (id, state, target) VALUES (${id}, ${state}, ${target})`)
}

export const writeState = (tx: Tx, state: MoveState) =>
  tx.run(sql`UPDATE gh_move SET state = ${state}`)

export const dropMark = (ddl: Ddl): Promise<void> => ddl('DROP TABLE gh_move')
