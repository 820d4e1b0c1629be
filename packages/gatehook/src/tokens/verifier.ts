/**
 * Whether an access token is good, and whose it is (§3.5). A token verified once is remembered
 * until it expires; whether it was revoked is asked at every use.
 */
import { BoundedMap } from '../kernel/bounded-map.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import { type Principal, scopeOf } from '../kernel/principal.ts'
import { type Expected, invalidToken, parseToken, provenClaims, wrongWith } from './access-token.ts'
import {
  type Claims,
  type ClientPermissions,
  type CustomerFacts,
  LOGIN_CLIENT,
  type TokenLookup,
} from './grant.ts'
import type { Revocations } from './revocations.ts'
import type { KeyRing } from './signing-keys.ts'

const MAX_REMEMBERED = 10_000

export interface Verifier {
  verify(jwt: string): Principal | Promise<Principal>
  /** The claims of a token that bears our signature, whatever its age and fate. */
  read(jwt: string): Promise<Claims | undefined>
  isLive(claims: Claims): Promise<boolean>
  /** The scopes of a token that its client still has. */
  scopesOf(claims: Claims): Promise<readonly string[]>
  /** A customer or a client is not as it was; without an id, perhaps any. */
  forget(id?: string): void
}

interface Known {
  readonly principal: Principal
  readonly claims: Claims
  readonly customer: CustomerFacts
  /** Undefined for a token of `/auth/login`, which no client narrows. */
  readonly client: ClientPermissions | undefined
  readonly expiresAt: number
  /** Of `Revocations`, when it was last found good. */
  generation: number
}

export interface VerifierDeps {
  readonly clock: Clock
  readonly keys: Pick<KeyRing, 'find'>
  readonly revocations: Revocations
  readonly expected: () => Expected
  readonly customer: TokenLookup['customer']
  readonly clientPermissions: TokenLookup['clientPermissions']
}

const EXPIRED = 'The token has expired.'
const REVOKED = 'The token was revoked.'

export function createVerifier(deps: VerifierDeps): Verifier {
  const { clock, keys, revocations, expected } = deps
  // By their text: of one token there is one that is accepted, and hashing it would cost as much as
  // all the rest.
  const tokens = new BoundedMap<string, Known>(MAX_REMEMBERED)
  const customers = memory(revocations, deps.customer)
  const clients = memory(revocations, deps.clientPermissions)

  const read = async (jwt: string): Promise<Claims | undefined> => {
    const token = parseToken(jwt)
    const key = token && (await keys.find(token.kid))
    return key && provenClaims(token, key)
  }

  const cold = async (jwt: string): Promise<Principal> => {
    const claims = await read(jwt)
    if (!claims) throw invalidToken('The token is not one of ours.')
    const wrong = wrongWith(claims, expected(), clock.now())
    if (wrong !== undefined) throw invalidToken(wrong)
    const { generation } = revocations
    if (await revocations.isRevoked(claims)) throw invalidToken(REVOKED)
    const owner = await customers.find(claims.customer)
    if (!owner) throw invalidToken('The token is of a customer that is not there.')
    if (owner.suspended) throw new Failure('customer_suspended')
    const client = await permissionsOf(claims)
    const principal = principalOf(claims, owner, client)
    const expiresAt = claims.exp * 1000
    if (revocations.fresh()) {
      tokens.set(jwt, { principal, claims, customer: owner, client, expiresAt, generation })
    }
    return principal
  }

  // A deleted client has no permissions; the server has revoked its tokens as well.
  const permissionsOf = async ({ client_id: id }: Claims) =>
    id === LOGIN_CLIENT ? undefined : ((await clients.find(id)) ?? NO_PERMISSIONS)

  /** Found good under an older generation: is it still? */
  const stillGood = (known: Known): boolean => {
    if (revocations.has(known.claims)) throw invalidToken(REVOKED)
    if (customers.remembered(known.claims.customer) !== known.customer) return false
    if (clients.remembered(known.claims.client_id) !== known.client) return false
    known.generation = revocations.generation
    return true
  }

  return {
    verify(jwt) {
      const known = tokens.get(jwt)
      if (!known || !revocations.fresh()) return cold(jwt)
      if (known.expiresAt <= clock.now()) {
        tokens.delete(jwt)
        throw invalidToken(EXPIRED)
      }
      if (known.generation === revocations.generation || stillGood(known)) return known.principal
      return cold(jwt)
    },
    read,
    async isLive(claims) {
      if (wrongWith(claims, expected(), clock.now()) !== undefined) return false
      return !(await revocations.isRevoked(claims))
    },
    scopesOf: async (claims) => scopesIn(claims, await permissionsOf(claims)),
    forget(id) {
      customers.forget(id)
      clients.forget(id)
    },
  }
}

/** What `ask` says by id, remembered while what is remembered can be trusted. */
function memory<V>(revocations: Revocations, ask: (id: string) => Promise<V | undefined>) {
  const known = new BoundedMap<string, V>(MAX_REMEMBERED)
  return {
    remembered: (id: string) => known.get(id),
    async find(id: string): Promise<V | undefined> {
      const remembered = revocations.fresh() ? known.get(id) : undefined
      if (remembered) return remembered
      const { generation } = revocations
      const found = await ask(id)
      // Something was heard while we read: right for who waits, but not for later ones.
      const same = generation === revocations.generation && revocations.fresh()
      if (found && same) known.set(id, found)
      return found
    },
    forget(id?: string) {
      if (id === undefined) known.clear()
      else known.delete(id)
    },
  }
}

const NO_PERMISSIONS: ClientPermissions = { scopes: [], firstParty: false }

/** Returns the scopes of a token that its client still has. */
const scopesIn = ({ scope }: Claims, client: ClientPermissions | undefined): string[] =>
  scope.split(' ').filter((name) => name !== '' && (client?.scopes.includes(name) ?? true))

function principalOf(
  claims: Claims,
  { no, rate, totalRate }: CustomerFacts,
  client: ClientPermissions | undefined,
): Principal {
  const { customer, mode, sub, client_id, sid, name } = claims
  const kind = client_id === sub ? 'client' : 'person'
  return {
    customer,
    mode,
    scope: scopeOf(no, mode),
    kind,
    subject: sub,
    ...(typeof name === 'string' && { name }),
    scopes: new Set(scopesIn(claims, client)),
    ...(kind === 'person' && client && !client.firstParty && { thirdParty: true as const }),
    clientId: client_id,
    ...(sid !== undefined && { sessionId: sid }),
    ...(rate && { rate }),
    ...(totalRate && { totalRate }),
  }
}
