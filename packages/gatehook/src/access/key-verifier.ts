/** Whether an API key is good, and whose it is (§3.2). */
import { parseKey } from '../kernel/api-key-format.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import type { Principal, Scope } from '../kernel/principal.ts'
import { sha256 } from '../kernel/secret.ts'
import type { Database } from '../storage/database.ts'
import { addressTest } from './cidr.ts'
import type { Limits } from './customers.ts'
import { background, createFresh } from './fresh.ts'
import * as store from './store.ts'

const NOTE_EVERY_MS = 60_000

export interface KeyVerifier {
  /**
   * Who the key proves the caller at `address` to be; at once where the key is remembered. Throws
   * 403 `invalid_api_key` whatever is wrong with the key, or `customer_suspended`.
   */
  verify(key: string, address: string): Principal | Promise<Principal>
  /** Notes that the key of a principal `verify` gave was used; at most once a minute. */
  noteUse(principal: Principal): void
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
  const { behind, idle } = background(log)
  const lookUp = async (key: string, before: Known | undefined): Promise<Known | undefined> => {
    const row = parseKey(key) && (await store.findByHash(db, sha256(key)))
    return row && knownFrom(row, before?.notedAt)
  }
  // By their text, so that a known key is neither hashed nor summed up at each request.
  const known = createFresh(lookUp, {
    clock,
    beside: (again) => behind(again, 'a key could not be looked up again'),
  })

  /** By principal: which key it was, and when its use was noted. */
  const entries = new WeakMap<Principal, Known>()

  const judge = (entry: Known | undefined, address: string): Principal => {
    const now = clock.now()
    if (!entry || entry.expiresAt <= now || !entry.reachableFrom(address)) throw invalidKey()
    if (entry.suspended) throw new Failure('customer_suspended')
    entries.set(entry.principal, entry)
    return entry.principal
  }

  return {
    verify(key, address) {
      const entry = known.get(key)
      return entry instanceof Promise
        ? entry.then((found) => judge(found, address))
        : judge(entry, address)
    },
    noteUse(principal) {
      const now = clock.now()
      const entry = entries.get(principal)
      if (!entry || now - entry.notedAt < NOTE_EVERY_MS) return
      entry.notedAt = now
      const note = db.write((tx) => store.noteUse(tx, principal.subject, now, now - NOTE_EVERY_MS))
      behind(note, 'the last use of a key could not be noted')
    },
    forget: () => known.forget(),
    idle,
  }
}

/** The customer's own request limits, where it has any. */
export function rateFrom(limits: string): Pick<Principal, 'rate' | 'totalRate'> {
  const { rate_limit, total_rate_limit } = JSON.parse(limits) as Limits
  return {
    ...(rate_limit && { rate: rateOf(rate_limit) }),
    ...(total_rate_limit && { totalRate: rateOf(total_rate_limit) }),
  }
}

const rateOf = ({ limit, window_s }: { readonly limit: number; readonly window_s: number }) => ({
  limit,
  windowMs: window_s * 1000,
})

function knownFrom(row: store.VerificationRow, notedAt = 0): Known {
  const subject = row.id
  return {
    principal: {
      customer: row.customer,
      mode: row.mode,
      scope: row.scope as Scope,
      kind: 'key',
      subject,
      name: row.name,
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
    notedAt: Math.max(row.last_used_at ?? 0, notedAt),
  }
}
