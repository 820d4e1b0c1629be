/**
 * What needs the attention of an operator (`GET /admin/attention`): a table of kinds, each of which
 * reads the present state and returns items with facts. The console writes the sentences. Nothing
 * runs until an operator requests the list; the result is valid for a few seconds.
 */

import { countVersionCallers } from '../../declare/versions/usage-reader.ts'
import { listAudited } from '../../history/audit/reader.ts'
import { lowestIdAt } from '../../kernel/id.ts'
import { isoTime } from '../../kernel/time.ts'
import {
  listDisabledEndpoints,
  listSlowEndpoints,
} from '../../outbound/deliveries/endpoint-reader.ts'
import { listHeld } from '../../outbound/emissions/store.ts'
import { isHeld, readRestoreState } from '../restore/state.ts'
import { CERTIFICATE_LEFT_MIN_MS } from '../system/machine-facts.ts'
import { fullServer } from './attention-connections.ts'
import { failedJobs, failingJobs, lateSchedules, longJobs } from './attention-jobs.ts'
import { expiringKeys, limitedKeys, movedKeys, refusedKeys } from './attention-keys.ts'
import {
  type AttentionKind,
  type AttentionSources,
  instant,
  itemOf,
  modeName,
  type Severity,
} from './attention-kind.ts'
import { heldLocks } from './attention-locks.ts'
import {
  differentNodes,
  failedStarts,
  listRunning,
  missingNodes,
  nodeWarnings,
  otherStates,
  ownState,
} from './attention-nodes.ts'
import {
  type AttentionKinds,
  type AttentionReading,
  readKinds,
  unknownItem,
} from './attention-reads.ts'
import { failingEndpoints } from './attention-receivers.ts'
import * as store from './attention-store.ts'
import type { AttentionItem } from './operations.ts'
import { SHORTEST_STEP_S } from './steps.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const VERSION_ENDS_WITHIN_MS = 90 * DAY_MS
const VERSION_CALLED_WITHIN_MS = 30 * DAY_MS
/** An endpoint that was disabled earlier needs no attention any more. */
const DISABLED_WITHIN_MS = 30 * DAY_MS
const OPERATION_WITHIN_MS = DAY_MS
/** Server errors: their share, the period, and the requests from which a share is meaningful. */
const ERRORS_SHARE = 0.01
const ERRORS_PERIOD_MS = 15 * 60_000
const ERRORS_REQUESTS_MIN = 20
/** Earlier errors of the same outage are sought for this time. */
const ERRORS_SEARCH_MS = HOUR_MS
/** An outage without errors for this time is over. */
const ERRORS_PRESENT_MS = 60_000
/** Errors without a cause have none of errors that precede them by more. */
const CAUSE_MS = 2 * SHORTEST_STEP_S * 1000
/** An outage is listed for this time after its last error. */
const ERRORS_LISTED_MS = 5 * 60_000
const PROBLEM_CHARACTERS = 200

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

/** Audited operations of one kind that are listed, the latest. */
const OPERATIONS_MAX = 20

/** Returns the kind of operations of the last day, about their targets. */
const auditedKind =
  (action: string, kind: string, type: string): AttentionKind =>
  async ({ db }, now) => {
    const sinceId = lowestIdAt('aud_', now - OPERATION_WITHIN_MS)
    const rows = await listAudited(db, { action, sinceId, limit: OPERATIONS_MAX })
    return rows.map(({ target, at, actor_id }) =>
      itemOf(kind, 'bad', at, {
        subject: { type, id: target, label: target },
        facts: { actor: actor_id },
      }),
    )
  }

const reusedTokens = auditedKind('token.reuse_detected', 'token_reuse', 'session')
/** The sign-in for emergencies (§16.9). */
const breakGlass = auditedKind('operator.break_glass', 'operator_break_glass', 'operator')

/** Set-backs of the audit chain that are listed, the latest, for this time. */
const SET_BACKS_MAX = 5
const SET_BACK_WITHIN_MS = 30 * DAY_MS

const setBackAudits: AttentionKind = async ({ db }, now) => {
  const rows = await listAudited(db, {
    action: 'audit.set_back',
    sinceId: lowestIdAt('aud_', now - SET_BACK_WITHIN_MS),
    limit: SET_BACKS_MAX,
  })
  return rows.map(({ id, at, detail }) => {
    const { expected, stored } = JSON.parse(detail)
    return itemOf('audit_set_back', 'bad', at, {
      subject: { type: 'audit', id, label: id },
      facts: { last_seq: expected.seq, last_hash: expected.hash, stored_seq: stored.seq },
    })
  })
}

/** Events of the team's transactions that do not fit their declaration (§17.2). */
const heldEvents: AttentionKind = async ({ db }) => {
  const rows = await listHeld(db, store.ITEMS_MAX)
  return rows.map(({ id, type, problem, held_at }) =>
    itemOf('event_held', 'bad', held_at, {
      subject: { type: 'event', id, label: type },
      facts: { problem: problem.slice(0, PROBLEM_CHARACTERS) },
    }),
  )
}

const serverErrors: AttentionKind = async ({ monitoring, lastCause }, now) => {
  const period = store.stepsOf(now, ERRORS_PERIOD_MS)
  const { failed, total } = await store.countServerErrors(monitoring, period)
  if (total < ERRORS_REQUESTS_MIN || failed / total <= ERRORS_SHARE) return []
  const steps = await store.listFailedSteps(monitoring, store.stepsOf(now, ERRORS_SEARCH_MS))
  const own = lastCause()
  const lastMs = Math.max((steps[0]! + SHORTEST_STEP_S) * 1000, own?.atMs ?? 0)
  if (now - lastMs > ERRORS_LISTED_MS) return []
  // An outage of the database is one of the store, too: this node has the later cause.
  const range = { fromMs: lastMs - CAUSE_MS, toMs: now + store.AHEAD_MS }
  const stored = await store.findErrorCause(monitoring, range)
  const isOwn = own && own.atMs >= Math.max(stored?.atMs ?? 0, lastMs - CAUSE_MS)
  const isPresent = now - lastMs <= ERRORS_PRESENT_MS
  const facts = {
    failed,
    total,
    period_s: ERRORS_PERIOD_MS / 1000,
    last_at: isoTime(Math.min(lastMs, now)),
    // A cause that has ended would read as one of the present.
    cause: isPresent ? ((isOwn ? own : stored)?.cause ?? null) : null,
  }
  const subject = { type: 'service', id: 'service', label: 'service' }
  const severity = isPresent ? 'bad' : 'info'
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

/** The first end of the certificates of nodes, with the nodes that have it. */
const expiringCertificate: AttentionKind = async ({ nodes }, now) => {
  const running = (await listRunning(nodes)).filter(({ state }) => state !== 'gone')
  const end = Math.min(...running.map((node) => node.certificateEnd ?? Number.POSITIVE_INFINITY))
  if (end - now >= CERTIFICATE_LEFT_MIN_MS) return []
  const subject = { type: 'certificate', id: 'server', label: 'GATEHOOK_TLS_CERT' }
  const having = running.filter(({ certificateEnd }) => certificateEnd === end)
  const facts = { ends_at: isoTime(end), nodes: having.map(({ name }) => name).sort() }
  const severity = end - now < 3 * DAY_MS ? 'bad' : 'warn'
  return [itemOf('certificate_expiring', severity, now, { subject, facts })]
}

/** Read for every caller: an operator who ends the state sees its end. */
const CURRENT: AttentionKinds = { restore: restoredData }

/** Read for all callers together. In both tables, the most urgent first within a severity. */
const SHARED: AttentionKinds = {
  'this node': ownState,
  'other nodes': otherStates,
  'node warnings': nodeWarnings,
  'failed starts': failedStarts,
  'held locks': heldLocks,
  connections: fullServer,
  'audit chain': setBackAudits,
  certificate: expiringCertificate,
  'server errors': serverErrors,
  'held events': heldEvents,
  'failed jobs': failedJobs,
  'failing jobs': failingJobs,
  'long jobs': longJobs,
  'late schedules': lateSchedules,
  'reused tokens': reusedTokens,
  'emergency sign-ins': breakGlass,
  'disabled receivers': disabledEndpoints,
  'failing receivers': failingEndpoints,
  'slow receivers': slowEndpoints,
  'moved keys': movedKeys,
  'ending versions': endingVersions,
  'expiring keys': expiringKeys,
  'rejected keys': refusedKeys,
  'limited keys': limitedKeys,
  'different nodes': differentNodes,
  'missing nodes': missingNodes,
}

const ORDER: Readonly<Record<Severity, number>> = { bad: 0, warn: 1, info: 2 }

/** The items of `SHARED` are valid for this time. */
const VALID_MS = 5000

/** Returns the function that reads all items, the most urgent first. */
export function createAttentionReader(sources: AttentionSources): () => Promise<AttentionItem[]> {
  const { clock } = sources
  let last: { readonly atMs: number; readonly result: Promise<AttentionReading> } | undefined
  let unknownSinceMs: number | undefined
  const readShared = () => {
    const nowMs = clock.elapsedMs()
    if (!last || nowMs - last.atMs >= VALID_MS) {
      const result = readKinds(SHARED, sources)
      result.catch(() => {
        last = undefined
      })
      last = { atMs: nowMs, result }
    }
    return last.result
  }
  return async () => {
    const parts = await Promise.all([readKinds(CURRENT, sources), readShared()])
    const items = parts.flatMap((part) => part.items)
    const unknown = parts.flatMap((part) => part.unknown)
    unknownSinceMs = unknown.length === 0 ? undefined : (unknownSinceMs ?? clock.now())
    if (unknownSinceMs !== undefined) items.push(unknownItem(unknown, unknownSinceMs))
    return items.sort((a, b) => ORDER[a.severity] - ORDER[b.severity])
  }
}
