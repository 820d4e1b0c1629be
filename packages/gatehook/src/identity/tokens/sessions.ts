/**
 * Opens, finds and revokes sessions (§4.2, §4.7). Each operation is one transaction; access tokens
 * are drafted in it and signed after the commit. Rotation is `refresh.ts`.
 */
import { createTimeOrderedId } from '../../kernel/id.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { draftAccessToken, signDraft } from './access-token.ts'
import {
  type ComputeGrant,
  type Grant,
  LOGIN_CLIENT_ID,
  type SessionOptions,
  type TokenBound,
  type Tokens,
} from './api.ts'
import { createRefresh, type RefreshDeps } from './refresh.ts'
import {
  classifyRefreshToken,
  createRefreshToken,
  hashToken,
  parseSessionId,
  TAG_PURPOSE,
} from './refresh-token.ts'
import * as store from './store.ts'

interface SessionDeps extends Omit<RefreshDeps, 'tagKeys'> {
  readonly vault: Vault
}

type SessionOperations = Pick<
  Tokens,
  | 'openSession'
  | 'issueSessionToken'
  | 'issueAccessToken'
  | 'refreshSession'
  | 'findRefreshToken'
  | 'isRefreshToken'
  | 'revokeSession'
  | 'revokeSessionsOfPerson'
  | 'revokeSessionsAtClient'
  | 'revokeClient'
>

/** The longest lifetime of an access token that can be configured. */
const MAX_ACCESS_MS = 86_400_000

export function createSessions(deps: SessionDeps): SessionOperations {
  const { db, clock, random, keys, revocations, vault } = deps
  const tagKeys = vault.macKeys(TAG_PURPOSE)

  const publishRevoked = async (tx: Tx, sessions: readonly store.DeletedSession[]) => {
    for (const { id, access_until } of sessions) {
      await revocations.publish(tx, 'session', id, access_until)
    }
    return sessions.length
  }

  const issueIn = createIssue(deps)

  return {
    async openSession(grant, options) {
      const id = createTimeOrderedId('ses_', clock.now(), random)
      const refreshToken = createRefreshToken(tagKeys.current, random, id)
      const bound = { id, endsAt: Number.POSITIVE_INFINITY }
      const response = await issueIn(bound, grant, { ...options, refreshToken })
      return { ...response, refresh_token: refreshToken }
    },

    issueSessionToken: (grant, { endsAt }) =>
      issueIn({ id: createTimeOrderedId('ses_', clock.now(), random), endsAt }, grant),

    issueAccessToken: async (grant, bound) =>
      signDraft(draftAccessToken(deps, await keys.findCurrentKey(), grant, clock.now(), bound)),

    refreshSession: createRefresh({ ...deps, tagKeys }),

    isRefreshToken: (token) => parseSessionId(tagKeys, token) !== undefined,

    async findRefreshToken(token) {
      const id = parseSessionId(tagKeys, token)
      const session = id === undefined ? undefined : await store.findSession(db, id)
      if (!session) return undefined
      const verdict = classifyRefreshToken(session, hashToken(token), {
        nowMs: clock.now(),
        graceMs: 0,
      })
      const { client_id: clientId } = session
      // A blocked client, or one that lost the grant, refreshes no session.
      const hasClient =
        clientId === LOGIN_CLIENT_ID || (await deps.lookup.findClient(clientId)) !== undefined
      return {
        sessionId: session.id,
        scope: session.scope as Scope,
        customer: session.customer,
        clientId,
        subject: String(session.person),
        scopes: store.splitScopes(session.scopes),
        createdAt: session.created_at,
        expiresAt: session.expires_at,
        isActive: verdict === 'current' && hasClient,
      }
    },

    async revokeSession(tx, id, owner) {
      if ((await publishRevoked(tx, await store.deleteSession(tx, id))) === 0) return false
      if (owner) await deps.endGivenAccess(tx, owner)
      return true
    },

    async revokeSessionsOfPerson(tx, scope, subject, exceptId) {
      const person = parsePersonId(subject)
      return publishRevoked(tx, await store.deleteSessionsOf(tx, scope, person, { exceptId }))
    },

    async revokeSessionsAtClient(tx, scope, subject, clientId) {
      const person = parsePersonId(subject)
      const deleted = await store.deleteSessionsOf(tx, scope, person, { clientId })
      return { sessions: await publishRevoked(tx, deleted), registrations: 0 }
    },

    async revokeClient(tx, scope, clientId) {
      await store.deleteSessionsOfClient(tx, scope, clientId)
      await revocations.publish(tx, 'client', clientId, clock.now() + MAX_ACCESS_MS)
    },
  }
}

/** Returns a function that stores a session and issues its access token. */
function createIssue(deps: SessionDeps) {
  const { db, clock, lifetimes, keys } = deps
  return async (
    { id, endsAt: bound }: Required<TokenBound>,
    given: Grant | ComputeGrant,
    { refreshToken, ...options }: SessionOptions & { readonly refreshToken?: string } = {},
  ) => {
    const key = await keys.findCurrentKey()
    const now = clock.now()
    const endsAt = Math.min(now + lifetimes.absoluteMs, bound)
    const draft = await db.write(async (tx) => {
      const grant = typeof given === 'function' ? await given(tx, id) : given
      const access = draftAccessToken(deps, key, grant, now, { id, endsAt })
      store.insertSession(tx, {
        id,
        scope: grant.scope,
        customer: grant.customer,
        person: parsePersonId(grant.subject),
        client_id: grant.clientId,
        scopes: grant.scopes.join(' '),
        third_party: Number(grant.thirdParty ?? false),
        audience: grant.audience ? JSON.stringify(grant.audience) : null,
        authenticated_at: grant.authenticatedAt ?? null,
        token_hash: refreshToken === undefined ? null : hashToken(refreshToken),
        created_at: now,
        expires_at: refreshToken === undefined ? endsAt : Math.min(now + lifetimes.idleMs, endsAt),
        ends_at: endsAt,
        access_until: access.expiresAt,
      })
      return access
    }, options)
    return signDraft(draft)
  }
}

/** Returns the row id in the subject of a session, which always belongs to a person. */
function parsePersonId(subject: string): number {
  const id = Number(subject)
  if (!Number.isSafeInteger(id)) throw new Error(`bug: ${subject} is not a person`)
  return id
}
