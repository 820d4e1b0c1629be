/**
 * `POST /oauth/introspect` (RFC 7662) and `POST /oauth/revoke` (RFC 7009): what a token is, and its
 * end. A token that is not the caller's business looks like one that never was.
 */
import { ADMIN_SCOPE } from '../access/administration.ts'
import type { Identify } from '../access/authenticate.ts'
import { type Actor, type AuditContext, actorOf, recordAudit } from '../audit/store.ts'
import { parseAuthorization } from '../http/authorization.ts'
import { type Answer, type Call, json } from '../http/call.ts'
import { type Mode, modeOf, type Principal } from '../kernel/principal.ts'
import type { Database } from '../storage/database.ts'
import type { AccessTokenClaims, RefreshTokenInfo, Tokens } from '../tokens/api.ts'
import type { Client } from './client.ts'
import type { AuthenticateClient } from './client-authentication.ts'
import { needed, type Parameters } from './form.ts'
import { NO_STORE, Refusal } from './refusal.ts'

/** Whoever has it may ask about every token of its customer and mode (§5.4). */
const INTROSPECT_SCOPE = 'tokens:introspect'

export interface TokenQuestions extends AuditContext {
  readonly db: Database
  readonly tokens: Tokens
  readonly authenticate: AuthenticateClient
  readonly identify: Identify
  readonly issuer: () => string
}

/** Who asks, and which tokens it may hear of. */
interface Asker {
  readonly clientId: string | undefined
  readonly customer: string
  readonly mode: Mode
  /** All of its customer and mode, or its own. */
  readonly all: boolean
}

const ofClient = (client: Client): Asker => ({
  clientId: client.id,
  customer: client.customer,
  mode: client.mode,
  all: client.scopes.includes(INTROSPECT_SCOPE) && !client.isPublic,
})

const CHALLENGE = { 'www-authenticate': 'Bearer error="invalid_token", Basic realm="gatehook"' }

/** By a credential of the API where one was sent, else as a client. */
async function askerOf(deps: TokenQuestions, call: Call, parameters: Parameters): Promise<Asker> {
  const { authorization } = call.headers
  const byApi =
    call.headers['x-api-key'] !== undefined ||
    ['bearer', 'apikey'].includes(parseAuthorization(authorization ?? '').scheme)
  if (byApi) {
    const two = authorization !== undefined && call.headers['x-api-key'] !== undefined
    if (two || parameters.has('client_secret')) {
      throw new Refusal('invalid_request', 'Send one credential.')
    }
    const principal = await deps.identify(call)
    if (!principal) throw new Refusal('invalid_token', 'The credential is not valid.', CHALLENGE)
    return ofPrincipal(principal)
  }
  const client = await deps.authenticate(call, parameters)
  // A name alone proves nothing, and guessing tokens would cost nothing (RFC 7662 §4).
  if (client.isPublic) throw new Refusal('invalid_client', 'Public clients cannot introspect.')
  return ofClient(client)
}

function ofPrincipal({ scopes, customer, mode, clientId }: Principal): Asker {
  const all = scopes.has(INTROSPECT_SCOPE) || scopes.has(ADMIN_SCOPE)
  if (!all) {
    throw new Refusal('insufficient_scope', `The credential lacks the scope ${INTROSPECT_SCOPE}.`)
  }
  return { clientId, customer, mode, all }
}

/** A token that was ours once, of either kind. */
type Found =
  | { readonly kind: 'access'; readonly claims: AccessTokenClaims }
  | { readonly kind: 'refresh'; readonly facts: RefreshTokenInfo; readonly mode: Mode }

async function find({ tokens }: TokenQuestions, token: string): Promise<Found | undefined> {
  // Three parts are a JWT and never a refresh token of ours: hints need not be believed.
  if (token.split('.').length === 3) {
    const claims = await tokens.readAccessToken(token)
    if (claims) return { kind: 'access', claims }
  }
  const facts = await tokens.findRefreshToken(token)
  return facts && { kind: 'refresh', facts, mode: modeOf(facts.scope) }
}

const whose = (found: Found) =>
  found.kind === 'access'
    ? {
        clientId: found.claims.client_id,
        customer: found.claims.customer,
        mode: found.claims.mode,
      }
    : { clientId: found.facts.clientId, customer: found.facts.customer, mode: found.mode }

function mayHear(asker: Asker, found: Found): boolean {
  const { clientId, customer, mode } = whose(found)
  if (customer !== asker.customer || mode !== asker.mode) return false
  return asker.all || clientId === asker.clientId
}

const answer = (value: unknown): Answer => json(200, value, { ...NO_STORE })

export async function introspect(
  deps: TokenQuestions,
  call: Call,
  parameters: Parameters,
): Promise<Answer> {
  const asker = await askerOf(deps, call, parameters)
  const found = await find(deps, needed(parameters, 'token'))
  if (!found || !mayHear(asker, found)) return answer({ active: false })
  if (found.kind === 'access') {
    const { claims } = found
    if (!(await deps.tokens.isActive(claims))) return answer({ active: false })
    const scope = (await deps.tokens.resolveScopes(claims)).join(' ')
    return answer({ active: true, token_type: 'Bearer', ...claims, scope })
  }
  const { facts, mode } = found
  if (!facts.isActive) return answer({ active: false })
  return answer({
    active: true,
    token_type: 'refresh_token',
    iss: deps.issuer(),
    sub: facts.subject,
    client_id: facts.clientId,
    scope: facts.scopes.join(' '),
    iat: Math.floor(facts.createdAt / 1000),
    exp: Math.floor(facts.expiresAt / 1000),
    sid: facts.sessionId,
    customer: facts.customer,
    mode,
  })
}

/** A token that has ended already is not ended, and not audited, again. */
async function end(deps: TokenQuestions, actor: Actor, found: Found): Promise<void> {
  const { tokens, db } = deps
  if (found.kind === 'access') {
    const { claims } = found
    if (!(await tokens.isActive(claims))) return
    const act = {
      actor,
      action: 'token.revoke',
      target: claims.jti,
      detail: { subject: claims.sub },
    }
    await db.write(async (tx) => {
      await tokens.revokeAccessToken(tx, claims)
      await recordAudit(tx, act, deps)
    })
    return
  }
  const { sessionId, subject } = found.facts
  const act = { actor, action: 'session.end', target: sessionId, detail: { subject } }
  await db.write(async (tx) => {
    if (await tokens.revokeSession(tx, sessionId)) await recordAudit(tx, act, deps)
  })
}

/**
 * 200 also for a token that is none, or was ended before: the client wanted it gone, and it is.
 * With a refresh token its session ends and all access tokens of it; an access token ends alone.
 */
export async function revoke(
  deps: TokenQuestions,
  call: Call,
  parameters: Parameters,
): Promise<Answer> {
  const client = await deps.authenticate(call, parameters)
  const token = needed(parameters, 'token')
  const found = await find(deps, token)
  if (found && whose(found).clientId !== client.id) {
    throw new Refusal('invalid_grant', 'The token was not issued to this client.')
  }
  if (found)
    await end(deps, actorOf(call, { kind: 'client', id: client.id, name: client.name }), found)
  // RFC 7009 asks for no body; widespread clients cannot read an answer that is no JSON.
  return answer({})
}
