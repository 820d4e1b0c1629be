/** SQL of stored answers. */
import type { Database, Reader, Tx } from '../storage/database.ts'
import type { SealedColumn } from '../storage/sealed-column.ts'
import { fixed } from '../storage/sql.ts'

export interface Stored {
  readonly fingerprint: Uint8Array
  readonly answer: Uint8Array | null
  readonly expires_at: number
}

export const ANSWER_PURPOSE = 'idempotency'

/** What a stored answer is bound to. */
export const answerRow = (scope: number, id: Uint8Array): string =>
  `${scope} ${Buffer.from(id).toString('base64url')}`

export const sealedAnswers: SealedColumn = {
  purpose: ANSWER_PURPOSE,
  table: 'gh_idempotency',
  column: 'answer',
  key: ['scope', 'id'],
  rowOf: ([scope, id]) => answerRow(scope as number, id as Uint8Array),
}

const find = fixed(
  'SELECT fingerprint, answer, expires_at FROM gh_idempotency WHERE scope = ? AND id = ?',
)
const claim = fixed(
  `INSERT INTO gh_idempotency (scope, id, fingerprint, expires_at) VALUES (?, ?, ?, ?)
   ON CONFLICT (scope, id) DO UPDATE
   SET fingerprint = excluded.fingerprint, answer = NULL, expires_at = excluded.expires_at
   WHERE gh_idempotency.expires_at <= ?`,
)
const keep = fixed(
  'UPDATE gh_idempotency SET answer = ?, expires_at = ? WHERE scope = ? AND id = ?',
)
const purge = fixed('DELETE FROM gh_idempotency WHERE expires_at <= ?')

export const findStored = (tx: Reader, scope: number, id: Uint8Array) =>
  tx.get<Record<string, never> & Stored>(find([scope, id]))

/**
 * True when the claim is ours: nobody had it, or it had expired. Waits for one who is about to
 * commit.
 */
export const claimKey = async (
  tx: Tx,
  scope: number,
  id: Uint8Array,
  print: Uint8Array,
  expiresAt: number,
  now: number,
): Promise<boolean> => (await tx.run(claim([scope, id, print, expiresAt, now]))) > 0

export const keepAnswer = (
  tx: Tx,
  scope: number,
  id: Uint8Array,
  answer: Uint8Array,
  expiresAt: number,
) => tx.run(keep([answer, expiresAt, scope, id]))

export const purgeAnswers = (db: Database, now: number): Promise<number> =>
  db.write((tx) => tx.run(purge([now])))
