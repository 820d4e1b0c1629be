/** Verifies that a table of PostgreSQL can grow. */
import type { MigrationDeps } from './postgres-migration.ts'

/** Shorter than a value that PostgreSQL compresses. */
const ROW_BYTES = 1_900

/** Ends the transaction of `takeSpace`. */
const ROLL_BACK = new Error('the space is not needed')

/**
 * Creates a table of this size and rolls back: rows of an existing table would use the pages of
 * deleted ones. Throws the error of a full disk.
 */
export async function takeSpace(write: MigrationDeps['write'], bytes: number): Promise<void> {
  const rows = Math.ceil(bytes / ROW_BYTES)
  const text = `CREATE TABLE gh_space AS
    SELECT repeat('x', ${ROW_BYTES}) AS text FROM generate_series(1, ${rows})`
  try {
    await write(async (tx) => {
      await tx.run({ sql: '', text, values: [] })
      throw ROLL_BACK
    })
  } catch (error) {
    if (error !== ROLL_BACK) throw error
  }
}
