/**
 * Whether an API key is good, and whose it is (§3.2). What the database said is remembered for a
 * second at most, so that every node follows a revocation within two, and a busy key costs no
 * request a look-up.
 */
import { parseKey } from '../kernel/api-key-format.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import type { Principal, Scope } from '../kernel/principal.ts'
import { sha256 } from '../kernel/secret.ts'
import type { Database } from '../storage/database.ts'
import { addressTest } from './cidr.ts'
import type { Limits } from './customers.ts'
import * as store from './store.ts'

/** Older than this, an answer is looked up again beside the request that uses it. */
const REFRESH_MS = 500
/** Older than this, it is not used any more: the request waits. */
const FRESH_MS = 1000
const MAX_REMEMBERED = 10_000
const NOTE_EVERY_MS = 60_000

export interface KeyVerifier {
  /**
   * Who the key proves the caller at `address` to be; at once where the key is remembered. Throws
   * 403 `invalid_api_key` whatever is wrong with the key, or `customer_suspended`.
   */
  verify(key: string, address: string): Principal | Promise<Principal>
  /** Forgets every answer, also those on their way: something was changed. */
  forget(): void
  /** Resolves when nothing runs in the background: before the database is closed. */
  idle(): Promise<void>
}

interface Known {
  readonly principal: Principal
  /** By the service's clock; Infinity without an expiry. */
  readonly expiresAt: number
  readonly suspended: boolean
  readonly reachableFrom: (address: string) => boolean
  readonly loadedMs: number
  /** When use was last noted in the database, as far as this node knows. */
  notedAt: number
}

export interface KeyVerifierDeps {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
}

const invalidKey = () => new Failure('invalid_api_key')

export function keyVerifier({ db, clock, log }: KeyVerifierDeps): KeyVerifier {
  // By their text, so that a known key is neither hashed nor summed up at each request. What is not
  // in the form of a key never gets here.
  const known = new Map<string, Known>()
  const flights = new Map<string, Promise<Known | undefined>>()
  const { behind, idle } = background(log)
  let generation = 0

  const lookUp = async (key: string): Promise<Known | undefined> => {
    const [begun, loadedMs] = [generation, clock.elapsedMs()]
    const row = await store.findByHash(db, sha256(key))
    const found = row && knownFrom(row, loadedMs, known.get(key)?.notedAt)
    // Something changed while we read: right for the callers who wait, but not for later ones.
    if (begun !== generation) return found
    known.delete(key)
    if (found) known.set(key, found)
    if (known.size > MAX_REMEMBERED) known.delete(known.keys().next().value!)
    return found
  }

  /** One look-up at a time for one key, however many wait for it. */
  const shared = (key: string): Promise<Known | undefined> => {
    const flying = flights.get(key)
    if (flying) return flying
    const flight = lookUp(key).finally(() => {
      if (flights.get(key) === flight) flights.delete(key)
    })
    flights.set(key, flight)
    return flight
  }

  const judge = (entry: Known | undefined, address: string): Principal => {
    const now = clock.now()
    if (!entry || entry.expiresAt <= now || !entry.reachableFrom(address)) throw invalidKey()
    if (entry.suspended) throw new Failure('customer_suspended')
    if (now - entry.notedAt >= NOTE_EVERY_MS) {
      entry.notedAt = now
      const id = entry.principal.subject
      const note = db.write((tx) => store.noteUse(tx, id, now, now - NOTE_EVERY_MS))
      behind(note, 'the last use of a key could not be noted')
    }
    return entry.principal
  }

  return {
    verify(key, address) {
      const entry = known.get(key)
      if (!entry && !parseKey(key)) throw invalidKey()
      const ageMs = entry ? clock.elapsedMs() - entry.loadedMs : Number.POSITIVE_INFINITY
      if (ageMs >= FRESH_MS) return shared(key).then((found) => judge(found, address))
      if (ageMs >= REFRESH_MS && !flights.has(key)) {
        behind(shared(key), 'a key could not be looked up again')
      }
      return judge(entry, address)
    },
    forget() {
      generation++
      known.clear()
      flights.clear()
    },
    idle,
  }
}

/** Work nobody waits for, until the end; `what` is said where it fails. */
function background(log: Log) {
  const running = new Set<Promise<unknown>>()
  return {
    behind(work: Promise<unknown>, what: string) {
      const done = work
        .catch((error: unknown) => log.warn({ err: error }, what))
        .finally(() => running.delete(done))
      running.add(done)
    },
    async idle() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}

/** The customer's own request limit, where it has one. */
export function rateFrom(limits: string): Pick<Principal, 'rate'> {
  const { rate_limit } = JSON.parse(limits) as Limits
  return rate_limit
    ? { rate: { limit: rate_limit.limit, windowMs: rate_limit.window_s * 1000 } }
    : {}
}

function knownFrom(row: store.VerificationRow, loadedMs: number, notedAt = 0): Known {
  const subject = row.id
  return {
    principal: {
      customer: row.customer,
      mode: row.mode,
      scope: row.scope as Scope,
      kind: 'key',
      subject,
      scopes: new Set(JSON.parse(row.scopes) as string[]),
      keyId: subject,
      ...(row.api_version === null ? {} : { version: row.api_version }),
      ...rateFrom(row.limits),
    },
    expiresAt: Math.min(
      row.expires_at ?? Number.POSITIVE_INFINITY,
      row.secret_expires_at ?? Number.POSITIVE_INFINITY,
    ),
    suspended: row.suspended !== 0,
    reachableFrom: addressTest(JSON.parse(row.cidrs) as string[]),
    loadedMs,
    notedAt: Math.max(row.last_used_at ?? 0, notedAt),
  }
}
