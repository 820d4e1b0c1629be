/**
 * The module of versions, assembled: pipeline steps, routes, and the background work that applies
 * calendars, sends notices and stores usage counts.
 */

import type { AuditSigner } from '../../history/audit/store.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import type { Identify } from '../../identity/access/authenticate.ts'
import type { Clock } from '../../kernel/clock.ts'
import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'
import type { Random } from '../../kernel/random.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import type { After, Answer, Call, Route, Step } from '../../protocol/http/call.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import { SUPPORTED_MAX, type VersionDefinition } from './calendar.ts'
import { representVersion, type VersionRepresentation } from './calendar-update.ts'
import { type ChangelogSource, changelogOf, listChangedRoutes } from './changelog.ts'
import { listVersionChanges } from './declaration.ts'
import { createNoticeSender } from './deprecation-notices.ts'
import { negotiationSteps } from './negotiation.ts'
import { createVersionReader, type VersionReader } from './requested-version.ts'
import { goneResponder } from './retirement.ts'
import { versionRoutes } from './routes.ts'
import { insertVersion, listCalendars, selectRevisions } from './store.ts'
import { createUsageCounter, FLUSH_MS, type UsageCounter } from './usage-counter.ts'
import {
  createVersionStatuses,
  type VersionStatus,
  type VersionStatuses,
} from './version-statuses.ts'

/** Clock changes make notices due within a second (§12.6). */
const NOTICE_INTERVAL_MS = 1000

interface VersionsDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly trail: AuditSigner
  readonly log: Log
  readonly list: Lister
  /** Majors with their declared calendars, oldest first. */
  readonly definitions: readonly VersionDefinition[]
  /** The resources and routes with their changes. */
  readonly declared: Omit<ChangelogSource, 'versions'>
  /** The name in `application/vnd.<vendor>.api.v1+json`. */
  readonly vendor: string
  readonly strict: boolean
  readonly publicUrl: () => string
  readonly identify: Identify
  readonly record: RecordEvent
}

interface VersionSteps {
  /** Before authentication: the version that the request names, or 410. */
  readonly requestedVersion: Step
  /** After it: the pinned version, the oldest, or 400. */
  readonly defaultVersion: Step
  readonly actingVersion: Step
  /** Adds the headers and warnings of a version to its responses. */
  readonly signals: After
  /** Counts the request as use of its version. */
  readonly count: After
}

export interface Versions {
  readonly routes: readonly Route[]
  readonly steps: VersionSteps
  /** Applies calendars that other nodes stored, with each poll of the node. */
  readonly polled: readonly PolledValue[]
  start(): void
  /** Stops the background work and stores the remaining counts. */
  stop(): Promise<void>
  /** Returns the status of a version: the same object until it changes. */
  readonly statusOf: VersionStatuses['statusOf']
  /** Returns every version with its state and calendar, oldest first. */
  describe(): readonly VersionRepresentation[]
  /** Returns the version; if it is retired, its first successor that is served (§9.11). */
  servedSuccessor(version: string): string
  /** Reads and applies the stored calendars. */
  refreshCalendars(): Promise<void>
  /** Sends due notices (§8.10) and returns their number. It runs every second. */
  sendNotices(): Promise<number>
  /** Stores the counts. It runs every `FLUSH_MS`. */
  flush(): Promise<void>
}

/** Opens the module. It reads the stored calendars, so the first request gets the right status. */
export async function openVersions(deps: VersionsDeps): Promise<Versions> {
  const { db, log } = deps
  const { resources, routes } = deps.declared
  const changes = listVersionChanges(resources, listChangedRoutes(deps.declared))
  const changelog = changelogOf({ versions: deps.definitions, resources, routes })
  const statuses = createVersionStatuses({ ...deps, changes })
  const reader = createVersionReader(deps.definitions, deps.vendor)
  const usage = createUsageCounter(deps)
  let appliedRevisions: number | undefined
  const refreshCalendars = async () => {
    const calendars = await listCalendars(db)
    for (const { version, overrides, revision } of calendars) {
      statuses.applyOverrides(version, overrides, revision)
    }
    appliedRevisions = calendars.reduce((sum, { revision }) => sum + revision, 0)
  }
  await insertMissingVersions(db, statuses.versions)
  await refreshCalendars()
  const sendNotices = createNoticeSender({ ...deps, statuses, usage })
  let stopTimers = async () => {}
  return {
    routes: versionRoutes({ ...deps, statuses, usage, changelog }),
    steps: versionSteps(deps, statuses, reader, usage),
    polled: [
      {
        select: () => selectRevisions,
        receive: (revisions) => (revisions === appliedRevisions ? undefined : refreshCalendars()),
      },
    ],
    start() {
      // Not when the module opens: each command of an operator opens it.
      warnOfSupportedVersions(statuses, log)
      const timers = [
        startInterval({
          intervalMs: NOTICE_INTERVAL_MS,
          run: sendNotices,
          log,
          failure: 'notices of versions could not be sent',
        }),
        startInterval({
          intervalMs: FLUSH_MS,
          run: usage.flush,
          log,
          failure: 'version usage could not be stored',
        }),
      ]
      stopTimers = async () => void (await Promise.all(timers.map((stopTimer) => stopTimer())))
    },
    async stop() {
      await stopTimers()
      await usage.flush().catch((error: unknown) => {
        log.warn({ err: error }, 'the last counts of version usage could not be stored')
      })
    },
    statusOf: statuses.statusOf,
    describe: () =>
      statuses.versions.map((version) => representVersion(statuses.statusOf(version)!)),
    servedSuccessor: statuses.servedSuccessor,
    refreshCalendars,
    sendNotices,
    flush: usage.flush,
  }
}

/** Inserts the rows that lists of versions read. It writes only if one is missing. */
async function insertMissingVersions(db: Database, versions: readonly string[]): Promise<void> {
  const storedNames = new Set((await listCalendars(db)).map(({ version }) => version))
  const missing = versions.filter((version) => !storedNames.has(version))
  if (missing.length === 0) return
  await db.write(async (tx) => {
    for (const version of missing) await insertVersion(tx, version)
  })
}

function warnOfSupportedVersions({ versions, statusOf }: VersionStatuses, log: Log): void {
  const supported = versions.filter((version) => statusOf(version)!.state === 'supported')
  if (supported.length <= SUPPORTED_MAX) return
  const surplus = supported.slice(0, -SUPPORTED_MAX).join(', ')
  log.warn(
    { supported },
    `more than ${SUPPORTED_MAX} versions are supported; deprecate ${surplus} in the declaration, ` +
      'or by gatehook versions deprecate',
  )
}

function versionSteps(
  { clock, strict, identify }: VersionsDeps,
  statuses: VersionStatuses,
  reader: VersionReader,
  usage: UsageCounter,
): VersionSteps {
  /**
   * The request limit rejects a request before negotiation, and its response still names the
   * version (§8.4). It does not count as use.
   */
  const versionOfLimited = (call: Call, answer: Answer): string | undefined => {
    if (answer.status !== 429 || call.kind !== 'api') return undefined
    try {
      return reader.versionOf(call) ?? (strict ? undefined : statuses.oldestServed())
    } catch {
      return undefined
    }
  }
  const respondGone = goneResponder(clock, identify)
  return {
    ...negotiationSteps({ statuses, reader, strict, respondGone }),
    signals(call, answer) {
      const version = call.version ?? versionOfLimited(call, answer)
      if (version === undefined) return
      call.out['x-api-version'] = version
      const { headers, warning } = statuses.statusOf(version)!
      if (headers) addDeprecation(call, headers, warning)
      if (answer.json === undefined || answer.status >= 400) return
      const type = reader.vendorType(call.headers.accept)
      if (type !== undefined) call.out['content-type'] = type
    },
    count(call, answer) {
      const { version, principal } = call
      if (version === undefined) return
      if (principal || call.operation || answer.status === 410) {
        usage.countRequest(version, call, principal)
        return
      }
      // An unknown path or method skips authentication. The response does not wait for this.
      void Promise.try(identify, call).then(
        (identified) => usage.countRequest(version, call, identified),
        () => usage.countRequest(version, call, undefined),
      )
    },
  }
}

function addDeprecation(
  call: Call,
  { link, ...headers }: NonNullable<VersionStatus['headers']>,
  warning: VersionStatus['warning'],
): void {
  Object.assign(call.out, headers)
  call.out.link = call.out.link ? `${call.out.link}, ${link}` : link!
  call.warnings.push(warning(call.route))
}
