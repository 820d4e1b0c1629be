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
import { readTotal } from '../../protocol/lists/counters.ts'
import { createCatalog, newestVersion } from './catalog.ts'
import { innerReferencesOf, mapInside } from './inner-references.ts'
import { wholeScope } from './ownership.ts'
import { orderByReference } from './reference-order.ts'
import { type AnyRow, type ResourceDefinition, STATE_FIELD } from './resource.ts'
import type { ResourceRows } from './rows.ts'
import { sampleValue } from './sample.ts'
import type { ServiceDefinition } from './service.ts'

/** Rows of a resource with references, and of one without. */
const ROWS_WITH_REFERENCES = 120
const ROWS_WITHOUT_REFERENCES = 25
const PERIOD_MS = 30 * 86_400_000

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
        ids.push(
          await seedRow(tx, scope, rows, n, values).catch((error) =>
            describeRefusal(name, n, error),
          ),
        )
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
  idsByResource: ReadonlyMap<string, readonly RowId[]>,
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
  idsByResource: ReadonlyMap<string, readonly RowId[]>,
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

async function seedRow(
  tx: Tx,
  scope: Scope,
  rows: ResourceRows,
  n: number,
  values: AnyRow,
): Promise<RowId> {
  const { actions } = rows.definition
  const reach = wholeScope(scope)
  let { row } = await rows.create(tx, reach, values)
  // Row n takes n mod 5 steps through the states.
  for (let steps = n % 5; steps > 0; steps--) {
    const action = actions.find(({ from }) => from?.includes(row[STATE_FIELD]))
    if (!action) break
    const target = { reach, id: row.id as RowId }
    row = (await rows.act(tx, target, action, inputDefaults(action.input))).row
  }
  return row.id
}

const inputDefaults = (input: Readonly<Record<string, { default?: unknown }>>): AnyRow =>
  Object.fromEntries(Object.entries(input).map(([name, spec]) => [name, spec.default ?? null]))
