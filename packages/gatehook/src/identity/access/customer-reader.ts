/**
 * Reads customers for other modules: the customer of a row, by its id or by the row's scope, and
 * the names of several customers. Changes are in `customers.ts`. A customer whose rows are being
 * deleted is unknown to joins and to `store.ts`: its credentials, deliveries and jobs have ended.
 */
import type { Scope } from '../../kernel/principal.ts'
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { join, prepareStatement, type Sql, sql } from '../../platform/storage/sql.ts'
import { CUSTOMER_PREFIX, DEFAULT_CUSTOMER } from './administration.ts'

/**
 * SQL after JOIN: the customer `c` with this id, an expression. A statement reads its columns `no`,
 * `id`, `name`, `suspended`, `limits` and `external_id`.
 */
export const customerOf = (id: string): string =>
  `gh_customers c ON c.id = ${id} AND c.deleting_since IS NULL`

/** SQL that returns a column of the customer with this id, an expression; null if there is none. */
export const selectOfCustomer = (column: string, id: string): string =>
  `(SELECT c.${column} FROM gh_customers c WHERE c.id = ${id} AND c.deleting_since IS NULL)`

/** SQL after JOIN: the customer `c` of a scope, with the columns of `customerOf`. */
export const customerOfScope = (scope: string): string =>
  `gh_customers c ON c.no = ${scope} / 2 AND c.deleting_since IS NULL`

/** SQL that returns the number of a customer. */
export const selectCustomerNo = (id: string): Sql =>
  sql`(SELECT no FROM gh_customers WHERE id = ${id})`

const byExternalId = prepareStatement('SELECT id FROM gh_customers WHERE external_id = ?')

/**
 * Returns the id of the customer that a request names by its id, its external id (§17.2) or the
 * word `default`. Other text is returned as it is: an id of no customer.
 */
export async function customerIdOf(from: Reader, name: string): Promise<string> {
  if (name === 'default') return DEFAULT_CUSTOMER
  if (name.startsWith(CUSTOMER_PREFIX)) return name
  return (await from.get<{ id: string }>(byExternalId([name])))?.id ?? name
}

/** Customers of one list of names; lists reject more values than that. */
const MAX_NAMED = 100

/** Returns the ids of customers that a request names, separated by commas. */
export async function customerIdsOf(from: Reader, text: string): Promise<string> {
  const names = text.split(',')
  if (names.length > MAX_NAMED) return text
  return (await Promise.all(names.map((name) => customerIdOf(from, name)))).join(',')
}

const byNo = prepareStatement('SELECT id, deleting_since FROM gh_customers WHERE no = ?')
const noOf = (scope: Scope): number => Math.floor(scope / 2)

/** Returns the id of the customer of a scope, and since when its rows are being deleted. */
export const findCustomerOf = (from: Reader, scope: Scope) =>
  from.get<{ id: string; deleting_since: number | null }>(byNo([noOf(scope)]))

/** Returns the id of the customer of a scope. */
export const findCustomerIdOf = async (from: Reader, scope: Scope): Promise<string | undefined> =>
  (await findCustomerOf(from, scope))?.id

/** Reads a page of customers after a number, without those that are being deleted. */
export const listCustomers = (from: Reader, after: number, limit: number) =>
  from.all<{ no: number; id: string }>(
    sql`SELECT no, id FROM gh_customers WHERE deleting_since IS NULL AND no > ${after}
      ORDER BY no LIMIT ${limit}`,
  )

/** Locks the customer of a scope until the transaction ends, such as while its rows are counted. */
export const lockCustomerOf = (tx: Tx, scope: Scope) => tx.lock(byNo([noOf(scope)]))

export interface CustomerContact extends Row {
  readonly no: number
  readonly id: string
  readonly name: string
  readonly contact_email: string | null
  readonly external_id: string | null
}

/** Returns customers by their ids; ids of no customer are ignored. */
export async function readCustomers(
  from: Reader,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, CustomerContact>> {
  const list = [...new Set(ids)]
  if (list.length === 0) return new Map()
  const rows = await from.all<CustomerContact>(
    sql`SELECT no, id, name, contact_email, external_id FROM gh_customers
      WHERE id IN (${join(list)})`,
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** Lists the customers whose ids or scopes two queries return, in the order of their ids. */
export const listCustomersAmong = (
  from: Reader,
  { ids, scopes, limit }: { readonly ids: Sql; readonly scopes: Sql; readonly limit: number },
) =>
  from.all<CustomerContact>(sql`SELECT no, id, name, contact_email, external_id FROM gh_customers
    WHERE deleting_since IS NULL
      AND (id IN (${ids}) OR no IN (SELECT scope / 2 FROM (${scopes}) AS of_scopes))
    ORDER BY id LIMIT ${limit}`)
