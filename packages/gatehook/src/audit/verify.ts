/**
 * Verifies the chain from its anchor to its head, in pages: memory does not grow with its length.
 * Nothing is changed, but rows not sealed yet are sealed first by the caller.
 */
import { isoTime } from '../kernel/time.ts'
import { breakAt, type ChainEnd, isSameHash } from './chain.ts'
import * as store from './chain-store.ts'
import { authentic, type ChainDeps, ChainError } from './seal.ts'

const PAGE = 1000

export interface BrokenRow {
  /** Null where no row is there to be named. */
  readonly id: string | null
  readonly seq: number
  readonly at: string | null
  readonly reason: string
}

export interface ChainReport {
  readonly valid: boolean
  /** Rows verified, up to the first broken one. */
  readonly rows: number
  /** The last row that was purged; the chain is verified from the one after it. */
  readonly purged_through: number
  /** The last row verified. */
  readonly last: { readonly seq: number; readonly hash: string }
  /** Whether `--expect` was a hash of the chain; absent where none was given. */
  readonly expected?: boolean
  readonly broken: BrokenRow | null
}

export interface VerifyOptions {
  /** A hash noted earlier, which must still be in the chain. */
  readonly expect?: string | undefined
  /** Called after each page. */
  readonly onProgress?: ((rows: number, all: number) => void) | undefined
}

/** What has been verified so far. */
interface Walk {
  end: ChainEnd
  rows: number
  expected: boolean
}

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
    anchor = authentic(key, 'anchor', ends[0])
    head = authentic(key, 'head', ends[1])
  } catch (error) {
    if (!(error instanceof ChainError)) throw error
    const last = { seq: 0, hash: '' }
    return { valid: false, rows: 0, purged_through: 0, last, broken: noRow(0, error.message) }
  }
  const walk: Walk = { end: anchor, rows: 0, expected: isSameHash(anchor.hash, expect ?? '') }
  const broken =
    (await verifyRows(deps, walk, head, expect, onProgress)) ?? (await verifyEnd(deps, walk, head))
  const { seq, hash } = walk.end
  return {
    valid: broken === undefined && (expect === undefined || walk.expected),
    rows: walk.rows,
    purged_through: anchor.seq,
    last: { seq, hash },
    ...(expect !== undefined && { expected: walk.expected }),
    broken: broken ?? null,
  }
}

const noRow = (seq: number, reason: string): BrokenRow => ({ id: null, seq, at: null, reason })

/** Goes from row to row up to the head; returns the first that does not follow. */
async function verifyRows(
  { db, key }: ChainDeps,
  walk: Walk,
  head: ChainEnd,
  expect: string | undefined,
  onProgress: VerifyOptions['onProgress'],
): Promise<BrokenRow | undefined> {
  const all = head.seq - walk.end.seq
  while (walk.end.seq < head.seq) {
    const page = await db.snapshot(async (from) => ({
      rows: await store.rowsAfter(from, walk.end.seq, head.seq, PAGE),
      anchor: await store.readEnd(from, 'anchor'),
    }))
    // Rows may have been purged meanwhile: the chain then goes on from the new anchor.
    const anchor = authentic(key, 'anchor', page.anchor)
    if (anchor.seq > walk.end.seq) walk.end = anchor
    if (page.rows.length === 0) return undefined
    for (const row of page.rows) {
      const reason = breakAt(key, row, walk.end)
      if (reason !== undefined) {
        return { id: row.id, seq: row.seq!, at: isoTime(row.at), reason }
      }
      walk.end = { ...walk.end, seq: row.seq!, hash: row.hash! }
      walk.rows++
      walk.expected ||= row.hash === expect
    }
    onProgress?.(walk.rows, all)
  }
  return undefined
}

/** The last row must be the head, and no row of the chain may lie beyond the head of now. */
async function verifyEnd(
  { db, key }: ChainDeps,
  { end }: Walk,
  head: ChainEnd,
): Promise<BrokenRow | undefined> {
  if (end.seq < head.seq) {
    return noRow(end.seq + 1, `rows ${end.seq + 1} to ${head.seq} of the chain are missing`)
  }
  if (end.seq === head.seq && !isSameHash(end.hash, head.hash)) {
    return noRow(head.seq, 'the last row is not the head of the chain')
  }
  const [beyond] = await db.snapshot(async (from) => {
    const now = authentic(key, 'head', await store.readEnd(from, 'head'))
    return store.rowsAfter(from, now.seq, Number.MAX_SAFE_INTEGER, 1)
  })
  if (!beyond) return undefined
  const reason = 'it lies beyond the head of the chain'
  return { id: beyond.id, seq: beyond.seq!, at: isoTime(beyond.at), reason }
}
