/**
 * Sample data from the declaration's own `.sample()` (§2.2): enough to page through, spread over
 * a month.
 */
import { createRecorder } from '../events/store.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Random } from '../kernel/random.ts'
import { total } from '../lists/counters.ts'
import type { Database, Tx } from '../storage/database.ts'
import { createCatalog, newestOf } from './catalog.ts'
import { wholeScope } from './ownership.ts'
import { type AnyRow, STATE_FIELD } from './resource.ts'
import type { Rows } from './rows.ts'
import { inReferenceOrder, type ServiceDefinition } from './service.ts'

/** Rows of a resource that points to others, and of one that does not. */
const ROWS_POINTING = 120
const ROWS_ALONE = 25
const SPREAD_MS = 30 * 86_400_000

export interface SeedDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
}

/** Rows made, by resource; empty where the scope holds rows already. */
export type Seeded = Readonly<Record<string, number>>

/** Fills an empty scope, in one transaction. The same declaration gives the same rows. */
export async function seedService(
  service: ServiceDefinition,
  scope: Scope,
  { db, clock, random }: SeedDeps,
): Promise<Seeded> {
  // Time runs through the last month while the rows are made, as it would have.
  let now = clock.now() - SPREAD_MS
  const moving: Clock = { now: () => now, elapsedMs: () => clock.elapsedMs() }
  const record = createRecorder({ clock: moving, random, shape: newestOf(service), sinks: [] })
  const counterSlots = db.dialect.counterSlots
  const catalog = createCatalog(service, { clock: moving, record, counterSlots })
  const resources = inReferenceOrder(service.resources).filter((one) => one.sample)
  const counts = resources.map(({ fields }) =>
    Object.values(fields).some((spec) => spec.target) ? ROWS_POINTING : ROWS_ALONE,
  )
  const step = Math.floor(
    SPREAD_MS /
      Math.max(
        1,
        counts.reduce((sum, count) => sum + count, 0),
      ),
  )
  return db.write(async (tx) => {
    const seeded: Record<string, number> = {}
    const ids = new Map<string, number[]>()
    now = clock.now() - SPREAD_MS
    for (const [at, { name }] of resources.entries()) {
      if ((await total(tx, scope, name)) > 0) return {}
      ids.set(name, [])
      for (let n = 0; n < counts[at]!; n++) {
        now += step
        ids.get(name)!.push(await seedRow(tx, scope, catalog.rowsOf(name), n, ids))
      }
      seeded[name] = counts[at]!
    }
    return seeded
  })
}

async function seedRow(
  tx: Tx,
  scope: Scope,
  rows: Rows,
  n: number,
  ids: ReadonlyMap<string, readonly number[]>,
): Promise<number> {
  const { definition } = rows
  const values: AnyRow = { ...definition.sample!(n) }
  for (const [field, spec] of Object.entries(definition.fields)) {
    const targets = spec.target ? (ids.get(spec.target) ?? []) : []
    if (targets.length > 0) values[field] ??= targets[(n * 7) % targets.length]
  }
  const reach = wholeScope(scope)
  let { row } = await rows.create(tx, reach, values)
  // The n-th row has gone n mod 5 steps on its way through the states.
  for (let steps = n % 5; steps > 0; steps--) {
    const action = definition.actions.find(({ from }) => from?.includes(row[STATE_FIELD]))
    if (!action) break
    const target = { reach, id: row.id as number }
    row = (await rows.act(tx, target, action, inputDefaults(action.input))).row
  }
  return row.id
}

const inputDefaults = (input: Readonly<Record<string, { default?: unknown }>>): AnyRow =>
  Object.fromEntries(Object.entries(input).map(([name, spec]) => [name, spec.default ?? null]))
