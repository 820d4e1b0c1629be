/**
 * A test service with a nullable column of each sortable type, and a model in JavaScript of the
 * order and the filters of its list.
 */
import fc from 'fast-check'
import { f, resource, service } from '../../src/gatehook.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import type { Database, Value } from '../../src/platform/storage/database.ts'
import { prepareStatement } from '../../src/platform/storage/sql.ts'
import { addToTotal } from '../../src/protocol/lists/counters.ts'
import { valueListText } from '../../src/protocol/lists/value-list.ts'
import { all, run, testScope } from './rows.ts'

const access = { read: 'things:read', create: false, update: false, delete: false } as const

export const things = resource('things', {
  fields: {
    id: f.id(),
    person_id: f.ref('people').owner(),
    title: f.string().max(40).nullable().default(null),
    rank: f.int().nullable().default(null),
    score: f.number().nullable().default(null),
    flag: f.bool().nullable().default(null),
    due: f.time().nullable().default(null),
    currency: f.currency(),
  },
  list: {
    filter: ['id', 'person_id', 'title', 'rank', 'score', 'flag', 'due', 'currency'],
    sort: ['id', 'person_id', 'title', 'rank', 'score', 'flag', 'due', 'currency'],
  },
  access,
  events: [],
})

export const shelf = service({
  name: 'Shelf',
  versions: { v1: { released: '2025-06-01' } },
  resources: [
    resource('people', {
      fields: { id: f.id(), name: f.string().unique() },
      list: { filter: [], sort: ['id'] },
      access,
      events: [],
    }).signsIn({ username: 'name' }),
    things,
  ],
})

export const PATH = '/api/v1/things'
export const PEOPLE = 3

/**
 * Values of each column. Small pools create many ties; the order of some texts by code units
 * differs from their order by bytes.
 */
const pools = {
  person_id: [1, 2, 3],
  title: [null, null, '', 'a', 'B', 'b', 'ab', 'é', 'e\u0301', 'ß', '\uffee', '😀', "'--", '%_'],
  rank: [null, null, -5, 0, 1, 2, 10, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
  score: [null, null, -1.5, 0, 0.1, 0.30000000000000004, 3, 1e300, 5e-324],
  flag: [null, 0, 1],
  due: [null, null, -1, 0, 1_767_225_600_000, 1_767_225_600_001],
  currency: ['EUR', 'USD'],
} as const

export type Thing = { readonly id: number } & {
  readonly [K in keyof typeof pools]: (typeof pools)[K][number]
}
export type Column = keyof Thing
const names = Object.keys(pools) as (keyof typeof pools)[]

const pick = <T>(pool: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...pool)

export const cells: fc.Arbitrary<Omit<Thing, 'id'>> = fc.record({
  person_id: pick(pools.person_id),
  title: pick(pools.title),
  rank: pick(pools.rank),
  score: pick(pools.score),
  flag: pick(pools.flag),
  due: pick(pools.due),
  currency: pick(pools.currency),
})

export interface SortTerm {
  readonly column: Column
  readonly descending: boolean
}

/** Up to three sort columns, which may include the id. */
export const sorts: fc.Arbitrary<SortTerm[]> = fc
  .uniqueArray(pick<Column>([...names, 'id']), { maxLength: 3 })
  .chain((columns) =>
    fc
      .array(fc.boolean(), { minLength: columns.length, maxLength: columns.length })
      .map((down) => columns.map((column, at) => ({ column, descending: down[at]! }))),
  )

export const sortText = (sort: readonly SortTerm[]): string =>
  sort.length === 0
    ? ''
    : `&sort=${sort.map((term) => (term.descending ? '-' : '') + term.column).join(',')}`

function compare(a: Value, b: Value): number {
  if (a === b) return 0
  if (a === null) return 1 // NULLs are the largest (§7.6)
  if (b === null) return -1
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string))
  return (a as number) - (b as number) > 0 || a > b ? 1 : -1
}

/** Returns the rows in the expected order of the list. */
export function sortRows(rows: readonly Thing[], sort: readonly SortTerm[]): Thing[] {
  const tail = { column: 'id' as const, descending: sort.at(-1)?.descending ?? false }
  return [...rows].sort((a, b) => {
    for (const { column, descending } of [...sort, tail]) {
      const order = compare(a[column], b[column])
      if (order !== 0) return descending ? -order : order
    }
    return 0
  })
}

const comparisons: Readonly<Record<string, (order: number) => boolean>> = {
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
}

export interface FilterTerm {
  readonly column: keyof typeof pools
  readonly operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in'
  readonly values: readonly (string | number)[]
}

/** Filters with values of rows, except numbers with an exponent. */
export const filters: fc.Arbitrary<FilterTerm> = pick(names).chain((column) => {
  const values = (pools[column] as readonly (string | number | null)[]).filter(
    (value) => value !== null && !/[e,]/.test(typeof value === 'number' ? String(value) : ''),
  ) as (string | number)[]
  const operators = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in'] as const
  return fc
    .record({ operator: pick(operators), values: fc.array(pick(values), { minLength: 1 }) })
    .map(({ operator, values }) => ({
      column,
      operator,
      values: operator === 'in' ? values : values.slice(0, 1),
    }))
})

export function matches(row: Thing, { column, operator, values }: FilterTerm): boolean {
  const cell = row[column]
  if (operator === 'in') return cell !== null && values.includes(cell)
  if (operator === 'eq') return cell === values[0]
  if (operator === 'ne') return cell !== values[0]
  return cell !== null && comparisons[operator]!(compare(cell, values[0]!))
}

export function filterText({ column, operator, values }: FilterTerm): string {
  const name = operator === 'eq' ? column : `${column}[${operator}]`
  const wire = (value: string | number) => {
    if (column === 'due') return new Date(value).toISOString()
    return column === 'flag' ? (value === 1 ? 'true' : 'false') : String(value)
  }
  const text = operator === 'in' ? valueListText(values.map(wire)) : wire(values[0]!)
  return `&${name}=${encodeURIComponent(text)}`
}

/** Replaces all rows of the table; ids continue. */
export async function refill(db: Database, rows: readonly Omit<Thing, 'id'>[]): Promise<Thing[]> {
  const scope = await testScope(db)
  await run(db, 'DELETE FROM things')
  const existingPeople = await all(db, 'SELECT id FROM people')
  for (let id = existingPeople.length; id < PEOPLE; id++) {
    await run(db, 'INSERT INTO people (scope, name) VALUES (?, ?)', [scope, `person ${id}`])
  }
  await run(db, "DELETE FROM gh_counters WHERE collection = 'things'")
  return insert(db, scope, rows)
}

/** Inserts rows and updates the counter. */
export async function insert(
  db: Database,
  scope: Scope,
  rows: readonly Omit<Thing, 'id'>[],
): Promise<Thing[]> {
  if (rows.length === 0) return []
  const marks = `(${['scope', ...names].map(() => '?').join(', ')})`
  const add = prepareStatement(
    `INSERT INTO things (scope, ${names.join(', ')})
     VALUES ${rows.map(() => marks).join(', ')} RETURNING id`,
  )
  const values = rows.flatMap((row) => [scope, ...names.map((name) => row[name])])
  return db.write(async (tx) => {
    const insertedRows = await tx.all<{ id: number }>(add(values))
    await addToTotal(tx, scope, 'things', 0, rows.length)
    const ids = insertedRows.map(({ id }) => id).sort((a, b) => a - b)
    return rows.map((row, at) => ({ id: ids[at]!, ...row }))
  })
}
