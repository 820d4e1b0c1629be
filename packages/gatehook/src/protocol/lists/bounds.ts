/** The bounds of a list request (§7.10, §7.9, §11.5). `bounds-failures.ts` reports them. */

export const EXAMINED_ROWS_MAX = 50_000
/** Most rows of a person that are sorted in memory (§7.9). */
export const OWN_ROWS_MAX = 10_000
/** Most rows that a filtered total counts. */
export const COUNTED_ROWS_MAX = 100_000
/** Largest distance of a numbered page from the nearer end, in rows (§7.4). */
export const MAX_SKIPPED_ROWS = 100_000

/** Limits of the reads of one attempt to answer a request. */
export interface ReadBounds {
  readonly rows: number
  /** Examined rows when only the rows of one person are listed. */
  readonly ownRows: number
  /** A filter's range of at most this many rows is read at once; other indexes are not tried. */
  readonly smallRange: number
  readonly totalRows: number
  /** Rows that precede a numbered page. */
  readonly skippedRows: number
}

/** Bounds of a read beside other requests; a longer read runs in a `longRead`. */
export const CONCURRENT_BOUNDS: ReadBounds = {
  rows: 400,
  ownRows: 400,
  smallRange: 400,
  totalRows: 2_000,
  skippedRows: 1_000,
}
/** The same for filters that search whole texts: a text may have 64 KiB. */
export const TEXT_BOUNDS: ReadBounds = {
  ...CONCURRENT_BOUNDS,
  rows: 100,
  ownRows: 100,
  totalRows: 100,
}
/** Bounds of a `longRead`. */
export const LONG_READ_BOUNDS: ReadBounds = {
  rows: EXAMINED_ROWS_MAX,
  ownRows: OWN_ROWS_MAX,
  smallRange: 1_000,
  totalRows: COUNTED_ROWS_MAX,
  skippedRows: Number.POSITIVE_INFINITY,
}

/** An attempt would read more than its bounds allow. */
export class BoundsExceeded extends Error {
  readonly reason: 'examined' | 'counted'

  constructor(reason: 'examined' | 'counted') {
    super(`bug: a list that exceeds its bounds (${reason}) was not reported`)
    this.reason = reason
  }
}
