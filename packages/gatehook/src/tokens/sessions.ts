/**
 * Sessions: opened, refreshed, ended (§4.2). Each is one transaction; tokens are made before it, and
 * good only if it commits. What a presented token means is `refresh-token.ts`.
 */
import { recordAudit } from '../audit/store.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import { timeOrderedId } from '../kernel/id.ts'
import { modeOf, type Scope } from '../kernel/principal.ts'
import type { Random } from '../kernel/random.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Database, Tx } from '../storage/database.ts'
import { allowedClaims, signToken } from './access-token.ts'
import { type Grant, type Issued, LOGIN_CLIENT, type TokenLookup, type Tokens } from './grant.ts'
import * as tokenText from './refresh-token.ts'
import type { Revocations } from './revocations.ts'
import type { KeyRing } from './signing-keys.ts'
import * as store from './store.ts'

/** Lives in milliseconds. */
export interface Lives {
  readonly accessMs: number
  /** While nobody refreshes. */
  readonly idleMs: number
  readonly absoluteMs: number
  /** `GATEHOOK_REFRESH_GRACE_S`. */
  readonly graceMs: number
}

export interface SessionDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly vault: Vault
  readonly keys: Pick<KeyRing, 'signer'>
  readonly revocations: Pick<Revocations, 'announce'>
  readonly lookup: TokenLookup
  readonly customer: TokenLookup['customer']
  readonly record: RecordEvent
  readonly lives: Lives
  readonly issuer: () => string
  readonly audience: () => string
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

const ACTOR = { kind: 'system', id: 'tokens' } as const
const MAX_ACCESS_MS = 86_400_000

export function createSessions(deps: SessionDeps): Sessions {
  const { db, clock, random, vault, lives, revocations } = deps
  const mark = vault.key('refresh token')
  const issue = issuing(deps)
  const refresh = refreshing(deps, issue)

  const announce = async (tx: Tx, ended: readonly { id: string; access_until: number }[]) => {
    for (const { id, access_until } of ended) {
      await revocations.announce(tx, 'session', id, access_until)
    }
    return ended.length
  }

  return {
    async openSession(grant, consume) {
      const now = clock.now()
      const id = timeOrderedId('ses_', now, random)
      const endsAt = now + lives.absoluteMs
      const access = await issue(grant, now, { id, endsAt })
      const token = tokenText.newRefreshToken(mark, random, id)
      const row: store.NewSession = {
        id,
        scope: grant.scope,
        customer: grant.customer,
        person: personNo(grant.subject),
        client_id: grant.clientId,
        scopes: grant.scopes.join(' '),
        token_hash: tokenText.hashOf(token),
        created_at: now,
        expires_at: Math.min(now + lives.idleMs, endsAt),
        ends_at: endsAt,
        access_until: access.until,
      }
      await db.write(async (tx) => {
        if (consume) await consume(tx, id)
        await store.insertSession(tx, row)
      })
      return { ...access.issued, refresh_token: token }
    },
    async clientToken(grant) {
      return (await issue(grant, clock.now())).issued
    },
    refresh: (token, by, scopes) => refresh({ token, by, scopes, mark }),
    wasRefresh: (token) => tokenText.sessionOf(mark, token) !== undefined,
    async findRefresh(token) {
      const id = tokenText.sessionOf(mark, token)
      const row = id === undefined ? undefined : await store.findSession(db, id)
      if (!row) return undefined
      const verdict = tokenText.judge(row, tokenText.hashOf(token), clock.now(), 0)
      return {
        sessionId: row.id,
        scope: row.scope as Scope,
        customer: row.customer,
        clientId: row.client_id,
        subject: String(row.person),
        scopes: namesIn(row.scopes),
        createdAt: row.created_at,
        expiresAt: row.expires_at,
        live: verdict === 'rotate',
      }
    },
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

/** Makes an access token; `until`: when it is no good any more. */
type Issue = (
  grant: Grant,
  now: number,
  session?: { readonly id: string; readonly endsAt: number },
) => Promise<{ readonly issued: Issued; readonly until: number }>

function issuing({ random, keys, lives, issuer, audience }: SessionDeps): Issue {
  return async (grant, now, session) => {
    const { header, privateKey } = await keys.signer()
    const iat = Math.floor(now / 1000)
    // No access token outlives its session.
    const longest = iat + lives.accessMs / 1000
    const exp = session ? Math.min(longest, Math.ceil(session.endsAt / 1000)) : longest
    const scope = grant.scopes.join(' ')
    const claims = {
      iss: issuer(),
      sub: grant.subject,
      aud: audience(),
      exp,
      iat,
      jti: timeOrderedId('tok_', now, random),
      client_id: grant.clientId,
      scope,
      ...(session && { sid: session.id }),
      customer: grant.customer,
      mode: grant.mode,
      ...allowedClaims(grant.claims),
    }
    const access_token = signToken(claims, header, privateKey)
    const issued: Issued = { access_token, token_type: 'Bearer', expires_in: exp - iat, scope }
    return { issued, until: exp * 1000 }
  }
}

interface Presented {
  readonly token: string
  readonly by: Parameters<Tokens['refresh']>[1]
  readonly scopes: readonly string[] | undefined
  readonly mark: Parameters<typeof tokenText.newRefreshToken>[0]
}

type Refreshed = Issued & { readonly refresh_token: string }

function refreshing(deps: SessionDeps, issue: Issue) {
  const { db, clock, random, lives } = deps

  /** Undefined: nothing is given, and what was noted about it has committed. */
  const settle = async (
    tx: Tx,
    id: string,
    offer: { token: string; successor: string; access: Awaited<ReturnType<Issue>> },
  ): Promise<Refreshed | undefined> => {
    const { token, successor, access } = offer
    const row = await store.lockSession(tx, id)
    if (!row) return undefined
    const now = clock.now()
    const hash = tokenText.hashOf(token)
    const verdict = tokenText.judge(row, hash, now, lives.graceMs)
    if (verdict === 'expired') return undefined
    if (verdict === 'grace' && row.successor) {
      await store.extendAccess(tx, id, access.until)
      const again = tokenText.openSuccessor(token, row.successor, random)
      return { ...access.issued, refresh_token: again }
    }
    if (verdict !== 'rotate') {
      await refused(tx, deps, row, verdict === 'reuse')
      return undefined
    }
    const rotated = await store.rotateSession(tx, {
      id,
      presented: hash,
      next: tokenText.hashOf(successor),
      successor: lives.graceMs > 0 ? tokenText.sealSuccessor(token, successor, random) : null,
      now,
      expiresAt: Math.min(now + lives.idleMs, row.ends_at),
      accessUntil: access.until,
    })
    return rotated ? { ...access.issued, refresh_token: successor } : undefined
  }

  return async ({ token, by, scopes, mark }: Presented): Promise<Refreshed> => {
    const id = tokenText.sessionOf(mark, token)
    const row = id === undefined ? undefined : await store.findSession(db, id)
    if (!row) throw new Failure('invalid_grant')
    const grant = await grantOf(deps, row, { by, scopes })
    const access = await issue(grant, clock.now(), { id: row.id, endsAt: row.ends_at })
    const successor = tokenText.newRefreshToken(mark, random, row.id)
    const given = await db.write((tx) => settle(tx, row.id, { token, successor, access }))
    if (!given) throw new Failure('invalid_grant')
    return given
  }
}

/**
 * A token that was replaced came again: a thief or its owner holds an old one, so everything that
 * grew from it ends; or, right after, only two requests at once (§4.2).
 */
async function refused(
  tx: Tx,
  { clock, random, record, revocations }: SessionDeps,
  row: store.SessionRow,
  reuse: boolean,
): Promise<void> {
  const { id, client_id, customer, scope } = row
  const subject = String(row.person)
  const action = reuse ? 'token.reuse_detected' : 'token.refresh_race'
  const detail = { client_id, subject, customer, mode: modeOf(scope as Scope) }
  await recordAudit(tx, { actor: ACTOR, action, target: id, detail }, { clock, random })
  if (!reuse) return
  for (const ended of await store.endSession(tx, id)) {
    await revocations.announce(tx, 'session', id, ended.access_until)
  }
  const object = JSON.stringify({ session_id: id, client_id, subject, revoked: true })
  const event = { type: 'token.reuse_detected', collection: undefined, objectId: undefined, object }
  await record(tx, scope as Scope, event)
}

/** What the next access token says: what was granted, as far as person and client still have it. */
async function grantOf(
  { lookup, customer }: SessionDeps,
  row: store.SessionRow,
  { by, scopes: asked }: Pick<Presented, 'by' | 'scopes'>,
): Promise<Grant> {
  const subject = String(row.person)
  const scope = row.scope as Scope
  if (by && by.clientId !== row.client_id) throw new Failure('invalid_grant')
  const client = row.client_id === LOGIN_CLIENT ? undefined : await lookup.client(row.client_id)
  if (!client && row.client_id !== LOGIN_CLIENT) throw new Failure('invalid_grant')
  if (client?.requireAuthOnRefresh && !by?.authenticated) throw new Failure('invalid_client')
  const person = await lookup.person(scope, subject)
  if (!person) throw new Failure('invalid_grant')
  if ((await customer(row.customer))?.suspended) throw new Failure('customer_suspended')
  // What a person may do at the API itself is theirs whenever it changes; a client has what it got.
  const granted = client ? namesIn(row.scopes).filter(both(person, client)) : person.scopes
  if (asked && !asked.every((name) => namesIn(row.scopes).includes(name))) {
    throw new Failure('invalid_scope')
  }
  return {
    scope,
    customer: row.customer,
    mode: modeOf(scope),
    clientId: row.client_id,
    subject,
    scopes: asked ? granted.filter((name) => asked.includes(name)) : granted,
    claims: person.claims,
  }
}

type Holder = { readonly scopes: readonly string[] }

const both = (person: Holder, client: Holder) => (name: string) =>
  person.scopes.includes(name) && client.scopes.includes(name)

const namesIn = (scopes: string): string[] => scopes.split(' ').filter(Boolean)

/** Sessions are persons': their subject is the id of a row. */
function personNo(subject: string): number {
  const no = Number(subject)
  if (!Number.isSafeInteger(no)) throw new Error(`bug: ${subject} is not a person`)
  return no
}
