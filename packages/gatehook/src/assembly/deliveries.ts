/** Configures the delivery engine. */
import { readFileSync } from 'node:fs'
import type { Catalog } from '../declare/resources/catalog.ts'
import { listEventHandlers } from '../declare/resources/job-handlers.ts'
import type { Coverage, EventAccess } from '../history/events/event-access.ts'
import type { AttemptReport } from '../outbound/deliveries/attempt-feed.ts'
import { createDeliveries, type Deliveries } from '../outbound/deliveries/deliveries.ts'
import { webhookMetrics } from '../outbound/deliveries/metrics.ts'
import {
  nodeNameOf,
  nodeTarget,
  readMasterSecrets,
  secretFile,
} from '../platform/config/environment.ts'
import type { JobQueue } from '../platform/jobs/queue.ts'
import type { Component, Foundation } from './foundation.ts'
import { tracingSettings } from './tracing.ts'

export interface DeliveryAssembly {
  /** The id of this node in the registry. */
  readonly node: string
  readonly catalog: Catalog
  readonly types: EventAccess
  /** Receives the attempts of this node. */
  readonly onAttempts: (report: AttemptReport) => void
  /** Other nodes announce due jobs by the channel of deliveries. */
  readonly queue: Pick<JobQueue, 'wakeAll'>
}

/** Throws when the file of `GATEHOOK_WEBHOOK_CA` cannot be read. */
export function assembleDeliveries(
  { config, clock, db, log, vault, poll, delivers = true, release = '0', onTakenOver }: Foundation,
  { node, catalog, types, onAttempts, queue }: DeliveryAssembly,
): Deliveries & Component {
  const { deliveryRate: rate, webhookCa } = config
  const deliveries = createDeliveries({
    db,
    log,
    delivers,
    listeners: {
      onAttempts,
      onJobsDue: queue.wakeAll,
      // A poll that fails is reported by the next one.
      onStateChanged: () => void poll.poll().catch(() => undefined),
      ...(onTakenOver && { onTakenOver }),
    },
    settings: {
      database: { ...nodeTarget(config), generation: db.generation, origin: db.origin() },
      node,
      nodeName: nodeNameOf(config),
      masterSecrets: readMasterSecrets(config) ?? vault.masterSecrets(),
      secretFile: secretFile(config),
      testClock: config.testClock,
      doubt: clock.step?.(),
      scheduleS: config.webhookScheduleS,
      timeoutMs: config.webhookTimeoutMs,
      allowPrivate: config.webhookAllowPrivate,
      ca: webhookCa === null ? undefined : readFileSync(webhookCa, 'utf8'),
      rate: rate
        ? { limit: rate.limit, windowMs: rate.windowS * 1000, burst: rate.burst }
        : undefined,
      userAgent: `Gatehook-Webhooks/${release}`,
      tracing: tracingSettings(config, release),
      // The shape of the engine's own events.
      shape: catalog.newest,
      coverage: coverageOf(types),
      declaredObjects: catalog.declaredObjects,
      eventHandlers: listEventHandlers(catalog.service),
    },
  })
  const metrics = webhookMetrics(deliveries.figures)
  return { ...deliveries, isOutward: true, drain: deliveries.stop, metrics }
}

/** Returns the rules of §9.14 as plain values, which the engine's thread can receive. */
const coverageOf = ({ collections, coveredBy }: EventAccess): Readonly<Record<string, Coverage>> =>
  Object.fromEntries(
    [...collections.keys()].flatMap((type) => {
      const coverage = coveredBy(type)
      return coverage ? [[type, coverage]] : []
    }),
  )
