/**
 * `/auth/refresh`, `/auth/logout`, `/auth/logout-all`, `/auth/sessions` (§4.4, §4.5) and the key
 * set (§4.6).
 */
import { type AuditContext, actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { type Scope, scopeOf } from '../../kernel/principal.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import {
  BASIC_CHALLENGE,
  parseAuthorization,
  parseClientBasic,
} from '../../protocol/http/authorization.ts'
import { writeFor } from '../../protocol/http/authorized-write.ts'
import { type Answer, type Call, noContent, type Route } from '../../protocol/http/call.ts'
import { headerLines } from '../../protocol/http/header.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import { FAULTS, InvalidToken } from './access-token.ts'
import {
  type AccessTokenClaims,
  type RefreshingClient,
  TOKENS_ACTOR,
  type TokenLookup,
  type Tokens,
} from './api.ts'
import { tokenOperations } from './operations.ts'
import { listSessions, sessionListAt } from './session-list.ts'
import { KEY_SET_MAX_AGE_S, type KeyRing } from './signing-keys.ts'
import * as store from './store.ts'

export interface TokenRouteDeps extends AuditContext {
  readonly db: Database
  readonly list: Lister
  readonly lookup: Pick<TokenLookup, 'findClient' | 'findCustomer'>
  readonly keys: Pick<KeyRing, 'readKeySet' | 'readAssertionKeySet'>
  /** Ends everything in which a person is signed in; returns the number of ended sessions. */
  readonly signOutEverywhere: (tx: Tx, id: number) => Promise<number>
  readonly tokens: Pick<
    Tokens,
    | 'readAccessToken'
    | 'refreshSession'
    | 'isRefreshToken'
    | 'findRefreshToken'
    | 'revokeSession'
    | 'revokeAccessToken'
    | 'isRevoked'
  >
}

const ownSessions = sessionListAt('/auth/sessions')

export function tokenRoutes(deps: TokenRouteDeps): Route[] {
  return [
    implement(tokenOperations.keySet, async () => keySetAnswer(await deps.keys.readKeySet())),
    implement(tokenOperations.assertionKeySet, async () =>
      keySetAnswer(await deps.keys.readAssertionKeySet()),
    ),
    implement(tokenOperations.refresh, (call, { refresh_token, resource }) =>
      refresh(deps, call, refresh_token, resource),
    ),
    implement(tokenOperations.logout, (call, { refresh_token }) =>
      logout(deps, call, refresh_token),
    ),
    implement(tokenOperations.logoutAll, (call) => logoutAll(deps, call)),
    ...sessionRoutes(deps),
  ]
}

const keySetAnswer = (json: string): Answer => ({
  status: 200,
  json,
  headers: { 'cache-control': `public, max-age=${KEY_SET_MAX_AGE_S}` },
})

async function refresh(
  { tokens, lookup }: TokenRouteDeps,
  call: Call,
  token: string,
  resource: string | undefined,
): Promise<Answer> {
  const client = await authenticateClient(lookup, call)
  try {
    const actor = actorOf(call, TOKENS_ACTOR)
    const resources = resource === undefined ? [] : [resource]
    const response = await tokens.refreshSession(token, client, { actor, resources })
    return respond(tokenOperations.refresh, response, { pragma: 'no-cache' })
  } catch (error) {
    if (error instanceof Failure && error.code === 'invalid_client')
      throw invalidClient(error.message)
    throw error
  }
}

const invalidClient = (message?: string) =>
  new Failure('invalid_client', message, { headers: { 'WWW-Authenticate': BASIC_CHALLENGE } })

/**
 * Returns the credential after `scheme` in `Authorization`; undefined for another or no scheme.
 * Throws 400 `ambiguous_credentials` for two header lines (§3.1).
 */
function readCredential({ rawHeaders }: Call, scheme: 'basic' | 'bearer'): string | undefined {
  const lines = headerLines(rawHeaders, 'authorization')
  if (lines.length > 1) throw new Failure('ambiguous_credentials')
  const authorization = parseAuthorization(lines[0] ?? '')
  return authorization.scheme === scheme ? authorization.value : undefined
}

/** Authenticates a client by Basic; undefined without Basic. Throws 401 `invalid_client`. */
async function authenticateClient(
  lookup: TokenRouteDeps['lookup'],
  call: Call,
): Promise<RefreshingClient | undefined> {
  const credential = readCredential(call, 'basic')
  if (credential === undefined) return undefined
  const pair = parseClientBasic(credential)
  const client = pair && (await lookup.findClient(pair.username))
  if (!client?.hasSecret(pair!.password)) throw invalidClient()
  return { clientId: pair!.username, authenticated: true }
}

/** Revokes by refresh token, access token or both. Tokens that have ended are no error (§4.5). */
async function logout(
  deps: TokenRouteDeps,
  call: Call,
  token: string | undefined,
): Promise<Answer> {
  const { db, tokens, lookup } = deps
  const jwt = readCredential(call, 'bearer')
  if (token === undefined && jwt === undefined) {
    throw new Failure('invalid_request', 'Send refresh_token, or an access token as Bearer.')
  }
  if (token !== undefined && !tokens.isRefreshToken(token)) throw new Failure('invalid_grant')
  const session = token === undefined ? undefined : await tokens.findRefreshToken(token)
  const claims = jwt === undefined ? undefined : await tokens.readAccessToken(jwt)
  if (token === undefined && !claims) {
    throw new InvalidToken(FAULTS.notIssued)
  }
  const isRevoked = claims !== undefined && (await tokens.isRevoked(claims))
  const customer = claims && (await lookup.findCustomer(claims.customer))
  const scope = customer && scopeOf(customer.no, claims!.mode)
  await db.write(async (tx) => {
    if (session) {
      const { sessionId, subject, clientId, scope } = session
      const owner = { subject, clientId, session: sessionId }
      if (await tokens.revokeSession(tx, sessionId, owner)) {
        await auditSessionEnd(tx, deps, call, { id: sessionId, subject, clientId, scope })
      }
    }
    if (claims && !isRevoked) await revokeByAccessToken(tx, deps, call, claims, scope)
  })
  return noContent()
}

/** Revokes the session of an access token; if it has none, or that has ended, the token alone. */
async function revokeByAccessToken(
  tx: Tx,
  deps: TokenRouteDeps,
  call: Call,
  claims: AccessTokenClaims,
  scope: Scope | undefined,
): Promise<void> {
  const { tokens, clock } = deps
  const { sid, sub, kind, client_id, jti } = claims
  const name = typeof claims.name === 'string' ? claims.name : undefined
  const owner = sid === undefined ? undefined : { subject: sub, clientId: client_id, session: sid }
  if (sid !== undefined && (await tokens.revokeSession(tx, sid, owner))) {
    const ended = { id: sid, subject: sub, clientId: client_id, name, scope }
    await auditSessionEnd(tx, deps, call, ended)
    return
  }
  if (claims.exp * 1000 <= clock.now()) return
  await tokens.revokeAccessToken(tx, claims)
  const actor = actorOf(call, { kind, id: sub, name, scope })
  await recordAudit(tx, { actor, action: 'token.revoke', target: jti, detail: { client_id } }, deps)
}

interface EndedSession {
  readonly id: string
  readonly subject: string
  readonly clientId: string
  /** The name of the person, if the caller has it. */
  readonly name?: string | undefined
  readonly scope: Scope | undefined
}

async function auditSessionEnd(
  tx: Tx,
  deps: TokenRouteDeps,
  call: Call,
  { id, subject, clientId, name, scope }: EndedSession,
): Promise<void> {
  const actor = actorOf(call, { kind: 'person', id: subject, name, scope })
  const detail = { client_id: clientId }
  await recordAudit(tx, { actor, action: 'session.end', target: id, detail }, deps)
}

async function logoutAll(deps: TokenRouteDeps, call: Call): Promise<Answer> {
  const { db, signOutEverywhere } = deps
  const { subject } = call.principal!
  await writeFor(
    call,
    db,
  )(async (tx) => {
    const sessions = await signOutEverywhere(tx, Number(subject))
    const entry = { actor: actorOf(call), action: 'session.end_all', target: subject }
    await recordAudit(tx, { ...entry, detail: { sessions } }, deps)
  })
  return noContent()
}

/** The sessions of the calling person: `route-table.ts` admits no other kind of principal. */
function sessionRoutes(deps: TokenRouteDeps): Route[] {
  const { db, clock, tokens } = deps
  const ownOf = ({ principal, params }: Call) => {
    return { scope: principal!.scope, person: Number(principal!.subject), id: params.id! }
  }
  return [
    implement(tokenOperations.sessions, async (call) => {
      const { scope, subject } = call.principal!
      return listSessions(call, deps, { scope, person: Number(subject) }, ownSessions)
    }),
    implement(tokenOperations.readSession, async (call) => {
      const cells = await store.findSessionCells(db, ownOf(call), clock.now())
      if (!cells) throw new Failure('not_found')
      return { status: 200, json: ownSessions.view.item(cells, {}) }
    }),
    implement(tokenOperations.endSession, async (call) => {
      const own = ownOf(call)
      const clientId = await store.findSessionClient(db, own, clock.now())
      if (clientId === undefined) throw new Failure('not_found')
      const { id } = own
      const { subject, name, scope } = call.principal!
      await writeFor(
        call,
        db,
      )(async (tx) => {
        if (!(await tokens.revokeSession(tx, id, { subject, clientId }))) return
        await auditSessionEnd(tx, deps, call, { id, subject, clientId, name, scope })
      })
      return noContent()
    }),
  ]
}
