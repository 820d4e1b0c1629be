/**
 * Sessions: opened, found, ended (§4.2). Each is one transaction; tokens are drafted in it, and
 * signed once it is durable.
 */
import { timeOrderedId } from '../kernel/id.ts'
import type { Scope } from '../kernel/principal.ts'
import type { MacKeys, Vault } from '../kernel/secret.ts'
import type { Tx } from '../storage/database.ts'
import type { Tokens } from './grant.ts'
import { type DraftDeps, type DraftToken, drafting, issued } from './issue.ts'
import { type RefreshDeps, refreshing } from './refresh.ts'
import * as tokenText from './refresh-token.ts'
import * as store from './store.ts'

export interface SessionDeps extends DraftDeps, RefreshDeps {
  readonly vault: Vault
}

export type Sessions = Pick<
  Tokens,
  | 'openSession'
  | 'clientToken'
  | 'refresh'
  | 'findRefresh'
  | 'wasRefresh'
  | 'revokeSession'
  | 'revokeSubject'
  | 'revokeSubjectAtClient'
  | 'revokeClient'
>

const MAX_ACCESS_MS = 86_400_000

export function createSessions(deps: SessionDeps): Sessions {
  const mark = deps.vault.macKeys(tokenText.MARK_PURPOSE)
  const draft = drafting(deps)
  const refresh = refreshing(deps, draft)
  return {
    openSession: opening(deps, draft, mark),
    async clientToken(grant) {
      return issued(draft(await deps.keys.signer(), grant, deps.clock.now()))
    },
    refresh: (token, by, options) => refresh({ token, by, ...options, mark }),
    wasRefresh: (token) => tokenText.sessionOf(mark, token) !== undefined,
    async findRefresh(token) {
      const id = tokenText.sessionOf(mark, token)
      const row = id === undefined ? undefined : await store.findSession(deps.db, id)
      if (!row) return undefined
      const verdict = tokenText.judge(row, tokenText.hashOf(token), deps.clock.now(), 0)
      return {
        sessionId: row.id,
        scope: row.scope as Scope,
        customer: row.customer,
        clientId: row.client_id,
        subject: String(row.person),
        scopes: store.namesIn(row.scopes),
        createdAt: row.created_at,
        expiresAt: row.expires_at,
        live: verdict === 'rotate',
      }
    },
    ...ending(deps),
  }
}

function opening(deps: SessionDeps, draft: DraftToken, mark: MacKeys): Tokens['openSession'] {
  const { db, clock, random, lives, keys } = deps
  return async (granted) => {
    const signer = await keys.signer()
    const now = clock.now()
    const id = timeOrderedId('ses_', now, random)
    const endsAt = now + lives.absoluteMs
    const token = tokenText.newRefreshToken(mark.current, random, id)
    const token_hash = tokenText.hashOf(token)
    const access = await db.write(async (tx) => {
      const grant = typeof granted === 'function' ? await granted(tx, id) : granted
      const drafted = draft(signer, grant, now, { id, endsAt })
      await store.insertSession(tx, {
        id,
        scope: grant.scope,
        customer: grant.customer,
        person: personNo(grant.subject),
        client_id: grant.clientId,
        scopes: grant.scopes.join(' '),
        token_hash,
        created_at: now,
        expires_at: Math.min(now + lives.idleMs, endsAt),
        ends_at: endsAt,
        access_until: drafted.until,
      })
      return drafted
    })
    return { ...issued(access), refresh_token: token }
  }
}

type Endings = 'revokeSession' | 'revokeSubject' | 'revokeSubjectAtClient' | 'revokeClient'

function ending({ clock, revocations }: SessionDeps): Pick<Sessions, Endings> {
  const announce = async (tx: Tx, ended: readonly { id: string; access_until: number }[]) => {
    for (const { id, access_until } of ended) {
      await revocations.announce(tx, 'session', id, access_until)
    }
    return ended.length
  }

  return {
    async revokeSession(tx, id) {
      return (await announce(tx, await store.endSession(tx, id))) > 0
    },
    async revokeSubject(tx, scope, subject, except) {
      return announce(tx, await store.endSessionsOf(tx, scope, personNo(subject), { except }))
    },
    async revokeSubjectAtClient(tx, scope, subject, clientId) {
      return announce(tx, await store.endSessionsOf(tx, scope, personNo(subject), { clientId }))
    },
    async revokeClient(tx, scope, clientId) {
      await store.dropSessionsOfClient(tx, scope, clientId)
      await revocations.announce(tx, 'client', clientId, clock.now() + MAX_ACCESS_MS)
    },
  }
}

/** Sessions are persons': their subject is the id of a row. */
function personNo(subject: string): number {
  const no = Number(subject)
  if (!Number.isSafeInteger(no)) throw new Error(`bug: ${subject} is not a person`)
  return no
}
