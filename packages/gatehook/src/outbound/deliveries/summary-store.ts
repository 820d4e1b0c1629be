/** SQL of the health of endpoints, for operators: summaries, waiting deliveries, last attempts. */

import { setImmediate as nextTick } from 'node:timers/promises'
import { countAllWaiting, countWaitingIn } from '../../history/events/waiting.ts'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { ATTEMPTS_READ_ROWS } from './delivery.ts'
import type { StoredSummary } from './outcome-summary.ts'
import type { EndpointKey } from './ports.ts'
import { IS_PENDING, OWN, TIME } from './tables.ts'

/** The row of `gh_webhook_outcomes`, which the engine writes. */
export interface OutcomesRow extends Row, StoredSummary {
  readonly webhook_no: number
  readonly breaker: 'closed' | 'open' | 'probing'
  readonly breaker_until: number | null
  readonly in_flight: number
  readonly newest_id: string
}

interface ReportedRow extends Row, EndpointKey {
  readonly health: number
  readonly active: number
  readonly disabled_reason: string | null
  readonly first_failure_at: number | null
  readonly hold_until: number | null
}

const byId = prepareStatement(`SELECT no, scope, health, active, disabled_reason,
  first_failure_at, hold_until FROM gh_webhooks WHERE id = ? AND deleted_at IS NULL`)

/** Returns the state of an endpoint of any customer, which is on its registration. */
export const findReported = (from: Reader, id: string) => from.get<ReportedRow>(byId([id]))

export interface WaitingRow {
  /** Pending deliveries, at most the requested number. */
  readonly waiting: number
  /** The creation of the oldest of those that are due first. */
  readonly oldest: number | null
}

/** Deliveries examined for `oldest`. */
const OLDEST_OF = 100

const outcomes = prepareStatement(`SELECT webhook_no, marks, hours, breaker, breaker_until,
  in_flight, newest_id FROM gh_webhook_outcomes WHERE scope = ? AND webhook_no = ?`)

export const readOutcomes = (from: Reader, { scope, no }: EndpointKey) =>
  from.get<OutcomesRow>(outcomes([scope, no]))

const OF_ENDPOINT = `FROM gh_deliveries WHERE ${IS_PENDING} AND scope = ? AND ${OWN} = ?`
const waitingOf = prepareStatement(`SELECT pending.total AS waiting, oldest.created_at AS oldest
  FROM (SELECT COUNT(*) AS total
      FROM (SELECT 1 AS one ${OF_ENDPOINT} LIMIT ?) AS entries) AS pending,
    (SELECT MIN(created_at) AS created_at FROM (SELECT created_at ${OF_ENDPOINT}
      ORDER BY next_attempt_at, id LIMIT ${OLDEST_OF}) AS first) AS oldest`)

/** Counts the pending deliveries of an endpoint, at most `most`. */
export async function countWaiting(
  from: Reader,
  { scope, no }: EndpointKey,
  most: number,
): Promise<WaitingRow> {
  const [row, inEvents] = await Promise.all([
    from.get<WaitingRow & Row>(waitingOf([scope, no, most, scope, no])),
    countWaitingIn(from, { scope, no }, most),
  ])
  return {
    waiting: Math.min(most, Number(row!.waiting) + inEvents.total),
    oldest: row!.oldest ?? inEvents.oldest,
  }
}

const queued = prepareStatement(`SELECT COUNT(*) AS total FROM (SELECT 1 AS one FROM gh_deliveries
  WHERE ${IS_PENDING} AND ${TIME} >= 0 ORDER BY ${TIME} LIMIT ?) AS entries`)

/** Counts the pending deliveries of all endpoints, at most `most`. */
export async function countQueued(from: Reader, most: number): Promise<number> {
  const [row, inEvents] = await Promise.all([from.get(queued([most])), countAllWaiting(from, most)])
  return Math.min(most, Number(row!.total) + inEvents)
}

/** Failed deliveries that are counted. */
const FAILED_MAX = 10_000
const failed = prepareStatement(`SELECT COUNT(*) AS total, MIN(created_at) AS oldest
  FROM (SELECT created_at FROM gh_deliveries
    WHERE scope = ? AND webhook_no = ? AND failed = 1 AND state IN ('failed', 'exhausted')
    ORDER BY id DESC LIMIT ${FAILED_MAX}) AS newest`)

/** Counts failed and exhausted deliveries, the newest `FAILED_MAX`, and returns the oldest one. */
export async function countFailed(
  from: Reader,
  { scope, no }: EndpointKey,
): Promise<{ readonly total: number; readonly oldest: number | null }> {
  const row = await from.get(failed([scope, no]))
  return { total: Number(row!.total), oldest: row!.oldest }
}

const secrets = prepareStatement(`SELECT no, encrypted, created_at, expires_at
  FROM gh_webhook_secrets WHERE scope = ? AND webhook_no = ? ORDER BY no`)

export interface SecretRow {
  readonly no: number
  readonly encrypted: Uint8Array
  readonly created_at: number
  readonly expires_at: number | null
}

/** Reads the secrets of a registration, oldest first, expired ones included. */
export const readSecrets = (from: Reader, { scope, no }: EndpointKey) =>
  from.all<SecretRow & Row>(secrets([scope, no]))

export interface AttemptedRow {
  readonly id: string
  readonly attempts: string | null
}

/** Rows and characters that are examined for the last attempts of an endpoint. */
const EXAMINED_MAX = 512
const CHARACTERS_MAX = 4 * 1024 * 1024
const attempted = prepareStatement(`SELECT id, attempts FROM gh_deliveries
  WHERE scope = ? AND webhook_no = ? AND id <= ? ORDER BY id DESC LIMIT ${ATTEMPTS_READ_ROWS}`)

/** Reads deliveries with attempts in pages, newest first from `newestId`, up to the bounds. */
export async function* readAttempted(
  from: Reader,
  { scope, no }: EndpointKey,
  newestId: string,
): AsyncGenerator<readonly AttemptedRow[]> {
  let characters = 0
  let until = newestId
  for (let examined = 0; examined < EXAMINED_MAX; examined += ATTEMPTS_READ_ROWS) {
    const rows = await from.all<AttemptedRow & Row>(attempted([scope, no, until]))
    // The last row of a read is the first one of the next.
    yield rows.filter(({ id, attempts }) => attempts !== null && (examined === 0 || id !== until))
    characters += rows.reduce((sum, { attempts }) => sum + (attempts?.length ?? 0), 0)
    if (rows.length < ATTEMPTS_READ_ROWS || characters > CHARACTERS_MAX) return
    until = rows.at(-1)!.id
    await nextTick() // other requests run between two reads
  }
}
