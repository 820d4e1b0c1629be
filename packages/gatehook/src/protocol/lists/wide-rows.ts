/**
 * Rows of which a page can be larger than a response (§11.5): how many of them the next statement
 * reads, so that the server never reads more than fits. Pure.
 */
import { ITEMS_BYTES_MAX } from '../http/answer-budget.ts'
import { MAX_LIMIT } from './grammar.ts'

/** Rows of the first read. */
const FIRST_ROWS = 8
/** Approximate size of later reads; other requests run between them. */
const BATCH_BYTES = 1024 * 1024

/** Rows that are read for one page. */
export interface WideReads {
  /** The bytes of the largest row as JSON, in which a character has up to six. */
  readonly maxRowBytes: number
  /** Rows that were read, and the bytes of their JSON. */
  readonly rows: number
  readonly bytes: number
  /** Bytes that still fit. */
  readonly free: number
}

/** Returns whether a page of these rows can exceed the size of a response. */
export const isWide = ({ maxRowBytes = 0 }: { readonly maxRowBytes?: number }): boolean =>
  maxRowBytes * (MAX_LIMIT + 1) > ITEMS_BYTES_MAX

/** Returns the number of rows that fit at their largest. A stored character has three bytes. */
const fittingRows = (maxRowBytes: number, free: number): number =>
  Math.floor((2 * free) / maxRowBytes)

/** Returns the number of rows that one read may return, whatever callers stored; at least one. */
export const mostRows = ({ maxRowBytes = 0 }: { readonly maxRowBytes?: number }): number =>
  Math.max(1, fittingRows(maxRowBytes, ITEMS_BYTES_MAX))

/** Returns the number of rows to read next, at least one. */
export function nextRows({ maxRowBytes, rows, bytes, free }: WideReads): number {
  const fitting = fittingRows(maxRowBytes, free)
  const likely = rows === 0 ? FIRST_ROWS : Math.floor(BATCH_BYTES / Math.ceil(bytes / rows))
  return Math.max(1, Math.min(fitting, likely))
}
