/**
 * Verifies the hash chain from its anchor to its head, in pages of constant memory. It changes
 * nothing; `AuditTrail.verify` first appends the rows that are not in the chain yet.
 */
import { isoTime } from '../../kernel/time.ts'
import { lastAssigned } from '../../platform/storage/sequences.ts'
import {
  type AuditRow,
  type ChainEnd,
  causeOf,
  explainsRemoval,
  findBreak,
  hasValidTag,
  isSameHash,
} from './chain.ts'
import * as store from './chain-store.ts'
import { authenticateEnd, type ChainDeps, ChainError } from './chain-writer.ts'

const PAGE_ROWS = 1000

interface BrokenRow {
  /** Null if the row itself is missing. */
  readonly id: string | null
  readonly seq: number
  readonly at: string | null
  readonly reason: string
}

export interface ChainReport {
  readonly valid: boolean
  /** Rows verified, up to the first broken one. */
  readonly rows: number
  /** The last purged row; verification starts with the row after it. */
  readonly purged_through: number
  /** The last row verified. */
  readonly last: { readonly seq: number; readonly hash: string }
  /** Whether the chain contains the hash of `--expect`; absent without the option. */
  readonly expected?: boolean
  readonly broken: BrokenRow | null
  /**
   * Positions after that of the newest row that the database has assigned, if there are any: rows
   * at the end were removed, or their transactions rolled back. SQLite repeats those of the latter.
   */
  readonly positions_beyond?: number
}

export interface VerifyOptions {
  /** A hash noted earlier, which the chain must still contain. */
  readonly expect?: string | undefined
  /** Called after each page. */
  readonly onProgress?: ((rows: number, total: number) => Promise<void> | void) | undefined
}

interface VerifierState {
  /** The last row verified. */
  end: ChainEnd
  rows: number
  expected: boolean
}

/** Verifies all rows of the chain and returns a report, also if an end was tampered with. */
export async function verifyChain(
  deps: ChainDeps,
  { expect, onProgress }: VerifyOptions = {},
): Promise<ChainReport> {
  const { db, key } = deps
  let anchor: store.StoredEnd
  let head: store.StoredEnd
  try {
    const ends = await db.snapshot(async (from) => [
      await store.readEnd(from, 'anchor'),
      await store.readEnd(from, 'head'),
    ])
    anchor = authenticateEnd(key, 'anchor', ends[0])
    head = authenticateEnd(key, 'head', ends[1])
  } catch (error) {
    if (!(error instanceof ChainError)) throw error
    const last = { seq: 0, hash: '' }
    return { valid: false, rows: 0, purged_through: 0, last, broken: missingRow(0, error.message) }
  }
  const state: VerifierState = {
    end: anchor,
    rows: 0,
    expected: isSameHash(anchor.hash, expect ?? ''),
  }
  const broken =
    (await verifyRows(deps, state, head, expect, onProgress)) ??
    (await verifyHead(deps, state.end, head))
  const { seq, hash } = state.end
  // In this order, a row of another transaction is not beyond the newest one.
  const assigned = await lastAssigned(db, 'gh_audit')
  const beyond = assigned - (await store.countRows(db)).last
  return {
    valid: broken === undefined && (expect === undefined || state.expected),
    rows: state.rows,
    purged_through: anchor.seq,
    last: { seq, hash },
    ...(expect !== undefined && { expected: state.expected }),
    broken: broken ?? null,
    ...(beyond > 0 && { positions_beyond: beyond }),
  }
}

const missingRow = (seq: number, reason: string): BrokenRow => ({ id: null, seq, at: null, reason })

/** Verifies row after row up to the head; returns the first row that breaks the chain. */
async function verifyRows(
  { db, key }: ChainDeps,
  state: VerifierState,
  head: ChainEnd,
  expect: string | undefined,
  onProgress: VerifyOptions['onProgress'],
): Promise<BrokenRow | undefined> {
  const total = head.seq - state.end.seq
  while (state.end.seq < head.seq) {
    const page = await db.snapshot(async (from) => ({
      rows: await store.findRowsAfter(from, state.end.seq, head.seq, PAGE_ROWS),
      anchor: await store.readEnd(from, 'anchor'),
    }))
    // A purge may have moved the anchor meanwhile: the chain then continues after it.
    const anchor = authenticateEnd(key, 'anchor', page.anchor)
    if (anchor.seq > state.end.seq) state.end = anchor
    if (page.rows.length === 0) return undefined
    const unexplained = await findUnexplained({ db, key }, page.rows, anchor)
    for (const row of page.rows) {
      const reason =
        findBreak(key, row, state.end) ??
        (unexplained.has(row.id) ? 'no erasure of the trail explains its removed text' : undefined)
      if (reason !== undefined) {
        return { id: row.id, seq: row.seq!, at: isoTime(row.at), reason }
      }
      state.end = { ...state.end, seq: row.seq!, hash: row.hash! }
      state.rows++
      state.expected ||= row.hash === expect
    }
    await onProgress?.(state.rows, total)
  }
  return undefined
}

/**
 * Returns the ids of rows whose text was removed for another erasure than one of the trail. A cause
 * that is older than its row may be purged.
 */
async function findUnexplained(
  { db, key }: ChainDeps,
  rows: readonly AuditRow[],
  anchor: ChainEnd,
): Promise<ReadonlySet<string>> {
  const removals = rows.flatMap((row) => {
    const cause = causeOf(row)
    return cause === undefined ? [] : [{ row, cause }]
  })
  if (removals.length === 0) return new Set()
  const ids = new Set(removals.map(({ cause }) => cause))
  const causes = new Map((await store.findRowsById(db, [...ids])).map((row) => [row.id, row]))
  const isExplained = ({ row, cause: id }: (typeof removals)[number]) => {
    const cause = causes.get(id)
    if (!cause) return anchor.seq > 0 && id < row.id
    return hasValidTag(key, cause, anchor.untaggedThrough) && explainsRemoval(cause, row)
  }
  return new Set(removals.filter((removal) => !isExplained(removal)).map(({ row }) => row.id))
}

/** Verifies that the last row is the head, and that no row lies beyond the current head. */
async function verifyHead(
  { db, key }: ChainDeps,
  end: ChainEnd,
  head: ChainEnd,
): Promise<BrokenRow | undefined> {
  if (end.seq < head.seq) {
    const reason = `rows ${end.seq + 1} to ${head.seq} of the chain are missing`
    return missingRow(end.seq + 1, reason)
  }
  if (end.seq === head.seq && !isSameHash(end.hash, head.hash)) {
    return missingRow(head.seq, 'the last row is not the head of the chain')
  }
  const [beyond] = await db.snapshot(async (from) => {
    const currentHead = authenticateEnd(key, 'head', await store.readEnd(from, 'head'))
    return store.findRowsAfter(from, currentHead.seq, Number.MAX_SAFE_INTEGER, 1)
  })
  if (!beyond) return undefined
  const reason = 'it lies beyond the head of the chain'
  return { id: beyond.id, seq: beyond.seq!, at: isoTime(beyond.at), reason }
}
