/**
 * Basic authentication (§3.4, RFC 7617). A verified pair is cached for five minutes as a keyed
 * hash, and is valid while the account is unchanged.
 */
import { hash } from 'node:crypto'
import type { CredentialVerifier } from '../access/authenticate.ts'
import { BASIC_CHALLENGE, parseBasic } from '../http/authorization.ts'
import { createRangeMatcher } from '../kernel/address.ts'
import { BoundedMap } from '../kernel/bounded-map.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { LookupCache } from '../kernel/lookup-cache.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Vault } from '../kernel/secret.ts'
import { invalidCredentials } from './username.ts'

const CACHE_LIFE_MS = 5 * 60_000
const MAX_CACHED_PAIRS = 10_000

/** The current account and the principal that Basic authentication yields. */
export interface BasicAccount {
  readonly principal: Principal
  readonly revision: number
  readonly suspended: boolean
}

interface BasicDeps {
  readonly vault: Vault
  readonly clock: Clock
  /** The address ranges from which Basic is accepted. */
  readonly allowedRanges: readonly string[]
  readonly accounts: LookupCache<number, BasicAccount>
  /** Verifies a pair; returns the account and the revision whose password was verified. */
  readonly signIn: (
    username: string,
    password: string,
    address: string,
  ) => Promise<{ readonly id: number; readonly revision: number }>
}

interface BasicVerifiers {
  readonly verify: CredentialVerifier
  /** Verifies cached pairs only, without hashing a password; rejects all others. */
  readonly verifyCached: CredentialVerifier
}

interface CachedPair {
  readonly id: number
  readonly revision: number
  readonly expiresMs: number
}

const rejection = () => invalidCredentials(BASIC_CHALLENGE)

export function createBasic(deps: BasicDeps): BasicVerifiers {
  const { vault, clock, allowedRanges, accounts, signIn } = deps
  // The key keeps leaked memory from containing a hash to guess passwords against. No client sees
  // the digests, so a SHA-256 with the key in front suffices; an HMAC takes 8 µs per request.
  const key = vault.key('basic').export().toString('base64')
  const pairs = new BoundedMap<string, CachedPair>(MAX_CACHED_PAIRS)
  const isAllowed = createRangeMatcher(allowedRanges)
  const digest = (value: string): string => hash('sha256', key + value, 'latin1')

  const findPair = (name: string): CachedPair | undefined => {
    const pair = pairs.get(name)
    if (pair && pair.expiresMs > clock.elapsedMs()) return pair
    pairs.delete(name)
    return undefined
  }
  /** Returns the principal while the account has the revision that was verified. */
  const toPrincipal = (
    revision: number,
    account: BasicAccount | undefined,
  ): Principal | undefined => {
    if (account?.revision !== revision) return undefined
    if (account.suspended) throw new Failure('customer_suspended')
    return account.principal
  }
  const verifyPassword = async (
    name: string,
    value: string,
    address: string,
  ): Promise<Principal> => {
    const sentPair = parseBasic(value)
    if (!sentPair) throw rejection()
    const { username, password } = sentPair
    try {
      const { id, revision } = await signIn(username, password, address)
      pairs.set(name, { id, revision, expiresMs: clock.elapsedMs() + CACHE_LIFE_MS })
      // The cached account may be older than the change that set this password.
      accounts.evict(id)
      const principal = toPrincipal(revision, await accounts.get(id))
      if (principal) return principal
    } catch (error) {
      // The challenge names the scheme of the request (§3.1).
      const isRejection = error instanceof Failure && error.code === 'invalid_credentials'
      throw isRejection ? rejection() : error
    }
    throw rejection()
  }

  return {
    verify({ value }, { address }) {
      if (!isAllowed(address)) throw rejection()
      const name = digest(value)
      const pair = findPair(name)
      if (!pair) return verifyPassword(name, value, address)
      const accept = (account: BasicAccount | undefined): Principal | Promise<Principal> => {
        const principal = toPrincipal(pair.revision, account)
        if (principal) return principal
        pairs.delete(name)
        return verifyPassword(name, value, address)
      }
      const account = accounts.get(pair.id)
      return account instanceof Promise ? account.then(accept) : accept(account)
    },
    verifyCached({ value }, { address }) {
      const pair = isAllowed(address) ? findPair(digest(value)) : undefined
      if (!pair) throw rejection()
      const accept = (account: BasicAccount | undefined): Principal => {
        const principal = toPrincipal(pair.revision, account)
        if (principal) return principal
        throw rejection()
      }
      const account = accounts.get(pair.id)
      return account instanceof Promise ? account.then(accept) : accept(account)
    },
  }
}
