/**
 * Appends committed audit rows to the hash chain, and purges its oldest rows. Transactions that
 * record audit rows do not wait for each other: a row gets its place in the chain after its commit,
 * in a transaction that locks the head of the chain. Only this file updates or deletes audit rows.
 */
import { isoTime } from '../../kernel/time.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'
import type { ChainEnd, ChainKey, EndName } from './chain.ts'
import { hasValidTag, isSameHash } from './chain.ts'
import * as store from './chain-store.ts'
import { type AuditContext, recordAudit } from './store.ts'

const APPEND_BATCH_ROWS = 200
const PURGE_BATCH_ROWS = 10_000
const DAY_MS = 86_400_000

export interface ChainDeps {
  readonly db: Database
  readonly key: ChainKey
}

/** Thrown if the chain cannot be continued: one of its ends is missing or was changed. */
export class ChainError extends Error {
  override readonly name = 'ChainError'
}

/** Returns a stored end of the chain after verifying its HMAC. Throws `ChainError`. */
export function authenticateEnd(key: ChainKey, name: EndName, end: store.StoredEnd | undefined) {
  if (!end) throw new ChainError(`The ${name} of the audit chain is missing.`)
  if (isSameHash(end.mac, key.endMac(name, end))) return end
  throw new ChainError(`The ${name} of the audit chain was changed outside of the service.`)
}

/** Returns an end of the chain with its HMAC, ready to be stored. */
export const signEnd = (key: ChainKey, name: EndName, end: ChainEnd): store.StoredEnd => {
  const { seq, hash, untaggedThrough } = end
  return { seq, hash, untaggedThrough, mac: key.endMac(name, end) }
}

interface AppendResult {
  readonly rows: number
  /** Ids of appended rows whose tag is missing or wrong. */
  readonly suspectIds: readonly string[]
}

/**
 * Appends up to 200 rows to the chain, in the order of their positions. It also appends rows
 * without a valid tag; `verifyChain` reports them. Throws `ChainError`.
 */
export async function appendBatch({ db, key }: ChainDeps): Promise<AppendResult> {
  if (!(await store.hasUnchainedRows(db))) return { rows: 0, suspectIds: [] }
  return db.write(async (tx) => {
    const head = authenticateEnd(key, 'head', await store.lockHead(tx))
    const rows = await store.findUnchainedRows(tx, APPEND_BATCH_ROWS)
    let end: ChainEnd = head
    for (const row of rows) {
      const [seq, previousHash] = [end.seq + 1, end.hash]
      const hash = key.link(row, seq, previousHash)
      await store.linkRow(tx, row, seq, hash, previousHash)
      end = { ...end, seq, hash }
    }
    if (rows.length > 0) await store.updateEnd(tx, 'head', signEnd(key, 'head', end))
    const suspects = rows.filter((row) => !hasValidTag(key, row, head.untaggedThrough))
    return { rows: rows.length, suspectIds: suspects.map(({ id }) => id) }
  })
}

/**
 * Purges rows older than `beforeMs`, once the oldest row is a day older than that, and returns
 * their number. The last purged row becomes the anchor, from which the chain is verified. The purge
 * is itself an audit row. The newest row always remains. Throws `ChainError`.
 */
export const purgeRows = (
  { db, key, ...context }: ChainDeps & AuditContext,
  beforeMs: number,
): Promise<number> =>
  db.write(async (tx) => {
    const oldest = await store.findOldestTime(tx)
    if (oldest === undefined || oldest >= beforeMs - DAY_MS) return 0
    const head = authenticateEnd(key, 'head', await store.lockHead(tx))
    const anchor = authenticateEnd(key, 'anchor', await store.readEnd(tx, 'anchor'))
    const last = await store.findLastRowBefore(tx, beforeMs, {
      after: anchor.seq,
      through: Math.min(anchor.seq + PURGE_BATCH_ROWS, head.seq - 1),
    })
    if (!last) return 0
    const rows = await store.deleteRowsThrough(tx, last.seq)
    await store.updateEnd(tx, 'anchor', signEnd(key, 'anchor', { ...anchor, ...last }))
    const actor = { kind: 'system', id: 'retention' } as const
    const detail = { rows, before: isoTime(beforeMs), through: last.seq, hash: last.hash }
    await recordAudit(tx, { actor, action: 'audit.purge', target: 'audit', detail }, context)
    return rows
  })

/** Removes the chain, whose key is lost. The next start begins another one with all rows. */
export async function removeChain(tx: Tx): Promise<void> {
  await tx.run(sql`DELETE FROM gh_audit_keys`)
  await tx.run(sql`DELETE FROM gh_audit_chain`)
  await tx.run(sql`UPDATE gh_audit SET seq = NULL, hash = NULL, previous_hash = NULL, tag = NULL`)
}
