/** The keys of `tx.emit` and `tx.enqueue`: a repeat within 24 h has no effect (§15.3). */
import type { Scope } from '../../kernel/principal.ts'
import { sha256 } from '../../kernel/secret.ts'
import { budgetOf } from '../../platform/storage/change-budget.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { purgeExpired } from '../../platform/storage/purge.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { ownKeys } from './tables.ts'

const RETENTION_MS = 24 * 3_600_000
const KEY_MAX = 255

const find = prepareStatement(`SELECT result FROM gh_own_keys
  WHERE scope = ? AND word = ? AND key_hash = ? AND expires_at > ?`)
const store = prepareStatement(`INSERT INTO gh_own_keys
  (scope, word, key_hash, result, expires_at) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (scope, word, key_hash)
  DO UPDATE SET result = excluded.result, expires_at = excluded.expires_at`)

/** A repeatable effect of own code. */
interface Effect {
  readonly scope: Scope
  /** The event or the job: `invoice.overdue`. */
  readonly word: string
  /** Undefined: each call has its effect. */
  readonly key: string | undefined
  /** The instant of the transaction. */
  readonly now: number
}

/**
 * Runs an effect unless one of its key is stored, and returns its id. The transaction is
 * serializable, so that of two at once the database repeats one, which then finds the other.
 */
export async function runOnce(
  tx: Tx,
  { scope, word, key, now }: Effect,
  run: () => Promise<string>,
): Promise<string> {
  if (key === undefined) return run()
  if (typeof key !== 'string' || key === '' || key.length > KEY_MAX) {
    throw new Error(`the key of ${word} is a text of 1 to ${KEY_MAX} characters`)
  }
  // The text may name a person.
  const digest = sha256(key)
  const earlier = await tx.get<{ result: string }>(find([scope, word, digest, now]))
  if (earlier) return earlier.result
  const result = await run()
  budgetOf(tx).charge({ rows: 1, bytes: digest.length })
  await tx.run(store([scope, word, digest, result, now + RETENTION_MS]))
  return result
}

export const purgeRepeatKeys = (db: Database, now: number): Promise<number> =>
  purgeExpired(db, [ownKeys], now)
