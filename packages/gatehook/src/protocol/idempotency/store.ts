/**
 * SQL of idempotency records: a claimed key, and the response once it is stored. The id of a record
 * begins with its day, so that PostgreSQL drops the records of a day (decision 0053).
 */
import type { Database, Reader, Tx } from '../../platform/storage/database.ts'
import { createInsertUnless } from '../../platform/storage/insert-unless.ts'
import { tablesOfMixedAge } from '../../platform/storage/partitions/catalog.ts'
import { renewPartitions } from '../../platform/storage/partitions/upkeep.ts'
import { PURGE_SLICE_ROWS, purgeInSlices } from '../../platform/storage/purge.ts'
import { prepareStatement, sql } from '../../platform/storage/sql.ts'
import type { RecordIds, RecordTimes } from './record-ids.ts'
import { recordTable } from './tables.ts'

export interface IdempotencyRecord {
  readonly id: Uint8Array
  /** HMAC of the request's body. */
  readonly fingerprint: Uint8Array
  /** The size of the encrypted response; null until it is stored. */
  readonly answer_bytes: number | null
  /** Epoch milliseconds. */
  readonly expires_at: number
}

const find = prepareStatement(`SELECT id, fingerprint, octet_length(answer) AS answer_bytes,
    expires_at
  FROM gh_idempotency WHERE scope = ? AND id IN (?, ?, ?, ?, ?) AND expires_at > ? LIMIT 1`)
const findAnswer = prepareStatement('SELECT answer FROM gh_idempotency WHERE scope = ? AND id = ?')
/** Claims a record unless another day has one of the same request. */
const CLAIM = {
  table: 'gh_idempotency',
  columns: { scope: 'int', id: 'bytes', fingerprint: 'bytes', expires_at: 'int' },
  unless: 'scope = ? AND id IN (?, ?, ?, ?) AND expires_at > ?',
  onConflict: `(scope, id) DO UPDATE SET fingerprint = excluded.fingerprint, answer = NULL,
    secret = NULL, expires_at = excluded.expires_at WHERE gh_idempotency.expires_at <= ?`,
} as const
/** Waits for the transaction that has written the row. */
const lock = prepareStatement(`INSERT INTO gh_idempotency (scope, id, fingerprint, expires_at)
  VALUES (?, ?, ?, ?) ON CONFLICT (scope, id) DO UPDATE SET expires_at = excluded.expires_at`)
const update = prepareStatement(
  'UPDATE gh_idempotency SET answer = ?, expires_at = ?, secret = ? WHERE scope = ? AND id = ?',
)
const purgeTable = (table: string) =>
  prepareStatement(`DELETE FROM ${table} WHERE (scope, id) IN
    (SELECT scope, id FROM ${table} WHERE expires_at <= ? ORDER BY expires_at
     LIMIT ${PURGE_SLICE_ROWS})`)
const purgeSecrets = prepareStatement(`DELETE FROM gh_idempotency WHERE (scope, id) IN
  (SELECT scope, id FROM gh_idempotency WHERE secret = 1 AND expires_at <= ? ORDER BY expires_at
   LIMIT ${PURGE_SLICE_ROWS})`)

/** Returns the record of a request that is not expired, of any day. */
export const findRecord = (from: Reader, scope: number, ids: RecordIds, times: RecordTimes) =>
  from.get<Record<string, never> & IdempotencyRecord>(
    find([scope, ids.current, ...ids.others, Math.min(times.now, times.since)]),
  )

/** Returns the encrypted response of a record; undefined if it has none. */
export async function readAnswer(from: Reader, scope: number, id: Uint8Array) {
  const row = await from.get<{ answer: Uint8Array | null }>(findAnswer([scope, id]))
  return row?.answer ?? undefined
}

export interface RecordClaim {
  readonly scope: number
  readonly ids: RecordIds
  readonly fingerprint: Uint8Array
  readonly expiresAt: number
  readonly times: RecordTimes
}

/**
 * Returns a function that inserts the record of a request, or replaces an expired one; false if
 * another request has it. It waits for a transaction that is about to commit the same record.
 */
export function createClaim(db: Database) {
  const insert = createInsertUnless(db, CLAIM)
  return (tx: Tx, { scope, ids, fingerprint, expiresAt, times }: RecordClaim): Promise<boolean> => {
    const now = Math.min(times.now, times.since)
    // Where another day can be claimed meanwhile, the lock precedes the claim.
    if (ids.lock) tx.runLater(lock([scope, ids.lock, ids.lock, expiresAt]))
    return insert(tx, {
      row: [scope, ids.current, fingerprint, expiresAt],
      unless: [scope, ...ids.others, now],
      onConflict: [now],
    })
  }
}

interface StoredResponse {
  readonly response: Uint8Array
  readonly expiresAt: number
  readonly isSecret: boolean
}

export const storeResponse = (
  tx: Tx,
  scope: number,
  id: Uint8Array,
  { response, expiresAt, isSecret }: StoredResponse,
) => tx.runLater(update([response, expiresAt, isSecret ? 1 : null, scope, id]))

const release = prepareStatement(
  'DELETE FROM gh_idempotency WHERE scope = ? AND id = ? AND answer IS NULL',
)
const reclaim = prepareStatement(`UPDATE gh_idempotency SET expires_at = ?
  WHERE scope = ? AND id = ? AND expires_at = ? AND answer IS NULL`)

const reopen = prepareStatement(`UPDATE gh_idempotency SET expires_at = ?
  WHERE scope = ? AND id = ? AND answer IS NULL`)

/** Sets the end of a record without a response, so that a repeat can claim it again (§17.5). */
export const reopenRecord = (tx: Tx, scope: number, id: Uint8Array, expiresAt: number) =>
  tx.runLater(reopen([expiresAt, scope, id]))

/** Deletes the record of a request that had no effect outside (§17.5): a repeat is a first one. */
export const releaseRecord = (tx: Tx, scope: number, id: Uint8Array) =>
  tx.runLater(release([scope, id]))

/** Claims a record without a response again. Returns false if another request has done so. */
export const reclaimRecord = async (
  tx: Tx,
  scope: number,
  { id, expires_at }: IdempotencyRecord,
  expiresAt: number,
): Promise<boolean> => (await tx.run(reclaim([expiresAt, scope, id, expires_at]))) > 0

/** Records expire a day after their own; clocks of nodes differ by less than an hour. */
const DROP_AFTER_MS = 25 * 3_600_000

/** Returns the number of purged records; that of dropped partitions is an estimate. */
export async function purgeRecords(db: Database, now: number): Promise<number> {
  const periods = { nowMs: now, beforeMs: now - DROP_AFTER_MS }
  const { dropped, failure } = await renewPartitions(db, recordTable, periods)
  let purgedCount = dropped
  const tables = await tablesOfMixedAge(db, recordTable)
  for (const table of tables) purgedCount += await purgeInSlices(db, purgeTable(table)([now]))
  if (!tables.includes(recordTable.name)) {
    purgedCount += await purgeInSlices(db, purgeSecrets([now]))
  }
  if (failure !== undefined) throw failure
  return purgedCount
}

/** Deletes a response that no secret decrypts. Its key is still used: a repeat is rejected. */
export const deleteLostResponse = (tx: Tx, scope: number, id: Uint8Array) =>
  tx.run(sql`UPDATE gh_idempotency SET answer = NULL, secret = NULL
    WHERE scope = ${scope} AND id = ${id}`)
