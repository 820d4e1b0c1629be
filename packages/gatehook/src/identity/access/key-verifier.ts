/** Verifies API keys (§3.2), from a cache that follows changes of other nodes within a second. */

import { createRangeMatcher } from '../../kernel/address.ts'
import { isMistyped } from '../../kernel/api-key-format.ts'
import { createBackgroundTasks } from '../../kernel/background.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import { createLookupCache } from '../../kernel/lookup-cache.ts'
import type { Principal, Scope } from '../../kernel/principal.ts'
import { sha256 } from '../../kernel/secret.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { Call } from '../../protocol/http/call.ts'
import type { CredentialVerdict, Rejection } from '../tokens/api.ts'
import { principalMembersOf } from './customers.ts'
import * as store from './store.ts'

/** The last use of a key is stored at most this often. */
const USE_INTERVAL_MS = 60_000

export interface KeyVerifier {
  /**
   * Returns the principal of a key used from the address of `call`; synchronously if the key is
   * cached. Throws 403 `customer_suspended`, and 403 `invalid_api_key` for any other reason; a
   * stored key that is revoked, expired or used from another address is then `call.identified`,
   * and the message names the reason: only the caller with its secret receives it (§3.2).
   */
  verify(key: string, call: KeyUse): Principal | Promise<Principal>
  /**
   * Verifies a key that an application received from `address`. A key with CIDR ranges is rejected
   * without an address.
   */
  examine(key: string, address: string | undefined): CredentialVerdict | Promise<CredentialVerdict>
  /** Records the use of the key that yielded a principal; writes at most once a minute. */
  recordUse(principal: Principal): void
  /** Evicts all cached keys; results of lookups in flight are not cached. */
  evict(): void
  /** Resolves when no background work runs: the database may be closed then. */
  idle(): Promise<void>
}

/** The members of a request that concern its key. */
export type KeyUse = Pick<Call, 'address' | 'identified'>

interface CachedKey {
  readonly principal: Principal
  /** Epoch milliseconds; Infinity without an expiry, 0 if the key is revoked. */
  readonly expiresAt: number
  /** The rejection from `expiresAt` on, and its sentence. */
  readonly end: readonly [rejection: Rejection, message: string]
  readonly suspended: boolean
  readonly isForEveryAddress: boolean
  readonly allowsAddress: (address: string) => boolean
  /** The stored time of the last use, as far as this node has read or written it. */
  lastUsedAt: number
}

/** A verdict whose owner is the principal of the key. */
type KeyVerdict = CredentialVerdict & { readonly owner?: Principal | undefined }

interface KeyVerifierDeps {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
}

const invalidKey = (message?: string) => new Failure('invalid_api_key', message)

export function createKeyVerifier({ db, clock, log }: KeyVerifierDeps): KeyVerifier {
  const background = createBackgroundTasks(log)
  const lookUp = async (
    key: string,
    before: CachedKey | undefined,
  ): Promise<CachedKey | undefined> => {
    if (isMistyped(key)) return undefined
    const hash = sha256(key)
    const place = before ? placeOf(before.principal) : await store.findKeyByHash(db, hash)
    const row = place && (await store.findVerification(db, place, hash))
    return row && toCachedKey(row, before?.lastUsedAt)
  }
  // By its text: a request with a cached key needs no hash.
  const keys = createLookupCache({
    load: lookUp,
    clock,
    runInBackground: (refresh) => background.add(refresh, 'a cached key could not be refreshed'),
  })
  const cachedKeys = new WeakMap<Principal, CachedKey>()

  const judge = (cachedKey: CachedKey | undefined, address: string | undefined): KeyVerdict => {
    const reject = (rejection: Rejection, failure: Failure): KeyVerdict => ({
      rejection,
      failure,
      owner: cachedKey?.principal,
    })
    if (!cachedKey) return reject('unknown', invalidKey())
    const { principal, expiresAt, end, suspended } = cachedKey
    if (expiresAt <= clock.now()) return reject(end[0], invalidKey(end[1]))
    const isAllowed =
      address === undefined ? cachedKey.isForEveryAddress : cachedKey.allowsAddress(address)
    if (!isAllowed) return reject('address', invalidKey(WRONG_ADDRESS))
    if (suspended) return reject('suspended', new Failure('customer_suspended'))
    cachedKeys.set(principal, cachedKey)
    return cachedKey
  }
  const examine = (key: string, address: string | undefined) => {
    const cachedKey = keys.get(key)
    return cachedKey instanceof Promise
      ? cachedKey.then((loadedKey) => judge(loadedKey, address))
      : judge(cachedKey, address)
  }
  const accept = (verdict: KeyVerdict, call: KeyUse): Principal => {
    if (verdict.rejection === undefined) return verdict.principal
    call.identified = verdict.owner
    throw verdict.failure
  }

  return {
    verify(key, call) {
      const verdict = examine(key, call.address)
      return verdict instanceof Promise
        ? verdict.then((result) => accept(result, call))
        : accept(verdict, call)
    },
    examine,
    recordUse(principal) {
      const now = clock.now()
      const cachedKey = cachedKeys.get(principal)
      if (!cachedKey || now - cachedKey.lastUsedAt < USE_INTERVAL_MS) return
      cachedKey.lastUsedAt = now
      const pendingWrite = db.write((tx) =>
        store.updateLastUse(tx, placeOf(principal), now, now - USE_INTERVAL_MS),
      )
      background.add(pendingWrite, 'the last use of a key could not be stored')
    },
    evict: () => keys.evict(),
    idle: background.idle,
  }
}

const WRONG_ADDRESS = 'The API key is not valid from this address.'

/** Returns why a key ends; the earlier of two ends counts. */
function endOf({
  revoked_at,
  expires_at,
  secret_expires_at,
}: store.VerificationRow): CachedKey['end'] {
  if (revoked_at !== null) return ['revoked', 'The API key was revoked.']
  const isReplaced =
    secret_expires_at !== null && secret_expires_at < (expires_at ?? Number.POSITIVE_INFINITY)
  return isReplaced
    ? ['expired', 'A newer secret has replaced this one of the API key.']
    : ['expired', 'The API key has expired.']
}

/** Returns the columns by which a statement finds the key of a principal. */
const placeOf = ({ scope, subject }: Principal) => ({ scope, id: subject })

function toCachedKey(row: store.VerificationRow, lastUsedAt = 0): CachedKey {
  const cidrs = JSON.parse(row.cidrs) as string[]
  return {
    principal: {
      customer: row.customer,
      mode: row.mode,
      scope: row.scope as Scope,
      kind: 'key',
      subject: row.id,
      name: row.name,
      scopes: new Set(JSON.parse(row.scopes) as string[]),
      keyId: row.id,
      revision: row.secret_created_at,
      ...(row.api_version === null ? {} : { version: row.api_version }),
      ...principalMembersOf(row),
    },
    expiresAt:
      row.revoked_at !== null
        ? 0
        : Math.min(
            row.expires_at ?? Number.POSITIVE_INFINITY,
            row.secret_expires_at ?? Number.POSITIVE_INFINITY,
          ),
    end: endOf(row),
    suspended: row.suspended !== 0,
    isForEveryAddress: cidrs.length === 0,
    allowsAddress: cidrs.length === 0 ? () => true : createRangeMatcher(cidrs),
    lastUsedAt: Math.max(row.last_used_at ?? 0, lastUsedAt),
  }
}
