/**
 * The next tokens of a session (§4.2): one transaction, which also commits what is noted about a
 * token that is refused. What a presented token means is `refresh-token.ts`.
 */
import { recordAudit } from '../audit/store.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import { modeOf, type Scope } from '../kernel/principal.ts'
import type { Random } from '../kernel/random.ts'
import type { Database, Tx } from '../storage/database.ts'
import { type Grant, type Issued, LOGIN_CLIENT, type TokenLookup, type Tokens } from './grant.ts'
import type { Issue, Lives } from './issue.ts'
import * as tokenText from './refresh-token.ts'
import type { Revocations } from './revocations.ts'
import * as store from './store.ts'

export interface RefreshDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly revocations: Pick<Revocations, 'announce'>
  readonly lookup: TokenLookup
  readonly customer: TokenLookup['customer']
  readonly record: RecordEvent
  readonly lives: Lives
}

const ACTOR = { kind: 'system', id: 'tokens' } as const

interface Presented {
  readonly token: string
  readonly by: Parameters<Tokens['refresh']>[1]
  readonly scopes: readonly string[] | undefined
  readonly mark: Parameters<typeof tokenText.newRefreshToken>[0]
}

type Refreshed = Issued & { readonly refresh_token: string }

export function refreshing(deps: RefreshDeps, issue: Issue) {
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
  { clock, random, record, revocations }: RefreshDeps,
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
  { lookup, customer }: RefreshDeps,
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
  const granted = client ? store.namesIn(row.scopes).filter(both(person, client)) : person.scopes
  if (asked && !asked.every((name) => store.namesIn(row.scopes).includes(name))) {
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
