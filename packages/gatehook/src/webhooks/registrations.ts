/**
 * What is done to registrations (§9.1, §9.2, §9.4): made, changed, deleted, their secrets rotated.
 * Receivers are verified before the transaction, never in it.
 */
import { DEFAULT_OVERLAP_S } from '../access/granting.ts'
import { newTag } from '../deliveries/outbox.ts'
import { newSecret, openSecret } from '../deliveries/secret.ts'
import type { SigningSecret } from '../deliveries/signature.ts'
import { saveTopics } from '../deliveries/topics.ts'
import type { Answer, Call } from '../http/call.ts'
import { json, noContent } from '../http/call.ts'
import { entityTag, requireMatch } from '../http/conditional.ts'
import type { Perform } from '../idempotency/perform.ts'
import { Failure } from '../kernel/failure.ts'
import { timeOrderedId } from '../kernel/id.ts'
import { readMembers } from '../kernel/members.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Database, Reader, Tx } from '../storage/database.ts'
import { type PostDeps, verifyReceiver } from './post.ts'
import {
  isVisible,
  MAX_REGISTRATIONS,
  mayAskFor,
  membersOf,
  type Registration,
  type Rules,
  shownRegistration,
  type Whole,
} from './registration.ts'
import * as store from './registration-store.ts'

export interface Desk extends PostDeps, Rules {
  readonly db: Database
  readonly vault: Vault
  readonly perform: Perform
  /** The newest version: what a registration is pinned to that names none. */
  readonly newest: string
  readonly seesWhole: (principal: Principal) => Whole
  /** After the commit: registrations, by number, that have something to do. */
  readonly wake: (webhookNos: readonly number[]) => void
}

/** How many secrets of one registration may be good beside the newest (§9.4). */
const OLD_SECRETS_MAX = 2

/** An answer that holds a secret is kept by nobody on its way. */
function withSecret(status: number, row: Registration, secret: string): Answer {
  const shown = { ...JSON.parse(shownRegistration(row)), secret }
  return { ...json(status, shown, { 'cache-control': 'no-store' }), secret: true }
}

const shown = (row: Registration): Answer => {
  const text = shownRegistration(row)
  return { status: 200, json: text, headers: { etag: entityTag(text) } }
}

/** Throws 403 where a person asks for events it may not see all of (§6.7). */
function allowed({ seesWhole, types }: Desk, { principal }: Call, events: readonly string[]): void {
  const whole = seesWhole(principal!)
  const foreign = events.find((event) => !mayAskFor(event, whole, types))
  if (foreign === undefined) return
  const collection = types.collections.get(foreign)
  const why = collection ? `the scope ${collection}:all` : 'a key or a client'
  throw new Failure('insufficient_scope', `Events of ${foreign} are sent to ${why} only.`)
}

/** Makes a registration from `{url, events, description?, api_version?}`; only here is `secret`. */
export function register(desk: Desk, call: Call): Promise<Answer> {
  const { clock, random, vault, perform } = desk
  const wish = readMembers(call.body, membersOf(desk).creation)
  allowed(desk, call, wish.events)
  const { scope, kind, subject } = call.principal!
  const secret = newSecret(random)
  const id = timeOrderedId('wh_', clock.now(), random)
  const made = async (tx: Tx): Promise<Answer> => {
    const now = clock.now()
    await store.lockCustomer(tx, scope)
    await refuseMore(tx, call)
    let tag = newTag(random)
    while (await store.tagIsTaken(tx, scope, tag)) tag = newTag(random)
    const wanted = {
      id,
      tag,
      scope,
      url: wish.url,
      events: JSON.stringify(wish.events),
      description: wish.description ?? null,
      api_version: wish.api_version ?? desk.newest,
      subject: kind === 'person' ? subject : null,
    }
    const row = await store.insertRegistration(tx, wanted, now)
    await store.addSecret(tx, vault, row.no, secret, now)
    await asked(tx, row)
    const answer = withSecret(201, row, secret)
    return { ...answer, headers: { ...answer.headers, location: `/webhooks/${id}` } }
  }
  return perform(call, made, async () => {
    await refuseMore(desk.db, call)
    await verifyReceiver(desk, { scope, url: wish.url, secrets: [{ value: secret }] }, id)
  })
}

async function refuseMore(from: Reader, { principal }: Call): Promise<void> {
  if ((await store.countRegistrations(from, principal!.scope)) < MAX_REGISTRATIONS) return
  const most = `${MAX_REGISTRATIONS} registrations`
  throw new Failure('limit_reached', `A customer has at most ${most} per mode. Delete some first.`)
}

/** The outbox finds a registration by what it asks for. */
const asked = (tx: Tx, { scope, no, tag, events, api_version: version }: Registration) =>
  saveTopics(tx, { scope, no, tag, version, events: JSON.parse(events) as string[] })

/** The registration of the path; throws 404, also for what a person may not see. */
export async function registrationAt(
  desk: Desk,
  call: Call,
  find: (id: string) => Promise<Registration | undefined> = (id) =>
    store.findRegistration(desk.db, call.principal!.scope, id),
): Promise<Registration> {
  const row = await find(call.params.id!)
  const whole = desk.seesWhole(call.principal!)
  if (!row || row.deleted_at !== null || !isVisible(row, whole, desk.types)) {
    throw new Failure('not_found')
  }
  return row
}

const locked = (desk: Desk, call: Call, tx: Tx) =>
  registrationAt(desk, call, (id) => store.lockRegistration(tx, call.principal!.scope, id))

export async function secretsOf(
  { clock, vault }: Pick<Desk, 'clock' | 'vault'>,
  from: Reader,
  webhookNo: number,
): Promise<SigningSecret[]> {
  const rows = await store.liveSecrets(from, webhookNo, clock.now())
  return rows.map(({ no, sealed }) => openSecret(vault, no, sealed))
}

/**
 * `{url?, events?, active?, description?, api_version?}`; `null` clears. A new URL is verified, and
 * the one it has where it is switched on again: what waited goes on then.
 */
export function change(desk: Desk, call: Call): Promise<Answer> {
  const { clock, perform } = desk
  const patch = readMembers(call.body, membersOf(desk).patch)
  if (patch.events) allowed(desk, call, patch.events)
  let verified: string | undefined
  const verify = async () => {
    const row = await registrationAt(desk, call)
    requireMatch(call, () => shownRegistration(row))
    const url = patch.url ?? row.url
    if (url === row.url && !(patch.active && row.active === 0)) return
    const secrets = await secretsOf(desk, desk.db, row.no)
    await verifyReceiver(desk, { scope: row.scope, url, secrets }, row.id)
    verified = url
  }
  return perform(
    call,
    async (tx) => {
      const row = await locked(desk, call, tx)
      requireMatch(call, () => shownRegistration(row))
      const active = patch.active ?? row.active === 1
      const url = patch.url ?? row.url
      const wakes = active && row.active === 0
      if ((wakes || url !== row.url) && url !== verified) {
        throw new Failure('conflict', 'The registration was changed by somebody else meanwhile.')
      }
      const now = clock.now()
      const after = await store.updateRegistration(tx, patched(desk, row, patch), now)
      if (wakes || url !== row.url) await store.forgetFailures(tx, row.no, now)
      await asked(tx, after)
      tx.afterCommit(() => desk.wake([row.no]))
      return shown(after)
    },
    verify,
  )
}

type Patch = ReturnType<typeof readMembers<ReturnType<typeof membersOf>['patch']>>

function patched(desk: Desk, row: Registration, patch: Patch): Registration {
  const { url, events, description, api_version, active } = patch
  return {
    ...row,
    ...(url !== undefined && { url }),
    ...(events !== undefined && { events: JSON.stringify(events) }),
    ...(description !== undefined && { description }),
    ...(api_version !== undefined && { api_version: api_version ?? desk.newest }),
    // Who switches it off or on by hand knows why; the reason is for what the engine did.
    ...(active !== undefined &&
      active !== (row.active === 1) && { active: active ? 1 : 0, disabled_reason: null }),
  }
}

/** What waits for it ends as failed in the log; the row stays until the log is gone. */
export function remove(desk: Desk, call: Call): Promise<Answer> {
  return desk.perform(call, async (tx) => {
    const row = await locked(desk, call, tx)
    requireMatch(call, () => shownRegistration(row))
    await store.markDeleted(tx, row.no, desk.clock.now())
    await store.dropSecrets(tx, row.no)
    await asked(tx, { ...row, events: '[]' })
    tx.afterCommit(() => desk.wake([row.no]))
    return noContent()
  })
}

/**
 * `{overlap_seconds?, force?}` → the registration with its new `secret`; the older ones sign too
 * until the overlap ends. Throws 409 `rotation_in_progress` while two older ones are still good,
 * unless `force` drops the oldest.
 */
export function rotateSecret(desk: Desk, call: Call): Promise<Answer> {
  const { clock, random, vault, perform } = desk
  const wish = readMembers(call.body ?? {}, membersOf(desk).rotation)
  const overlapMs = (wish.overlap_seconds ?? DEFAULT_OVERLAP_S) * 1000
  const secret = newSecret(random)
  return perform(call, async (tx) => {
    const now = clock.now()
    const row = await locked(desk, call, tx)
    await store.retireSecrets(tx, row.no, now + overlapMs, now)
    const [oldest, ...others] = await store.liveSecrets(tx, row.no, now)
    if (oldest && others.length >= OLD_SECRETS_MAX) {
      if (!wish.force) throw new Failure('rotation_in_progress')
      await store.dropSecret(tx, oldest.no)
    }
    await store.addSecret(tx, vault, row.no, secret, now)
    await store.touchRegistration(tx, row.no, now)
    tx.afterCommit(() => desk.wake([row.no]))
    const after = await store.lockRegistration(tx, row.scope, row.id)
    return withSecret(200, after!, secret)
  })
}
