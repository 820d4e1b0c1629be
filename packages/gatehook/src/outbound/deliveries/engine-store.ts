/**
 * SQL of the engine: reads registrations, writes results; `due-rows.ts` reads due deliveries. One
 * text per statement for both databases; `engine.ts` decides when each runs.
 */

import { webhookDisabled } from '../../history/events/engine-types.ts'
import { type Coverage, isCovered, makerAsReader } from '../../history/events/event-access.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import {
  createStoredObjects,
  type DeclaredObjects,
  NO_DECLARED_OBJECTS,
} from '../../history/events/stored-objects.ts'
import { customerOfScope } from '../../identity/access/customer-reader.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Scope } from '../../kernel/principal.ts'
import { DecryptionError, type Vault } from '../../kernel/secret.ts'
import type {
  Database,
  Reader,
  Row,
  Statement,
  Tx,
  Value,
} from '../../platform/storage/database.ts'
import { createSharedReads } from '../../platform/storage/shared-reads.ts'
import { prepareStatement, prepareUpsert, type Sql, sql } from '../../platform/storage/sql.ts'
import { backlogStore } from './backlog-store.ts'
import { parseDeliveryRate } from './delivery-rate.ts'
import { dueRows } from './due-rows.ts'
import { dueStore } from './due-store.ts'
import { FAILING_MS, FAILURES_APART_MS } from './endpoint-health.ts'
import { readBody } from './log-store.ts'
import { healthRank, type StoredSummary } from './outcome-summary.ts'
import type {
  DisabledReason,
  EngineRegistration,
  EngineStore,
  HealthUpdate,
  LiveSecret,
  SummaryUpdate,
} from './ports.ts'
import { resultStatements } from './result-store.ts'
import { decryptSigningSecret } from './signing-secret.ts'

interface EngineStoreDeps {
  readonly db: Database
  readonly clock: Clock
  readonly vault: Vault
  readonly log: Log
  /** Records `webhook.disabled`. */
  readonly record: RecordEvent
  /** Returns the scopes that cover a type; undefined: no scope is required. */
  readonly coveredBy: (type: string) => Coverage | undefined
  /** The members that deliveries have. Default: those that are stored. */
  readonly declaredObjects?: DeclaredObjects
}

const selectRegistration = `SELECT w.id, w.scope, w.url, w.active, w.deleted_at, w.revision,
    w.first_failure_at, w.last_failure_at, w.last_success_at, w.hold_until, w.scopes,
    w.subject, w.backlog, c.suspended, c.limits, c.id AS customer_id
  FROM gh_webhooks w JOIN ${customerOfScope('w.scope')} WHERE w.no = ?`
const registrationByNo = prepareStatement(selectRegistration)
const registrationOfScope = prepareStatement(`${selectRegistration} AND w.scope = ?`)

const secretsOf = prepareStatement(`SELECT no, encrypted, expires_at FROM gh_webhook_secrets
  WHERE scope = ? AND webhook_no = ? ORDER BY no`)

const updateHealth =
  prepareStatement(`UPDATE gh_webhooks SET first_failure_at = ?, last_failure_at = ?,
    last_success_at = ?, hold_until = ? WHERE scope = ? AND no = ? AND url = ?`)

const summaryOf = prepareStatement(
  'SELECT marks, hours FROM gh_webhook_outcomes WHERE scope = ? AND webhook_no = ?',
)
/** Summaries written by one statement; the rest are written one by one. */
const SUMMARIES_AT_ONCE = 20
const upsertSummaries = (count: number) =>
  prepareUpsert(`INSERT INTO gh_webhook_outcomes (scope, webhook_no, marks, hours, breaker,
    breaker_until, in_flight, newest_id, updated_at)
  VALUES ${Array.from({ length: count }, () => '(?, ?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}
  ON CONFLICT (scope, webhook_no) DO UPDATE SET marks = excluded.marks, hours = excluded.hours,
    breaker = excluded.breaker, breaker_until = excluded.breaker_until,
    in_flight = excluded.in_flight, updated_at = excluded.updated_at,
    newest_id = CASE WHEN excluded.newest_id > gh_webhook_outcomes.newest_id
      THEN excluded.newest_id ELSE gh_webhook_outcomes.newest_id END`)
const upsertOne = upsertSummaries(1)
const upsertMany = upsertSummaries(SUMMARIES_AT_ONCE)
/** An endpoint that was disabled meanwhile stays off. */
const updateState = prepareStatement(
  'UPDATE gh_webhooks SET health = ? WHERE scope = ? AND no = ? AND active = 1',
)

const failingNos = prepareStatement(`SELECT no FROM gh_webhooks
  WHERE first_failure_at IS NOT NULL AND active = 1 AND first_failure_at <= ?
  AND last_failure_at >= first_failure_at + ? AND deleted_at IS NULL`)

export function engineStore(deps: EngineStoreDeps): EngineStore {
  const { db } = deps
  const objects = createStoredObjects(deps.declaredObjects ?? NO_DECLARED_OBJECTS)
  // The reads of one window, and of windows that are filled together, are one round trip.
  const reads = createSharedReads(db)
  return {
    ...dueStore(db),
    ...backlogStore(db),
    readRegistration: createRegistrationReader(deps, reads),
    ...dueRows(reads, objects),
    readLargeBody: async (scope, id) => (await readBody(db, objects, scope, id))?.text,
    readSummary: ({ no, scope }) => reads.get<Row & StoredSummary>(summaryOf([scope, no])),
    async writeResults(results, health, summaries) {
      // All of it is one round trip, with the commit.
      await db.write(async (tx) => {
        for (const statement of resultStatements(results)) tx.runLater(statement)
        for (const update of health) tx.runLater(healthStatement(update))
        for (const statement of summaryStatements(summaries)) tx.runLater(statement)
      })
    },
    async disableRegistration(no, reason, url) {
      const where = url === undefined ? sql`no = ${no}` : sql`no = ${no} AND url = ${url}`
      await db.write((tx) => disableRegistration(tx, where, reason, deps))
    },
    async listFailing(now) {
      const rows = await db.arrays(failingNos([now - FAILING_MS, FAILURES_APART_MS]))
      return rows.map((row) => row[0] as number)
    },
  }
}

function summaryStatements(summaries: readonly SummaryUpdate[]): Statement[] {
  const statements: Statement[] = []
  for (const { no, scope, health } of summaries) {
    if (health !== undefined) statements.push(updateState([healthRank(health), scope, no]))
  }
  const many = summaries.length - (summaries.length % SUMMARIES_AT_ONCE)
  for (let from = 0; from < many; from += SUMMARIES_AT_ONCE) {
    const values = summaries.slice(from, from + SUMMARIES_AT_ONCE).flatMap(summaryValues)
    statements.push(upsertMany(values))
  }
  for (const update of summaries.slice(many)) statements.push(upsertOne(summaryValues(update)))
  return statements
}

const summaryValues = (update: SummaryUpdate): Value[] => {
  const { no, scope, marks, hours, breaker, breakerUntil, inFlight, newestId, updatedAt } = update
  return [scope, no, marks, hours, breaker, breakerUntil, inFlight, newestId, updatedAt]
}

function healthStatement({ no, scope, url, holdUntil, ...health }: HealthUpdate): Statement {
  const { firstFailureAt, lastFailureAt, lastSuccessAt } = health
  return updateHealth([firstFailureAt, lastFailureAt, lastSuccessAt, holdUntil, scope, no, url])
}

/** Registrations whose decrypted secrets are cached. */
const CACHED_SECRETS_MAX = 10_000

/**
 * Returns the reader of registrations. It decrypts the secrets once per revision. A registration
 * with a secret that cannot be decrypted reads as undefined: its deliveries wait, those of others
 * do not.
 */
function createRegistrationReader(
  { vault, log, coveredBy }: EngineStoreDeps,
  reads: Reader,
): EngineStore['readRegistration'] {
  const cache = new BoundedMap<number, { revision: number; secrets: readonly LiveSecret[] }>(
    CACHED_SECRETS_MAX,
  )
  const readSecrets = async (no: number, { scope, revision }: Row) => {
    const cachedSecrets = cache.get(no)
    if (cachedSecrets && cachedSecrets.revision === revision) return cachedSecrets.secrets
    const rows = await reads.arrays(secretsOf([scope, no]))
    const secrets = rows.map(([secretNo, encrypted, expiresAt]) => ({
      ...decryptSigningSecret(vault, secretNo as number, encrypted as Uint8Array),
      expiresAt: expiresAt as number | null,
    }))
    cache.set(no, { revision, secrets })
    return secrets
  }
  /** Revisions whose failure was logged, by number. */
  const loggedFailures = new BoundedMap<number, number>(CACHED_SECRETS_MAX)
  return async (no, scope): Promise<EngineRegistration | undefined> => {
    const row = await reads.get(
      scope === undefined ? registrationByNo([no]) : registrationOfScope([no, scope]),
    )
    if (!row) return undefined
    const sends = row.active === 1 && row.deleted_at === null && row.suspended === 0
    let secrets: readonly LiveSecret[] = []
    try {
      if (sends) secrets = await readSecrets(no, row)
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error
      if (loggedFailures.get(no) !== row.revision) {
        log.error({ err: error, webhook: row.id }, 'a signing secret cannot be decrypted')
      }
      loggedFailures.set(no, row.revision)
      return undefined
    }
    const maker = makerAsReader({ subject: row.subject, scopes: row.scopes })
    return {
      no,
      id: row.id,
      scope: row.scope,
      customer: Math.floor(row.scope / 2),
      customerId: row.customer_id,
      url: row.url,
      sends,
      revision: row.revision,
      secrets,
      rate: parseDeliveryRate(row.limits),
      holdUntil: row.hold_until,
      hasBacklog: row.backlog === 1,
      firstFailureAt: row.first_failure_at,
      lastFailureAt: row.last_failure_at,
      lastSuccessAt: row.last_success_at,
      covers: (type) => isCovered(coveredBy(type), maker),
    }
  }
}

/** Disables a registration. The state, the reason and the event commit together (§9.7). */
async function disableRegistration(
  tx: Tx,
  where: Sql,
  reason: DisabledReason,
  { clock, record }: EngineStoreDeps,
): Promise<void> {
  const row =
    await tx.get(sql`UPDATE gh_webhooks SET active = 0, health = 0, disabled_reason = ${reason},
    updated_at = ${clock.now()}, revision = revision + 1
    WHERE ${where} AND active = 1 AND deleted_at IS NULL RETURNING id, scope, url`)
  if (!row) return
  await record(tx, row.scope as Scope, webhookDisabled({ id: row.id, url: row.url }, reason))
}
