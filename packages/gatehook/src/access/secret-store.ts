/**
 * Stores the secrets of keys and of clients as SHA-256 hashes (§3.2, §5.5). After a rotation the
 * older secrets stay valid for the overlap; their number is bounded.
 */
import { b } from '../fields/members.ts'
import { Failure } from '../kernel/failure.ts'
import { sha256 } from '../kernel/secret.ts'
import type { Tx } from '../storage/database.ts'
import { prepareStatement } from '../storage/sql.ts'

/** The overlap of a rotation without `overlap_seconds` (§3.2, §9.4). */
const DEFAULT_OVERLAP_S = 86_400
const MAX_OVERLAP_S = 7 * 86_400

/** The body of a rotation: at most seven days. */
export const rotationInput = {
  overlap_seconds: b
    .int(0, MAX_OVERLAP_S)
    .optional()
    .describe('How long the older secrets stay valid; default 24 h.'),
}

/** The overlap of a rotation, as its body has it. */
export interface RotationOverlap {
  readonly overlap_seconds?: number | undefined
}

export const overlapMs = ({ overlap_seconds = DEFAULT_OVERLAP_S }: RotationOverlap): number =>
  overlap_seconds * 1000

interface SecretStore {
  add(tx: Tx, owner: string, secret: string, nowMs: number): Promise<number>
  /**
   * Adds a secret; older ones expire after the overlap, at once for 0. Throws 409 `limit_reached`
   * while too many of them are still valid.
   */
  replace(tx: Tx, owner: string, secret: string, nowMs: number, overlapMs: number): Promise<void>
  deleteAll(tx: Tx, owner: string): Promise<number>
}

interface SecretStoreOptions {
  readonly table: string
  /** The column that holds the id of the owner. */
  readonly ownerColumn: string
  /** How many secrets of an owner are valid at the same time, the newest included. */
  readonly maxSecrets: number
  /** The message of `limit_reached`. */
  readonly limitMessage: string
}

export function createSecretStore(options: SecretStoreOptions): SecretStore {
  const { table, ownerColumn, maxSecrets, limitMessage } = options
  const insert = prepareStatement(
    `INSERT INTO ${table} (${ownerColumn}, hash, created_at) VALUES (?, ?, ?)`,
  )
  const shorten = prepareStatement(
    `UPDATE ${table} SET expires_at = ?
     WHERE ${ownerColumn} = ? AND (expires_at IS NULL OR expires_at > ?)`,
  )
  const deleteExpired = prepareStatement(
    `DELETE FROM ${table} WHERE ${ownerColumn} = ? AND expires_at IS NOT NULL AND expires_at <= ?`,
  )
  const count = prepareStatement(`SELECT COUNT(*) AS total FROM ${table} WHERE ${ownerColumn} = ?`)
  const deleteAll = prepareStatement(`DELETE FROM ${table} WHERE ${ownerColumn} = ?`)

  const add: SecretStore['add'] = (tx, owner, secret, nowMs) =>
    tx.run(insert([owner, sha256(secret), nowMs]))
  return {
    add,
    async replace(tx, owner, secret, nowMs, overlapMs) {
      await tx.run(shorten([nowMs + overlapMs, owner, nowMs + overlapMs]))
      await tx.run(deleteExpired([owner, nowMs]))
      const { total } = (await tx.get(count([owner])))!
      if (Number(total) >= maxSecrets) throw new Failure('limit_reached', limitMessage)
      await add(tx, owner, secret, nowMs)
    },
    deleteAll: (tx, owner) => tx.run(deleteAll([owner])),
  }
}
