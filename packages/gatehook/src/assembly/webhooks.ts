/** The part of webhooks: registrations, the log, and the door to receivers. */
import { readFileSync } from 'node:fs'
import { endPostponement } from '../deliveries/postponed.ts'
import { retention } from '../deliveries/retention.ts'
import { longestWaitMs } from '../deliveries/schedule.ts'
import type { SeesWhole } from '../events/view.ts'
import type { Perform } from '../idempotency/perform.ts'
import type { Lister } from '../lists/list.ts'
import { localLimiter, sharedLimiter } from '../quota/limiter.ts'
import { drawFrom } from '../quota/store.ts'
import type { Catalog } from '../resources/catalog.ts'
import { eventTypesOf } from '../resources/event-types.ts'
import { lateTransport } from '../transport/late-transport.ts'
import { webhookEndpoints } from '../webhooks/routes.ts'
import type { Ground, Part } from './ground.ts'

export interface WebhookPartDeps {
  readonly catalog: Catalog
  readonly list: Lister
  readonly perform: Perform
  readonly seesWhole: SeesWhole
  /** The version a pinned one is served in now (§9.11). */
  readonly effective: (version: string) => string
  /** Registrations, by number, that have something to do. */
  readonly wake: (webhookNos: readonly number[]) => void
}

export function webhookPart(ground: Ground, deps: WebhookPartDeps): Part {
  const { db, clock, config } = ground
  const { catalog, list, effective, wake } = deps
  const { render, newest, versions } = catalog
  const transport = lateTransport({
    clock,
    allowPrivate: config.webhookAllowPrivate,
    timeoutMs: config.webhookTimeoutMs,
    ca: config.webhookCa === null ? undefined : readFileSync(config.webhookCa, 'utf8'),
  })
  const desk = {
    ...ground,
    ...deps,
    newest,
    types: eventTypesOf(catalog, clock),
    versions: () => versions.filter((version) => effective(version) === version),
    send: transport.send,
    allowPrivate: config.webhookAllowPrivate,
    userAgent: `Gatehook-Webhooks/${ground.release ?? '0'}`,
  }
  const limiter = db.dialect.shared ? sharedLimiter(clock, drawFrom(db)) : localLimiter(clock)
  return {
    endpoints: webhookEndpoints({
      desk,
      list,
      again: { db, clock, render, effective, wake },
      trial: { render, effective, limiter },
    }),
    chores: {
      ...retention(db, clock),
      postponed: () => endPostponement(db, clock, longestWaitMs(config.webhookScheduleS)),
    },
    // A file of authorities that is none is told at the start, not by the first delivery.
    async start() {
      if (config.webhookCa !== null) await transport.open()
    },
    async stop() {
      transport.close()
    },
  }
}
