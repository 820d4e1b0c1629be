/**
 * `POST /oauth/introspect` (RFC 7662) and `POST /oauth/revoke` (RFC 7009). A token that the caller
 * may not see is reported like a token that does not exist. Introspection takes API keys as well
 * (§17.3).
 */

import type { Actor } from '../../history/audit/actor.ts'
import { type AuditContext, actorOf, recordAudit } from '../../history/audit/store.ts'
import { type Mode, modeOf } from '../../kernel/principal.ts'
import type { Database } from '../../platform/storage/database.ts'
import {
  BASIC_CHALLENGE,
  type BearerChallenge,
  bearerChallenge,
  parseAuthorization,
} from '../../protocol/http/authorization.ts'
import { type Answer, type Call, json } from '../../protocol/http/call.ts'
import type { Identify } from '../access/authenticate.ts'
import { resourceMetadataUrl } from '../access/protected-resources.ts'
import { holdsScope } from '../access/scopes.ts'
import { type findActiveKey, type Reach, verificationReachOf } from '../access/verification.ts'
import type { AccessTokenClaims, RefreshTokenInfo, Tokens } from '../tokens/api.ts'
import type { AuthenticateClient } from './client-authentication.ts'
import { NO_STORE, OauthError } from './oauth-error.ts'
import { type OauthParameters, requireParameter } from './parameters.ts'

/** Allows introspection of all tokens of the caller's customer and mode (§5.4). */
const INTROSPECT_SCOPE = 'tokens:introspect'

export interface IntrospectionDeps extends AuditContext {
  readonly db: Database
  readonly tokens: Tokens
  readonly authenticateClient: AuthenticateClient
  readonly identify: Identify
  readonly issuer: () => string
  readonly findKey: (key: string, reach: Reach) => ReturnType<typeof findActiveKey>
}

/** A caller that introspects, and the tokens and keys that it may see. */
interface Introspector {
  readonly clientId: string | undefined
  /** Undefined: a client of no customer, which sees its own tokens. */
  readonly customer: string | undefined
  readonly mode: Mode | undefined
  /** Whether it may see all tokens of its customer and mode; else, its own. */
  readonly canSeeAll: boolean
  /** Undefined: no keys (§17.3). */
  readonly keys: Reach | undefined
}

/** Returns the challenges of a caller without a valid credential, or without the scope (§16.1). */
function challengesFor({ issuer }: IntrospectionDeps, error: BearerChallenge['error']) {
  const metadata = resourceMetadataUrl(issuer(), '/oauth/introspect')
  const bearer = bearerChallenge({ error, scopes: [INTROSPECT_SCOPE], metadata })
  const others = error === 'insufficient_scope' ? [] : ['ApiKey', BASIC_CHALLENGE]
  return { 'www-authenticate': [bearer, ...others].join(', ') }
}

/** Authenticates the caller by key or access token if the request has one; else as a client. */
async function authenticateIntrospector(
  deps: IntrospectionDeps,
  call: Call,
  parameters: OauthParameters,
): Promise<Introspector> {
  const { authorization, 'x-api-key': apiKey } = call.headers
  const { scheme } = parseAuthorization(authorization ?? '')
  if (apiKey === undefined && scheme !== 'bearer' && scheme !== 'apikey') {
    const client = await deps.authenticateClient(call, parameters)
    // RFC 7662 §4: an unauthenticated caller could scan for tokens.
    if (client.isPublic) {
      throw new OauthError('invalid_client', 'Public clients cannot introspect.')
    }
    const { id: clientId, customer, mode, scopes } = client
    return {
      clientId,
      customer,
      mode,
      canSeeAll: customer !== undefined && scopes.includes(INTROSPECT_SCOPE),
      keys:
        customer === undefined
          ? undefined
          : verificationReachOf({ scopes: new Set(scopes), customer, mode: mode! }),
    }
  }
  if ((apiKey !== undefined && authorization !== undefined) || hasClientCredential(parameters)) {
    throw new OauthError('invalid_request', 'Send one credential.')
  }
  const principal = await deps.identify(call)
  if (!principal) {
    const headers = challengesFor(deps, scheme === 'bearer' ? 'invalid_token' : undefined)
    throw new OauthError('invalid_token', 'The credential is not valid.', headers)
  }
  const { clientId, customer, mode } = principal
  const canSeeAll = holdsScope(principal, INTROSPECT_SCOPE)
  const keys = verificationReachOf(principal)
  if (!canSeeAll && !keys) {
    throw new OauthError(
      'insufficient_scope',
      `The credential lacks the scope ${INTROSPECT_SCOPE}.`,
      scheme === 'bearer' ? challengesFor(deps, 'insufficient_scope') : {},
    )
  }
  return { clientId, customer, mode, canSeeAll, keys }
}

/** A token that this server issued. */
type IssuedToken =
  | { readonly kind: 'access'; readonly claims: AccessTokenClaims }
  | { readonly kind: 'refresh'; readonly info: RefreshTokenInfo }

/** Finds a token by its form; `token_type_hint` is not needed (RFC 7009 §2.1). */
async function findToken(
  { tokens }: IntrospectionDeps,
  token: string,
): Promise<IssuedToken | undefined> {
  // A JWT has three parts; a refresh token of this server contains no dot.
  if (token.split('.').length === 3) {
    const claims = await tokens.readAccessToken(token)
    if (claims) return { kind: 'access', claims }
  }
  const info = await tokens.findRefreshToken(token)
  return info && { kind: 'refresh', info }
}

const ownerOf = (token: IssuedToken) =>
  token.kind === 'access'
    ? {
        clientId: token.claims.client_id,
        customer: token.claims.customer,
        mode: token.claims.mode,
      }
    : {
        clientId: token.info.clientId,
        customer: token.info.customer,
        mode: modeOf(token.info.scope),
      }

function canSee(caller: Introspector, token: IssuedToken): boolean {
  const { clientId, customer, mode } = ownerOf(token)
  const isOfCaller = customer === caller.customer && mode === caller.mode
  if (caller.customer !== undefined && !isOfCaller) return false
  return caller.canSeeAll || clientId === caller.clientId
}

const hasClientCredential = (parameters: OauthParameters) =>
  parameters.has('client_secret') || parameters.has('client_assertion')

const respond = (value: unknown): Answer => json(200, value, { ...NO_STORE })

/** Describes a key by the members of RFC 7662. */
async function describeKey(
  { findKey, issuer }: IntrospectionDeps,
  text: string,
  reach: Reach,
): Promise<object> {
  const key = await findKey(text, reach)
  if (!key) return { active: false }
  const { subject, scopes, customer, mode } = key.principal
  return {
    active: true,
    token_type: 'api_key',
    iss: issuer(),
    sub: subject,
    scope: [...scopes].join(' '),
    ...(Number.isFinite(key.expiresAt) && { exp: Math.floor(key.expiresAt / 1000) }),
    customer,
    mode,
  }
}

/**
 * Describes a token, or a key for a caller that may verify it. Throws `OauthError` for a request
 * without a valid credential.
 */
export async function introspect(
  deps: IntrospectionDeps,
  call: Call,
  parameters: OauthParameters,
): Promise<Answer> {
  const caller = await authenticateIntrospector(deps, call, parameters)
  const text = requireParameter(parameters, 'token')
  const token = await findToken(deps, text)
  if (!token && caller.keys) return respond(await describeKey(deps, text, caller.keys))
  if (!token || !canSee(caller, token)) return respond({ active: false })
  if (token.kind === 'access') {
    const { claims } = token
    if (!(await deps.tokens.isActive(claims))) return respond({ active: false })
    const scope = (await deps.tokens.resolveScopes(claims)).join(' ')
    return respond({ active: true, token_type: 'Bearer', ...claims, scope })
  }
  const { info } = token
  const isActive = info.isActive && (await deps.tokens.hasActiveCustomer(info.customer))
  if (!isActive) return respond({ active: false })
  return respond({
    active: true,
    token_type: 'refresh_token',
    iss: deps.issuer(),
    sub: info.subject,
    client_id: info.clientId,
    scope: info.scopes.join(' '),
    iat: Math.floor(info.createdAt / 1000),
    exp: Math.floor(info.expiresAt / 1000),
    sid: info.sessionId,
    customer: info.customer,
    mode: modeOf(info.scope),
  })
}

/**
 * Revokes a token of the authenticated client: an access token alone, or a refresh token with its
 * whole session. Returns 200 for an unknown token as well (RFC 7009 §2.2). Throws `invalid_grant`
 * for a token of another client.
 */
export async function revoke(
  deps: IntrospectionDeps,
  call: Call,
  parameters: OauthParameters,
): Promise<Answer> {
  const { id, name, scope } = await deps.authenticateClient(call, parameters)
  const token = await findToken(deps, requireParameter(parameters, 'token'))
  if (token && ownerOf(token).clientId !== id) {
    throw new OauthError('invalid_grant', 'The token was not issued to this client.')
  }
  if (token) await revokeToken(deps, actorOf(call, { kind: 'client', id, name, scope }), token)
  // RFC 7009 requires no body, but common clients parse the response as JSON.
  return respond({})
}

/** Revokes a token and audits it, unless it has ended before. */
async function revokeToken(deps: IntrospectionDeps, actor: Actor, token: IssuedToken) {
  const { tokens, db } = deps
  if (token.kind === 'access') {
    const { claims } = token
    if (await tokens.hasEnded(claims)) return
    const detail = { subject: claims.sub }
    await db.write(async (tx) => {
      await tokens.revokeAccessToken(tx, claims)
      await recordAudit(tx, { actor, action: 'token.revoke', target: claims.jti, detail }, deps)
    })
    return
  }
  const { sessionId, subject } = token.info
  const entry = { actor, action: 'session.end', target: sessionId, detail: { subject } }
  await db.write(async (tx) => {
    const isRevoked = await tokens.revokeSession(tx, sessionId, token.info)
    if (isRevoked) await recordAudit(tx, entry, deps)
  })
}
