/**
 * The grants of `POST /oauth/token` (§5.3): for an authenticated client, each issues tokens or
 * throws an `OauthError`.
 */
import type { Actor } from '../../history/audit/actor.ts'
import { type AuditContext, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import { sha256 } from '../../kernel/secret.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { runTogether } from '../../platform/storage/together.ts'
import type { ConfirmedPerson, SignInApi } from '../people/login.ts'
import type { Grant, SessionOptions, TokenResponse, Tokens } from '../tokens/api.ts'
import { selectAudience } from '../tokens/audience.ts'
import { intersectScopes } from '../tokens/identity-scopes.ts'
import {
  audienceOf,
  type CodeExchange,
  detachSession,
  findCode,
  isRedeemable,
  redeemCode,
} from './authorization-codes.ts'
import {
  DEVICE_GRANT,
  GRANT_TYPES,
  type GrantType,
  JWT_BEARER_GRANT,
  type OauthClient,
} from './client.ts'
import { holdClientAt } from './client-store.ts'
import { findDeviceGrant, lockDeviceGrant, recordPoll, redeemDeviceGrant } from './device-grants.ts'
import { OauthError } from './oauth-error.ts'
import { type OauthParameters, requireParameter, resourcesOf } from './parameters.ts'
import { computeChallenge } from './pkce.ts'
import { identityScopesOf, parseScopes } from './scopes.ts'

export interface TokenGrantDeps extends AuditContext {
  readonly db: Database
  readonly tokens: Tokens
  readonly people: Pick<SignInApi, 'confirm'>
}

interface TokenRequest {
  readonly client: OauthClient
  readonly parameters: OauthParameters
  /** The client and its request, for the audit trail. */
  readonly actor: Actor
  /** The resources that it names, of this server. */
  readonly resources: readonly string[]
}

type IssueTokens = (deps: TokenGrantDeps, request: TokenRequest) => Promise<TokenResponse>

const invalidCode = () => new OauthError('invalid_grant', 'The code is wrong, expired or used.')

/** How much longer the interval is after each poll that came too early (RFC 8628 §3.5). */
const SLOWER_S = 5
/** Scopes are positive. */
const NO_SCOPE = -1 as Scope

/** Thrown by a transaction that could not redeem the code; it wrote nothing. */
const NOT_REDEEMED = Symbol('not redeemed')

/**
 * The code names its person before the transaction, which then takes two round trips. Exchanges by
 * one client for one customer may commit together; one that cannot succeed does not join them,
 * because their transaction would fail with it.
 *
 * @see RFC 6749 §4.1.3, RFC 7636 §4.6
 */
const exchangeCode: IssueTokens = async (deps, request) => {
  const { client, parameters } = request
  const hash = sha256(requireParameter(parameters, 'code'))
  const redirectUri = requireParameter(parameters, 'redirect_uri')
  const code = await findCode(deps.db, hash)
  const exchange: CodeExchange = {
    hash,
    clientId: client.id,
    // Of a client of no customer, the scope is that of the person.
    scope: client.scope ?? (code?.scope as Scope) ?? NO_SCOPE,
    redirectUri,
    // A missing or malformed verifier yields '', which equals no challenge.
    challenge: computeChallenge(parameters.get('code_verifier') ?? '') ?? '',
  }
  if (!code || !isRedeemable(code, exchange, deps.clock.now())) {
    throw await diagnoseExchange(deps, request, exchange)
  }
  selectAudience(request.resources, audienceOf(code) ?? [deps.tokens.audiences.standard()])
  const { scope } = exchange
  const person = { id: Number(code.subject), scope, revision: code.revision }
  const redeem: Redeem = (tx, sessionId) => redeemCode(tx, exchange, sessionId, deps.clock.now())
  try {
    const group = `code ${scope} ${client.id}`
    return await openSession(deps, request, { person, redeem, redirectUri }, { group })
  } catch (error) {
    if (error === NOT_REDEEMED) throw await diagnoseExchange(deps, request, exchange)
    if (error instanceof Failure && error.code === 'invalid_credentials') throw invalidCode()
    throw error
  }
}

/** The decision of a person, as a code or a device grant stores it. */
interface Approval {
  readonly scopes: readonly string[]
  readonly audience: readonly string[] | undefined
  readonly thirdParty?: boolean
  /** When the person signed in; undefined without ID tokens. */
  readonly authenticatedAt?: number
  readonly nonce?: string | undefined
}

/** Marks an approval as used and returns it; undefined, and no effect, if it cannot be used. */
type Redeem = (tx: Tx, sessionId: string) => Promise<Approval | undefined>

/** A code or a device grant. */
interface RedeemableGrant {
  /** The person of the approval, at the time of it. */
  readonly person: ConfirmedPerson
  readonly redeem: Redeem
  /** Undefined for a device grant. */
  readonly redirectUri?: string
}

/** Opens a session in the transaction that redeems its approval. */
async function openSession(
  deps: TokenGrantDeps,
  request: TokenRequest,
  redeemable: RedeemableGrant,
  options?: SessionOptions,
): Promise<TokenResponse> {
  const response = await deps.tokens.openSession(
    (tx, sessionId) => grantOf(tx, deps, request, redeemable, sessionId),
    options,
  )
  if (request.client.grantTypes.includes('refresh_token')) return response
  const { refresh_token: _, ...withoutRefreshToken } = response
  return withoutRefreshToken
}

/** Redeems, checks that client and person are unchanged, and returns the grant of the session. */
async function grantOf(
  tx: Tx,
  deps: TokenGrantDeps,
  { client, actor, resources }: TokenRequest,
  { person: approver, redeem, redirectUri }: RedeemableGrant,
  sessionId: string,
): Promise<Grant> {
  // An exception rolls back: the code is not used up.
  const [approval, , person] = await runTogether(
    tx,
    async () => {
      const redeemed = await redeem(tx, sessionId)
      if (!redeemed) throw NOT_REDEEMED
      return redeemed
    },
    async () => {
      if (!(await holdClientAt(tx, client.id, redirectUri))) throw invalidCode()
    },
    () => deps.people.confirm(tx, approver),
  )
  const { audience, thirdParty, nonce, authenticatedAt: at } = approval
  const tokenAudience = selectAudience(resources, audience ?? [deps.tokens.audiences.standard()])
  const scopes = intersectScopes(approval.scopes, client.scopes, person.scopes)
  const algorithm = client.idTokenAlgorithm
  const { scope, customer, mode, subject } = person
  const detail = { subject, scopes }
  const entry = { actor, action: 'session.create', target: sessionId, scope, detail }
  await recordAudit(tx, entry, deps)
  const grant = {
    scope,
    customer,
    mode,
    clientId: client.id,
    subject,
    scopes,
    claims: person.claims,
  }
  const authentication =
    algorithm && at !== undefined ? { identity: person, algorithm, at, nonce } : undefined
  return { ...grant, audience, tokenAudience, thirdParty, authenticatedAt: at, authentication }
}

/**
 * Returns the error of a failed exchange. The reuse of a code by its own client revokes the session
 * of the first use; another client cannot revoke it. It reads in a transaction, so that it sees a
 * concurrent exchange that has just committed.
 *
 * @see RFC 6749 §4.1.2, RFC 9700 §4.5
 */
const diagnoseExchange = (
  deps: TokenGrantDeps,
  { actor }: TokenRequest,
  exchange: CodeExchange,
): Promise<OauthError> =>
  deps.db.write(async (tx) => {
    const code = await findCode(tx, exchange.hash)
    if (code?.client_id !== exchange.clientId || code.scope !== exchange.scope) return invalidCode()
    if (code.session_id !== null && (await detachSession(tx, exchange.hash))) {
      const owner = { subject: code.subject, clientId: code.client_id }
      const sessions = Number(await deps.tokens.revokeSession(tx, code.session_id, owner))
      const detail = { subject: code.subject, sessions }
      const entry = { actor, action: 'code.reuse_detected', target: code.session_id, detail }
      await recordAudit(tx, entry, deps)
    }
    if (code.used_at !== null || code.expires_at <= deps.clock.now()) return invalidCode()
    const isSameUri = code.redirect_uri === exchange.redirectUri
    const parameter = isSameUri ? 'code_verifier' : 'redirect_uri'
    return new OauthError('invalid_grant', `The ${parameter} does not match the code.`)
  })

/** @see RFC 8628 §3.4 */
const pollDevice: IssueTokens = async (deps, request) => {
  const { client, parameters } = request
  const hash = sha256(requireParameter(parameters, 'device_code'))
  try {
    const grant = await findDeviceGrant(deps.db, hash)
    if (grant?.state === 'approved') {
      const { scope, subject, revision } = grant
      const person = { id: Number(subject), scope: scope as Scope, revision: revision! }
      const redeem: Redeem = async (tx) => {
        const approval = await redeemDeviceGrant(tx, hash, client.id, deps.clock.now())
        return approval && { ...approval, thirdParty: true }
      }
      return await openSession(deps, request, { person, redeem })
    }
  } catch (error) {
    if (error instanceof Failure && error.code === 'invalid_credentials') throw invalidCode()
    if (error !== NOT_REDEEMED) throw error
  }
  throw await diagnosePoll(deps, client, hash)
}

/** Returns the error of a poll without tokens (RFC 8628 §3.5), and counts the poll. */
const diagnosePoll = (
  { db, clock }: TokenGrantDeps,
  client: OauthClient,
  hash: Uint8Array,
): Promise<OauthError> =>
  db.write(async (tx) => {
    const grant = await lockDeviceGrant(tx, hash)
    if (grant?.client_id !== client.id || grant.state === 'used') return invalidCode()
    const now = clock.now()
    if (grant.expires_at <= now) return new OauthError('expired_token', 'The code has expired.')
    if (grant.state === 'denied') {
      return new OauthError('access_denied', 'The person denied the request.')
    }
    const { interval_s: intervalS, polled_at: polledAt } = grant
    const isEarly = polledAt !== null && now < polledAt + intervalS * 1000
    const nextS = isEarly ? intervalS + SLOWER_S : intervalS
    await recordPoll(tx, hash, now, nextS)
    return isEarly
      ? new OauthError('slow_down', `Poll every ${nextS} seconds.`)
      : new OauthError('authorization_pending', 'The person has not decided yet.')
  })

/** @see RFC 6749 §4.4 */
const issueClientToken: IssueTokens = ({ tokens }, { client, parameters, resources }) => {
  const { scope, customer, mode } = client
  if (scope === undefined || customer === undefined || mode === undefined) {
    throw new OauthError('unauthorized_client', 'The client belongs to no customer.')
  }
  return tokens.issueAccessToken({
    kind: 'client',
    scope,
    customer,
    mode,
    clientId: client.id,
    subject: client.id,
    scopes: parseScopes(parameters.get('scope'), client.scopes),
    audience: selectAudience(resources, tokens.audiences.all()),
  })
}

/** @see RFC 6749 §6 */
const refreshTokens: IssueTokens = ({ tokens }, { client, parameters, actor, resources }) => {
  const scope = parameters.get('scope')
  return tokens.refreshSession(
    requireParameter(parameters, 'refresh_token'),
    { clientId: client.id, authenticated: !client.isPublic },
    {
      parseScopes: () =>
        scope === undefined
          ? undefined
          : parseScopes(scope, client.scopes, identityScopesOf(client)),
      resources,
      actor,
    },
  )
}

/** Grants of a client; an assertion can come without one (`assertion-grant.ts`). */
const GRANTS: Readonly<Record<Exclude<GrantType, typeof JWT_BEARER_GRANT>, IssueTokens>> = {
  authorization_code: exchangeCode,
  client_credentials: issueClientToken,
  refresh_token: refreshTokens,
  [DEVICE_GRANT]: pollDevice,
}

/**
 * Reads `grant_type`. Throws `unsupported_grant_type` for any other grant, such as `password`. It
 * needs no client, so such a request does not count as a failed authentication.
 */
export function readGrantType(parameters: OauthParameters): GrantType {
  const type = requireParameter(parameters, 'grant_type')
  const grantType = GRANT_TYPES.find((name) => name === type)
  if (grantType) return grantType
  const names = GRANT_TYPES.join(', ')
  throw new OauthError('unsupported_grant_type', `The supported grant types are ${names}.`)
}

/** Throws `unauthorized_client` if a client may not use a grant. */
export function requireGrant({ grantTypes }: OauthClient, type: GrantType): void {
  if (grantTypes.includes(type)) return
  throw new OauthError('unauthorized_client', `The client may not use ${type}.`)
}

/** Issues the tokens of a request. Throws `OauthError`, and the failures of `Tokens`. */
export async function issueTokens(
  deps: TokenGrantDeps,
  request: Omit<TokenRequest, 'resources'>,
): Promise<TokenResponse> {
  const { client, parameters } = request
  const type = readGrantType(parameters)
  requireGrant(client, type)
  if (type === JWT_BEARER_GRANT) throw new Error('bug: an assertion has a grant of its own')
  const resources = resourcesOf(parameters)
  selectAudience(resources, deps.tokens.audiences.all())
  return GRANTS[type](deps, { ...request, resources })
}
