/** SQL of idempotency records: a claimed key, and the response once it is stored. */
import type { Database, Reader, Tx } from '../storage/database.ts'
import type { EncryptedColumn } from '../storage/encrypted-column.ts'
import { PURGE_SLICE_ROWS, purgeInSlices } from '../storage/purge.ts'
import { prepareStatement } from '../storage/sql.ts'

export interface IdempotencyRecord {
  /** HMAC of the request's body. */
  readonly fingerprint: Uint8Array
  /** The encrypted response; null until it is stored. */
  readonly answer: Uint8Array | null
  /** Epoch milliseconds. */
  readonly expires_at: number
}

export const RESPONSE_PURPOSE = 'idempotency'

/** Returns the row name that a stored response is encrypted for. */
export const responseRow = (scope: number, id: Uint8Array): string =>
  `${scope} ${Buffer.from(id).toString('base64url')}`

export const encryptedResponses: EncryptedColumn = {
  purpose: RESPONSE_PURPOSE,
  table: 'gh_idempotency',
  column: 'answer',
  key: ['scope', 'id'],
  rowOf: ([scope, id]) => responseRow(scope as number, id as Uint8Array),
}

const find = prepareStatement(
  'SELECT fingerprint, answer, expires_at FROM gh_idempotency WHERE scope = ? AND id = ?',
)
const claim = prepareStatement(
  `INSERT INTO gh_idempotency (scope, id, fingerprint, expires_at) VALUES (?, ?, ?, ?)
   ON CONFLICT (scope, id) DO UPDATE
   SET fingerprint = excluded.fingerprint, answer = NULL, expires_at = excluded.expires_at
   WHERE gh_idempotency.expires_at <= ?`,
)
const update = prepareStatement(
  'UPDATE gh_idempotency SET answer = ?, expires_at = ? WHERE scope = ? AND id = ?',
)
const purge = prepareStatement(`DELETE FROM gh_idempotency WHERE (scope, id) IN
  (SELECT scope, id FROM gh_idempotency WHERE expires_at <= ? ORDER BY expires_at
   LIMIT ${PURGE_SLICE_ROWS})`)

export const findRecord = (from: Reader, scope: number, id: Uint8Array) =>
  from.get<Record<string, never> & IdempotencyRecord>(find([scope, id]))

/**
 * Inserts the record of a request, or replaces an expired one. Returns false if another request
 * has it. Waits for a transaction that is about to commit the same record.
 */
export const claimRecord = async (
  tx: Tx,
  scope: number,
  id: Uint8Array,
  fingerprint: Uint8Array,
  expiresAt: number,
  now: number,
): Promise<boolean> => (await tx.run(claim([scope, id, fingerprint, expiresAt, now]))) > 0

export const storeResponse = (
  tx: Tx,
  scope: number,
  id: Uint8Array,
  response: Uint8Array,
  expiresAt: number,
) => tx.runLater(update([response, expiresAt, scope, id]))

export const purgeRecords = (db: Database, now: number): Promise<number> =>
  purgeInSlices(db, purge([now]))
