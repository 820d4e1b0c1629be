/**
 * Leases: which node sends the deliveries of which customers. A node holds whole customers, so
 * rate, concurrency and breakers are exact in its memory, with any number of nodes, and claiming a
 * delivery needs no write. Several nodes on PostgreSQL: `shared-leases.ts`.
 */
import type { Clock } from '../../kernel/clock.ts'
import { createFailureDetector } from '../../kernel/failure-detector.ts'
import type { Log } from '../../kernel/log.ts'
import { createLeaseStore, soleLeaseStore } from '../../platform/nodes/lease-store.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { NodeLeases } from './ports.ts'
import { FAILED_AFTER_MS, SharedLeases, UNSURE_AFTER_MS } from './shared-leases.ts'

/** A heartbeat may fail once before this node starts no attempt (`UNSURE_AFTER_MS`). */
export const HEARTBEAT_MS = 3_000

interface LeasesDeps {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** Identifies this run of this process; never reused. */
  readonly node: string
  /** Notifies the other nodes that customers moved, or are free. */
  readonly announce?: () => Promise<void>
}

export function nodeLeases({ announce = async () => {}, ...deps }: LeasesDeps): NodeLeases {
  if (!deps.db.dialect.shared) return soleLease(deps)
  return new SharedLeases({ ...deps, store: createLeaseStore(deps.db), announce })
}

/**
 * One process sends from an SQLite file: the one that started last. The former one finds its
 * heartbeat ended, and stops sending.
 */
function soleLease({ db, clock, log, node }: Omit<LeasesDeps, 'announce'>): NodeLeases {
  let hasJoined = false
  let isHolder = false
  let heartbeatAtMs = Number.NEGATIVE_INFINITY
  let generation = 0
  const findFailed = createFailureDetector<string>(clock, FAILED_AFTER_MS)
  return {
    get isAlive() {
      return isHolder && db.isOwner() && clock.elapsedMs() - heartbeatAtMs < UNSURE_AFTER_MS
    },
    get generation() {
      return generation
    },
    hasHandovers: false,
    holds: () => isHolder,
    async take() {},
    async heartbeat() {
      const wasHolder = isHolder
      const startedMs = clock.elapsedMs()
      isHolder = await db.write(async (tx) => {
        if (!hasJoined) return soleLeaseStore.claim(tx, node)
        if (await soleLeaseStore.increment(tx, node)) return true
        const others = await soleLeaseStore.listCounters(tx)
        const failedNodes = findFailed(others)
        return failedNodes.length === others.length && soleLeaseStore.claim(tx, node)
      })
      if (isHolder && !wasHolder) generation++
      if (!isHolder && hasJoined) log.debug('another process delivers from this file')
      hasJoined = true
      heartbeatAtMs = startedMs
    },
    async finishHandovers() {},
    async release() {
      if (isHolder) {
        await db.write((tx) => soleLeaseStore.release(tx, node))
      }
      isHolder = false
    },
  }
}
