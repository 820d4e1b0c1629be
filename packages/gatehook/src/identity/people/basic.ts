/**
 * Basic authentication (§3.4, RFC 7617). A verified pair is cached for five minutes as a keyed
 * hash, and is valid while the account is unchanged.
 */
import { hash } from 'node:crypto'
import { createRangeMatcher } from '../../kernel/address.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { LookupCache } from '../../kernel/lookup-cache.ts'
import type { Principal } from '../../kernel/principal.ts'
import type { Vault } from '../../kernel/secret.ts'
import { BASIC_CHALLENGE, parseBasic } from '../../protocol/http/authorization.ts'
import type { Call } from '../../protocol/http/call.ts'
import { headerLines, trimValue } from '../../protocol/http/header.ts'
import type { CredentialVerifier } from '../access/authenticate.ts'
import type { SignInName } from './login.ts'
import type { NameReach, SignInPlace } from './namespace.ts'
import type { SignInClient } from './recognized-clients.ts'
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
  /** With `customer`, the headers of a request name the customer and the mode (§4.8). */
  readonly names: NameReach
  /** Verifies a pair; returns the account and the revision whose password was verified. */
  readonly signIn: (
    name: SignInName,
    password: string,
    client: SignInClient,
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

/** The headers that name the customer and the mode of a person. */
export const PLACE_HEADERS = ['Gatehook-Customer', 'Gatehook-Mode'] as const

/** Throws 400 `invalid_request` for a repeated header, and for a mode that does not exist. */
function readPlace({ rawHeaders }: Pick<Call, 'rawHeaders'>): SignInPlace {
  const [customer, mode = 'live'] = PLACE_HEADERS.map((name) => {
    const [line, ...more] = headerLines(rawHeaders, name.toLowerCase())
    if (more.length > 0) throw new Failure('invalid_request', `Send ${name} once.`)
    return line === undefined ? undefined : trimValue(line)
  })
  if (mode === 'live' || mode === 'test') return { customer, mode }
  throw new Failure('invalid_request', 'Gatehook-Mode is live or test.')
}

const KEY_ADVICE =
  'The user name looks like an API key. Send keys in the header X-API-Key, without Basic.'

/** The words depend on the sent name alone, so that they reveal nothing about a key. */
function rejection(value: string): Failure {
  const isKey = /^gk_(?:live|test)_/.test(parseBasic(value)?.username ?? '')
  return invalidCredentials(BASIC_CHALLENGE, isKey ? KEY_ADVICE : undefined)
}

export function createBasic(deps: BasicDeps): BasicVerifiers {
  const { vault, clock, allowedRanges, accounts, names, signIn } = deps
  // The key keeps leaked memory from containing a hash to guess passwords against. No client sees
  // the digests, so a SHA-256 with the key in front suffices; an HMAC takes 8 µs per request.
  const key = vault.key('basic').export().toString('base64')
  const pairs = new BoundedMap<string, CachedPair>(MAX_CACHED_PAIRS)
  const isAllowed = createRangeMatcher(allowedRanges)
  const placeOf = (call: Call): SignInPlace => (names === 'customer' ? readPlace(call) : {})
  /** No header and no Basic value contains a line break. */
  const digest = (value: string, { customer, mode }: SignInPlace): string =>
    hash('sha256', `${key}${value}\n${mode}\n${customer}`, 'latin1')

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
    place: SignInPlace,
    client: SignInClient,
  ): Promise<Principal> => {
    const sentPair = parseBasic(value)
    if (!sentPair) throw rejection(value)
    const { username, password } = sentPair
    try {
      const { id, revision } = await signIn({ username, ...place }, password, client)
      pairs.set(name, { id, revision, expiresMs: clock.elapsedMs() + CACHE_LIFE_MS })
      // The cached account may be older than the change that set this password.
      accounts.evict(id)
      const principal = toPrincipal(revision, await accounts.get(id))
      if (principal) return principal
    } catch (error) {
      // The challenge names the scheme of the request (§3.1).
      const isRejection = error instanceof Failure && error.code === 'invalid_credentials'
      throw isRejection ? rejection(value) : error
    }
    throw rejection(value)
  }

  return {
    verify({ value }, call) {
      const { address, id: requestId } = call
      if (!isAllowed(address)) throw rejection(value)
      const client = { address, requestId }
      const place = placeOf(call)
      const name = digest(value, place)
      const pair = findPair(name)
      if (!pair) return verifyPassword(name, value, place, client)
      const accept = (account: BasicAccount | undefined): Principal | Promise<Principal> => {
        const principal = toPrincipal(pair.revision, account)
        if (principal) return principal
        pairs.delete(name)
        return verifyPassword(name, value, place, client)
      }
      const account = accounts.get(pair.id)
      return account instanceof Promise ? account.then(accept) : accept(account)
    },
    verifyCached({ value }, call) {
      const pair = isAllowed(call.address) ? findPair(digest(value, placeOf(call))) : undefined
      if (!pair) throw rejection(value)
      const accept = (account: BasicAccount | undefined): Principal => {
        const principal = toPrincipal(pair.revision, account)
        if (principal) return principal
        throw rejection(value)
      }
      const account = accounts.get(pair.id)
      return account instanceof Promise ? account.then(accept) : accept(account)
    },
  }
}
