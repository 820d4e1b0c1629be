/**
 * Stores the secrets of keys and of clients as SHA-256 hashes (§3.2, §5.5). After a rotation the
 * older secrets stay valid for the overlap; their number is bounded.
 */

import { Failure } from '../../kernel/failure.ts'
import { sha256 } from '../../kernel/secret.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { b } from '../../protocol/fields/members.ts'

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

/** Returns when access by an older secret ends: now without an overlap. */
export const endOfOverlap = (overlap: RotationOverlap, nowMs: number): { readonly at?: number } =>
  overlapMs(overlap) === 0 ? {} : { at: nowMs + overlapMs(overlap) }

export const overlapMs = ({ overlap_seconds = DEFAULT_OVERLAP_S }: RotationOverlap): number =>
  overlap_seconds * 1000

/** The key or client that has the secrets. */
interface SecretOwner {
  readonly id: string
  readonly scope: number
}

/** The columns of a stored secret. */
export interface HashedSecret {
  /** SHA-256. */
  readonly hash: Uint8Array
  /** The characters at its end that identify it to an operator. */
  readonly ending: string
}

export interface SecretStore {
  add(tx: Tx, owner: SecretOwner, secret: HashedSecret, nowMs: number): Promise<number>
  /**
   * Adds a secret; older ones expire after the overlap, at once for 0. Throws 409 `limit_reached`
   * while too many of them are still valid.
   */
  replace(
    tx: Tx,
    owner: SecretOwner,
    secret: string,
    nowMs: number,
    overlapMs: number,
  ): Promise<void>
  deleteAll(tx: Tx, owner: SecretOwner): Promise<number>
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

export const endingOf = (secret: string): string => secret.slice(-4)

export const hashSecret = (secret: string): HashedSecret => ({
  hash: sha256(secret),
  ending: endingOf(secret),
})

export function createSecretStore(options: SecretStoreOptions): SecretStore {
  const { table, ownerColumn, maxSecrets, limitMessage } = options
  const insert = prepareStatement(
    `INSERT INTO ${table} (${ownerColumn}, hash, ending, scope, created_at)
     VALUES (?, ?, ?, ?, ?)`,
  )
  const owned = `scope = ? AND ${ownerColumn} = ?`
  const shorten = prepareStatement(
    `UPDATE ${table} SET expires_at = ?
     WHERE ${owned} AND (expires_at IS NULL OR expires_at > ?)`,
  )
  const deleteExpired = prepareStatement(
    `DELETE FROM ${table} WHERE ${owned} AND expires_at IS NOT NULL AND expires_at <= ?`,
  )
  const count = prepareStatement(`SELECT COUNT(*) AS total FROM ${table} WHERE ${owned}`)
  const deleteAll = prepareStatement(`DELETE FROM ${table} WHERE ${owned}`)

  const add: SecretStore['add'] = (tx, { id, scope }, { hash, ending }, nowMs) =>
    tx.run(insert([id, hash, ending, scope, nowMs]))
  return {
    add,
    async replace(tx, owner, secret, nowMs, overlapMs) {
      const { id, scope } = owner
      await tx.run(shorten([nowMs + overlapMs, scope, id, nowMs + overlapMs]))
      await tx.run(deleteExpired([scope, id, nowMs]))
      const { total } = (await tx.get(count([scope, id])))!
      if (Number(total) >= maxSecrets) throw new Failure('limit_reached', limitMessage)
      await add(tx, owner, hashSecret(secret), nowMs)
    },
    deleteAll: (tx, { id, scope }) => tx.run(deleteAll([scope, id])),
  }
}
