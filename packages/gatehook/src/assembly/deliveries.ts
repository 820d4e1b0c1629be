/** The part of deliveries: the engine, configured; wakes go to it, on this node or on others. */
import { readFileSync } from 'node:fs'
import { masterSecrets, secretFile } from '../config/environment.ts'
import { createDeliveries, type Deliveries } from '../deliveries/deliveries.ts'
import { webhookMetrics } from '../deliveries/metrics.ts'
import type { EventAccess } from '../events/event-access.ts'
import type { Ground, Part } from './ground.ts'

export interface DeliveryPartDeps {
  /** The newest version: the shape of the engine's own events. */
  readonly newest: string
  readonly types: EventAccess
  /** Who makes deliveries calls `wake` here. */
  readonly sender: { wake: (webhookNos: readonly number[]) => void }
}

export function deliveryPart(
  { config, db, log, vault, delivers, release }: Ground,
  { newest, sender, types }: DeliveryPartDeps,
): Deliveries & Part {
  const { deliveryRate: rate, webhookCa } = config
  const deliveries = createDeliveries({
    db,
    log,
    delivers: delivers ?? true,
    settings: {
      databaseUrl: config.databaseUrl,
      masterSecrets: masterSecrets(config) ?? vault.masters(),
      secretFile: secretFile(config),
      testClock: config.testClock,
      scheduleS: config.webhookScheduleS,
      timeoutMs: config.webhookTimeoutMs,
      allowPrivate: config.webhookAllowPrivate,
      ca: webhookCa === null ? undefined : readFileSync(webhookCa, 'utf8'),
      rate: rate
        ? { limit: rate.limit, windowMs: rate.windowS * 1000, burst: rate.burst }
        : undefined,
      userAgent: `Gatehook-Webhooks/${release ?? '0'}`,
      shape: newest,
      coverage: coverageOf(types),
    },
  })
  sender.wake = deliveries.wake
  return { ...deliveries, drain: deliveries.stop, metrics: webhookMetrics(deliveries.figures) }
}

/** The rules of §9.14 as plain values, for the thread of the engine. */
const coverageOf = ({ collections, coveredBy }: EventAccess) =>
  Object.fromEntries(
    [...collections.keys()].flatMap((type) => {
      const scopes = coveredBy(type)
      return scopes ? [[type, scopes]] : []
    }),
  )
