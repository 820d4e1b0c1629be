/**
 * Secrets of keys and clients: kept as SHA-256 in a table of their own. While one follows another,
 * several are good; for how long, and how many, is one rule (§3.2, §5.5).
 */
import { Failure } from '../kernel/failure.ts'
import { readMembers } from '../kernel/members.ts'
import { sha256 } from '../kernel/secret.ts'
import type { Tx } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'
import { DEFAULT_OVERLAP_S, overlapSeconds } from './granting.ts'

/** Milliseconds, from `{overlap_seconds?}`: default 24 h, at most 7 days. Throws 422. */
export function overlapMs(input: unknown): number {
  const { overlap_seconds } = readMembers(input ?? {}, { overlap_seconds: overlapSeconds })
  return (overlap_seconds ?? DEFAULT_OVERLAP_S) * 1000
}

export interface Secrets {
  add(tx: Tx, owner: string, secret: string, now: number): Promise<number>
  /**
   * `add`, and older ones live no longer than the overlap: 0 ends them at once. Throws 409
   * `limit_reached` while too many of them are still good.
   */
  replace(tx: Tx, owner: string, secret: string, now: number, overlap: number): Promise<void>
  /** All of an owner's. */
  drop(tx: Tx, owner: string): Promise<number>
}

export interface SecretsDeps {
  readonly table: string
  /** The column that says whose it is. */
  readonly owner: string
  /** How many are good at the same time, the newest included. */
  readonly most: number
  /** Where there are too many. */
  readonly refusal: string
}

export function secretsIn({ table, owner, most, refusal }: SecretsDeps): Secrets {
  const insert = fixed(`INSERT INTO ${table} (${owner}, hash, created_at) VALUES (?, ?, ?)`)
  const limit = fixed(
    `UPDATE ${table} SET expires_at = ?
     WHERE ${owner} = ? AND (expires_at IS NULL OR expires_at > ?)`,
  )
  const dropDead = fixed(
    `DELETE FROM ${table} WHERE ${owner} = ? AND expires_at IS NOT NULL AND expires_at <= ?`,
  )
  const count = fixed(`SELECT COUNT(*) AS total FROM ${table} WHERE ${owner} = ?`)
  const drop = fixed(`DELETE FROM ${table} WHERE ${owner} = ?`)

  const add: Secrets['add'] = (tx, id, secret, now) => tx.run(insert([id, sha256(secret), now]))
  return {
    add,
    async replace(tx, id, secret, now, overlap) {
      await tx.run(limit([now + overlap, id, now + overlap]))
      await tx.run(dropDead([id, now]))
      const { total } = (await tx.get(count([id])))!
      if (Number(total) >= most) throw new Failure('limit_reached', refusal)
      await add(tx, id, secret, now)
    },
    drop: (tx, id) => tx.run(drop([id])),
  }
}
