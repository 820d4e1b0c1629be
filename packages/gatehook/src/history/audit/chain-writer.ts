/**
 * Appends committed audit rows to the hash chain, and purges its oldest rows. Transactions that
 * record audit rows do not wait for each other: a row gets its place in the chain after its commit,
 * in a transaction that locks the head of the chain. Only this file updates or deletes audit rows.
 */
import type { Log } from '../../kernel/log.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Database, Reader, Tx } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'
import type {
  AuditRow,
  ChainEnd,
  ChainKey,
  ClearingReason,
  ClearingWarrant,
  EndName,
} from './chain.ts'
import { hasValidTag, isRemovable, isReplaceable, isSameHash, REMOVED } from './chain.ts'
import type { ChainMemory, SetBack } from './chain-memory.ts'
import * as store from './chain-store.ts'
import { type AuditContext, type DetailReplacement, recordAudit } from './store.ts'

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

export interface AppendDeps extends ChainDeps, AuditContext {
  readonly log: Log
  readonly memory: ChainMemory
}

interface AppendResult {
  readonly rows: number
  /** Ids of appended rows whose tag is missing or wrong. */
  readonly suspectIds: readonly string[]
}

/**
 * Appends up to 200 rows to the chain, in the order of their positions. It also appends rows
 * without a valid tag; `verifyChain` reports them. Records that the chain was set back, and
 * continues it. Throws `ChainError`.
 */
export async function appendBatch(deps: AppendDeps): Promise<AppendResult> {
  const { db, key, log, memory } = deps
  if (!(await store.hasUnchainedRows(db)) && (await isContinued(deps))) {
    return { rows: 0, suspectIds: [] }
  }
  const { end, setBack, ...result } = await db.write(async (tx) => {
    const head = authenticateEnd(key, 'head', await store.lockHead(tx))
    const setBack = await memory.findSetBack(tx, head)
    if (setBack) await recordSetBack(tx, setBack, deps)
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
    return { rows: rows.length, suspectIds: suspects.map(({ id }) => id), end, setBack }
  })
  if (setBack) {
    memory.replace(end)
    log.error(setBack, 'the audit chain was set back: rows that this node knows are missing')
  } else memory.note(end)
  return result
}

/** Returns whether the stored head continues the newest one; the lock of the head decides. */
async function isContinued({ db, key, memory }: AppendDeps): Promise<boolean> {
  const stored = await store.readEnd(db, 'head')
  if (!stored || !isSameHash(stored.mac, key.endMac('head', stored))) return false
  if (await memory.findSetBack(db, stored)) return false
  memory.note(stored)
  return true
}

/** A failover to a standby that lacks the last commits sets the chain back, too. */
async function recordSetBack(tx: Tx, setBack: SetBack, context: AuditContext): Promise<void> {
  const actor = { kind: 'system', id: 'audit' } as const
  const detail = { ...setBack }
  await recordAudit(tx, { actor, action: 'audit.set_back', target: 'audit', detail }, context)
}

/**
 * Returns whether a warrant still permits its erasure: not once the trail records the end of it.
 * Throws `ChainError` for a warrant that the service has not issued.
 */
export async function isOpenWarrant(
  reader: Reader,
  key: ChainKey,
  warrant: ClearingWarrant | undefined,
): Promise<boolean> {
  if (!warrant || !isSameHash(warrant.proof, key.warrant(warrant))) {
    throw new ChainError('The warrant of the erasure was changed, or the service did not issue it.')
  }
  return !(await store.isErasureEnded(reader, warrant))
}

/**
 * Returns the rows of some positions that an erasure may clear: those whose content, customer
 * included, the service wrote. Throws `ChainError` without a warrant that is open.
 */
async function findClearable(
  tx: Tx,
  key: ChainKey,
  positions: readonly number[],
  warrant: ClearingWarrant,
  isPermitted: (row: AuditRow, reason: ClearingReason) => boolean,
): Promise<AuditRow[]> {
  if (!(await isOpenWarrant(tx, key, warrant))) {
    throw new ChainError('The erasure has ended, and its warrant with it.')
  }
  const untaggedThrough = (await store.readEnd(tx, 'anchor'))?.untaggedThrough ?? 0
  const rows = await store.findUncleared(tx, positions)
  return rows.filter((row) => isPermitted(row, warrant) && hasValidTag(key, row, untaggedThrough))
}

/**
 * Proves that the service clears rows, in the transaction that does so. Rows that are cleared
 * already get no proof: another program may have done it.
 */
export async function proveClearing(
  tx: Tx,
  key: ChainKey,
  positions: readonly number[],
  warrant: ClearingWarrant,
): Promise<void> {
  for (const row of await findClearable(tx, key, positions, warrant, isRemovable)) {
    const proof = key.clearing({ ...row, ...REMOVED }, warrant.cause)
    store.storeClearing(tx, row.position, proof)
  }
}

/** Replaces the details of a row, and proves that the service did it. */
export async function replaceDetail(
  tx: Tx,
  key: ChainKey,
  replacement: DetailReplacement,
  warrant: ClearingWarrant,
): Promise<void> {
  const { position, detail } = replacement
  for (const row of await findClearable(tx, key, [position], warrant, isReplaceable)) {
    store.storeClearing(tx, position, key.clearing({ ...row, detail }, warrant.cause))
  }
  await store.storeDetail(tx, replacement)
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
  await tx.run(sql`UPDATE gh_audit SET seq = NULL, hash = NULL, previous_hash = NULL, tag = NULL,
    cleared = NULL`)
}
