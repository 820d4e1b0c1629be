/**
 * The revocation feed (§4.7): each node reads the new entries of `gh_revocations` with its poll
 * (`platform/storage/shared-poll.ts`) and holds them in memory. While its feed is stale, the node
 * queries the database instead.
 */

import type { Clock } from '../../kernel/clock.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { purgeExpired } from '../../platform/storage/purge.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import type { AccessTokenClaims } from './api.ts'
import * as store from './store.ts'
import { revocations } from './tables.ts'

/** A node does not trust a feed that it polled longer ago. */
const STALE_MS = 2_000
/** The largest clock difference between nodes that purging tolerates. */
const SKEW_MS = 60_000

/** How long a change notice is stored. A node that starts later reads the data anyway. */
export const NOTICE_RETENTION_MS = 3_600_000
/**
 * After a longer pause between two reads, by either clock, entries may have been purged before the
 * later one: a jump of the test clock (§12.6) purges them at once.
 */
const GAP_MS = NOTICE_RETENTION_MS / 2

/** Makes each node read a customer again, with the commit of `tx`. */
export async function publishCustomerChange(tx: Tx, id: string, now: number): Promise<void> {
  await store.insertFeedEntry(tx, 'customer', id, now + NOTICE_RETENTION_MS)
}

export interface RevocationFeed {
  /** Increases with each entry: a check under an older generation must be repeated. */
  readonly generation: number
  /** Returns whether memory is less than 2 s old. */
  isFresh(): boolean
  /** Returns whether memory contains a revocation of a token, its session or its client. */
  hasRevoked(claims: AccessTokenClaims): boolean
  /** Returns the same from the database if memory is stale. */
  isRevoked(claims: AccessTokenClaims): boolean | Promise<boolean>
  /**
   * Stores an entry. This node applies it with the commit, other nodes within 2 s.
   *
   * @param keepUntil epoch milliseconds
   */
  publish(tx: Tx, kind: store.FeedEntryKind, value: string, keepUntil: number): Promise<void>
  /** Reads the new entries. */
  poll(): Promise<void>
  /** Says whether there are new entries, which it then reads. */
  readonly polled: PolledValue
  /** Deletes entries that affect no valid token. Returns their number. */
  purge(): Promise<number>
}

interface RevocationFeedDeps {
  readonly db: Database
  readonly clock: Clock
  readonly onEntry: (kind: store.FeedEntryKind, value: string) => void
  /** Called when entries may have been purged before this node read them. */
  readonly onGap: () => void
}

export function createRevocationFeed(deps: RevocationFeedDeps): RevocationFeed {
  const { db, clock, onEntry, onGap } = deps
  const readEntries = store.createFeedReader(db)
  /** Entry name → epoch milliseconds until which it matters. */
  const entries = new Map<string, number>()
  let lastPositions: ReadonlySet<number> = new Set()
  let position = 0
  let horizon = 0
  let polledMs = Number.NEGATIVE_INFINITY
  let polledAt = clock.now()
  let generation = 0
  let pendingPoll: Promise<void> | undefined

  const nameOf = (kind: store.FeedEntryKind, value: string) => `${kind} ${value}`
  const apply = (kind: store.FeedEntryKind, value: string, keepUntil: number) => {
    entries.set(nameOf(kind, value), keepUntil)
    generation++
    onEntry(kind, value)
  }
  const isFresh = () => clock.elapsedMs() - polledMs <= STALE_MS
  const hasRevoked = ({ jti, client_id, sid, assertion_issuer: issuer }: AccessTokenClaims) =>
    entries.has(nameOf('token', jti)) ||
    entries.has(nameOf('client', client_id)) ||
    (issuer !== undefined && entries.has(nameOf('client', issuer))) ||
    (sid !== undefined && entries.has(nameOf('session', sid)))

  const noteRead = (begunMs: number, newHorizon: number) => {
    horizon = Math.max(horizon, newHorizon)
    polledMs = Math.max(polledMs, begunMs)
  }
  const notePause = () => {
    const hasJumped = Math.abs(clock.now() - polledAt) > GAP_MS
    polledAt = clock.now()
    if (!hasJumped && clock.elapsedMs() - polledMs <= GAP_MS) return
    generation++
    onGap()
  }
  const read = async () => {
    const begunMs = clock.elapsedMs()
    const page = await readEntries(position, horizon)
    notePause()
    for (const row of page.entries) {
      if (!lastPositions.has(row.position)) apply(row.kind, row.value, row.keep_until)
      position = Math.max(position, row.position)
    }
    lastPositions = new Set(page.entries.map((row) => row.position))
    noteRead(begunMs, page.horizon)
  }
  const poll = () => {
    pendingPoll ??= read().finally(() => {
      pendingPoll = undefined
    })
    return pendingPoll
  }

  return {
    get generation() {
      return generation
    },
    isFresh,
    hasRevoked,
    isRevoked(claims) {
      if (hasRevoked(claims)) return true
      if (isFresh()) return false
      const { jti, client_id, sid = '', assertion_issuer = '' } = claims
      return store.hasRevocation(db, { jti, clientIds: [client_id, assertion_issuer], sid })
    },
    async publish(tx, kind, value, keepUntil) {
      await store.insertFeedEntry(tx, kind, value, keepUntil)
      tx.afterCommit(() => apply(kind, value, keepUntil))
    },
    poll,
    polled: {
      select: () => store.selectFeedHorizon(db, position, horizon),
      receive(newHorizon, begunMs) {
        if (newHorizon === null) return poll()
        notePause()
        return noteRead(begunMs, Number(newHorizon))
      },
    },
    async purge() {
      const before = clock.now() - SKEW_MS
      for (const [name, keepUntil] of entries) if (keepUntil <= before) entries.delete(name)
      return purgeExpired(db, [revocations], before)
    },
  }
}
