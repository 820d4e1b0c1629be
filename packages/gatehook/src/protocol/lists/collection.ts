/**
 * The description of a listable table. Each module describes its tables, and one implementation
 * answers all list paths (§7.1). Pure data, from which `page-query.ts` builds SQL.
 */

import type { CommitOrder } from '../../platform/storage/commit-order.ts'
import type { Value } from '../../platform/storage/database.ts'
import { raw, type Sql, sql } from '../../platform/storage/sql.ts'
import type { ListCell } from '../fields/kind.ts'

/**
 * The types of columns of the engine's own tables. `time`: epoch milliseconds. `json`: a text that
 * contains JSON.
 */
export type CellType = 'int' | 'real' | 'text' | 'time' | 'bool' | 'json'

export interface ListColumn {
  /** The snake_case name on the wire and in the table. */
  readonly name: string
  /** How cells are encoded and filters parsed: a type by its name, or that of a declared field. */
  readonly type: CellType | ListCell
  readonly nullable?: boolean
  /** Whether an SQL expression derives its values, which an index then has. */
  readonly isExpression?: boolean
  /** For texts: the allowed values; a filter by another value gives `invalid_parameter`. */
  readonly oneOf?: readonly string[]
  /** For texts: the value is an id with this prefix; a filter by another text is rejected. */
  readonly idPrefix?: string
  /** For JSON: an object with texts by key, which `name[key]=` filters. */
  readonly isMap?: boolean
  /** For texts: the column with the folded text, which filters compare (§4.8). */
  readonly folded?: string | undefined
  /** For a field of another row, which no column of the table has. */
  readonly related?: RelatedColumn
}

export interface Collection {
  /** The name of the list in cursors and counters: `orders`, `events`, `api_keys`. */
  readonly name: string
  readonly table: string
  /** The selected columns in order; the id is the first. */
  readonly columns: readonly ListColumn[]
  /**
   * Whether ids are integers. The keyset style requires them, or an id with an `idPrefix` (§7.1).
   * Default: false.
   */
  readonly integerId?: boolean
  /** Whether rows belong to a scope. False for lists of the installation (`/admin/…`). */
  readonly scoped: boolean
  /** The column with the id of a row's person, or of a row of `ownerThrough[0]` (§6.7). */
  readonly owner?: string
  /** The tables between a row and its person, nearest first. Default: none. */
  readonly ownerThrough?: OwnerPath['through']
  /** Whether `gh_counters` stores the exact unfiltered total. Default false. */
  readonly hasStoredTotal?: boolean
  readonly filter: readonly string[]
  /** Texts with the filter `[prefix]=`, which an index serves, or `[contains]=`. Default: none. */
  readonly prefix?: readonly string[]
  readonly contains?: readonly string[]
  /** The table of the words in which `q` searches: `scope`, `id`, `word`. Default: no search. */
  readonly wordTable?: string
  /** The beginning of the words of its rows. Default: none. */
  readonly wordPrefix?: string
  /** Parameters that the handler reads; links repeat them. */
  readonly parameters?: readonly string[]
  readonly sort: readonly string[]
  /**
   * The order of commits, in place of that of the id, unless filters bound the id. The columns end
   * with `columns` and `open` of it, and the indexes with that order with `columns`.
   */
  readonly commits?: CommitOrder | undefined
  /**
   * The columns of each index after the scope, including the id: `['status', 'id']`. An index that
   * filters e-mail addresses has the column `folded`. Other orders are read within bounds (§7.10).
   * Default: an index on the id only.
   */
  readonly indexes?: readonly (readonly string[])[]
  /** The indexes, as texts of `indexKey`, that the database does not have yet; changes. */
  readonly missingIndexes?: ReadonlySet<string>
  /**
   * A condition that most rows fulfil or all indexes contain, for example `revoked_at IS NULL`.
   * Must not contain request data.
   */
  readonly where?: string
  /** A condition for one kind of caller, without an index. Must not contain request data. */
  readonly visible?: { readonly condition: string; readonly columns: readonly string[] }
  /** The rows of other resources that the caller reads. Default: all. */
  readonly relatedReach?: RelatedReach
  /** The bytes of the largest row as JSON, in which a character has up to six. Default: small. */
  readonly maxRowBytes?: number
}

export const indexKey = (columns: readonly string[]): string => columns.join(' ')

/**
 * The path from a row to its person: `column` contains the person's id, or the id of a row of the
 * first table in `through`, whose column continues the path. Must not contain request data.
 */
export interface OwnerPath {
  readonly column: string
  readonly through: readonly { readonly table: string; readonly column: string }[]
}

/** Returns the condition that a row belongs to a person. */
export function ownerCondition(
  { column, through }: OwnerPath,
  scope: unknown,
  person: unknown,
): Sql {
  const [next, ...rest] = through
  if (!next) return sql`${raw(column)} = ${person}`
  const path = { column: next.column, through: rest }
  return sql`${raw(column)} IN (SELECT id FROM ${raw(next.table)}
    WHERE scope = ${scope} AND ${ownerCondition(path, scope, person)})`
}

/** The encoding of a collection's rows in one API version. */
export interface View {
  /** Returns the JSON of a row. `fields`: the selected fields; `links`: adds `_links` (§7.2). */
  item(row: readonly Value[], options: { fields?: ReadonlySet<string>; links?: boolean }): string
  /** Names that `fields=` can select. */
  readonly fields: readonly string[]
  /** Names of fields that have any JSON value, `f.json()`. */
  readonly anyJson?: ReadonlySet<string>
  /** Maps old names of filters and sorts to current ones (§8.8 `renamed`). */
  readonly renamed?: Readonly<Record<string, string>>
  /** The columns of fields of other rows by their names in the version: `user.email`. */
  readonly related?: Readonly<Record<string, string>>
}

/** One reference of a path, and the table that it leads to. */
export interface RelatedStep {
  /** The column of the row that refers. */
  readonly reference: string
  readonly resource: string
  /** The table of the rows to which it refers, or the query that derives its columns. */
  readonly source: string
  /** A condition that most rows fulfil. */
  readonly where?: string
  /** The path to the person of a row, for callers that reach their own rows only. */
  readonly owner?: OwnerPath
}

/** A field of a row that is one to three references away. */
export interface RelatedColumn {
  readonly steps: readonly RelatedStep[]
  /** The column of the last table, and the one that filters compare. */
  readonly column: string
  readonly compared: string
  /** Whether the field can be null in a row that exists. */
  readonly isNullable: boolean
  /** Whether no reference is null: a row that is not deleted refers to none that is. */
  readonly isTotal: boolean
  /** The order of the index that filters read; undefined without an index. */
  readonly filterOrder?: string | undefined
  /** Whether an index has the order of the field. */
  readonly isSorted: boolean
}

/** The rows of other resources that a caller reads: all, those of the person, or none. */
interface RelatedReach {
  /** Differs between callers with other limits or other visible fields. */
  readonly key: string
  readonly person: number | undefined
  readonly limits: Readonly<Record<string, 'all' | 'own' | 'none'>>
}

/** Returns the rows of a step that the caller reads. */
export const limitOf = ({ relatedReach }: Collection, step: RelatedStep) =>
  relatedReach?.limits[step.resource] ?? 'all'

/** Distinguishes callers whose lists have other rows by related fields. */
export const reachKey = ({ relatedReach }: Collection): string => relatedReach?.key ?? ''

/** Returns the name of a related field in SQL; no other column has a dot. */
export const relatedName = (path: string): string => `"${path}"`

/** Returns the name of a column on the wire. */
export const wireName = (column: string): string => column.replaceAll('"', '')

/** Returns the columns of the table, and the related ones that `names` has. */
export const relatedColumnsIn = (
  { columns }: Collection,
  names: readonly string[],
): readonly ListColumn[] => columns.filter(({ name, related }) => related && names.includes(name))
