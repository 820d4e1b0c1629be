/** Records of requests with an idempotency key. */
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

/** Reads them without the rows that claims also store near midnight, to lock a request. */
export const readRequestRecords = (db: Database) =>
  db.all(sql`SELECT * FROM gh_idempotency WHERE fingerprint <> id`)
