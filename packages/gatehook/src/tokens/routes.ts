/** `/auth/refresh`, `/auth/logout` and its kin, `/auth/sessions` (§4.4, §4.5), the key set. */
import { type AuditContext, actorOf, recordAudit } from '../audit/store.ts'
import { type BasicPair, parseAuthorization, parseClientBasic } from '../http/authorization.ts'
import { type Answer, type Call, json, noContent, type Route, route } from '../http/call.ts'
import { headerLines } from '../http/header.ts'
import { BASIC_CHALLENGE } from '../kernel/challenge.ts'
import { Failure } from '../kernel/failure.ts'
import type { Principal, Scope } from '../kernel/principal.ts'
import type { Collection } from '../lists/collection.ts'
import { cellView } from '../lists/encode.ts'
import type { Lister } from '../lists/list.ts'
import type { Database, Tx } from '../storage/database.ts'
import { invalidToken } from './access-token.ts'
import { type Claims, ENGINE, type TokenLookup, type Tokens } from './grant.ts'
import { KEY_SET_MAX_AGE_S, type KeyRing } from './signing-keys.ts'
import * as store from './store.ts'

export interface RouteDeps extends AuditContext {
  readonly db: Database
  readonly list: Lister
  readonly lookup: Pick<TokenLookup, 'client'>
  readonly alsoEnd?: (tx: Tx, scope: Scope, subject: string) => Promise<unknown>
  readonly keys: Pick<KeyRing, 'published'>
  readonly tokens: Pick<
    Tokens,
    | 'read'
    | 'refresh'
    | 'wasRefresh'
    | 'findRefresh'
    | 'revokeSession'
    | 'revokeToken'
    | 'isRevoked'
    | 'revokeSubject'
  >
}

const sessionCollection: Collection = {
  name: 'sessions',
  table: 'gh_sessions',
  columns: [
    { name: 'id', type: 'text' },
    { name: 'client_id', type: 'text' },
    { name: 'scopes', type: 'text' },
    { name: 'created_at', type: 'time' },
    { name: 'last_used_at', type: 'time' },
    { name: 'expires_at', type: 'time' },
  ],
  integerId: false,
  scoped: true,
  owner: 'person',
  counted: false,
  filter: ['id', 'client_id', 'created_at', 'last_used_at', 'expires_at'],
  sort: ['id', 'created_at'],
  indexes: [
    ['person', 'id'],
    ['person', 'created_at', 'id'],
  ],
}

/** In the table `scope` is whose row it is; callers know the word for what may be done. */
const sessionView = cellView(
  sessionCollection.columns.map((column) =>
    column.name === 'scopes' ? { ...column, name: 'scope' } : column,
  ),
  (row) => `{"self":"/auth/sessions/${row[0]}"}`,
)

export function tokenRoutes(deps: RouteDeps): Route[] {
  return [
    route('/.well-known/jwks.json', {
      GET: {
        handle: async () => ({
          status: 200,
          json: await deps.keys.published(),
          headers: { 'cache-control': `public, max-age=${KEY_SET_MAX_AGE_S}` },
        }),
      },
    }),
    open('/auth/refresh', (call) => refresh(deps, call)),
    open('/auth/logout', (call) => logout(deps, call)),
    route('/auth/logout-all', {
      POST: { body: 'optional', handle: (call) => logoutAll(deps, call) },
    }),
    ...sessionRoutes(deps),
  ]
}

/** A path where the token in the body is the credential. */
const open = (path: string, handle: (call: Call) => Promise<Answer>): Route =>
  route(path, { POST: { body: 'optional', handle } })

async function refresh({ tokens, lookup }: RouteDeps, call: Call): Promise<Answer> {
  const token = tokenIn(call.body)
  if (token === undefined) throw missing('refresh_token')
  const basic = basicOf(call)
  const by = basic && (await proven(lookup, basic))
  try {
    const issued = await tokens.refresh(token, by, { from: actorOf(call, ENGINE) })
    const headers = { 'cache-control': 'no-store', pragma: 'no-cache' }
    return { ...json(200, issued, headers), secret: true }
  } catch (error) {
    if (error instanceof Failure && error.code === 'invalid_client') throw unprovenClient()
    throw error
  }
}

const missing = (member: string): Failure => {
  const message = `${member} must be a string.`
  const errors = [{ pointer: `/${member}`, code: 'invalid_value', message }]
  return new Failure('invalid_request', message, { errors })
}

/** Undefined where there is none. Throws `invalid_request` for a body or token that is no such. */
function tokenIn(body: unknown): string | undefined {
  if (body === undefined) return undefined
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Failure('invalid_request', 'The body must be a JSON object.')
  }
  const token = Object.hasOwn(body, 'refresh_token')
    ? (body as Record<string, unknown>).refresh_token
    : undefined
  if (token !== undefined && typeof token !== 'string') throw missing('refresh_token')
  return token
}

const unprovenClient = () =>
  new Failure('invalid_client', undefined, {
    headers: { 'WWW-Authenticate': BASIC_CHALLENGE },
  })

/**
 * What stands after a scheme in `Authorization`, '' where nothing does; undefined where another or
 * none was sent. Throws `ambiguous_credentials` where it stands twice (§3.1).
 */
function sentAs({ rawHeaders }: Call, scheme: string): string | undefined {
  const lines = headerLines(rawHeaders, 'authorization')
  if (lines.length > 1) throw new Failure('ambiguous_credentials')
  const sent = parseAuthorization(lines[0] ?? '')
  return sent.scheme === scheme ? sent.value : undefined
}

/** A client's id and secret. Throws `invalid_client` for a Basic value that is malformed. */
function basicOf(call: Call): BasicPair | undefined {
  const sent = sentAs(call, 'basic')
  if (sent === undefined) return undefined
  const pair = parseClientBasic(sent)
  if (!pair) throw unprovenClient()
  return pair
}

async function proven(lookup: Pick<TokenLookup, 'client'>, { username, password }: BasicPair) {
  const client = await lookup.client(username)
  if (!client?.matches(password)) throw unprovenClient()
  return { clientId: username, authenticated: true }
}

/** By either token, or both; what is over already is no mistake (§4.5). */
async function logout(deps: RouteDeps, call: Call): Promise<Answer> {
  const { db, tokens } = deps
  const token = tokenIn(call.body)
  const jwt = sentAs(call, 'bearer')
  if (token === undefined && jwt === undefined) throw missing('refresh_token')
  if (token !== undefined && !tokens.wasRefresh(token)) throw new Failure('invalid_grant')
  const session = token === undefined ? undefined : await tokens.findRefresh(token)
  const claims = jwt === undefined ? undefined : await tokens.read(jwt)
  if (token === undefined && !claims) throw invalidToken('The token is not one of ours.')
  const revoked = claims !== undefined && (await tokens.isRevoked(claims))
  await db.write(async (tx) => {
    if (session && (await tokens.revokeSession(tx, session.sessionId))) {
      const { sessionId, subject, clientId } = session
      await auditEnd(tx, deps, call, { id: sessionId, subject, clientId })
    }
    if (claims && !revoked) await endToken(tx, deps, call, claims)
  })
  return noContent()
}

async function endToken(tx: Tx, deps: RouteDeps, call: Call, claims: Claims): Promise<void> {
  const { tokens, clock } = deps
  const { sid, sub, client_id, jti } = claims
  const name = typeof claims.name === 'string' ? claims.name : undefined
  if (sid !== undefined && (await tokens.revokeSession(tx, sid))) {
    await auditEnd(tx, deps, call, { id: sid, subject: sub, clientId: client_id, name })
    return
  }
  // Of a session that is over, or a client's own: nothing to tell when it has expired, too.
  if (claims.exp * 1000 <= clock.now()) return
  await tokens.revokeToken(tx, claims)
  const actor = actorOf(call, { kind: sub === client_id ? 'client' : 'person', id: sub, name })
  await recordAudit(tx, { actor, action: 'token.revoke', target: jti, detail: { client_id } }, deps)
}

interface EndedSession {
  readonly id: string
  readonly subject: string
  readonly clientId: string
  readonly name?: string | undefined
}

/** The person ended a session: by one of its tokens, or from the list of their sessions. */
async function auditEnd(
  tx: Tx,
  deps: RouteDeps,
  call: Call,
  { id, subject, clientId, name }: EndedSession,
): Promise<void> {
  const actor = actorOf(call, { kind: 'person', id: subject, name })
  const detail = { client_id: clientId }
  await recordAudit(tx, { actor, action: 'session.end', target: id, detail }, deps)
}

/** Account endpoints accept persons only (`route-table.ts`). */
const personOf = ({ principal }: Call): Principal & { readonly person: number } => ({
  ...principal!,
  person: Number(principal!.subject),
})

async function logoutAll(deps: RouteDeps, call: Call): Promise<Answer> {
  const { db, tokens, alsoEnd } = deps
  const { scope, subject } = personOf(call)
  await db.write(async (tx) => {
    const sessions = await tokens.revokeSubject(tx, scope, subject)
    await alsoEnd?.(tx, scope, subject)
    const act = { actor: actorOf(call), action: 'session.end_all', target: subject }
    await recordAudit(tx, { ...act, detail: { sessions } }, deps)
  })
  return noContent()
}

function sessionRoutes(deps: RouteDeps): Route[] {
  const { db, clock, list, tokens } = deps
  const own = async (call: Call) => {
    const { scope, person } = personOf(call)
    const id = call.params.id!
    const cells = await store.cellsOfSession(db, { scope, person, id }, clock.now())
    if (!cells) throw new Failure('not_found')
    return cells
  }
  return [
    route('/auth/sessions', {
      GET: {
        async handle(call) {
          const { scope, person } = personOf(call)
          const now = clock.now()
          // The janitor comes by once a minute; a list shows no session that is over.
          if (await store.hasExpired(db, scope, person, now)) {
            await db.write((tx) => store.dropExpiredOf(tx, scope, person, now))
          }
          return list(call, sessionCollection, sessionView, { owner: person })
        },
      },
    }),
    route('/auth/sessions/:id', {
      GET: {
        handle: async (call) => ({ status: 200, json: sessionView.item(await own(call), {}) }),
      },
      DELETE: {
        async handle(call) {
          const [id, clientId] = (await own(call)).map(String) as [string, string]
          const { subject, name } = call.principal!
          await db.write(async (tx) => {
            if (!(await tokens.revokeSession(tx, id))) return
            await auditEnd(tx, deps, call, { id, subject, clientId, name })
          })
          return noContent()
        },
      },
    }),
  ]
}
