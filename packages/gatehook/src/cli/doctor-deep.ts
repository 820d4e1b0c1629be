/**
 * The checks of `gatehook doctor --deep`, which read all data of an installation beside a running
 * service: in bounded statements, with a rest as long as the work before it. They change nothing.
 */
import { allEncrypted } from '../assembly/secrets.ts'
import type { Service } from '../declare/resources/service.ts'
import { DELETED_FIELD } from '../declare/resources/soft-deletion.ts'
import { verifyStoredChain } from '../history/audit/trail.ts'
import { findCustomerIdOf } from '../identity/access/customer-reader.ts'
import type { Clock } from '../kernel/clock.ts'
import { type OnPart, pauseLoop } from '../kernel/pace.ts'
import { customerNoOf, modeOf, type Scope } from '../kernel/principal.ts'
import type { Vault } from '../kernel/secret.ts'
import { checkReferences } from '../outbound/deliveries/reference-check.ts'
import { checkDecryption } from '../platform/secrets/decryption-check.ts'
import type { Database } from '../platform/storage/database.ts'
import { checkPages, readChecksumFailures } from '../platform/storage/page-check.ts'
import { findBrokenReferences } from '../platform/storage/row-references.ts'
import { checkCounters, type WrongTotal } from '../protocol/lists/counter-check.ts'
import { type CheckResult, fail, ok } from './doctor-checks.ts'
import { countRows, formatCount, type Output } from './output.ts'
import { createProgress } from './progress.ts'

const RUNBOOK = 'docs/guides/operations.md, "The database is damaged"'
/** Findings that a line names. */
const NAMED_MAX = 5
const REST_MAX_MS = 1_000
/** The first values of a column; every response to a request with an idempotency key is one. */
const VALUES_MAX = 10_000

/** Returns the function that reports the parts of a check, and rests after each. */
export function createParts(
  out: Pick<Output, 'progress'>,
  clock: Pick<Clock, 'elapsedMs'>,
  pause = pauseLoop,
): (step: string) => OnPart {
  const report = createProgress(out, clock)
  return (step) => {
    let startMs = clock.elapsedMs()
    return async (done, rows, unit) => {
      const fraction = rows === 0 ? 1 : done / rows
      report({ step, fraction, rows, done, ...(unit !== undefined && { unit }) })
      await pause(Math.min(clock.elapsedMs() - startMs, REST_MAX_MS))
      startMs = clock.elapsedMs()
    }
  }
}

function named(findings: readonly string[], separator = '; '): string {
  const more = findings.length - NAMED_MAX
  const first = findings.slice(0, NAMED_MAX).join(separator)
  return more > 0 ? `${first}${separator}${formatCount(more)} more` : first
}

/** Reads all pages of the database. */
export async function checkDatabasePages(db: Database, onPart: OnPart): Promise<CheckResult> {
  const report = await checkPages(db, onPart)
  if (!report) return ok('not read: the tables are distributed over several servers')
  const { faults, relations, hasIndexes } = report
  if (faults.length > 0) {
    const relationsWithFault = new Map(faults.map(({ relation, reason }) => [relation, reason]))
    const findings = [...relationsWithFault].map(([name, reason]) => `${name}: ${reason}`)
    return fail(`damaged: ${named(findings)}`, `Follow ${RUNBOOK}.`)
  }
  const failures = await readChecksumFailures(db)
  if (failures) {
    const { count, lastAt } = failures
    return fail(
      `the server counts ${formatCount(count)} pages with a wrong checksum, the last at ${lastAt}`,
      `Replace its disk and follow ${RUNBOOK}; then reset the count: SELECT pg_stat_reset().`,
    )
  }
  const detail = `all pages of ${formatCount(relations)} tables and indexes are sound`
  return hasIndexes
    ? ok(detail)
    : ok(
        `all rows of ${formatCount(relations)} tables are readable; CREATE EXTENSION amcheck, as
      the role of the service, lets this check verify indexes too`.replace(/\s+/g, ' '),
      )
}

const CUT_OFF =
  'These deliveries are never sent: send their events again, POST /webhooks/ID/replay.'

const STILL_DUE =
  'Each search for due deliveries reads these ended ones: set their next_attempt_at to NULL.'

const faultOf = (missing: string): string =>
  missing === 'end' ? 'have ended but are due' : `lack their ${missing}`

/** Checks that each pending delivery, and no other, has its event, registration and time. */
export async function checkDeliveries(db: Database, onPart: OnPart): Promise<CheckResult> {
  const { deliveries, lacking } = await checkReferences(db, onPart)
  if (lacking.size === 0) return ok(`${formatCount(deliveries)} deliveries, none is cut off`)
  const findings = [...lacking].map(
    ([missing, { count, ids }]) => `${formatCount(count)} ${faultOf(missing)} (${ids.join(', ')})`,
  )
  const isCutOff = [...lacking.keys()].some((missing) => missing !== 'end')
  const advice = [...(isCutOff ? [CUT_OFF] : []), ...(lacking.has('end') ? [STILL_DUE] : [])]
  return fail(`deliveries: ${findings.join('; ')}`, advice.join(' '))
}

/** Checks that rows refer to rows that exist; undefined where the database guarantees it. */
export async function checkForeignKeys(
  db: Database,
  onPart: OnPart,
): Promise<CheckResult | undefined> {
  const broken = await findBrokenReferences(db, onPart)
  if (!broken) return undefined
  if (broken.length === 0) return ok('each row refers to a row that exists')
  const findings = broken.map(
    ({ table, missing, rows }) => `${countRows(rows)} of ${table} refer to missing ${missing}`,
  )
  return fail(
    named(findings),
    'Delete these rows, or restore a backup that has what they refer to.',
  )
}

async function describeTotal(db: Database, wrong: WrongTotal): Promise<string> {
  const { collection, scope, total, rows } = wrong
  const id = await findCustomerIdOf(db, scope as Scope)
  const owner = `customer ${id ?? `number ${customerNoOf(scope as Scope)}, which is missing`}`
  const counts = `${countRows(rows)}, total ${formatCount(total)}`
  return `${collection} of ${owner}, ${modeOf(scope as Scope)}: ${counts}`
}

/** Compares the totals of lists with their rows. */
export async function checkTotals(
  db: Database,
  { definition }: Service,
  onPart: OnPart,
): Promise<CheckResult> {
  const wrong: WrongTotal[] = []
  let rows = 0
  for (const { name, softDeletion } of definition.resources) {
    if ((await db.columns(name)).length === 0) continue
    const deletedColumn = softDeletion ? DELETED_FIELD : undefined
    const report = await checkCounters(db, { name, deletedColumn }, onPart)
    wrong.push(...report.wrong)
    rows += report.rows
  }
  if (wrong.length === 0) return ok(`the totals of ${countRows(rows)} are exact`)
  const first = wrong.slice(0, NAMED_MAX).map((place) => describeTotal(db, place))
  const more = wrong.slice(NAMED_MAX).map(() => '')
  return fail(named([...(await Promise.all(first)), ...more]), `Count them again: ${RUNBOOK}.`)
}

/** Decrypts values with the present master secret. */
export async function checkEncryption(
  db: Database,
  vault: Vault,
  onPart: OnPart,
): Promise<CheckResult> {
  const findings: string[] = []
  let values = 0
  for (const column of allEncrypted) {
    if ((await db.columns(column.table)).length === 0) continue
    const report = await checkDecryption(db, vault, column, VALUES_MAX, onPart)
    values += report.values
    if (report.unreadable === 0) continue
    const place = `${column.table}.${column.column}`
    findings.push(`${formatCount(report.unreadable)} values of ${place}`)
  }
  if (findings.length === 0) return ok(`${formatCount(values)} values are readable`)
  return fail(
    `not readable: ${named(findings)}`,
    'Name the secret that encrypted them in GATEHOOK_SECRET_KEY_PREVIOUS, or replace these values.',
  )
}

/** Verifies the hash chain of the audit trail. */
export async function checkAuditChain(
  db: Database,
  vault: Vault,
  onPart: OnPart,
): Promise<CheckResult> {
  const report = await verifyStoredChain({ db, vault }, { onProgress: onPart })
  if (!report) return ok('none yet')
  const { valid, rows, broken } = report
  if (valid) return ok(`${countRows(rows)}, the chain is valid`)
  const { id, seq, reason } = broken!
  return fail(
    `broken at ${id ?? 'the row'} (${seq}): ${reason}`,
    'Compare the trail with the last export of gatehook audit export: rows were lost or changed.',
  )
}
