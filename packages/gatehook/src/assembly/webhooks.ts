/** The part of webhooks: registrations, the log, replays, and the door to receivers. */
import { readFileSync } from 'node:fs'
import { endPostponement } from '../deliveries/postponed.ts'
import { retention } from '../deliveries/retention.ts'
import { longestWaitMs } from '../deliveries/schedule.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Perform } from '../idempotency/perform.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Lister } from '../lists/list.ts'
import { lockClient } from '../oauth/client-store.ts'
import { lockCredential } from '../people/store.ts'
import { localLimiter, sharedLimiter } from '../quota/limiter.ts'
import { drawFrom } from '../quota/store.ts'
import type { Catalog } from '../resources/catalog.ts'
import { signingIn } from '../resources/directory.ts'
import type { EventTypes } from '../resources/event-types.ts'
import type { Tx } from '../storage/database.ts'
import type { Tokens } from '../tokens/grant.ts'
import { lateTransport } from '../transport/late-transport.ts'
import type { CurrentScopes } from '../webhooks/authority.ts'
import { createMakers, type Makers } from '../webhooks/makers.ts'
import { createPostLimits } from '../webhooks/post-limits.ts'
import { createReplayWorker } from '../webhooks/replay-worker.ts'
import { webhookEndpoints } from '../webhooks/routes.ts'
import type { Ground, Part } from './ground.ts'

export interface WebhookPartDeps {
  readonly catalog: Catalog
  readonly types: EventTypes
  readonly list: Lister
  readonly perform: Perform
  /** The version a pinned one is served in now (§9.11). */
  readonly effective: (version: string) => string
  /** Registrations, by number, that have something to do. */
  readonly wake: (webhookNos: readonly number[]) => void
  readonly makers: Makers
  readonly currentScopes: CurrentScopes
}

export function webhookPart(ground: Ground, deps: WebhookPartDeps): Part {
  const { db, clock, config } = ground
  const { catalog, list, effective, makers } = deps
  const { render, newest, versions } = catalog
  const transport = lateTransport({
    clock,
    allowPrivate: config.webhookAllowPrivate,
    timeoutMs: config.webhookTimeoutMs,
    ca: config.webhookCa === null ? undefined : readFileSync(config.webhookCa, 'utf8'),
  })
  const limiter = db.dialect.shared ? sharedLimiter(clock, drawFrom(db)) : localLimiter(clock)
  const rate = config.deliveryRate
  const replays = createReplayWorker({
    ...ground,
    ...deps,
    render,
    rate: rate ? { limit: rate.limit, windowMs: rate.windowS * 1000 } : undefined,
  })
  const desk = {
    ...ground,
    ...deps,
    newest,
    versions: () => versions.filter((version) => effective(version) === version),
    send: transport.send,
    allowPrivate: config.webhookAllowPrivate,
    userAgent: `Gatehook-Webhooks/${ground.release ?? '0'}`,
    limits: createPostLimits(limiter),
    replayStarted: replays.nudge,
  }
  return {
    endpoints: webhookEndpoints({ desk, list, tests: { render, effective } }),
    chores: {
      ...retention(db, clock),
      postponed: () => endPostponement(db, clock, longestWaitMs(config.webhookScheduleS)),
      registration_scopes: makers.fillScopes,
    },
    // A file without certificate authorities is reported at the start, not by the first delivery.
    async start() {
      if (config.webhookCa !== null) await transport.open()
      replays.start()
    },
    async stop() {
      await replays.stop()
      transport.close()
    },
  }
}

export interface MakersFrom {
  readonly catalog: Catalog
  readonly types: EventTypes
  readonly record: RecordEvent
  readonly wake: (webhookNos: readonly number[]) => void
}

/** Who makes registrations, and which scopes they hold at this moment. */
export function makersOf(
  ground: Ground,
  { catalog, types, record, wake }: MakersFrom,
): { makers: Makers; currentScopes: CurrentScopes } {
  const resource = signingIn(catalog.service.resources)?.name
  const personScopes = async (tx: Tx, subject: string) => {
    if (resource === undefined) return undefined
    const row = await lockCredential(tx, resource, Number(subject))
    return row?.disabled === 0 ? namesIn(row.scopes) : undefined
  }
  const clientScopes = async (tx: Tx, clientId: string) => {
    const row = await lockClient(tx, clientId)
    return row && namesIn(row.scopes)
  }
  const currentScopes = (tx: Tx, { kind, subject, scopes }: Principal) => {
    if (kind === 'person') return personScopes(tx, subject)
    return kind === 'client' ? clientScopes(tx, subject) : Promise.resolve(scopes)
  }
  const makers = createMakers({ ...ground, types, record, wake, personScopes, clientScopes })
  return { makers, currentScopes }
}

const namesIn = (json: string): ReadonlySet<string> => new Set(JSON.parse(json) as string[])

/** Tokens whose revocations end the registrations of the same person or client (§9.14). */
export function endingRegistrations(tokens: Tokens, makers: Makers): Tokens {
  return {
    ...tokens,
    async revokeSubject(tx, scope, subject, except) {
      const ended = await tokens.revokeSubject(tx, scope, subject, except)
      await makers.personChanged(tx, scope, subject)
      return ended
    },
    async revokeSubjectAtClient(tx, scope, subject, clientId) {
      const ended = await tokens.revokeSubjectAtClient(tx, scope, subject, clientId)
      await makers.consentEnded(tx, scope, subject, clientId)
      return ended
    },
    async revokeClient(tx, scope, clientId) {
      await tokens.revokeClient(tx, scope, clientId)
      await makers.clientChanged(tx, clientId)
    },
    async clientChanged(tx, clientId) {
      await tokens.clientChanged(tx, clientId)
      await makers.clientChanged(tx, clientId)
    },
  }
}
