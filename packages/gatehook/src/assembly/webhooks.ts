/** Assembles webhooks: registrations, the delivery log, replays and test deliveries. */
import { readFileSync } from 'node:fs'
import type { Catalog } from '../declare/resources/catalog.ts'
import { signInResource } from '../declare/resources/directory.ts'
import type { ServiceEventTypes } from '../declare/resources/event-types.ts'
import type { RecordEvent } from '../history/events/store.ts'
import { createStoredObjects } from '../history/events/stored-objects.ts'
import { type EndGivenAccess, personMaker } from '../identity/access/given-access.ts'
import { ISSUER_PREFIX } from '../identity/oauth/issuer-store.ts'
import type { Tokens } from '../identity/tokens/api.ts'
import { isHeld } from '../operate/restore/state.ts'
import { repairPostponed } from '../outbound/deliveries/clock-repair.ts'
import { retention } from '../outbound/deliveries/retention.ts'
import { longestWaitMs } from '../outbound/deliveries/retry-schedule.ts'
import type { WakeDeliveries } from '../outbound/deliveries/wake-up.ts'
import { createLazyTransport } from '../outbound/transport/lazy-transport.ts'
import { webhookAdministrationRoutes } from '../outbound/webhooks/admin-routes.ts'
import type { CurrentScopes } from '../outbound/webhooks/authority.ts'
import { createMakers, type Makers } from '../outbound/webhooks/makers.ts'
import { createPostLimits } from '../outbound/webhooks/post-limits.ts'
import { createReplayHandler } from '../outbound/webhooks/replay-job.ts'
import { webhookRoutes } from '../outbound/webhooks/routes.ts'
import type { JobQueue } from '../platform/jobs/queue.ts'
import type { Perform } from '../protocol/idempotency/perform.ts'
import type { Lister } from '../protocol/lists/list.ts'
import { createLimiter } from '../protocol/quota/store.ts'
import { type CurrentRights, createCurrentRights } from './current-rights.ts'
import type { Component, Foundation } from './foundation.ts'
import { createJobLane } from './job-lane.ts'

export interface WebhookAssembly {
  readonly catalog: Catalog
  readonly types: ServiceEventTypes
  readonly list: Lister
  readonly perform: Perform
  /** Returns the version that serves registrations pinned to `version` now (§9.11). */
  readonly livingVersion: (version: string) => string
  /** Wakes the delivery engine for registrations, by number. */
  readonly wake: WakeDeliveries
  readonly currentScopes: CurrentScopes
  readonly queue: JobQueue
}

/** Returns the component of webhooks, and the lane of their replays. */
export function assembleWebhooks(
  foundation: Foundation,
  { catalog, types, list, perform, livingVersion, wake, currentScopes, queue }: WebhookAssembly,
): readonly Component[] {
  const { db, clock, random, vault, trail, config, release = '0' } = foundation
  const { render, newest, versions } = catalog
  const objects = createStoredObjects(catalog.declaredObjects)
  const allowPrivate = config.webhookAllowPrivate
  const transport = createLazyTransport({
    clock,
    allowPrivate,
    timeoutMs: config.webhookTimeoutMs,
    ca: config.webhookCa === null ? undefined : readFileSync(config.webhookCa, 'utf8'),
  })
  const limiter = createLimiter(db, clock)
  const rate = config.deliveryRate
  const handler = createReplayHandler({
    db,
    clock,
    types,
    render,
    effective: livingVersion,
    wake,
    rate: rate ? { limit: rate.limit, windowMs: rate.windowS * 1000 } : undefined,
  })
  const replays = createJobLane(foundation, { lane: 'replay', handlers: [handler], queue })
  const webhookContext = {
    db,
    clock,
    random,
    trail,
    vault,
    perform,
    types,
    currentScopes,
    newest,
    versions: () => versions.filter((version) => livingVersion(version) === version),
    send: transport.send,
    isHeld: () => isHeld(foundation.restore.current()),
    allowPrivate,
    userAgent: `Gatehook-Webhooks/${release}`,
    limits: createPostLimits(limiter),
    objects,
    wake,
    enqueue: queue.enqueue,
  }
  const component: Component = {
    routes: [
      ...webhookRoutes({
        context: webhookContext,
        list,
        renderer: { render, effective: livingVersion },
      }),
      ...webhookAdministrationRoutes({
        db,
        clock,
        vault,
        list,
        types,
        userAgent: webhookContext.userAgent,
        objects,
        render,
        versions,
        rules: {
          schedule_s: config.webhookScheduleS,
          timeout_ms: config.webhookTimeoutMs,
          rate: rate && { limit: rate.limit, window_s: rate.windowS },
        },
      }),
    ],
    chores: {
      ...retention(db, clock),
      postponed: () => repairPostponed(db, clock, longestWaitMs(config.webhookScheduleS)),
    },
    // An unreadable file of certificate authorities fails the start, not the first delivery.
    async start() {
      if (config.webhookCa !== null) await transport.open()
    },
    async stop() {
      transport.close()
    },
  }
  return [component, replays.component]
}

export interface MakerAssembly {
  readonly catalog: Catalog
  readonly types: ServiceEventTypes
  readonly record: RecordEvent
  readonly wake: (webhookNos: readonly number[]) => void
}

/**
 * Returns the review of registrations after their maker's scopes change, and the rights that a
 * maker holds now (§9.14).
 */
export function assembleMakers(
  { db, clock, random, trail }: Foundation,
  { catalog, types, record, wake }: MakerAssembly,
): { makers: Makers } & Omit<CurrentRights, 'makerRights'> {
  const resource = signInResource(catalog.service.resources)?.name
  const { makerRights: rights, ...current } = createCurrentRights(resource, () => clock.now())
  const makers = createMakers({ db, clock, random, trail, types, record, wake, rights })
  return { makers, ...current }
}

/**
 * Returns tokens whose revocations also review the subject's registrations (§9.14), and end the
 * access that the subject gave (§13).
 */
export function withMakerReview(
  tokens: Tokens,
  makers: Makers,
  endGivenAccess: EndGivenAccess,
): Tokens {
  return {
    ...tokens,
    async revokeAccessToken(tx, claims) {
      await tokens.revokeAccessToken(tx, claims)
      const { kind, sub, client_id: client } = claims
      if (sub === undefined || client === undefined) return
      await endGivenAccess(
        tx,
        kind === 'person' ? { maker: personMaker(sub), client } : { maker: client },
      )
    },
    async revokeSessionsOfPerson(tx, scope, subject, except) {
      const endedSessions = await tokens.revokeSessionsOfPerson(tx, scope, subject, except)
      await makers.personChanged(tx, scope, subject)
      await endGivenAccess(tx, { maker: personMaker(subject) })
      return endedSessions
    },
    async revokeSessionsAtClient(tx, scope, subject, clientId) {
      const ended = await tokens.revokeSessionsAtClient(tx, scope, subject, clientId)
      const registrations = await makers.consentEnded(tx, scope, subject, clientId)
      await endGivenAccess(tx, { maker: personMaker(subject), client: clientId })
      return { ...ended, registrations }
    },
    async revokeClient(tx, scope, clientId) {
      await tokens.revokeClient(tx, scope, clientId)
      if (scope !== undefined) await makers.clientChanged(tx, scope, clientId)
      await endGivenAccess(tx, { client: clientId })
    },
    async publishClientChange(tx, scope, id) {
      await tokens.publishClientChange(tx, scope, id)
      await endGivenAccess(tx, { client: id })
      // A client of no customer has no account scope, so that it registers no webhooks.
      if (scope === undefined) return
      if (id.startsWith(ISSUER_PREFIX)) await makers.issuerChanged(tx, scope, id)
      else await makers.clientChanged(tx, scope, id)
    },
  }
}
