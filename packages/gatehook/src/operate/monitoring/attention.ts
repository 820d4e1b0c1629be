/**
 * What needs the attention of an operator (`GET /admin/attention`): a table of kinds, each of which
 * reads the present state and returns items with facts. The console writes the sentences. Nothing
 * runs until an operator requests the list; the result is valid for a few seconds.
 */

import type { Calendar } from '../../declare/versions/calendar.ts'
import { countVersionCallers } from '../../declare/versions/usage-reader.ts'
import { listAudited } from '../../history/audit/reader.ts'
import { listExpiringKeys, readKeyNames } from '../../identity/access/key-reader.ts'
import type { Clock } from '../../kernel/clock.ts'
import { lowestIdAt } from '../../kernel/id.ts'
import { isoTime } from '../../kernel/time.ts'
import { FAILING_MS } from '../../outbound/deliveries/endpoint-health.ts'
import {
  listDisabledEndpoints,
  listFailingEndpoints,
  listSlowEndpoints,
} from '../../outbound/deliveries/endpoint-reader.ts'
import { countFailedJobs, listFailingJobs } from '../../platform/jobs/store.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { whileAvailable } from '../../platform/storage/storage-failure.ts'
import { isHeld, readRestoreState } from '../restore/state.ts'
import { CERTIFICATE_LEFT_MIN_MS } from '../system/machine-facts.ts'
import * as store from './attention-store.ts'
import type { NodeState } from './nodes.ts'
import type { AttentionItem } from './operations.ts'
import { SHORTEST_STEP_S } from './steps.ts'

type Severity = AttentionItem['severity']

export interface AttentionSources {
  /** The engine's database. */
  readonly db: Reader
  readonly monitoring: Reader
  readonly clock: Clock
  /** The versions with their calendars. */
  readonly versions: () => readonly { readonly version: string; readonly calendar: Calendar }[]
  readonly nodes: () => Promise<readonly NodeState[]>
  /** Returns the end of the certificate of this node, in epoch milliseconds. */
  readonly certificateEnd: () => number | undefined
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Responses 401 and 403 of one key within an hour. */
const REFUSED_PER_HOUR = 20
/** Responses 429 of one key within five minutes. */
const LIMITED_PERIOD_MS = 5 * 60_000
const LIMITED_PER_PERIOD = 20
const KEY_EXPIRES_WITHIN_MS = 14 * DAY_MS
const KEY_USED_WITHIN_MS = 7 * DAY_MS
/** Test keys that were created for no longer expire as planned: `gatehook listen` creates such. */
const TEMPORARY_KEY_MS = DAY_MS
const VERSION_ENDS_WITHIN_MS = 90 * DAY_MS
const VERSION_CALLED_WITHIN_MS = 30 * DAY_MS
/** An endpoint that was disabled earlier needs no attention any more. */
const DISABLED_WITHIN_MS = 30 * DAY_MS
const REUSE_WITHIN_MS = DAY_MS
/** Older failures remain in the list of jobs. */
const JOBS_FAILED_WITHIN_MS = 7 * DAY_MS
const QUEUE_AGE_MS = 5 * 60_000
/** Server errors: their share, the period, and the requests from which a share is meaningful. */
const ERRORS_SHARE = 0.01
const ERRORS_PERIOD_MS = 15 * 60_000
const ERRORS_REQUESTS_MIN = 20
/** Earlier errors of the same outage are sought for this time. */
const ERRORS_SEARCH_MS = HOUR_MS
/** An outage without errors for this time is over. */
const ERRORS_PRESENT_MS = 60_000
/** The part of the time in which a blocked or overloaded event loop is busy. */
const BUSY_SHARE = 0.9

type AttentionKind = (sources: AttentionSources, now: number) => Promise<AttentionItem[]>

const instant = (ms: number | null): string | null => (ms === null ? null : isoTime(ms))
const modeName = (isLive: number): string => (isLive === 1 ? 'live' : 'test')

function itemOf(
  kind: string,
  severity: Severity,
  sinceMs: number,
  rest: Pick<AttentionItem, 'subject' | 'facts'> &
    Partial<Pick<AttentionItem, 'customer' | 'mode'>>,
): AttentionItem {
  const { subject, facts, customer = null, mode = null } = rest
  const since = isoTime(sinceMs)
  return { id: `${kind}.${subject.id}`, kind, severity, since, subject, facts, customer, mode }
}

const failingEndpoints: AttentionKind = async ({ db }, now) => {
  const rows = await listFailingEndpoints(db)
  return rows.map(({ id, url, customer, mode, first_failure_at, last_failure_at }) => {
    const since = first_failure_at!
    const severity = now - since >= HOUR_MS ? 'bad' : 'warn'
    return itemOf('endpoint_failing', severity, since, {
      subject: { type: 'webhook', id, label: url },
      facts: {
        last_failure_at: instant(last_failure_at),
        disabled_at: isoTime(since + FAILING_MS),
      },
      customer,
      mode: modeName(mode),
    })
  })
}

const disabledEndpoints: AttentionKind = async ({ db }, now) => {
  const rows = await listDisabledEndpoints(db, now - DISABLED_WITHIN_MS)
  return rows.map(({ id, url, customer, mode, disabled_reason, updated_at }) =>
    itemOf('endpoint_disabled', 'bad', updated_at, {
      subject: { type: 'webhook', id, label: url },
      facts: { reason: disabled_reason },
      customer,
      mode: modeName(mode),
    }),
  )
}

/** A receiver is behind if a delivery waits for it this long. */
const BEHIND_MS = 60_000

const slowEndpoints: AttentionKind = async ({ db }, now) => {
  const rows = await listSlowEndpoints(db)
  return rows.map(({ id, url, customer, mode, waiting, due_at }) => {
    const isBehind = due_at !== null && now - due_at > BEHIND_MS
    return itemOf('endpoint_slow', isBehind ? 'warn' : 'info', Math.min(due_at ?? now, now), {
      subject: { type: 'webhook', id, label: url },
      facts: { waiting, oldest_due_at: instant(due_at) },
      customer,
      mode: modeName(mode),
    })
  })
}

const refusedKeys: AttentionKind = async ({ db, monitoring }, now) => {
  const fromS = Math.floor((now - HOUR_MS) / 1000)
  const range = { stepS: SHORTEST_STEP_S, fromS, above: REFUSED_PER_HOUR }
  const callers = await store.listCallersBy('refused', monitoring, range)
  const subjects = await subjectsOf(db, callers)
  return callers.map(({ caller, customer, mode, count: refused }) =>
    itemOf('key_refused', 'warn', now - HOUR_MS, {
      subject: subjects(caller),
      facts: { refused, period_s: HOUR_MS / 1000 },
      customer,
      mode,
    }),
  )
}

const limitedKeys: AttentionKind = async ({ db, monitoring }, now) => {
  const fromS = Math.floor((now - LIMITED_PERIOD_MS) / 1000)
  const range = { stepS: SHORTEST_STEP_S, fromS, above: LIMITED_PER_PERIOD }
  const callers = await store.listCallersBy('limited', monitoring, range)
  const subjects = await subjectsOf(db, callers)
  return callers.map(({ caller, customer, mode, count: limited, firstS }) =>
    itemOf('key_limited', 'warn', firstS * 1000, {
      subject: subjects(caller),
      facts: { limited, period_s: LIMITED_PERIOD_MS / 1000 },
      customer,
      mode,
    }),
  )
}

/** Returns the subject of an item by the id of a key or a client. */
async function subjectsOf(db: Reader, callers: readonly { readonly caller: string }[]) {
  const ids = callers.map(({ caller }) => caller)
  const names = await readKeyNames(db, ids)
  return (id: string): AttentionItem['subject'] => {
    const name = names.get(id)
    return { type: name === undefined ? 'client' : 'key', id, label: name ?? id }
  }
}

const expiringKeys: AttentionKind = async ({ db }, now) => {
  const rows = await listExpiringKeys(db, {
    fromMs: now,
    toMs: now + KEY_EXPIRES_WITHIN_MS,
    usedSinceMs: now - KEY_USED_WITHIN_MS,
    temporaryMs: TEMPORARY_KEY_MS,
  })
  return rows.map(({ id, name, hint, customer, mode, expires_at, last_used_at }) =>
    itemOf('key_expiring', expires_at - now < DAY_MS ? 'bad' : 'warn', last_used_at, {
      subject: { type: 'key', id, label: name },
      facts: { hint, expires_at: isoTime(expires_at), last_used_at: isoTime(last_used_at) },
      customer,
      mode,
    }),
  )
}

const endingVersions: AttentionKind = async ({ db, versions }, now) => {
  const items: AttentionItem[] = []
  for (const { version, calendar } of versions()) {
    const { deprecated_at, sunset_at } = calendar
    if (sunset_at === null || sunset_at <= now) continue
    if (sunset_at > now + VERSION_ENDS_WITHIN_MS) continue
    const since = now - VERSION_CALLED_WITHIN_MS
    const { callers, lastAt } = await countVersionCallers(db, version, since)
    if (callers === 0) continue
    const severity = sunset_at - now < 7 * DAY_MS ? 'bad' : 'warn'
    const facts = { sunset_at: isoTime(sunset_at), callers, last_at: instant(lastAt) }
    const subject = { type: 'version', id: version, label: version }
    items.push(itemOf('version_ending', severity, deprecated_at ?? now, { subject, facts }))
  }
  return items
}

/** Reuses of refresh tokens that are listed, the latest. */
const REUSES_MAX = 20

const reusedTokens: AttentionKind = async ({ db }, now) => {
  const rows = await listAudited(db, {
    action: 'token.reuse_detected',
    sinceId: lowestIdAt('aud_', now - REUSE_WITHIN_MS),
    limit: REUSES_MAX,
  })
  return rows.map(({ target, at, actor_id }) =>
    itemOf('token_reuse', 'bad', at, {
      subject: { type: 'session', id: target, label: target },
      facts: { actor: actor_id },
    }),
  )
}

/** Uses of the sign-in for emergencies (§16.9), the latest. */
const breakGlass: AttentionKind = async ({ db }, now) => {
  const rows = await listAudited(db, {
    action: 'operator.break_glass',
    sinceId: lowestIdAt('aud_', now - REUSE_WITHIN_MS),
    limit: REUSES_MAX,
  })
  return rows.map(({ target, at, actor_id }) =>
    itemOf('operator_break_glass', 'bad', at, {
      subject: { type: 'operator', id: target, label: target },
      facts: { actor: actor_id },
    }),
  )
}

/** Failed jobs that one reading of the list counts. */
const FAILED_JOBS_MAX = 1_000
/** Waiting jobs that one reading of the list examines. */
const WAITING_JOBS_MAX = 5_000
const ERROR_CHARACTERS = 200

const failedJobs: AttentionKind = async ({ db }, now) => {
  const sinceMs = now - JOBS_FAILED_WITHIN_MS
  const bounds = { jobs: FAILED_JOBS_MAX, names: store.ITEMS_MAX }
  const rows = await countFailedJobs(db, { lane: 'service', sinceMs, ...bounds })
  return rows.map(({ name, failed, first_at, last_at }) =>
    itemOf('jobs_failed', 'bad', Number(first_at), {
      subject: { type: 'job', id: name, label: name },
      facts: { failed: Number(failed), last_at: isoTime(Number(last_at)) },
    }),
  )
}

/** Mail has an alert: strangers choose some of its recipients. */
const RETRIED_LANES = ['deletion', 'service', 'request', 'replay'] as const

/** Jobs whose last attempt failed, and which run again. */
const failingJobs: AttentionKind = async ({ db }, now) => {
  const rows: Awaited<ReturnType<typeof listFailingJobs>> = []
  for (const lane of RETRIED_LANES) {
    rows.push(...(await listFailingJobs(db, { lane, jobs: WAITING_JOBS_MAX })))
  }
  return rows.slice(0, store.ITEMS_MAX).map(({ name, waiting, created_at, error }) =>
    itemOf('jobs_failing', 'warn', Math.min(Number(created_at), now), {
      subject: { type: 'job', id: name, label: name },
      facts: { waiting: Number(waiting), error: error.slice(0, ERROR_CHARACTERS) },
    }),
  )
}

const serverErrors: AttentionKind = async ({ monitoring }, now) => {
  const stepS = SHORTEST_STEP_S
  const fromS = Math.floor((now - ERRORS_PERIOD_MS) / 1000)
  const { failed, total } = await store.countServerErrors(monitoring, { stepS, fromS })
  if (total < ERRORS_REQUESTS_MIN || failed / total <= ERRORS_SHARE) return []
  const searchS = Math.floor((now - ERRORS_SEARCH_MS) / 1000)
  const steps = await store.listFailedSteps(monitoring, { stepS, fromS: searchS })
  const lastMs = (steps[0]! + stepS) * 1000
  const facts = {
    failed,
    total,
    period_s: ERRORS_PERIOD_MS / 1000,
    last_at: isoTime(Math.min(lastMs, now)),
  }
  const subject = { type: 'service', id: 'service', label: 'service' }
  const severity = now - lastMs <= ERRORS_PRESENT_MS ? 'bad' : 'info'
  return [itemOf('server_errors', severity, startOf(steps) * 1000, { subject, facts })]
}

/** Returns the first of the steps, newest first, that are less than a period apart. */
function startOf(steps: readonly number[]): number {
  const gap = steps.findIndex((at, n) => {
    const before = steps[n + 1]
    return before === undefined || (at - before) * 1000 > ERRORS_PERIOD_MS
  })
  return steps[gap]!
}

const nodeStates: AttentionKind = async ({ nodes }, now) => {
  const items: AttentionItem[] = []
  for (const { id, name, role, state, seenAt, queueAgeMs, reasons, loop } of await nodes()) {
    const subject = { type: 'node', id, label: name }
    if (state !== 'ready') {
      const facts = {
        role,
        state,
        seen_at: isoTime(seenAt),
        reasons: state === 'gone' ? [] : reasons,
      }
      items.push(itemOf('node_not_ready', 'bad', seenAt, { subject, facts }))
    }
    if (state !== 'gone' && loop && loop.busy >= BUSY_SHARE) {
      const facts = { busy: loop.busy, cpu: loop.cpu, period_s: loop.periodMs / 1000 }
      items.push(itemOf('node_busy', 'warn', seenAt - loop.periodMs, { subject, facts }))
    }
    if (state !== 'gone' && queueAgeMs > QUEUE_AGE_MS) {
      const since = now - queueAgeMs
      const facts = { oldest_at: isoTime(since) }
      items.push(itemOf('queue_old', 'bad', since, { subject, facts }))
    }
  }
  return items
}

const restoredData: AttentionKind = async ({ db }) => {
  const state = await readRestoreState(db)
  if (!state) return []
  const { reason, recognized_at, data_through, revocations } = state
  const subject = { type: 'service', id: 'service', label: 'service' }
  const facts = { reason, data_through: isoTime(data_through) }
  const items: AttentionItem[] = []
  if (isHeld(state)) items.push(itemOf('restore_held', 'bad', recognized_at, { subject, facts }))
  if (revocations === 'unknown') {
    items.push(itemOf('revocations_unknown', 'bad', data_through, { subject, facts }))
  }
  return items
}

const expiringCertificate: AttentionKind = async ({ certificateEnd }, now) => {
  const end = certificateEnd()
  if (end === undefined || end - now >= CERTIFICATE_LEFT_MIN_MS) return []
  const subject = { type: 'certificate', id: 'server', label: 'GATEHOOK_TLS_CERT' }
  const facts = { ends_at: isoTime(end) }
  const severity = end - now < 3 * DAY_MS ? 'bad' : 'warn'
  return [itemOf('certificate_expiring', severity, now, { subject, facts })]
}

/** The kinds, the most urgent first within a severity. */
const KINDS: readonly AttentionKind[] = [
  restoredData,
  nodeStates,
  expiringCertificate,
  serverErrors,
  failedJobs,
  failingJobs,
  reusedTokens,
  breakGlass,
  disabledEndpoints,
  failingEndpoints,
  slowEndpoints,
  endingVersions,
  expiringKeys,
  refusedKeys,
  limitedKeys,
]

const ORDER: Readonly<Record<Severity, number>> = { bad: 0, warn: 1, info: 2 }

/** The result is valid for this time, for all operators. */
const VALID_MS = 5000

/** Returns the function that reads all items, the most urgent first. */
export function createAttentionReader(sources: AttentionSources): () => Promise<AttentionItem[]> {
  const { clock } = sources
  let last: { readonly atMs: number; readonly items: Promise<AttentionItem[]> } | undefined
  const readAll = async () => {
    const now = clock.now()
    const items: AttentionItem[] = []
    // While the database is away, the item of the node says how.
    for (const read of KINDS) items.push(...(await whileAvailable(read(sources, now), [])))
    return items.sort((a, b) => ORDER[a.severity] - ORDER[b.severity])
  }
  return () => {
    const nowMs = clock.elapsedMs()
    if (!last || nowMs - last.atMs >= VALID_MS) {
      const items = readAll()
      items.catch(() => {
        last = undefined
      })
      last = { atMs: nowMs, items }
    }
    return last.items
  }
}
