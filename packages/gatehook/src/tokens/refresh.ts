/**
 * The next tokens of a session (§4.2): one transaction, which also commits what is noted about a
 * token that is refused. What a presented token means is `refresh-token.ts`.
 */
import { type Actor, type AuditSigner, recordAudit } from '../audit/store.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import { modeOf, type Scope } from '../kernel/principal.ts'
import type { Random } from '../kernel/random.ts'
import type { MacKeys } from '../kernel/secret.ts'
import type { Database, Tx } from '../storage/database.ts'
import {
  ENGINE,
  type Grant,
  type Issued,
  LOGIN_CLIENT,
  type TokenLookup,
  type Tokens,
} from './grant.ts'
import { type Draft, type DraftToken, issued, type Lives } from './issue.ts'
import * as tokenText from './refresh-token.ts'
import type { Revocations } from './revocations.ts'
import type { KeyRing } from './signing-keys.ts'
import * as store from './store.ts'

export interface RefreshDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly trail: AuditSigner
  readonly keys: Pick<KeyRing, 'signer'>
  readonly revocations: Pick<Revocations, 'announce'>
  readonly lookup: Pick<TokenLookup, 'person' | 'client'>
  readonly record: RecordEvent
  readonly lives: Lives
}

interface Presented {
  readonly token: string
  readonly by: Parameters<Tokens['refresh']>[1]
  readonly scopes?: readonly string[] | undefined
  readonly from?: Actor | undefined
  readonly mark: MacKeys
}

/** What the transaction settles for: an access token to be signed, a refresh token to be told. */
interface Settled {
  readonly access: Draft
  readonly refresh_token: string
}

export function refreshing(deps: RefreshDeps, draft: DraftToken) {
  const { db, clock, random, lives, keys } = deps

  return async (presented: Presented): Promise<Issued & { readonly refresh_token: string }> => {
    const { token, mark } = presented
    const id = tokenText.sessionOf(mark, token)
    if (id === undefined) throw new Failure('invalid_grant')
    const hash = tokenText.hashOf(token)
    const successor = tokenText.newRefreshToken(mark.current, random, id)
    const next = {
      id,
      presented: hash,
      next: tokenText.hashOf(successor),
      successor: lives.graceMs > 0 ? tokenText.sealSuccessor(token, id, successor, random) : null,
    }
    const signer = await keys.signer()
    const now = clock.now()
    const until = { expiresAt: now + lives.idleMs, accessUntil: now + lives.accessMs }
    const drafted = async (tx: Tx, row: store.Granting, refresh_token: string) => {
      const grant = await grantOf(deps, tx, row, presented)
      const session = { id, endsAt: row.ends_at }
      return { access: draft(signer, grant, now, session), refresh_token }
    }
    // One statement decides. What it has done is undone where nothing can be granted after all.
    const settled = await db.write(async (tx): Promise<Settled | undefined> => {
      const rotated = await store.rotateSession(tx, { ...next, now, ...until })
      if (rotated) return drafted(tx, rotated, successor)
      const row = await store.lockSession(tx, id)
      if (!row) return undefined
      const again = await drafted(tx, row, '')
      const known = await unrotated(tx, deps, row, { token, hash, now, from: presented.from })
      if (known === undefined) return undefined
      await store.extendAccess(tx, id, again.access.until)
      return { ...again, refresh_token: known }
    })
    if (!settled) throw new Failure('invalid_grant')
    return { ...issued(settled.access), refresh_token: settled.refresh_token }
  }
}

interface Again extends Pick<Presented, 'token' | 'from'> {
  readonly hash: Buffer
  readonly now: number
}

/**
 * A token that is not, or no more, the current one of its session: its successor, where that may be
 * told again. Undefined: nothing is given, and what was noted about it has to commit.
 */
async function unrotated(
  tx: Tx,
  deps: RefreshDeps,
  row: store.SessionRow,
  { token, hash, now, from }: Again,
): Promise<string | undefined> {
  const verdict = tokenText.judge(row, hash, now, deps.lives.graceMs)
  if (verdict === 'grace' && row.successor) {
    return tokenText.openSuccessor(token, row.id, row.successor, deps.random)
  }
  if (verdict !== 'expired') await refused(tx, deps, row, verdict === 'reuse', from)
  return undefined
}

/**
 * A token that was replaced came again: a thief or its owner holds an old one, so everything that
 * grew from it ends; or, right after, only two requests at once (§4.2).
 */
async function refused(
  tx: Tx,
  deps: RefreshDeps,
  row: store.SessionRow,
  reuse: boolean,
  actor: Actor = ENGINE,
): Promise<void> {
  const { id, client_id, customer, scope } = row
  const subject = String(row.person)
  const action = reuse ? 'token.reuse_detected' : 'token.refresh_race'
  const detail = { client_id, subject, customer, mode: modeOf(scope as Scope) }
  await recordAudit(tx, { actor, action, target: id, detail }, deps)
  if (!reuse) return
  for (const ended of await store.endSession(tx, id)) {
    await deps.revocations.announce(tx, 'session', id, ended.access_until)
  }
  const object = JSON.stringify({ session_id: id, client_id, subject, revoked: true })
  const event = { type: 'token.reuse_detected', collection: undefined, objectId: undefined, object }
  await deps.record(tx, scope as Scope, event)
}

/** What the next access token says: what was granted, as far as person and client still have it. */
async function grantOf(
  { lookup }: RefreshDeps,
  tx: Tx,
  row: store.Granting,
  { by, scopes: asked }: Pick<Presented, 'by' | 'scopes'>,
): Promise<Grant> {
  const { client_id: clientId, customer } = row
  const subject = String(row.person)
  const scope = row.scope as Scope
  if (by && by.clientId !== clientId) throw new Failure('invalid_grant')
  const client = clientId === LOGIN_CLIENT ? undefined : await lookup.client(clientId, tx)
  if (!client && clientId !== LOGIN_CLIENT) throw new Failure('invalid_grant')
  if (client?.requireAuthOnRefresh && !by?.authenticated) throw new Failure('invalid_client')
  const person = await lookup.person(tx, scope, subject)
  if (!person) throw new Failure('invalid_grant')
  if (person.suspended) throw new Failure('customer_suspended')
  // What a person may do at the API itself is theirs whenever it changes; a client has what it got.
  const names = store.namesIn(row.scopes)
  const granted = client ? names.filter(both(person, client)) : person.scopes
  if (asked && !asked.every((name) => names.includes(name))) throw new Failure('invalid_scope')
  const scopes = asked ? granted.filter((name) => asked.includes(name)) : granted
  return { scope, customer, mode: modeOf(scope), clientId, subject, scopes, claims: person.claims }
}

type Holder = { readonly scopes: readonly string[] }

const both = (person: Holder, client: Holder) => (name: string) =>
  person.scopes.includes(name) && client.scopes.includes(name)
