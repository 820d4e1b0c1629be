/** `GET /admin/webhooks/{id}/health`: why an endpoint is in its state, and its last attempts. */

import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { DecryptionError, type Vault } from '../../kernel/secret.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { type AttemptRecord, decodeAttempts } from '../deliveries/delivery.ts'
import { FAILING_MS } from '../deliveries/endpoint-health.ts'
import { HEALTH_STATES, markOf, type OutcomeMark } from '../deliveries/outcome-summary.ts'
import type { EndpointKey } from '../deliveries/ports.ts'
import { decryptSigningSecret } from '../deliveries/signing-secret.ts'
import * as store from '../deliveries/summary-store.ts'
import { readHealth } from './all-registrations.ts'
import { overviewOperations as operations } from './overview-operations.ts'

const ATTEMPTS_DEFAULT = 120
/** Waiting deliveries that are counted. */
const WAITING_MAX = 10_000
const HINT_CHARACTERS = 4

/** The rules of the installation that apply to every endpoint. */
export interface DeliveryRules {
  readonly schedule_s: readonly number[]
  readonly timeout_ms: number
  readonly rate: { readonly limit: number; readonly window_s: number } | null
}

interface ReportDeps {
  readonly db: Database
  readonly clock: Clock
  readonly vault: Vault
  readonly rules: DeliveryRules
}

interface AttemptJson {
  readonly delivery_id: string
  readonly n: number
  readonly at: string
  readonly status: number | null
  readonly took_ms: number
  readonly error: string | null
  readonly outcome: OutcomeMark
}

const timeOrNull = (at: number | null | undefined): string | null =>
  at == null ? null : isoTime(at)

export const reportRoute = (deps: ReportDeps): Route =>
  implement(operations.reportEndpoint, async ({ params }, _, { attempts = ATTEMPTS_DEFAULT }) =>
    respond(operations.reportEndpoint, await reportEndpoint(deps, params.id!, attempts)),
  )

async function reportEndpoint(deps: ReportDeps, id: string, limit: number) {
  const { db, clock, rules } = deps
  const row = await store.findReported(db, id)
  if (!row) throw new Failure('not_found')
  const now = clock.now()
  const state = HEALTH_STATES[row.health]!
  const [healthByNo, outcomes, failed, secrets] = await Promise.all([
    readHealth(db, [{ no: row.no, scope: row.scope, state }], now, WAITING_MAX),
    store.readOutcomes(db, row),
    store.countFailed(db, row),
    readSecretList(deps, row),
  ])
  const attempts = await readAttempts(db, row, outcomes?.newest_id, limit)
  const last = attempts.at(-1)
  const isFailing = row.active === 1 && row.first_failure_at !== null
  return {
    ...healthByNo.get(row.no)!,
    cause: row.active === 0 ? (row.disabled_reason ?? 'paused') : (last?.error ?? null),
    since: timeOrNull(row.first_failure_at),
    off_at: isFailing ? isoTime(row.first_failure_at + FAILING_MS) : null,
    hold_until: row.hold_until !== null && row.hold_until > now ? isoTime(row.hold_until) : null,
    breaker: {
      state: outcomes?.breaker ?? 'closed',
      until: timeOrNull(outcomes?.breaker_until),
    },
    in_flight: outcomes?.in_flight ?? 0,
    p95_ms: p95Of(attempts),
    attempts,
    secrets,
    failed_since: { at: timeOrNull(failed.oldest), count: failed.total },
    rules,
  }
}

/** Returns the last attempts of an endpoint, oldest first. */
async function readAttempts(
  db: Database,
  endpoint: EndpointKey,
  newestId: string | undefined,
  limit: number,
): Promise<readonly AttemptJson[]> {
  const attempts: AttemptJson[] = []
  // `~` sorts after every id: before its first attempt, an endpoint has test deliveries only.
  for await (const rows of store.readAttempted(db, endpoint, newestId ?? '~')) {
    for (const { id, attempts: stored } of rows) {
      attempts.push(
        ...decodeAttempts(stored).map((attempt, index) => attemptJson(id, attempt, index)),
      )
    }
    if (attempts.length >= limit) break
  }
  return attempts.toSorted((a, b) => (a.at < b.at ? -1 : 1)).slice(-limit)
}

function attemptJson(deliveryId: string, attempt: AttemptRecord, index: number): AttemptJson {
  const { n, at, status, duration_ms, error } = attempt
  const outcome = markOf(error === null, index + 1, duration_ms)
  return { delivery_id: deliveryId, n, at, status, took_ms: duration_ms, error, outcome }
}

function p95Of(attempts: readonly AttemptJson[]): number | null {
  const sorted = attempts.map(({ took_ms }) => took_ms).toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * 0.95) - 1)] ?? null
}

/** Returns the live secrets, newest last, by their last characters. */
async function readSecretList({ db, clock, vault }: ReportDeps, endpoint: EndpointKey) {
  const now = clock.now()
  const rows = await store.readSecrets(db, endpoint)
  return rows
    .filter(({ expires_at }) => expires_at === null || expires_at > now)
    .map(({ no, encrypted, created_at, expires_at }) => ({
      hint: hintOf(vault, no, encrypted),
      created_at: isoTime(created_at),
      signs_until: timeOrNull(expires_at),
    }))
}

/** Returns null for a secret that cannot be decrypted. */
function hintOf(vault: Vault, no: number, encrypted: Uint8Array): string | null {
  try {
    return `whsec_…${decryptSigningSecret(vault, no, encrypted).value.slice(-HINT_CHARACTERS)}`
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error
    return null
  }
}
