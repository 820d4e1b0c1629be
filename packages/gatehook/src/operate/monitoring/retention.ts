/**
 * Deletes requests beyond their age, bytes and number, and counts beyond their retention, in
 * bounded statements.
 */
import type { Clock } from '../../kernel/clock.ts'
import { deleteOldCounts } from './count-store.ts'
import {
  countRequests,
  DELETED_ROWS_MAX,
  deleteOldestRequests,
  deleteRequests,
  type MonitoringStore,
} from './store.ts'
import { findExcess, trimVolume } from './volume.ts'

const DAY_MS = 86_400_000
/** Statements of one run; the next run continues. */
const STATEMENTS_MAX = 60
/** Counting reads an index of all rows. */
const COUNT_EVERY_MS = 600_000
/**
 * The part of the bytes that requests take. The rest is for free space between rows, deleted rows
 * that PostgreSQL has not vacuumed yet, the write-ahead log, and requests until the next purge.
 */
const CONTENT_PART = 0.75
/** The part of the bytes after which a node purges at once: the chore runs each minute. */
const GROWTH_PART = 1 / 64
/** How often an idle node purges; its thread ends in between (`file.ts`). */
const IDLE_EVERY_MS = 3_600_000

export interface RetentionOptions {
  readonly store: MonitoringStore
  readonly clock: Clock
  readonly retentionDays: number
  readonly maxRows: number
  /** Bytes of the file, or of the tables, with the space of deleted rows. */
  readonly maxBytes: number
  /** The number of stored requests: without new ones, a purge is rarely due. */
  readonly figures: () => { readonly stored: number }
  /** The bytes that this node has stored. */
  readonly storedBytes: () => number
}

export function createRetention(options: RetentionOptions) {
  const { store, clock, retentionDays, maxRows, maxBytes, figures, storedBytes } = options
  let purgedAtBytes = 0
  let purged = { atMs: Number.NEGATIVE_INFINITY, stored: -1 }
  let countedAtMs = Number.NEGATIVE_INFINITY
  let excess = 0
  const deleteRepeatedly = async (next: () => ReturnType<typeof deleteRequests> | undefined) => {
    let total = 0
    for (let count = 0; count < STATEMENTS_MAX; count++) {
      const statement = next()
      if (!statement) break
      const [deleted = 0] = await store.write([statement])
      total += deleted
      if (deleted < DELETED_ROWS_MAX) break
    }
    return total
  }
  /** Deletes the oldest requests while there are more than `maxBytes` of them. */
  const purgeBytes = async (): Promise<number> => {
    purgedAtBytes = storedBytes()
    const beforeMs = await findExcess(store, maxBytes * CONTENT_PART)
    if (beforeMs === undefined) return 0
    const total = await deleteRepeatedly(() => deleteRequests(beforeMs))
    await store.write([trimVolume()])
    return total
  }
  return {
    /** Purges if this node has stored many bytes since the last purge. */
    async purgeIfGrown(): Promise<void> {
      if (storedBytes() - purgedAtBytes >= maxBytes * GROWTH_PART) await purgeBytes()
    },
    /** Returns the number of deleted requests. */
    async purge(): Promise<number> {
      const now = clock.now()
      const { stored } = figures()
      const elapsedMs = clock.elapsedMs()
      if (stored === purged.stored && elapsedMs - purged.atMs < IDLE_EVERY_MS) return 0
      purged = { atMs: elapsedMs, stored }
      await store.write(deleteOldCounts(now))
      let total = await deleteRepeatedly(() => deleteRequests(now - retentionDays * DAY_MS))
      total += await purgeBytes()
      if (excess <= 0 && clock.elapsedMs() - countedAtMs >= COUNT_EVERY_MS) {
        excess = (await countRequests(store)) - maxRows
        countedAtMs = clock.elapsedMs()
      }
      total += await deleteRepeatedly(() => {
        if (excess <= 0) return undefined
        const statement = deleteOldestRequests(excess)
        excess -= DELETED_ROWS_MAX
        return statement
      })
      await store.write([trimVolume()])
      return total
    },
  }
}
