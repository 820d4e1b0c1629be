/**
 * Operations on registrations (§9.1, §9.2, §9.4): create, read, change, delete, rotate the secret.
 * The server verifies receivers before the transaction, never in it.
 */

import { type AuditContext, actorOf, recordAudit } from '../../history/audit/store.ts'
import type { StoredObjects } from '../../history/events/stored-objects.ts'
import { lockCustomerOf } from '../../identity/access/customer-reader.ts'
import { overlapMs } from '../../identity/access/secret-store.ts'
import { Failure } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import { DecryptionError, type Vault } from '../../kernel/secret.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Database, Reader, Tx } from '../../platform/storage/database.ts'
import type { ValuesOf } from '../../protocol/fields/members.ts'
import { type Answer, type Call, json, noContent } from '../../protocol/http/call.ts'
import { entityTag, requireMatch } from '../../protocol/http/conditional.ts'
import type { Perform } from '../../protocol/idempotency/perform.ts'
import { newTag, saveTopics } from '../deliveries/outbox.ts'
import type { Registration } from '../deliveries/registration-store.ts'
import * as store from '../deliveries/registration-store.ts'
import type { SigningSecret } from '../deliveries/signature.ts'
import { decryptSigningSecret, newSigningSecret } from '../deliveries/signing-secret.ts'
import type { WakeDeliveries } from '../deliveries/wake-up.ts'
import {
  type Authority,
  type Maker,
  makerOf,
  requireReadable,
  requireReadableRegistration,
  unreadableWarnings,
} from './authority.ts'
import { type DirectPostDeps, verifyReceiver } from './direct-post.ts'
import { CREATOR_REMOVED } from './makers.ts'
import type { PostLimits } from './post-limits.ts'
import {
  eventsOf,
  MAX_REGISTRATIONS,
  type RegistrationInputs,
  type RegistrationRules,
  registrationItem,
  type WebhookEventTypes,
} from './registration.ts'
import { findReplay } from './replay-store.ts'

/** The dependencies that the operations of this module share. */
export interface WebhookContext
  extends DirectPostDeps,
    Omit<RegistrationRules, 'eventTypes'>,
    Authority,
    AuditContext {
  readonly types: WebhookEventTypes
  readonly db: Database
  readonly vault: Vault
  readonly perform: Perform
  /** The newest version: the default pin of a registration. */
  readonly newest: string
  readonly limits: PostLimits
  readonly objects: StoredObjects
  /** Called after the commit with registrations, by number, that changed. */
  readonly wake: WakeDeliveries
}

/** Live secrets of one registration beside the newest (§9.4). */
const OLD_SECRETS_MAX = 2

type AuditDetail = Readonly<Record<string, unknown>>

export function recordOperation(
  context: AuditContext,
  tx: Tx,
  call: Call,
  {
    action,
    id,
    detail,
  }: { readonly action: string; readonly id: string; readonly detail?: AuditDetail },
): Promise<string> {
  const entry = { actor: actorOf(call), action: `webhook.${action}`, target: id }
  return recordAudit(tx, { ...entry, ...(detail && { detail }) }, context)
}

/** Returns the host for the audit trail: the path of a URL may contain a secret. */
const hostOf = (url: string): string => new URL(url).host

/** Returns the registration in the path. Throws 404. */
export async function registrationAt(
  context: Pick<WebhookContext, 'db'>,
  call: Call,
  find: (id: string) => Promise<Registration | undefined> = (id) =>
    store.findRegistration(context.db, call.principal!.scope, id),
): Promise<Registration> {
  const row = await find(call.params.id!)
  if (!row || row.deleted_at !== null) throw new Failure('not_found')
  return row
}

/** Returns the registration in the path, locked by the transaction. Throws 404. */
export const lockRegistrationAt = (
  context: Pick<WebhookContext, 'db'>,
  call: Call,
  tx: Tx,
): Promise<Registration> =>
  registrationAt(context, call, (id) => store.lockRegistration(tx, call.principal!.scope, id))

/** Returns the JSON text of a registration with the progress of its newest replay (§9.14). */
export async function registrationText(from: Reader, row: Registration): Promise<string> {
  const replay = await findReplay(from, { scope: row.scope, webhook_no: row.no })
  const progress = replay && {
    kind: replay.kind,
    state: replay.outcome ?? 'running',
    count: replay.count,
    done: replay.done,
    since: isoTime(replay.since),
    started_at: isoTime(replay.started_at),
    ended_at: replay.ended_at === null ? null : isoTime(replay.ended_at),
  }
  return JSON.stringify({ ...JSON.parse(registrationItem(row)), replay: progress ?? null })
}

/** Returns the response with the registration and its new secret, which must not be cached. */
async function responseWithSecret(
  from: Reader,
  status: number,
  row: Registration,
  secret: string,
): Promise<Answer> {
  const body = { ...JSON.parse(await registrationText(from, row)), secret }
  return { ...json(status, body, { 'cache-control': 'no-store' }), secret: true }
}

/** Throws 412 if `If-Match` names another representation. */
async function requireMatchingTag(call: Call, from: Reader, row: Registration): Promise<void> {
  if (call.headers['if-match'] === undefined) return
  const text = await registrationText(from, row)
  requireMatch(call, () => text)
}

/**
 * Reads and decrypts the live secrets of a registration, oldest first. Throws 409 `invalid_state`
 * if one cannot be decrypted: its row was changed, or this node lacks its master secret.
 */
export async function readLiveSecrets(
  { clock, vault }: Pick<WebhookContext, 'clock' | 'vault'>,
  from: Reader,
  place: store.RegistrationPlace,
): Promise<SigningSecret[]> {
  const rows = await store.liveSecrets(from, place, clock.now())
  try {
    return rows.map(({ no, encrypted }) => decryptSigningSecret(vault, no, encrypted))
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error
    const reason = 'A signing secret of this registration cannot be decrypted.'
    const remedy = 'Rotate the secret with {"overlap_seconds": 0}.'
    throw new Failure('invalid_state', `${reason} ${remedy}`, { detail: error.message })
  }
}

const saveTopicsOf = (tx: Tx, row: Registration) =>
  saveTopics(tx, { ...row, events: eventsOf(row) })

/**
 * Creates a registration; the response contains its `secret`. Throws 403 for a type that the
 * caller may not read, 409 `limit_reached`, 422 if the receiver cannot be verified, 429.
 */
export function createRegistration(
  context: WebhookContext,
  call: Call,
  input: ValuesOf<RegistrationInputs['creation']>,
): Promise<Answer> {
  const { clock, random, vault, perform } = context
  const principal = call.principal!
  requireReadable(context, principal, input.events)
  warnOfUnreadable(context, call, input.events)
  const { scope } = principal
  const secret = newSigningSecret(random)
  const id = createTimeOrderedId('wh_', clock.now(), random)
  const verify = async () => {
    await requireCapacity(context.db, call)
    const receiver = { scope, url: input.url, secrets: [{ value: secret }] }
    await verifyReceiver(context, receiver, id, () => context.limits.countRegistration(principal))
  }
  const create = async (tx: Tx): Promise<Answer> => {
    const now = clock.now()
    // The rows of the caller are locked first, in the order of their changes.
    const maker = await makerOf(context, tx, principal, input.events)
    await lockCustomerOf(tx, scope)
    await requireCapacity(tx, call)
    let tag = newTag(random)
    while (await store.isTagUsed(tx, scope, tag)) tag = newTag(random)
    const newRow = {
      id,
      tag,
      scope,
      url: input.url,
      events: JSON.stringify(input.events),
      description: input.description ?? null,
      api_version: input.api_version ?? context.newest,
      ...maker,
    }
    const row = await store.insertRegistration(tx, newRow, now)
    await store.addSecret(tx, vault, row, secret, now)
    await saveTopicsOf(tx, row)
    const detail = { host: hostOf(row.url), events: input.events }
    await recordOperation(context, tx, call, { action: 'create', id, detail })
    const answer = await responseWithSecret(tx, 201, row, secret)
    return { ...answer, headers: { ...answer.headers, location: `/webhooks/${id}` } }
  }
  return perform(call, create, { prepare: verify })
}

/**
 * Adds the warning of types that the caller, as the creator, does not receive. It precedes the
 * transaction, so that an idempotent replay of the response has it as well.
 */
function warnOfUnreadable(
  { types }: Pick<Authority, 'types'>,
  call: Call,
  patterns: readonly string[],
): void {
  call.warnings.push(...unreadableWarnings({ types }, call.principal!, patterns))
}

/** Throws 409 `limit_reached` if the customer has the maximum number of registrations. */
async function requireCapacity(from: Reader, { principal }: Call): Promise<void> {
  if ((await store.countRegistrations(from, principal!.scope)) < MAX_REGISTRATIONS) return
  const most = `${MAX_REGISTRATIONS} registrations`
  throw new Failure('limit_reached', `A customer has at most ${most} per mode. Delete some first.`)
}

type RegistrationPatch = ValuesOf<RegistrationInputs['patch']>

/**
 * Changes a registration; `null` clears. The server verifies a new URL, and the present one when
 * the registration becomes active. Throws 403 if the change would send events to the caller, or
 * to a receiver of its choice, that the caller may not read.
 */
export function changeRegistration(
  context: WebhookContext,
  call: Call,
  patch: RegistrationPatch,
): Promise<Answer> {
  const { clock, perform } = context
  const principal = call.principal!
  if (patch.events) {
    requireReadable(context, principal, patch.events)
    warnOfUnreadable(context, call, patch.events)
  }
  let verifiedUrl: string | undefined
  const verify = async () => {
    const row = await registrationAt(context, call)
    await requireMatchingTag(call, context.db, row)
    requireAuthority(context, call, row, patch)
    const url = patch.url ?? row.url
    if (url === row.url && !(patch.active && row.active === 0)) return
    const secrets = await readLiveSecrets(context, context.db, row)
    const receiver = { scope: row.scope, url, secrets }
    const count = () => context.limits.countVerification(principal)
    await verifyReceiver(context, receiver, row.id, count)
    verifiedUrl = url
  }
  const apply = async (tx: Tx): Promise<Answer> => {
    // The person or client is locked before the registration, in the order of every other change.
    const needsMaker = patch.events || patch.active || patch.url !== undefined
    const maker = needsMaker ? await makerOf(context, tx, principal, []) : undefined
    const row = await lockRegistrationAt(context, call, tx)
    await requireMatchingTag(call, tx, row)
    requireAuthority(context, call, row, patch)
    const url = patch.url ?? row.url
    const becomesActive = (patch.active ?? row.active === 1) && row.active === 0
    const needsVerification = becomesActive || url !== row.url
    if (needsVerification && url !== verifiedUrl) {
      throw new Failure('conflict', 'Another request changed the registration meanwhile.')
    }
    if (!patch.events && takesOver(row, patch)) warnOfUnreadable(context, call, eventsOf(row))
    const now = clock.now()
    const patchedRow = applyPatch(context, row, patch, maker)
    const updatedRow = await store.updateRegistration(tx, patchedRow, now)
    if (needsVerification) await store.clearFailures(tx, row, now)
    await saveTopicsOf(tx, updatedRow)
    const { url: newUrl, ...others } = patch
    const detail = { ...(newUrl !== undefined && { host: hostOf(newUrl) }), ...others }
    await recordOperation(context, tx, call, { action: 'update', id: row.id, detail })
    tx.afterCommit(() => context.wake([row.no]))
    const text = await registrationText(tx, updatedRow)
    return { status: 200, json: text, headers: { etag: entityTag(text) } }
  }
  return perform(call, apply, { prepare: verify })
}

/** Activating a registration whose maker was removed makes the caller its maker (§9.14). */
const takesOver = ({ disabled_reason }: Registration, { active }: RegistrationPatch): boolean =>
  active === true && disabled_reason === CREATOR_REMOVED

/** Throws 403 if the caller may not read the events that a new URL or a new maker would receive. */
function requireAuthority(
  context: WebhookContext,
  call: Call,
  row: Registration,
  patch: RegistrationPatch,
): void {
  const principal = call.principal!
  if (patch.url !== undefined && patch.url !== row.url) {
    requireReadableRegistration(context, principal, row)
  }
  if (!takesOver(row, patch)) return
  if (principal.kind === 'person') {
    const reason = 'Its creator was removed: only a key or a client of the customer activates it.'
    throw new Failure('forbidden', reason)
  }
  requireReadable(context, principal, patch.events ?? eventsOf(row))
}

function applyPatch(
  context: WebhookContext,
  row: Registration,
  patch: RegistrationPatch,
  maker: Maker | undefined,
): Registration {
  const { url, description, api_version, active } = patch
  const events = patch.events && JSON.stringify(patch.events)
  // The authority is that of the caller that chose the receiver and the events (§9.14).
  const hasNewReceiver = url !== undefined && url !== row.url
  const hasNewEvents = events !== undefined && events !== row.events
  const becomesMaker = takesOver(row, patch) || hasNewReceiver || hasNewEvents
  return {
    ...row,
    ...(url !== undefined && { url }),
    ...(events !== undefined && { events }),
    ...(description !== undefined && { description }),
    ...(api_version !== undefined && { api_version: api_version ?? context.newest }),
    // A request without a change of `active` retains `creator_removed` until a takeover.
    ...(active !== undefined &&
      active !== (row.active === 1) && { active: active ? 1 : 0, disabled_reason: null }),
    ...(becomesMaker && maker),
  }
}

/** Deletes a registration. Its row remains until retention has purged its log. */
export function deleteRegistration(context: WebhookContext, call: Call): Promise<Answer> {
  return context.perform(call, async (tx) => {
    const row = await lockRegistrationAt(context, call, tx)
    await requireMatchingTag(call, tx, row)
    await store.markDeleted(tx, row, context.clock.now())
    await store.dropSecrets(tx, row)
    await saveTopicsOf(tx, { ...row, events: '[]' })
    const detail = { host: hostOf(row.url) }
    await recordOperation(context, tx, call, { action: 'delete', id: row.id, detail })
    tx.afterCommit(() => context.wake([row.no]))
    return noContent()
  })
}

/**
 * Rotates the secret and returns the registration with its new
 * `secret`; the older secrets sign too until the overlap ends. Throws 403 if the caller may not
 * read the registration's events, 409 `rotation_in_progress` while two older secrets are live,
 * unless `force` drops the oldest.
 */
export function rotateSecret(
  context: WebhookContext,
  call: Call,
  input: ValuesOf<RegistrationInputs['rotation']>,
): Promise<Answer> {
  const { clock, random, vault, perform } = context
  const secret = newSigningSecret(random)
  return perform(call, async (tx) => {
    const now = clock.now()
    const row = await lockRegistrationAt(context, call, tx)
    requireReadableRegistration(context, call.principal!, row)
    await store.expireSecrets(tx, row, now + overlapMs(input), now)
    const [oldest, ...others] = await store.liveSecrets(tx, row, now)
    if (oldest && others.length >= OLD_SECRETS_MAX) {
      if (!input.force) throw new Failure('rotation_in_progress')
      await store.dropSecret(tx, row.scope, oldest.no)
    }
    await store.addSecret(tx, vault, row, secret, now)
    await store.markChanged(tx, row, now)
    const detail = { overlap_seconds: overlapMs(input) / 1000, force: input.force ?? false }
    await recordOperation(context, tx, call, { action: 'rotate_secret', id: row.id, detail })
    tx.afterCommit(() => context.wake([row.no]))
    const updatedRow = await store.lockRegistration(tx, row.scope, row.id)
    return responseWithSecret(tx, 200, updatedRow!, secret)
  })
}
