/**
 * Whether an access token is good, and whose it is (§3.5). A token verified once is remembered
 * until it expires; whether it was revoked is asked at every use.
 */
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import { type Principal, scopeOf } from '../kernel/principal.ts'
import { type Expected, invalidToken, parseToken, provenClaims, wrongWith } from './access-token.ts'
import type { Claims, CustomerFacts, TokenLookup } from './grant.ts'
import type { Revocations } from './revocations.ts'
import type { KeyRing } from './signing-keys.ts'

const MAX_REMEMBERED = 10_000

export interface Verifier {
  verify(jwt: string): Principal | Promise<Principal>
  /** The claims of a token that bears our signature, whatever its age and fate. */
  read(jwt: string): Promise<Claims | undefined>
  isLive(claims: Claims): Promise<boolean>
  /** A customer by id, remembered until it changes. */
  customer(id: string): Promise<CustomerFacts | undefined>
  /** Something is not as it was: one customer, or, without an id, perhaps any. */
  forget(customer?: string): void
}

interface Known {
  readonly principal: Principal
  readonly claims: Claims
  readonly customer: CustomerFacts
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
}

const EXPIRED = 'The token has expired.'
const REVOKED = 'The token was revoked.'

export function createVerifier(deps: VerifierDeps): Verifier {
  const { clock, keys, revocations, expected } = deps
  // By their text: of one token there is one that is accepted, and hashing it would cost as much as
  // all the rest.
  const tokens = new Map<string, Known>()
  const customers = customerMemory(deps)

  const read = async (jwt: string): Promise<Claims | undefined> => {
    const token = parseToken(jwt)
    if (!token) return undefined
    const key = await keys.find(token.kid)
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
    const principal = principalOf(claims, owner)
    const expiresAt = claims.exp * 1000
    if (revocations.fresh()) {
      keep(tokens, jwt, { principal, claims, customer: owner, expiresAt, generation })
    }
    return principal
  }

  /** Found good under an older generation: is it still? */
  const stillGood = (known: Known): boolean => {
    if (revocations.has(known.claims)) throw invalidToken(REVOKED)
    if (customers.remembered(known.claims.customer) !== known.customer) return false
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
    customer: customers.find,
    forget: customers.forget,
  }
}

/** Customers by id, remembered while what is remembered can be trusted. */
function customerMemory({ revocations, customer }: VerifierDeps) {
  const known = new Map<string, CustomerFacts>()
  return {
    remembered: (id: string) => known.get(id),
    async find(id: string): Promise<CustomerFacts | undefined> {
      const remembered = revocations.fresh() ? known.get(id) : undefined
      if (remembered) return remembered
      const { generation } = revocations
      const found = await customer(id)
      // Something was heard while we read: right for who waits, but not for later ones.
      const same = generation === revocations.generation && revocations.fresh()
      if (found && same) keep(known, id, found)
      return found
    },
    forget(id?: string) {
      if (id === undefined) known.clear()
      else known.delete(id)
    },
  }
}

/** The oldest goes when there are too many. */
function keep<V>(map: Map<string, V>, name: string, value: V): void {
  map.delete(name)
  map.set(name, value)
  if (map.size > MAX_REMEMBERED) map.delete(map.keys().next().value!)
}

function principalOf(claims: Claims, { no, rate }: CustomerFacts): Principal {
  const { customer, mode, sub, client_id, scope, sid } = claims
  return {
    customer,
    mode,
    scope: scopeOf(no, mode),
    kind: client_id === sub ? 'client' : 'person',
    subject: sub,
    scopes: new Set(scope.split(' ').filter(Boolean)),
    clientId: client_id,
    ...(sid !== undefined && { sessionId: sid }),
    ...(rate && { rate }),
  }
}
