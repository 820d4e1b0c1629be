/** Sample data from `.sample()` (§2.2): enough to page through, spread over a month. */
import { createRecorder } from '../../history/events/store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import type { RowId } from '../../kernel/row-id.ts'
import { removeBudget } from '../../platform/storage/change-budget.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { setTimeOf } from '../../platform/storage/transaction-time.ts'
import { DeclarationError } from '../../protocol/fields/declaration-mistakes.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { readTotal } from '../../protocol/lists/counters.ts'
import { createCatalog, newestVersion } from './catalog.ts'
import { innerReferencesOf, mapInside } from './inner-references.ts'
import { wholeScope } from './ownership.ts'
import { orderByReference } from './reference-order.ts'
import {
  type ActionDefinition,
  type AnyRow,
  type ResourceDefinition,
  STATE_FIELD,
} from './resource.ts'
import type { ResourceRows } from './rows.ts'
import { sampleValue } from './sample.ts'
import type { ServiceDefinition } from './service.ts'

/** Rows of a resource with references, and of one without. */
const ROWS_WITH_REFERENCES = 120
const ROWS_WITHOUT_REFERENCES = 25
const PERIOD_MS = 30 * 86_400_000

/** The ids of seeded rows by resource. */
type SeededIds = ReadonlyMap<string, readonly RowId[]>

interface SeedDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
}

/** The number of created rows by resource; empty if the scope has rows already. */
export type SeedCounts = Readonly<Record<string, number>>

/**
 * Fills an empty scope in one transaction. The same declaration yields the same rows, except for
 * ids that are texts.
 */
export async function seedService(
  service: ServiceDefinition,
  scope: Scope,
  { db, clock, random }: SeedDeps,
): Promise<SeedCounts> {
  // The clock of the rows runs through the last month.
  let now = clock.now() - PERIOD_MS
  const pastClock: Clock = { now: () => now, elapsedMs: () => clock.elapsedMs() }
  const record = createRecorder({
    clock: pastClock,
    random,
    shape: newestVersion(service),
    sinks: [],
  })
  const catalog = createCatalog(service, { clock: pastClock, random, record })
  const plan = orderByReference(service.resources)
    .filter(({ sample }) => sample)
    .map(({ name, fields }) => {
      const inner = innerReferencesOf(fields)
      const hasReferences = inner.length > 0 || Object.values(fields).some((spec) => spec.target)
      return { name, rowCount: hasReferences ? ROWS_WITH_REFERENCES : ROWS_WITHOUT_REFERENCES }
    })
  const rowTotal = plan.reduce((sum, { rowCount }) => sum + rowCount, 0)
  const stepMs = Math.floor(PERIOD_MS / Math.max(1, rowTotal))
  return db.write(async (tx) => {
    removeBudget(tx)
    const counts: Record<string, number> = {}
    const idsByResource = new Map<string, RowId[]>()
    now = clock.now() - PERIOD_MS
    for (const { name, rowCount } of plan) {
      if ((await readTotal(tx, scope, name)) > 0) return {}
      const ids: RowId[] = []
      idsByResource.set(name, ids)
      const rows = catalog.rowsOf(name)
      for (let n = 0; n < rowCount; n++) {
        now += stepMs
        setTimeOf(tx, now)
        const values = sampleValues(rows.definition, n, idsByResource)
        if (values === undefined) break
        const { row } = await rows
          .create(tx, wholeScope(scope), values)
          .catch((error) => describeRefusal(name, n, error))
        ids.push(row.id as RowId)
        await takeSteps(tx, rows, { scope, n, row }, idsByResource)
      }
      counts[name] = ids.length
    }
    return counts
  })
}

/**
 * Returns the n-th sample row with references to seeded rows, and with a value of each required
 * field that `.sample()` omits. Undefined if such a field refers to no seeded row or is unique.
 */
function sampleValues(
  { fields, sample, unique }: ResourceDefinition,
  n: number,
  idsByResource: SeededIds,
): AnyRow | undefined {
  const values: AnyRow = { ...sample!(n) }
  for (const [field, spec] of Object.entries(fields)) {
    const ids = spec.target ? (idsByResource.get(spec.target) ?? []) : []
    if (ids.length > 0) values[field] ??= ids[(n * 7) % ids.length]
    if (values[field] !== undefined || spec.write !== 'required') continue
    const isUnique = spec.unique || unique.some((members) => members.includes(field))
    if (spec.target || isUnique) return undefined
    values[field] = sampleValue(field, spec)
  }
  return withSeededIds(fields, values, n, idsByResource)
}

/** Replaces ids inside values that no seeded row has. Undefined if there is no such row. */
function withSeededIds(
  fields: ResourceDefinition['fields'],
  values: AnyRow,
  n: number,
  idsByResource: SeededIds,
): AnyRow | undefined {
  let isComplete = true
  for (const { field, steps, spec } of innerReferencesOf(fields)) {
    const ids = idsByResource.get(spec.target!) ?? []
    let place = n * 7
    values[field] = mapInside(values[field], steps, (id) => {
      if (id === null || id === undefined || ids.includes(id as RowId)) return id
      if (ids.length === 0) isComplete = false
      return ids[place++ % ids.length]
    })
  }
  return isComplete ? values : undefined
}

/** Throws the refusal of a row by a check, or by a unique field, as one of the declaration. */
function describeRefusal(name: string, n: number, error: unknown): never {
  if (!(error instanceof Failure) || error.status >= 500) throw error
  throw new DeclarationError(`resource ${name}: the row of .sample(${n}): ${error.message}`, {
    cause: error,
  })
}

/** Row n takes n mod 5 steps through the states, until an action rejects its sample input. */
async function takeSteps(
  tx: Tx,
  rows: ResourceRows,
  { scope, n, row }: { readonly scope: Scope; readonly n: number; readonly row: AnyRow },
  idsByResource: SeededIds,
): Promise<void> {
  const { name, actions } = rows.definition
  const target = { reach: wholeScope(scope), id: row.id as RowId }
  let state = row[STATE_FIELD]
  for (let steps = n % 5; steps > 0; steps--) {
    const action = actions.find(({ from }) => from?.includes(state))
    if (!action) return
    const input = sampleInputs(action, n, idsByResource)
    const act = () => rows.act(tx, target, action, input)
    const changed = await tx.attempt(act).catch((error) => {
      if (error instanceof Failure && error.status < 500) return undefined
      const text = error instanceof Error ? error.message : String(error)
      const cause = `resource ${name}: action ${action.name} of the row of .sample(${n}): ${text}`
      throw new DeclarationError(cause, { cause: error })
    })
    if (!changed) return
    state = changed.row[STATE_FIELD]
  }
}

/** Returns an input that the members accept. */
function sampleInputs({ input }: ActionDefinition, n: number, idsByResource: SeededIds): AnyRow {
  const sampleOf = (member: string, spec: FieldSpec): unknown => {
    if (spec.default !== undefined) return spec.default
    if (spec.write !== 'required') return null
    const ids = spec.target ? (idsByResource.get(spec.target) ?? []) : []
    return ids.length > 0 ? ids[(n * 7) % ids.length] : sampleValue(member, spec)
  }
  const members = Object.entries(input).map(([name, spec]) => [name, sampleOf(name, spec)])
  return Object.fromEntries(members) as AnyRow
}
