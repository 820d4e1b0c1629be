/**
 * What is done to registrations (§9.1, §9.2, §9.4): made, changed, deleted, their secrets rotated.
 * Receivers are verified before the transaction, never in it.
 */
import { DEFAULT_OVERLAP_S } from '../access/secret-store.ts'
import { type AuditContext, actorOf, recordAudit } from '../audit/store.ts'
import { newTag, saveTopics } from '../deliveries/outbox.ts'
import type { SigningSecret } from '../deliveries/signature.ts'
import { decryptSigningSecret, newSigningSecret } from '../deliveries/signing-secret.ts'
import type { Answer, Call } from '../http/call.ts'
import { json, noContent } from '../http/call.ts'
import { entityTag, requireMatch } from '../http/conditional.ts'
import type { Perform } from '../idempotency/perform.ts'
import { Failure } from '../kernel/failure.ts'
import { createTimeOrderedId } from '../kernel/id.ts'
import { readMembers } from '../kernel/members.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Database, Reader, Tx } from '../storage/database.ts'
import {
  type Authority,
  type Maker,
  makerOf,
  refuseForeign,
  refuseUnreadable,
} from './authority.ts'
import { CREATOR_REMOVED } from './makers.ts'
import { type PostDeps, verifyReceiver } from './post.ts'
import type { PostLimits } from './post-limits.ts'
import {
  eventsOf,
  MAX_REGISTRATIONS,
  membersOf,
  type Registration,
  type Rules,
} from './registration.ts'
import * as store from './registration-store.ts'
import { registrationText } from './replay-progress.ts'

export interface Desk extends PostDeps, Rules, Authority, AuditContext {
  readonly types: Rules['types']
  readonly db: Database
  readonly vault: Vault
  readonly perform: Perform
  /** The newest version: what a registration is pinned to that names none. */
  readonly newest: string
  readonly limits: PostLimits
  /** After the commit: registrations, by number, that have something to do. */
  readonly wake: (webhookNos: readonly number[]) => void
}

/** How many secrets of one registration may be good beside the newest (§9.4). */
const OLD_SECRETS_MAX = 2

/** Responses that contain a secret are sent with `Cache-Control: no-store`. */
async function withSecret(
  from: Reader,
  status: number,
  row: Registration,
  secret: string,
): Promise<Answer> {
  const shown = { ...JSON.parse(await registrationText(from, row)), secret }
  return { ...json(status, shown, { 'cache-control': 'no-store' }), secret: true }
}

const shown = (text: string): Answer => ({
  status: 200,
  json: text,
  headers: { etag: entityTag(text) },
})

/** Records an operation on a registration in the audit trail. */
export const audit = (
  desk: AuditContext,
  tx: Tx,
  call: Call,
  what: { readonly action: string; readonly id: string; readonly detail?: Detail },
): Promise<string> => {
  const { action, id: target, detail } = what
  const act = { actor: actorOf(call), action: `webhook.${action}`, target }
  return recordAudit(tx, { ...act, ...(detail && { detail }) }, desk)
}

type Detail = Readonly<Record<string, unknown>>

/** For the audit trail: the path of a URL may contain a secret. */
const hostOf = (url: string): string => new URL(url).host

/** Creates a registration from `{url, events, description?, api_version?}`, with its `secret`. */
export function register(desk: Desk, call: Call): Promise<Answer> {
  const { clock, random, vault, perform } = desk
  const wish = readMembers(call.body, membersOf(desk).creation)
  const principal = call.principal!
  refuseUnreadable(desk, principal, wish.events)
  const { scope } = principal
  const secret = newSigningSecret(random)
  const id = createTimeOrderedId('wh_', clock.now(), random)
  const create = async (tx: Tx): Promise<Answer> => {
    const now = clock.now()
    await store.lockCustomer(tx, scope)
    const maker = await makerOf(desk, tx, principal, wish.events)
    await refuseMore(tx, call)
    let tag = newTag(random)
    while (await store.tagIsTaken(tx, scope, tag)) tag = newTag(random)
    const row = await store.insertRegistration(
      tx,
      {
        id,
        tag,
        scope,
        url: wish.url,
        events: JSON.stringify(wish.events),
        description: wish.description ?? null,
        api_version: wish.api_version ?? desk.newest,
        ...maker,
      },
      now,
    )
    await store.addSecret(tx, vault, row.no, secret, now)
    await saveAsked(tx, row)
    const detail = { host: hostOf(row.url), events: wish.events }
    await audit(desk, tx, call, { action: 'create', id, detail })
    const answer = await withSecret(tx, 201, row, secret)
    return { ...answer, headers: { ...answer.headers, location: `/webhooks/${id}` } }
  }
  return perform(call, create, async () => {
    await refuseMore(desk.db, call)
    const receiver = { scope, url: wish.url, secrets: [{ value: secret }] }
    await verifyReceiver(desk, receiver, id, () => desk.limits.registering(principal))
  })
}

async function refuseMore(from: Reader, { principal }: Call): Promise<void> {
  if ((await store.countRegistrations(from, principal!.scope)) < MAX_REGISTRATIONS) return
  const most = `${MAX_REGISTRATIONS} registrations`
  throw new Failure('limit_reached', `A customer has at most ${most} per mode. Delete some first.`)
}

/** The outbox finds a registration by its topics. */
const saveAsked = (tx: Tx, row: Registration) => {
  const { scope, no, tag, api_version: version, scopes } = row
  return saveTopics(tx, { scope, no, tag, version, scopes, events: eventsOf(row) })
}

/** The registration of the path. Throws 404. */
export async function registrationAt(
  desk: Pick<Desk, 'db'>,
  call: Call,
  find: (id: string) => Promise<Registration | undefined> = (id) =>
    store.findRegistration(desk.db, call.principal!.scope, id),
): Promise<Registration> {
  const row = await find(call.params.id!)
  if (!row || row.deleted_at !== null) throw new Failure('not_found')
  return row
}

export const lockedRegistration = (desk: Pick<Desk, 'db'>, call: Call, tx: Tx) =>
  registrationAt(desk, call, (id) => store.lockRegistration(tx, call.principal!.scope, id))

/** Throws 412 where `If-Match` names another representation. */
async function requireSame(call: Call, from: Reader, row: Registration): Promise<void> {
  if (call.headers['if-match'] === undefined) return
  const text = await registrationText(from, row)
  requireMatch(call, () => text)
}

export async function secretsOf(
  { clock, vault }: Pick<Desk, 'clock' | 'vault'>,
  from: Reader,
  webhookNo: number,
): Promise<SigningSecret[]> {
  const rows = await store.liveSecrets(from, webhookNo, clock.now())
  return rows.map(({ no, sealed }) => decryptSigningSecret(vault, no, sealed))
}

/**
 * `{url?, events?, active?, description?, api_version?}`; `null` clears. A new URL is verified, and
 * the present one where the registration is switched on again. Throws 403 where the change would
 * show the caller, or a receiver of its choice, events that it may not read.
 */
export function change(desk: Desk, call: Call): Promise<Answer> {
  const { clock, perform } = desk
  const principal = call.principal!
  const patch = readMembers(call.body, membersOf(desk).patch)
  if (patch.events) refuseUnreadable(desk, principal, patch.events)
  let verified: string | undefined
  const verify = async () => {
    const row = await registrationAt(desk, call)
    await requireSame(call, desk.db, row)
    refuseTakeover(desk, call, row, patch)
    const url = patch.url ?? row.url
    if (url === row.url && !(patch.active && row.active === 0)) return
    const receiver = { scope: row.scope, url, secrets: await secretsOf(desk, desk.db, row.no) }
    await verifyReceiver(desk, receiver, row.id, () => desk.limits.verifying(principal))
    verified = url
  }
  const apply = async (tx: Tx): Promise<Answer> => {
    // Locked before the registration, as every change of a person or a client locks them.
    const maker = patch.events || patch.active ? await makerOf(desk, tx, principal, []) : undefined
    const row = await lockedRegistration(desk, call, tx)
    await requireSame(call, tx, row)
    refuseTakeover(desk, call, row, patch)
    const url = patch.url ?? row.url
    const wakes = (patch.active ?? row.active === 1) && row.active === 0
    if ((wakes || url !== row.url) && url !== verified) {
      throw new Failure('conflict', 'Another request changed the registration meanwhile.')
    }
    const now = clock.now()
    const after = await store.updateRegistration(tx, patched(desk, row, patch, maker), now)
    if (wakes || url !== row.url) await store.forgetFailures(tx, row.no, now)
    await saveAsked(tx, after)
    await audit(desk, tx, call, { action: 'update', id: row.id, detail: changesOf(patch) })
    tx.afterCommit(() => desk.wake([row.no]))
    return shown(await registrationText(tx, after))
  }
  return perform(call, apply, verify)
}

type Patch = ReturnType<typeof readMembers<ReturnType<typeof membersOf>['patch']>>

const changesOf = ({ url, ...others }: Patch): Detail => ({
  ...(url !== undefined && { host: hostOf(url) }),
  ...others,
})

/** Switching on what its maker's end switched off makes the caller its maker (§9.14). */
const takesOver = ({ disabled_reason }: Registration, { active }: Patch): boolean =>
  active === true && disabled_reason === CREATOR_REMOVED

/** Throws 403 where the caller may not read what a new URL or a new maker would receive. */
function refuseTakeover(desk: Desk, call: Call, row: Registration, patch: Patch): void {
  const principal = call.principal!
  if (patch.url !== undefined && patch.url !== row.url) refuseForeign(desk, principal, row)
  if (!takesOver(row, patch)) return
  if (principal.kind === 'person') {
    const why = 'Its creator was removed: only a key or a client of the customer switches it on.'
    throw new Failure('forbidden', why)
  }
  refuseUnreadable(desk, principal, patch.events ?? eventsOf(row))
}

function patched(
  desk: Desk,
  row: Registration,
  patch: Patch,
  maker: Maker | undefined,
): Registration {
  const { url, description, api_version, active } = patch
  const events = patch.events && JSON.stringify(patch.events)
  const becomesMaker = takesOver(row, patch) || (events !== undefined && events !== row.events)
  return {
    ...row,
    ...(url !== undefined && { url }),
    ...(events !== undefined && { events }),
    ...(description !== undefined && { description }),
    ...(api_version !== undefined && { api_version: api_version ?? desk.newest }),
    // The reason is for what the engine did. One whose maker is gone keeps it until a takeover.
    ...(active !== undefined &&
      active !== (row.active === 1) && { active: active ? 1 : 0, disabled_reason: null }),
    ...(becomesMaker && maker),
  }
}

/** Its pending deliveries end as failed; the row stays until its log is purged. */
export function remove(desk: Desk, call: Call): Promise<Answer> {
  return desk.perform(call, async (tx) => {
    const row = await lockedRegistration(desk, call, tx)
    await requireSame(call, tx, row)
    await store.markDeleted(tx, row.no, desk.clock.now())
    await store.dropSecrets(tx, row.no)
    await saveAsked(tx, { ...row, events: '[]' })
    const detail = { host: hostOf(row.url) }
    await audit(desk, tx, call, { action: 'delete', id: row.id, detail })
    tx.afterCommit(() => desk.wake([row.no]))
    return noContent()
  })
}

/**
 * `{overlap_seconds?, force?}` → the registration with its new `secret`; the older ones sign too
 * until the overlap ends. Throws 403 where the caller may not read what it receives, 409
 * `rotation_in_progress` while two older ones are live, unless `force` drops the oldest.
 */
export function rotateSecret(desk: Desk, call: Call): Promise<Answer> {
  const { clock, random, vault, perform } = desk
  const wish = readMembers(call.body ?? {}, membersOf(desk).rotation)
  const overlapMs = (wish.overlap_seconds ?? DEFAULT_OVERLAP_S) * 1000
  const secret = newSigningSecret(random)
  return perform(call, async (tx) => {
    const now = clock.now()
    const row = await lockedRegistration(desk, call, tx)
    refuseForeign(desk, call.principal!, row)
    await store.retireSecrets(tx, row.no, now + overlapMs, now)
    const [oldest, ...others] = await store.liveSecrets(tx, row.no, now)
    if (oldest && others.length >= OLD_SECRETS_MAX) {
      if (!wish.force) throw new Failure('rotation_in_progress')
      await store.dropSecret(tx, oldest.no)
    }
    await store.addSecret(tx, vault, row.no, secret, now)
    await store.touchRegistration(tx, row.no, now)
    const detail = { overlap_seconds: overlapMs / 1000, force: wish.force ?? false }
    await audit(desk, tx, call, { action: 'rotate_secret', id: row.id, detail })
    tx.afterCommit(() => desk.wake([row.no]))
    const after = await store.lockRegistration(tx, row.scope, row.id)
    return withSecret(tx, 200, after!, secret)
  })
}
