/**
 * Basic credentials (§3.4, RFC 7617). A verified pair is remembered for five minutes as a keyed
 * hash, and used while the account is the one it was.
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

const REMEMBERED_MS = 5 * 60_000
const MAX_REMEMBERED = 10_000

/** An account as it is now, and whom it makes of who has its password. */
export interface Standing {
  readonly principal: Principal
  readonly revision: number
  /** Throws when it may not be used at this moment. */
  readonly check: () => void
}

export interface BasicDeps {
  readonly vault: Vault
  readonly clock: Clock
  /** Addresses it is taken from. */
  readonly from: readonly string[]
  readonly accounts: LookupCache<number, Standing>
  /** Judges the pair: which account it opens, and as of which revision. */
  readonly signIn: (
    username: string,
    password: string,
    address: string,
  ) => Promise<{ readonly id: number; readonly revision: number }>
}

export interface Basic {
  readonly verify: CredentialVerifier
  /** `verify` for who is remembered, hashing no password; refuses others. */
  readonly known: CredentialVerifier
}

interface Pair {
  readonly id: number
  readonly revision: number
  readonly untilMs: number
}

export function createBasic({ vault, clock, from, accounts, signIn }: BasicDeps): Basic {
  // Keyed, so that memory that leaks holds no hash of a password to try. Nobody is shown these
  // digests, so plain SHA-256 behind the key will do; an HMAC object costs every request 8 µs.
  const secret = vault.key('basic').export().toString('base64')
  const pairs = new BoundedMap<string, Pair>(MAX_REMEMBERED)
  const isAllowed = createRangeMatcher(from)
  const nameOf = (value: string): string => hash('sha256', secret + value, 'latin1')

  const pairOf = (name: string): Pair | undefined => {
    const pair = pairs.get(name)
    if (pair && pair.untilMs > clock.elapsedMs()) return pair
    pairs.delete(name)
    return undefined
  }
  const remember = (name: string, pair: Omit<Pair, 'untilMs'>): void => {
    pairs.set(name, { ...pair, untilMs: clock.elapsedMs() + REMEMBERED_MS })
  }
  /** The principal while the account is the one that was verified. */
  const standing = (pair: Pair, now: Standing | undefined): Principal | undefined => {
    if (now?.revision !== pair.revision) return undefined
    now.check()
    return now.principal
  }
  const verified = async (name: string, value: string, address: string): Promise<Principal> => {
    const pair = parseBasic(value)
    if (!pair) throw invalidCredentials(BASIC_CHALLENGE)
    const { username, password } = pair
    try {
      const account = await signIn(username, password, address)
      remember(name, account)
      // What was read a moment ago may be of before the change that made this pair good.
      accounts.evict(account.id)
      const principal = standing(pairOf(name)!, await accounts.get(account.id))
      if (principal) return principal
    } catch (error) {
      throw challenged(error)
    }
    throw invalidCredentials(BASIC_CHALLENGE)
  }

  return {
    verify({ value }, { address }) {
      if (!isAllowed(address)) throw invalidCredentials(BASIC_CHALLENGE)
      const name = nameOf(value)
      const pair = pairOf(name)
      if (!pair) return verified(name, value, address)
      const judge = (now: Standing | undefined): Principal | Promise<Principal> => {
        const principal = standing(pair, now)
        if (principal) return principal
        pairs.delete(name)
        return verified(name, value, address)
      }
      const now = accounts.get(pair.id)
      return now instanceof Promise ? now.then(judge) : judge(now)
    },
    known({ value }, { address }) {
      const pair = isAllowed(address) ? pairOf(nameOf(value)) : undefined
      if (!pair) throw invalidCredentials(BASIC_CHALLENGE)
      const judge = (now: Standing | undefined): Principal => {
        const principal = standing(pair, now)
        if (principal) return principal
        throw invalidCredentials(BASIC_CHALLENGE)
      }
      const now = accounts.get(pair.id)
      return now instanceof Promise ? now.then(judge) : judge(now)
    },
  }
}

/** A wrong pair is answered with the challenge of the scheme it was sent in (§3.1). */
const challenged = (error: unknown): unknown =>
  error instanceof Failure && error.code === 'invalid_credentials'
    ? invalidCredentials(BASIC_CHALLENGE)
    : error
