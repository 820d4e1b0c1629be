/**
 * Basic credentials (§3.4, RFC 7617). A verified pair is remembered for five minutes as a keyed
 * hash, and used while the account is the one it was.
 */
import { hash } from 'node:crypto'
import type { Verifier } from '../access/authenticate.ts'
import type { Fresh } from '../access/fresh.ts'
import { rangesTest } from '../kernel/address.ts'
import { BASIC_CHALLENGE } from '../kernel/challenge.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
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
  readonly accounts: Fresh<number, Standing>
  /** Judges the pair: which account it opens, and as of which revision. */
  readonly signIn: (
    username: string,
    password: string,
    address: string,
  ) => Promise<{ readonly id: number; readonly revision: number }>
}

export interface Basic {
  readonly verify: Verifier
  /** `verify` for who is remembered, hashing no password; refuses others. */
  readonly known: Verifier
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
  const pairs = new Map<string, Pair>()
  const isAllowed = rangesTest(from)
  const nameOf = (value: string): string => hash('sha256', secret + value, 'latin1')

  const pairOf = (name: string): Pair | undefined => {
    const pair = pairs.get(name)
    if (pair && pair.untilMs > clock.elapsedMs()) return pair
    pairs.delete(name)
    return undefined
  }
  const remember = (name: string, pair: Omit<Pair, 'untilMs'>): void => {
    pairs.set(name, { ...pair, untilMs: clock.elapsedMs() + REMEMBERED_MS })
    if (pairs.size > MAX_REMEMBERED) pairs.delete(pairs.keys().next().value!)
  }
  /** The principal while the account is the one that was verified. */
  const standing = (pair: Pair, now: Standing | undefined): Principal | undefined => {
    if (now?.revision !== pair.revision) return undefined
    now.check()
    return now.principal
  }
  const verified = async (name: string, value: string, address: string): Promise<Principal> => {
    const { username, password } = decoded(value)
    try {
      const pair = await signIn(username, password, address)
      remember(name, pair)
      // What was read a moment ago may be of before the change that made this pair good.
      accounts.forget(pair.id)
      const principal = standing(pairOf(name)!, await accounts.get(pair.id))
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
    known({ value }) {
      const pair = pairOf(nameOf(value))
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

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Strictly: canonical base64 of UTF-8 without control characters; the first colon splits. */
function decoded(value: string): { username: string; password: string } {
  const bytes = Buffer.from(value, 'base64')
  if (value === '' || bytes.toString('base64') !== value) throw invalidCredentials(BASIC_CHALLENGE)
  const text = textOf(bytes)
  const colon = text.indexOf(':')
  if (colon < 0 || /[\x00-\x1f\x7f]/.test(text)) throw invalidCredentials(BASIC_CHALLENGE)
  return { username: text.slice(0, colon), password: text.slice(colon + 1) }
}

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalidCredentials(BASIC_CHALLENGE)
  }
}
