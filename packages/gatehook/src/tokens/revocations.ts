/**
 * What was revoked, as this node knows it (§4.7): sets in memory, fed from the database each
 * second. While the feed is silent the database is asked. What a session is, is not known here.
 */
import type { Clock } from '../kernel/clock.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { Claims } from './grant.ts'
import * as store from './store.ts'

/** Older than this, what this node knows is not trusted. */
const STALE_MS = 2_000
/** Clocks of nodes may differ by so much when something is thrown away. */
const SKEW_MS = 60_000

/** What tells nodes to look again is heard by all that run; one that starts looks anyway. */
export const NOTICE_KEPT_MS = 3_600_000

/** All nodes forget what they know of a customer: it has changed. */
export async function announceCustomer(tx: Tx, id: string, now: number): Promise<void> {
  await store.insertAnnounced(tx, 'customer', id, now + NOTICE_KEPT_MS)
}

export interface Revocations {
  /** Grows with everything heard: what was judged under another number is judged again. */
  readonly generation: number
  /** Whether memory can be trusted now. */
  fresh(): boolean
  /** By memory alone. */
  has(claims: Claims): boolean
  /** By memory, or by the database where memory is stale. */
  isRevoked(claims: Claims): boolean | Promise<boolean>
  /** Heard here with the commit, everywhere within 2 s; forgotten after `keepUntil`. */
  announce(tx: Tx, kind: store.Announced, value: string, keepUntil: number): Promise<void>
  /** Reads what is new. */
  poll(): Promise<void>
  /** Removes what concerns nothing that is still good. */
  purge(): Promise<number>
}

export interface RevocationDeps {
  readonly db: Database
  readonly clock: Clock
  /** Told of everything heard. */
  readonly onHeard: (kind: store.Announced, value: string) => void
  /** Told that something may have been missed: the feed was silent for too long. */
  readonly onGap: () => void
}

export function createRevocations({ db, clock, onHeard, onGap }: RevocationDeps): Revocations {
  /** Kind and value → until when it matters. */
  const known = new Map<string, number>()
  let seen: ReadonlySet<number> = new Set()
  let position = 0
  let horizon = 0
  let polledMs = Number.NEGATIVE_INFINITY
  let generation = 0
  let polling: Promise<void> | undefined

  const nameOf = (kind: store.Announced, value: string) => `${kind} ${value}`
  const hear = (kind: store.Announced, value: string, keepUntil: number) => {
    known.set(nameOf(kind, value), keepUntil)
    generation++
    onHeard(kind, value)
  }
  const fresh = () => clock.elapsedMs() - polledMs <= STALE_MS
  const has = ({ jti, client_id, sid }: Claims) =>
    known.has(nameOf('token', jti)) ||
    known.has(nameOf('client', client_id)) ||
    (sid !== undefined && known.has(nameOf('session', sid)))

  const read = async () => {
    const begunMs = clock.elapsedMs()
    // The horizon first: whatever is older has ended by now, so the reading after it sees it all.
    const nextHorizon = await store.horizonOf(db, db.dialect.horizon)
    const rows = await store.announcedSince(db, position, horizon)
    if (!fresh()) {
      generation++
      onGap()
    }
    for (const row of rows) {
      if (!seen.has(row.position)) hear(row.kind, row.value, row.keep_until)
      position = Math.max(position, row.position)
    }
    seen = new Set(rows.map((row) => row.position))
    horizon = nextHorizon
    polledMs = begunMs
  }

  return {
    get generation() {
      return generation
    },
    fresh,
    has,
    isRevoked(claims) {
      if (has(claims)) return true
      if (fresh()) return false
      return store.isAnnounced(db, claims.jti, claims.client_id, claims.sid ?? '')
    },
    async announce(tx, kind, value, keepUntil) {
      await store.insertAnnounced(tx, kind, value, keepUntil)
      tx.afterCommit(() => hear(kind, value, keepUntil))
    },
    poll() {
      polling ??= read().finally(() => {
        polling = undefined
      })
      return polling
    },
    async purge() {
      const before = clock.now() - SKEW_MS
      for (const [name, keepUntil] of known) if (keepUntil <= before) known.delete(name)
      return store.purgeAnnounced(db, before)
    },
  }
}
