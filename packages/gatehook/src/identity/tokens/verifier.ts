/**
 * Verifies access tokens (§3.5). A verified token is cached until it expires; each use checks
 * whether it was revoked, and whether its customer or client has changed.
 */
import { parseApiKey } from '../../kernel/api-key-format.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { type Assertion, type Principal, scopeOf } from '../../kernel/principal.ts'
import {
  type ExpectedClaims,
  FAULTS,
  findInvalidClaim,
  InvalidToken,
  parseToken,
  verifySignature,
} from './access-token.ts'
import {
  type AccessTokenClaims,
  type ClientPermissions,
  LOGIN_CLIENT_ID,
  type Rejection,
  type TokenCustomer,
  type TokenLookup,
  type Tokens,
} from './api.ts'
import { type Audiences, isFor, isForPath, isForResource } from './audience.ts'
import { readIdTokenSubject } from './id-token.ts'
import { intersectScopes } from './identity-scopes.ts'
import type { RevocationFeed } from './revocation-feed.ts'
import type { KeyRing } from './signing-keys.ts'

const MAX_CACHED = 10_000

interface TokenVerifier
  extends Pick<
    Tokens,
    | 'verifyAccessToken'
    | 'examineAccessToken'
    | 'readAccessToken'
    | 'readIdTokenSubject'
    | 'isActive'
    | 'hasActiveCustomer'
    | 'hasEnded'
    | 'resolveScopes'
  > {
  /** Evicts a customer or client that has changed; without an id, all of them. */
  evict(id?: string): void
  /** Verifies all tokens again: the signing keys have changed. */
  dropTokens(): void
}

/** The limits of a token beside its own scopes. */
interface Permissions {
  /** Undefined for a token of `/auth/login`, which no client narrows, and for a workload. */
  readonly client: ClientPermissions | undefined
  /** The issuer of the assertion by which the token was issued. */
  readonly issuer: ClientPermissions | undefined
}

interface VerifiedToken {
  readonly principal: Principal
  readonly claims: AccessTokenClaims
  readonly customer: TokenCustomer
  readonly permissions: Permissions
  /** Epoch milliseconds. */
  readonly expiresAt: number
  /** `RevocationFeed.generation` when the token was last valid. */
  generation: number
}

interface TokenVerifierDeps {
  readonly clock: Clock
  readonly keys: Pick<KeyRing, 'findPublicKey'>
  readonly revocations: RevocationFeed
  readonly issuer: () => string
  readonly audiences: Audiences
  readonly lookup: Pick<TokenLookup, 'findCustomer' | 'findClientPermissions'>
}

/** Whether the claim `aud` permits the use of the token. */
type Accepts = ExpectedClaims['accepts']

export function createVerifier(deps: TokenVerifierDeps): TokenVerifier {
  const { clock, keys, revocations, issuer, audiences, lookup } = deps
  // By text: a token has one accepted spelling, and a hash would cost as much as all other checks.
  const verifiedTokens = new BoundedMap<string, VerifiedToken>(MAX_CACHED)
  const customers = createFeedCache(revocations, lookup.findCustomer)
  const clients = createFeedCache(revocations, lookup.findClientPermissions)

  const readAccessToken = async (jwt: string): Promise<AccessTokenClaims | undefined> => {
    const token = parseToken(jwt)
    const key = token && (await keys.findPublicKey(token.kid))
    return key && verifySignature(token, key)
  }

  let epoch = 0 // increases when cached tokens are dropped, also those that are being verified
  const verifyUncached = async (jwt: string, accepts: Accepts): Promise<VerifiedToken> => {
    const begunEpoch = epoch
    const claims = await readAccessToken(jwt)
    if (!claims) throw new InvalidToken(parseApiKey(jwt) ? FAULTS.isKey : FAULTS.notIssued)
    const fault = findInvalidClaim(claims, { issuer: issuer(), accepts }, clock.now())
    if (fault) throw new InvalidToken(fault)
    const { generation } = revocations
    if (await revocations.isRevoked(claims)) throw new InvalidToken(FAULTS.revoked)
    const customer = await customers.find(claims.customer)
    if (!customer) throw new InvalidToken(FAULTS.noCustomer)
    if (customer.suspended) throw new Failure('customer_suspended')
    const permissions = await findPermissions(claims)
    if (!permissions) throw new InvalidToken(FAULTS.clientEnded)
    const principal = createPrincipal(claims, customer, permissions)
    const expiresAt = claims.exp * 1000
    const token = { principal, claims, customer, permissions, expiresAt, generation }
    if (revocations.isFresh() && begunEpoch === epoch) verifiedTokens.set(jwt, token)
    return token
  }

  const findPermissions = (claims: AccessTokenClaims) => permissionsFor(claims, clients.find)

  /** Checks a token that may have been valid under an older generation. */
  const isStillValid = (token: VerifiedToken): boolean => {
    if (token.generation === revocations.generation) return true
    if (revocations.hasRevoked(token.claims)) throw new InvalidToken(FAULTS.revoked)
    if (customers.peek(token.claims.customer) !== token.customer) return false
    if (!hasCurrentPermissions(token, clients.peek)) return false
    token.generation = revocations.generation
    return true
  }

  const verify = (jwt: string, accepts: Accepts): VerifiedToken | Promise<VerifiedToken> => {
    const token = verifiedTokens.get(jwt)
    if (!token || !revocations.isFresh()) return verifyUncached(jwt, accepts)
    if (token.expiresAt <= clock.now()) {
      verifiedTokens.delete(jwt)
      throw new InvalidToken(FAULTS.expired)
    }
    if (!accepts(token.claims.aud)) throw new InvalidToken(FAULTS.otherAudience)
    return isStillValid(token) ? token : verifyUncached(jwt, accepts)
  }

  const hasActiveCustomer = async (id: string) => (await customers.find(id))?.suspended === false
  const hasEnded = createEndCheck(deps, findPermissions)

  return {
    verifyAccessToken(jwt, path) {
      const token = verify(jwt, (aud) => isForPath(aud, audiences, path))
      return token instanceof Promise ? token.then(({ principal }) => principal) : token.principal
    },
    async examineAccessToken(jwt, resource = audiences.standard()) {
      try {
        return await verify(jwt, (aud) => isForResource(aud, resource))
      } catch (error) {
        return { ...rejectionOf(error), owner: await readAccessToken(jwt) }
      }
    },
    readAccessToken,
    readIdTokenSubject: (jwt) => readIdTokenSubject(jwt, keys.findPublicKey, issuer()),
    isActive: async (claims) =>
      (await hasActiveCustomer(claims.customer)) && !(await hasEnded(claims)),
    hasActiveCustomer,
    hasEnded,
    resolveScopes: async (claims) => remainingScopes(claims, await findPermissions(claims)),
    evict(id) {
      customers.evict(id)
      clients.evict(id)
    },
    dropTokens() {
      epoch++
      verifiedTokens.clear()
    },
  }
}

/** Creates the function that says whether claims are valid no more, for any audience. */
const createEndCheck = (
  { clock, revocations, issuer, audiences }: TokenVerifierDeps,
  findPermissions: (claims: AccessTokenClaims) => Promise<Permissions | undefined>,
) => {
  const accepts: Accepts = (aud) => audiences.all().some((audience) => isFor(aud, audience))
  return async (claims: AccessTokenClaims): Promise<boolean> => {
    if (findInvalidClaim(claims, { issuer: issuer(), accepts }, clock.now())) return true
    if (!(await findPermissions(claims))) return true
    return revocations.isRevoked(claims)
  }
}

/** Returns the ids of the client and of the issuer that narrow a token. */
const limitsOf = ({ kind, client_id: id, assertion_issuer: issuerId }: AccessTokenClaims) => ({
  clientId: id === LOGIN_CLIENT_ID || kind === 'workload' ? undefined : id,
  issuerId,
})

/** Returns undefined for a client that was deleted or is blocked, and a rule that has ended. */
async function permissionsFor(
  claims: AccessTokenClaims,
  find: (id: string) => Promise<ClientPermissions | undefined>,
): Promise<Permissions | undefined> {
  const { clientId, issuerId } = limitsOf(claims)
  const client = clientId === undefined ? undefined : await find(clientId)
  if (clientId !== undefined && !client) return undefined
  const issuer = issuerId === undefined ? undefined : await find(issuerId)
  if (issuerId !== undefined && !ruleScopes(claims, issuer)) return undefined
  return { client, issuer }
}

/** Returns whether neither the client nor the issuer of a cached token has changed. */
function hasCurrentPermissions(
  { claims, permissions: { client, issuer } }: VerifiedToken,
  peek: (id: string) => ClientPermissions | undefined,
): boolean {
  const { clientId, issuerId } = limitsOf(claims)
  if (clientId !== undefined && peek(clientId) !== client) return false
  return issuerId === undefined || peek(issuerId) === issuer
}

const ruleScopes = ({ assertion_rule: id = '' }: AccessTokenClaims, issuer?: ClientPermissions) =>
  issuer?.rules?.get(id)

/** Returns why a token was rejected; throws any other error. */
function rejectionOf(error: unknown): { readonly rejection: Rejection; readonly failure: Failure } {
  if (error instanceof InvalidToken) return { rejection: error.rejection, failure: error }
  const isSuspended = error instanceof Failure && error.code === 'customer_suspended'
  if (isSuspended) return { rejection: 'suspended', failure: error }
  throw error
}

/** Caches rows that the feed evicts; while the feed is stale, each call reads the database. */
function createFeedCache<V>(
  revocations: RevocationFeed,
  load: (id: string) => Promise<V | undefined>,
) {
  const entries = new BoundedMap<string, V>(MAX_CACHED)
  return {
    peek: (id: string) => entries.get(id),
    async find(id: string): Promise<V | undefined> {
      const cachedEntry = revocations.isFresh() ? entries.get(id) : undefined
      if (cachedEntry) return cachedEntry
      const { generation } = revocations
      const value = await load(id)
      // A change during the read may have evicted this value: return it, but do not cache it.
      const isCurrent = generation === revocations.generation && revocations.isFresh()
      if (value && isCurrent) entries.set(id, value)
      return value
    },
    evict(id?: string) {
      if (id === undefined) entries.clear()
      else entries.delete(id)
    },
  }
}

/** Returns the scopes of a token that its client, and the rule of its assertion, still have. */
function remainingScopes(
  claims: AccessTokenClaims,
  { client, issuer }: Partial<Permissions> = {},
): string[] {
  const scopes = claims.scope.split(' ').filter((name) => name !== '')
  const limits = [client?.scopes, ruleScopes(claims, issuer)].filter((limit) => limit !== undefined)
  return limits.length === 0 ? scopes : intersectScopes(scopes, ...limits)
}

const assertionOf = ({
  assertion_issuer: issuer,
  assertion_rule: rule,
  assertion_identity: identity,
}: AccessTokenClaims): Assertion | undefined =>
  issuer === undefined || rule === undefined
    ? undefined
    : { issuer, rule, ...(identity !== undefined && { identity }) }

function createPrincipal(
  claims: AccessTokenClaims,
  { no, rate, totalRate, externalId }: TokenCustomer,
  permissions: Permissions,
): Principal {
  const { customer, mode, kind, sub, client_id, sid, name, third_party } = claims
  const { client, issuer } = permissions
  const isThirdParty = client && (!client.firstParty || third_party === true)
  const assertion = assertionOf(claims)
  const clientScopes = client?.scopes ?? ruleScopes(claims, issuer)
  return {
    customer,
    mode,
    scope: scopeOf(no, mode),
    kind,
    subject: sub,
    ...(typeof name === 'string' && { name }),
    scopes: new Set(remainingScopes(claims, permissions)),
    ...(kind === 'person' && isThirdParty && { thirdParty: true as const }),
    ...(client?.describesItself && { isUnverified: true as const }),
    clientId: client_id,
    ...(assertion && { assertion }),
    ...(clientScopes && { clientScopes }),
    ...(sid !== undefined && { sessionId: sid }),
    ...(externalId !== undefined && { externalId }),
    ...(rate && { rate }),
    ...(totalRate && { totalRate }),
  }
}
