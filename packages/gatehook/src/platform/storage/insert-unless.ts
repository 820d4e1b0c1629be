/**
 * Inserts of rows that another row can prevent. Citus runs no INSERT of a SELECT with a parameter
 * after ON CONFLICT: there a look at the other row precedes the insert.
 */
import type { ColumnType, Database, Tx, Value } from './database.ts'
import { prepareStatement } from './sql.ts'

interface PreventableInsert {
  readonly table: string
  readonly columns: Readonly<Record<string, ColumnType>>
  /** SQL of the condition that another row prevents the insert. */
  readonly unless: string
  /** SQL after ON CONFLICT. */
  readonly onConflict: string
}

/** The values of the columns, of `unless` and of `onConflict`. */
type InsertValues = Readonly<Record<'row' | 'unless' | 'onConflict', readonly Value[]>>

/**
 * Returns a function that inserts a row; false if another row prevented it, or a conflict. The
 * caller excludes transactions that insert the other row meanwhile.
 */
export function createInsertUnless(
  { dialect }: Pick<Database, 'dialect'>,
  insert: PreventableInsert,
) {
  const { table, columns, unless, onConflict } = insert
  const into = `INSERT INTO ${table} (${Object.keys(columns).join(', ')})`
  const values = Object.values(columns).map((type) => `CAST(? AS ${dialect.types[type]})`)
  const other = `SELECT 1 AS found FROM ${table} WHERE ${unless}`
  const whole = prepareStatement(
    `${into} SELECT ${values.join(', ')} WHERE NOT EXISTS (${other}) ON CONFLICT ${onConflict}`,
  )
  const look = prepareStatement(other)
  const alone = prepareStatement(`${into} VALUES (${values.join(', ')}) ON CONFLICT ${onConflict}`)
  return async (tx: Tx, { row, unless, onConflict }: InsertValues): Promise<boolean> => {
    if (!dialect.distributed) {
      return (await tx.run(whole([...row, ...unless, ...onConflict]))) > 0
    }
    if (await tx.get(look(unless))) return false
    return (await tx.run(alone([...row, ...onConflict]))) > 0
  }
}
