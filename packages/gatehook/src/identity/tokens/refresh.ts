/**
 * Refreshes a session (§4.2), in this order:
 *
 * 1. The tag of the presented token identifies its session.
 * 2. One UPDATE rotates the token if it is the current one of a session that has not expired.
 * 3. Otherwise the token was rotated before. Within the grace period the server returns its
 *    successor again. It audits a race: a second use within 5 s, whose successor is unused. On
 *    reuse it revokes the token family, whatever else is invalid. A request of another client, or
 *    without the authentication that the client requires, has no effect.
 * 4. In the same transaction the client and the person limit the grant of the next access token. On
 *    PostgreSQL the person is read in the round trip of the UPDATE if this node rotated a token of
 *    the session before. Such refreshes also commit with others, until one of the session fails:
 *    a repeated request fails no second group.
 * 5. The access token is signed after the commit.
 *
 * @see RFC 6749 §6, RFC 9700 §4.14.2
 */
import type { Actor } from '../../history/audit/actor.ts'
import { type AuditSigner, recordAudit } from '../../history/audit/store.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { modeOf, type Scope } from '../../kernel/principal.ts'
import type { MacKeys } from '../../kernel/secret.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { storesNothing } from '../../platform/storage/storage-failure.ts'
import {
  type AccessTokenDraft,
  type DraftDeps,
  draftAccessToken,
  signDraft,
} from './access-token.ts'
import {
  type EndAccessOf,
  type Grant,
  LOGIN_CLIENT_ID,
  type RefreshingClient,
  TOKENS_ACTOR,
  type TokenClient,
  type TokenLookup,
  type TokenPerson,
  type Tokens,
} from './api.ts'
import { selectAudience } from './audience.ts'
import { intersectScopes } from './identity-scopes.ts'
import {
  classifyRefreshToken,
  createRefreshToken,
  decryptSuccessor,
  encryptSuccessor,
  hashToken,
  parseSessionId,
} from './refresh-token.ts'
import type { RevocationFeed } from './revocation-feed.ts'
import type { KeyRing } from './signing-keys.ts'
import * as store from './store.ts'

export interface RefreshDeps extends DraftDeps {
  readonly db: Database
  readonly clock: Clock
  readonly trail: AuditSigner
  readonly tagKeys: MacKeys
  readonly keys: Pick<KeyRing, 'findCurrentKey'>
  readonly revocations: Pick<RevocationFeed, 'publish'>
  readonly lookup: Pick<TokenLookup, 'findPerson' | 'findClient'>
  readonly record: RecordEvent
  readonly endGivenAccess: EndAccessOf
  /** When the data of the installation was restored; undefined: never. */
  readonly restoredMs: () => number | undefined
}

/** Sessions that this node remembers: about 8 MB. */
const SESSIONS_MAX = 20_000

/** The columns of a session that identify its person; they never change. */
type SessionPerson = Pick<store.SessionGrant, 'scope' | 'person'>

/** A session of which this node has rotated a token. */
interface RefreshedSession extends SessionPerson {
  /** The hash of the token that the last rotation of this node replaced. */
  readonly previousHash: Buffer
  /** Whether a refresh has failed: those of the session commit with no others any more. */
  readonly hasFailed: boolean
}

function createRefreshedSessions() {
  const sessions = new BoundedMap<string, RefreshedSession>(SESSIONS_MAX)
  /** The tokens whose race is audited: a client can repeat it at will. */
  const races = new BoundedMap<string, Buffer>(SESSIONS_MAX)
  return {
    hasRaced: (id: string, hash: Buffer) => races.get(id)?.equals(hash) === true,
    noteRace: (id: string, hash: Buffer) => void races.set(id, hash),
    get: (id: string) => sessions.get(id),
    remember(id: string, rotated: Omit<RefreshedSession, 'hasFailed'>) {
      sessions.set(id, { ...rotated, hasFailed: sessions.get(id)?.hasFailed ?? false })
    },
    noteFailure(id: string) {
      const session = sessions.get(id)
      if (session) sessions.set(id, { ...session, hasFailed: true })
    },
  }
}

interface NextTokens {
  readonly access: AccessTokenDraft
  readonly refreshToken: string
}

export function createRefresh(deps: RefreshDeps): Tokens['refreshSession'] {
  const { db, clock, random, lifetimes, keys, tagKeys, lookup } = deps
  const sessions = createRefreshedSessions()

  return async (token, presenter, { parseScopes, resources = [], actor = TOKENS_ACTOR } = {}) => {
    const id = parseSessionId(tagKeys, token)
    if (id === undefined) throw new Failure('invalid_grant')
    const hash = hashToken(token)
    const successor = createRefreshToken(tagKeys.current, random, id)
    const isGraceEnabled = lifetimes.graceMs > 0
    const encryptedSuccessor = isGraceEnabled
      ? encryptSuccessor(token, id, successor, random)
      : null
    const key = await keys.findCurrentKey()
    const now = clock.now()

    const draftFor = async (
      session: store.SessionGrant,
      client: TokenClient | undefined,
      person: Promise<TokenPerson | undefined>,
    ) => {
      const grant = limitGrant(session, client, await person, parseScopes?.())
      const audience = session.audience === null ? undefined : JSON.parse(session.audience)
      const granted: readonly string[] = audience ?? [deps.audiences.standard()]
      const tokenAudience = selectAudience(resources, granted)
      return draftAccessToken(deps, key, { ...grant, audience, tokenAudience }, now, {
        id,
        endsAt: session.ends_at,
      })
    }
    const expected = sessions.get(id)
    const rotate = async (tx: Tx): Promise<NextTokens | undefined> => {
      const rotation = store.rotateRefreshToken(tx, {
        id,
        presentedHash: hash,
        successorHash: hashToken(successor),
        encryptedSuccessor,
        now,
        expiresAt: now + lifetimes.idleMs,
        accessUntil: now + lifetimes.accessMs,
      })
      const expectedPerson = expected && findPerson(tx, lookup, expected)
      // Without a rotation the person does not matter, nor does an exception of the claims' hook.
      expectedPerson?.catch(() => {})
      const rotatedSession = await rotation
      if (rotatedSession) {
        const { scope, person } = rotatedSession
        const client = await authorizeClient(tx, lookup, rotatedSession, presenter)
        const isExpected = expected?.scope === scope && expected.person === person
        const access = await draftFor(
          rotatedSession,
          client,
          isExpected ? expectedPerson! : findPerson(tx, lookup, rotatedSession),
        )
        tx.afterCommit(() => sessions.remember(id, { scope, person, previousHash: hash }))
        return { access, refreshToken: successor }
      }
      const unlockedSession = await store.findSession(tx, id)
      const session = unlockedSession && (await store.lockSession(tx, unlockedSession))
      if (!session) return undefined
      const client = await authorizeClient(tx, lookup, session, presenter)
      const context = { nowMs: now, graceMs: lifetimes.graceMs, restoredMs: deps.restoredMs() }
      const verdict = classifyRefreshToken(session, hash, context)
      if (verdict === 'grace' && session.successor) {
        const access = await draftFor(session, client, findPerson(tx, lookup, session))
        await store.extendAccess(tx, session, access.expiresAt)
        return { access, refreshToken: decryptSuccessor(token, id, session.successor, random) }
      }
      if (verdict === 'reuse') await revokeFamily(tx, deps, session, actor)
      else if (verdict === 'restored') await endFamily(tx, deps, session, 'session.end', actor)
      else if (verdict !== 'expired' && !sessions.hasRaced(id, hash)) {
        await auditReplay(tx, deps, session, 'token.refresh_race', actor)
        tx.afterCommit(() => sessions.noteRace(id, hash))
      }
      return undefined // the transaction commits; the request fails
    }
    // One that finds no current token locks the session, so its group fails, and it runs alone.
    const mayJoin = expected && !expected.hasFailed && !hash.equals(expected.previousHash)
    const group = `refresh ${expected?.scope} ${presenter?.clientId}`
    const next = await db.write(rotate, mayJoin ? { group } : {}).catch((error: unknown) => {
      if (mayJoin && !storesNothing(error)) sessions.noteFailure(id)
      throw error
    })
    if (mayJoin && next?.refreshToken !== successor) sessions.noteFailure(id)
    if (!next) throw new Failure('invalid_grant')
    return { ...signDraft(next.access), refresh_token: next.refreshToken }
  }
}

/**
 * Returns the client of the session; undefined if it is a login. Throws if the request is that of
 * another client, or lacks the authentication that the client requires.
 */
async function authorizeClient(
  tx: Tx,
  lookup: RefreshDeps['lookup'],
  { client_id: clientId }: store.SessionGrant,
  presenter: RefreshingClient | undefined,
): Promise<TokenClient | undefined> {
  if (presenter && presenter.clientId !== clientId) throw new Failure('invalid_grant')
  if (clientId === LOGIN_CLIENT_ID) return undefined
  const client = await lookup.findClient(clientId, tx)
  if (!client) throw new Failure('invalid_grant')
  if (client.refreshesByOauth && !presenter) {
    throw new Failure('invalid_client', 'This client refreshes at /oauth/token.')
  }
  if (client.requireAuthOnRefresh && !presenter?.authenticated) {
    throw new Failure('invalid_client')
  }
  return client
}

const findPerson = (tx: Tx, lookup: RefreshDeps['lookup'], { scope, person }: SessionPerson) =>
  lookup.findPerson(tx, scope as Scope, String(person))

/** Returns the grant of the session, without scopes that its client or person no longer has. */
function limitGrant(
  session: store.SessionGrant,
  client: TokenClient | undefined,
  person: TokenPerson | undefined,
  requestedScopes: readonly string[] | undefined,
): Grant {
  const { client_id: clientId, customer } = session
  const subject = String(session.person)
  const scope = session.scope as Scope
  if (!person) throw new Failure('invalid_grant')
  if (person.suspended) throw new Failure('customer_suspended')

  const sessionScopes = store.splitScopes(session.scopes)
  const { authenticated_at: at } = session
  const algorithm = client?.idTokenAlgorithm
  // A login session has all scopes of its person now. A client has at most those it was granted.
  const allowedScopes = client
    ? intersectScopes(sessionScopes, person.scopes, client.scopes)
    : person.scopes
  if (requestedScopes && !requestedScopes.every((name) => sessionScopes.includes(name))) {
    throw new Failure('invalid_scope')
  }
  const scopes = requestedScopes
    ? allowedScopes.filter((name) => requestedScopes.includes(name))
    : allowedScopes
  const thirdParty = session.third_party !== 0
  const authentication = algorithm && at !== null ? { identity: person, algorithm, at } : undefined
  const identity = { scope, customer, mode: modeOf(scope), clientId, subject, thirdParty }
  return { ...identity, scopes, claims: person.claims, authentication }
}

/** Reuse detection: revokes the session with all its tokens, and emits the event. */
async function revokeFamily(
  tx: Tx,
  deps: RefreshDeps,
  session: store.SessionRow,
  actor: Actor,
): Promise<void> {
  const { id, client_id, scope } = session
  await endFamily(tx, deps, session, 'token.reuse_detected', actor)
  const subject = String(session.person)
  const object = JSON.stringify({ session_id: id, client_id, subject, revoked: true })
  const event = { type: 'token.reuse_detected', collection: undefined, objectId: undefined, object }
  await deps.record(tx, scope as Scope, event)
}

/** Deletes the session, and revokes its access tokens. */
async function endFamily(
  tx: Tx,
  deps: RefreshDeps,
  session: store.SessionRow,
  action: 'session.end' | 'token.reuse_detected',
  actor: Actor,
): Promise<void> {
  await auditReplay(tx, deps, session, action, actor)
  for (const { access_until } of await store.deleteSession(tx, session.id)) {
    await deps.revocations.publish(tx, 'session', session.id, access_until)
  }
  const owner = { subject: String(session.person), clientId: session.client_id }
  await deps.endGivenAccess(tx, owner)
}

async function auditReplay(
  tx: Tx,
  deps: RefreshDeps,
  { id, client_id, person, customer, scope }: store.SessionRow,
  action: 'session.end' | 'token.refresh_race' | 'token.reuse_detected',
  actor: Actor,
): Promise<void> {
  const detail = { client_id, subject: String(person), customer, mode: modeOf(scope as Scope) }
  await recordAudit(tx, { actor, action, target: id, scope, detail }, deps)
}
