/**
 * What can be listed: the description every room gives of its table, so that one engine answers
 * every list path (§7.1). Pure data; the SQL is made from it in `plan.ts`.
 */
import type { Value } from '../storage/database.ts'
import { raw, type Sql, sql } from '../storage/sql.ts'

/**
 * What a column holds. It decides how a filter value is read and how a cell is shown:
 * `time` is epoch milliseconds shown as ISO 8601; `email` is text that compares without case
 * (§6.8); `json` is text that is JSON already.
 */
export type CellType = 'int' | 'real' | 'text' | 'email' | 'time' | 'bool' | 'json'

export interface ListColumn {
  /** One snake_case name: on the wire and in the table. */
  readonly name: string
  readonly type: CellType
  readonly nullable?: boolean
  /** For `text`: the only values it can have; a filter by another is `invalid_parameter`. */
  readonly oneOf?: readonly string[]
}

export interface Collection {
  /** Names the list in cursors and counters: `orders`, `events`, `api_keys`. */
  readonly name: string
  readonly table: string
  /** The columns read, in this order; the id first. */
  readonly columns: readonly ListColumn[]
  /** Whether ids are integers: keyset style is offered then (§7.1). */
  readonly integerId: boolean
  /** Whether rows belong to a scope. False for the installation's own lists (`/admin/…`). */
  readonly scoped: boolean
  /** The column that names the person a row belongs to, or a row of `ownerThrough` (§6.7). */
  readonly owner?: string
  /** The tables between a row and its person, the nearest first. Default none. */
  readonly ownerThrough?: OwnerPath['through']
  /** Whether `gh_counters` holds the exact unfiltered total. */
  readonly hasStoredTotal: boolean
  readonly filter: readonly string[]
  readonly sort: readonly string[]
  /**
   * The table's indexes as their columns behind the scope, the id included:
   * `['status', 'id']`. E-mail columns that compare without case are written `lower(email)`.
   * What they cannot serve is bounded (§7.10); without this, only the id has an order.
   */
  readonly indexes?: readonly (readonly string[])[]
  /**
   * A condition that nearly every row meets or every index has, for example `revoked_at IS NULL`.
   * Never request data.
   */
  readonly where?: string
  /** What one kind of caller sees, where no index serves that. Never request data. */
  readonly visible?: { readonly condition: string; readonly columns: readonly string[] }
  /** Whether a page of such rows may exceed the bound of a response (§11.5). */
  readonly wide?: boolean
}

/**
 * How a row names the person it belongs to: `column` holds the person's id, or the id of a row of
 * the first table in `through`, whose own column goes on. Declared names, never request data.
 */
export interface OwnerPath {
  readonly column: string
  readonly through: readonly { readonly table: string; readonly column: string }[]
}

/** The condition that a row belongs to a person. */
export function ownerCondition(
  { column, through }: OwnerPath,
  scope: unknown,
  person: unknown,
): Sql {
  const [next, ...more] = through
  if (!next) return sql`${raw(column)} = ${person}`
  const path = { column: next.column, through: more }
  return sql`${raw(column)} IN (SELECT id FROM ${raw(next.table)}
    WHERE scope = ${scope} AND ${ownerCondition(path, scope, person)})`
}

/** How a collection's rows are shown to one caller: made once per version, used for every row. */
export interface View {
  /** JSON text of one item. `fields`: only these; `links`: add `_links` (hypermedia, §7.2). */
  item(row: readonly Value[], options: { fields?: ReadonlySet<string>; links?: boolean }): string
  /** Names that `fields=` may select. */
  readonly fields: readonly string[]
  /** Old names of filters and sorts → today's (§8.8 `renamed`). */
  readonly renamed?: Readonly<Record<string, string>>
}
