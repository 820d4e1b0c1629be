/**
 * A CHECK that all rows of a table precede a boundary, which lets PostgreSQL attach the table as a
 * partition without a scan. It is added without a scan, and validated by one that delays no read
 * and no write. Until the table is attached it rejects rows after the boundary, so the boundary is
 * weeks ahead.
 */
import type { Database, Dialect, Reader } from '../database.ts'
import { prepareStatement } from '../sql.ts'
import type { RunDdl } from './catalog.ts'
import { DAY_MS, type Division, nextPeriod } from './periods.ts'

/** So long may an examination rest that was killed. */
const AHEAD_MS = 30 * DAY_MS
/** A CHECK whose boundary is nearer than this is replaced. */
const LEFT_MS = 14 * DAY_MS

export interface BoundedTable extends Division {
  readonly name: string
  readonly column: string
  /** The lowest id that the table may have; undefined: any. */
  readonly from?: string | undefined
}

interface BoundaryCheck {
  readonly valid: boolean
  readonly boundary: string
}

const checkName = ({ name }: BoundedTable) => `${name}_before`

const check =
  prepareStatement(`SELECT convalidated AS valid, pg_get_constraintdef(oid) AS definition
  FROM pg_constraint WHERE conrelid = to_regclass(quote_ident(?)) AND conname = ?`)

async function readCheck(reader: Reader, table: BoundedTable): Promise<BoundaryCheck | undefined> {
  const row = await reader.get(check([table.name, checkName(table)]))
  return row && { valid: row.valid, boundary: /.*'([^']+)'/.exec(row.definition)![1]! }
}

/** Returns the boundary of a validated CHECK. */
export async function readBoundary(
  reader: Reader,
  table: BoundedTable,
): Promise<string | undefined> {
  const existing = await readCheck(reader, table)
  return existing?.valid ? existing.boundary : undefined
}

/** `name`: the present name of the table, if it has changed since. */
export const dropCheck = (ddl: RunDdl, table: BoundedTable, name = table.name): Promise<void> =>
  ddl(`ALTER TABLE ${name} DROP CONSTRAINT IF EXISTS ${checkName(table)}`)

/** Returns the instant of the highest id, found by the index of scope and id. */
export async function readNewestMs(
  reader: Reader,
  { distributed }: Pick<Dialect, 'distributed'>,
  table: BoundedTable,
): Promise<number> {
  const { name, column } = table
  // Citus walks no scopes from one to the next.
  const highest = distributed
    ? `SELECT ${column} AS id FROM ${name} ORDER BY ${column} DESC LIMIT 1`
    : `WITH RECURSIVE scopes AS (
      SELECT min(scope) AS scope FROM ${name} UNION ALL
      SELECT (SELECT min(scope) FROM ${name} WHERE scope > scopes.scope) FROM scopes
      WHERE scope IS NOT NULL)
    SELECT newest.id FROM scopes CROSS JOIN LATERAL (SELECT ${column} AS id FROM ${name}
      WHERE scope = scopes.scope ORDER BY ${column} DESC LIMIT 1) AS newest
    ORDER BY newest.id DESC LIMIT 1`
  const row = await reader.get<{ id: string | Uint8Array }>(prepareStatement(highest)([]))
  return row ? table.timeOf(row.id) : 0
}

/** Makes the table precede a boundary. */
export async function validateBoundary(
  db: Database,
  table: BoundedTable,
  nowMs: number,
): Promise<void> {
  const drop = () => db.migrate((_tx, ddl) => dropCheck(ddl, table))
  let existing = await readCheck(db, table)
  if (existing && table.timeOf(existing.boundary) - nowMs < LEFT_MS) {
    await drop()
    existing = undefined
  }
  if (!existing) await addCheck(db, table, nowMs)
  if (existing?.valid) return
  try {
    await db.validateConstraint(table.name, checkName(table))
  } catch (error) {
    // Nothing is lost: a validation begins with the first row again.
    await drop()
    throw error
  }
}

/** Rows of a clock that ran ahead move the boundary. */
async function addCheck(db: Database, table: BoundedTable, nowMs: number): Promise<void> {
  const newestMs = await readNewestMs(db, db.dialect, table)
  const boundaryMs = nextPeriod(table, Math.max(nowMs, newestMs) + AHEAD_MS)
  const { name, column, from } = table
  const lower = from === undefined ? '' : `${column} >= '${from}' AND `
  await db.migrate((_tx, ddl) =>
    ddl(`ALTER TABLE ${name} ADD CONSTRAINT ${checkName(table)}
      CHECK (${lower}${column} < '${table.boundAt(boundaryMs)}') NOT VALID`),
  )
}
