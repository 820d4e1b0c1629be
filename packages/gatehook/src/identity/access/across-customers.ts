/**
 * Lists of the installation whose rows belong to customers: the parameters `customer` and `mode`,
 * and the customer of each row. Rows have a column `scope`; `live` is its lowest bit.
 */

import { type Mode, modeOf, type Scope, scopeOf } from '../../kernel/principal.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { join, raw, type Sql, sql } from '../../platform/storage/sql.ts'
import { b, type ValuesOf } from '../../protocol/fields/members.ts'
import { parameterFailure } from '../../protocol/http/query.ts'
import type { AddedMembers, EngineList } from '../../protocol/lists/definition.ts'
import type { Filter } from '../../protocol/lists/filter.ts'
import { customerIdOf } from './customer-reader.ts'
import * as store from './store.ts'

/** The query parameters that `readSelection` applies. */
export const SELECTION = {
  customer: b.line(200).optional().describe('The id or external id of a customer, or `default`.'),
  mode: b.oneOf(['live', 'test']).optional().describe('With `customer`, `live` by default.'),
}

/** A table of customers' rows with the column `live`. */
export const withMode = (table: string): string =>
  `(SELECT *, scope % 2 AS live FROM ${table}) AS rows_of_customers`

/**
 * Returns a statement that seeks `condition` in the rows of each customer and mode, for a table `e`
 * whose index begins with the scope. Each customer costs two seeks; `customers` bounds them.
 */
export function inEveryScope(
  columns: string,
  table: string,
  condition: Sql,
  { limit, customers }: { limit: number; customers?: number },
): Sql {
  const owners =
    customers === undefined
      ? raw('gh_customers')
      : sql`(SELECT no FROM gh_customers ORDER BY no LIMIT ${customers})`
  const ofMode = (live: number) => sql`SELECT ${raw(columns)} FROM ${owners} c
    CROSS JOIN ${raw(table)} e WHERE e.scope = c.no * 2 + ${raw(String(live))} AND ${condition}`
  return sql`${ofMode(0)} UNION ALL ${ofMode(1)} LIMIT ${limit}`
}

/** The rows that `customer` and `mode` select. */
export interface Selection {
  /** Of one customer in one mode; undefined: of several. */
  readonly scope: Scope | undefined
  /** Filters of the columns `scope` and `live`. */
  readonly filters: readonly Filter[]
}

/**
 * Reads `customer` and `mode`. A customer without a mode selects live data; neither selects all
 * rows. Throws 400 for an unknown customer.
 */
export async function readSelection(
  from: Reader,
  { customer, mode }: ValuesOf<typeof SELECTION>,
): Promise<Selection> {
  if (customer === undefined) {
    if (mode === undefined) return { scope: undefined, filters: [] }
    const live = mode === 'live' ? 1 : 0
    return { scope: undefined, filters: [{ column: 'live', operator: 'eq', values: [live] }] }
  }
  const row = await store.findCustomer(from, await customerIdOf(from, customer))
  if (!row) throw parameterFailure('invalid_parameter', 'customer', 'is not a known customer')
  const scope = scopeOf(row.no, mode ?? 'live')
  return { scope, filters: [{ column: 'scope', operator: 'eq', values: [scope] }] }
}

/** The customer of a row, as members of its JSON. */
export interface RowCustomer {
  readonly customer: string
  readonly customer_name: string
  readonly mode: Mode
}

export async function customersOf(
  from: Reader,
  scopes: Iterable<number>,
): Promise<ReadonlyMap<number, RowCustomer>> {
  const all = [...new Set(scopes)]
  if (all.length === 0) return new Map()
  const nos = join([...new Set(all.map((scope) => Math.floor(scope / 2)))].map((no) => sql`${no}`))
  const rows = await from.all<{ no: number; id: string; name: string }>(
    sql`SELECT no, id, name FROM gh_customers WHERE no IN (${nos})`,
  )
  const rowByNo = new Map(rows.map((row) => [Number(row.no), row]))
  return new Map(
    all.map((scope) => {
      const { id, name } = rowByNo.get(Math.floor(scope / 2))!
      return [scope, { customer: id, customer_name: name, mode: modeOf(scope as Scope) }]
    }),
  )
}

/** The members of a row that name its customer and mode. */
export const customerMembers = {
  customer: b.text().example('cus_default'),
  customer_name: b.text().example('Example Ltd'),
  mode: b.oneOf(['live', 'test']),
}

const CUSTOMER = Object.keys(customerMembers)

/** Reads the customers of rows. */
export const addedCustomer: AddedMembers = {
  names: CUSTOMER,
  async read(from, rows) {
    const scopes = rows.map(({ scope }) => Number(scope))
    const customers = await customersOf(from, scopes)
    return scopes.map((scope) => ({ ...customers.get(scope) }))
  },
}

/** Returns a customer's list as the list of all customers, which operators get at `path`. */
export const acrossCustomers = (
  { added = [], hidden = [], ...own }: EngineList,
  path: string,
): EngineList => ({
  ...own,
  path,
  name: `${own.name} of all`,
  table: withMode(own.table),
  scoped: false,
  added: [...added, ...CUSTOMER],
  hidden: [
    ...hidden,
    ...['scope', 'live']
      .filter((name) => !hidden.some((column) => column.name === name))
      .map((name) => ({ name, type: 'int' as const })),
  ],
})
