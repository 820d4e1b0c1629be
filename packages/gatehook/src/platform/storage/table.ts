/**
 * The declaration of a table. The `tables.ts` of a module has those of its tables; their statements
 * (`table-ddl.ts`), purging, partitions, encryption, moves and distribution follow. Pure.
 */
import type { Value } from './database.ts'
import type { Division } from './partitions/periods.ts'

/**
 * `serial`: the database generates increasing numbers. `txid`: the transaction that wrote the row,
 * see `Dialect.txid`.
 */
type ColumnKind = 'int' | 'real' | 'text' | 'bytes' | 'serial' | 'txid'

/**
 * What the values of a column are, for exports and deletions of the data of customers and persons
 * (§18.11):
 *
 * - `plain`: numbers, ids, states and names of the declaration, which say nothing about a person.
 * - `personal`: names, addresses and texts of customers, persons and their requests.
 * - `secret`: hashes, credentials and encrypted values, which no export contains.
 */
type ColumnContent = 'plain' | 'personal' | 'secret'

export interface DeclaredColumn {
  readonly kind: ColumnKind
  readonly content: ColumnContent
  readonly nullable?: true
  /** The default. */
  readonly fallback?: string | number
}

const column = (kind: ColumnKind, content: ColumnContent) => ({
  kind,
  content,
  orNull: { kind, content, nullable: true } as const,
  or: (fallback: string | number): DeclaredColumn => ({ kind, content, fallback }),
})

export const int = column('int', 'plain')
export const real = column('real', 'plain')
export const text = {
  plain: column('text', 'plain'),
  personal: column('text', 'personal'),
  secret: column('text', 'secret'),
}
export const bytes = { secret: column('bytes', 'secret') }
export const serial: DeclaredColumn = { kind: 'serial', content: 'plain' }
export const txid: DeclaredColumn = { kind: 'txid', content: 'plain' }

export interface DeclaredIndex {
  /** SQL of the columns. */
  readonly on: string
  readonly unique?: true
  /** SQL of the condition of a partial index. */
  readonly where?: string
  /** The statements that need it, as a noun. */
  readonly serves: string
  /** The only database that has it. */
  readonly only?: 'sqlite' | 'postgres'
  /**
   * For rows that are purged one by one. On PostgreSQL only the partitions have it in which rows do
   * not expire together.
   */
  readonly purges?: true
}

/**
 * Where the rows are when the tables are distributed over several servers (decision 0059):
 *
 * - `scope`: grows with requests, and is distributed by its column `scope`: all rows of one
 *   customer and mode are on one server. A statement of a request names the scope. Tables of
 *   resources are of this kind.
 * - `reference`: small and read with rows of every scope, so that each server has a copy.
 * - `local`: on the coordinator alone. No statement joins them with rows of a scope.
 */
type TablePlace = 'scope' | 'reference' | 'local'

/**
 * To whom the rows belong (§18.11): to the installation, or to the customer that a column names by
 * a scope, an id, or a number. An export of the customer has its rows, a deletion deletes them.
 */
export type RowOwner =
  | 'installation'
  | {
      readonly scope?: string
      readonly customer?: string
      readonly customerNo?: string
      /**
       * The row is a record of the operator: a deletion leaves it, and clears its personal columns,
       * and no export of the customer has it.
       */
      readonly outlives?: true
    }

export const byScope = { scope: 'scope' } as const
export const byCustomer = { customer: 'customer' } as const

/** The rows that a column with the id of a person assigns to it. */
export const byPersonId = (column: string): PersonRows => ({
  columns: [column],
  isOf: (row, { id }) => String(row[column]) === id,
  effect: 'delete',
})

/** A person whom an erasure finds in texts: the id, the sign-in names, other personal values. */
export interface PersonTrace {
  readonly id: string
  /** The name of the resource of the person's row. */
  readonly resource: string
  /** Whether one of the texts is a sign-in name, or contains one that identifies the person. */
  names(...texts: readonly (Value | undefined)[]): boolean
  /** Whether one of the texts contains a sign-in name or another value. */
  mentions(...texts: readonly (Value | undefined)[]): boolean
  /** Whether a text contains a sign-in name, or a value that no word of an interface equals. */
  identifies(text: string): boolean
  /** Whether a text of a JSON value is a sign-in name with an `@`: no word of others is. */
  isAddressIn(json: Value | undefined): boolean
  /** Whether a text is a sign-in name. */
  isName(text: Value | undefined): boolean
  /** Whether the query of a URL searches for a value, or for half of one. */
  isSearchedBy(url: Value | undefined): boolean
  /** Whether a text or number is, as a whole, a value that no word of others equals. */
  isDistinct(value: string | number): boolean
}

type IsRowOfPerson = (row: Readonly<Record<string, Value>>, person: PersonTrace) => boolean

/** How an erasure finds the rows of a person in a table (§18.11), and what it does with them. */
export interface PersonRows {
  /** The columns that `isOf` reads. */
  readonly columns: readonly string[]
  readonly isOf: IsRowOfPerson
  /** Whether it deletes the rows, or clears their personal columns. */
  readonly effect: 'delete' | 'clear'
  /**
   * How it finds and clears rows of operators, of the default customer and of strangers, which can
   * have data of a person of any customer. The customer of the person chooses the values: no common
   * word may find a row of others.
   */
  readonly inRowsOfOthers?: {
    readonly columns: readonly string[]
    readonly isOf: IsRowOfPerson
    /** SQL by column. Default: all personal columns are cleared. */
    readonly cleared?: Readonly<Record<string, string>>
  }
}

/** Columns that an export has as null, in some of the rows. */
interface HiddenColumns {
  readonly columns: readonly string[]
  /**
   * Whether they are of another caller than the customer (`person` is undefined) or the person of
   * the export.
   */
  readonly isIn: (row: Readonly<Record<string, Value>>, person: string | undefined) => boolean
}

/** The differences of a distributed table. */
interface Distribution {
  /** SQL of defaults by column, instead of those of PostgreSQL. */
  readonly defaults?: Readonly<Record<string, string>>
  readonly indexes?: Readonly<Record<string, DeclaredIndex>>
  /** They run on the server of a row. */
  readonly triggers?: readonly ShardTrigger[]
}

export interface ShardTrigger {
  readonly name: string
  /** `AFTER INSERT ON gh_x FOR EACH ROW WHEN (…)` */
  readonly event: string
  /** PL/pgSQL. */
  readonly body: string
}

/** How a vault encrypts a column. */
export interface Encryption {
  /** The purpose that `vault.encrypt` receives. */
  readonly purpose: string
  /** Returns the row identifier that `vault.encrypt` receives, from the values of the key. */
  readonly rowOf: (key: readonly Value[]) => string
}

/** How operators find a row (`GET /admin/search`). */
export interface SearchedRows {
  /** The type of a result. */
  readonly type: string
  /** The prefix of the ids. */
  readonly prefix: string
  /** The column of the ids. */
  readonly id: string
  /** SQL of the label of a row `e`. */
  readonly label: string
  /** SQL of the condition of the rows that results may contain. Default: all. */
  readonly visible?: string
  readonly names?: {
    readonly column: string
    /** Whether the names are folded. */
    readonly isFolded?: true
    /** The conditions of the indexes of names, if there are several. Default: `visible`. */
    readonly parts?: readonly string[]
  }
  /** The table of the secrets of a row, with their last characters, and its column with the id. */
  readonly secrets?: { readonly table: string; readonly owner: string }
}

export interface Table {
  readonly name: string
  /** A sentence that describes a row. */
  readonly row: string
  readonly columns: Readonly<Record<string, DeclaredColumn>>
  readonly key: readonly string[]
  readonly place: TablePlace
  readonly belongs: RowOwner
  /** Undefined: no row concerns one person, or code of the module erases them. */
  readonly ofPerson?: PersonRows
  /** Columns of operators and of others: exports (§18.11) leave them out, as secret ones. */
  readonly hiddenInExports?: readonly HiddenColumns[]
  /** The column with rows of resources as JSON, whose secret fields exports leave out. */
  readonly rowObjects?: { readonly column: string; readonly resource: string }
  /** By the part of the name that follows the table's. */
  readonly indexes?: Readonly<Record<string, DeclaredIndex>>
  /** How long a row stays, as a noun. */
  readonly stays: string
  /** The column with the instant by which `purgeExpired` deletes rows. */
  readonly purgedBy?: string
  /** PostgreSQL: partitions by the time in the ids of a column (decision 0053). */
  readonly divided?: Division & { readonly column: string }
  /** By column. */
  readonly encrypted?: Readonly<Record<string, Encryption>>
  readonly distribution?: Distribution
  readonly searched?: SearchedRows
  /** SQLite: the rows are in the file of monitoring. */
  readonly apart?: true
  /** Nodes store rows of a request after its response, and a deletion deletes late ones, too. */
  readonly followsRequests?: true
  /** Whether `gatehook move` leaves the rows behind: the target has its own. */
  readonly staysBehind?: true
  /**
   * Restored data loses the rows (§18.5): since the backup they may have been used, or ended.
   */
  readonly endsInRestoredData?: true
  /** SQLite: the rows say what a process does, and end with it: the next owner deletes them. */
  readonly ofOwner?: true
  /** Nodes, not requests, write the rows: an undone move may lose them. */
  readonly ofNodes?: true
  /** The column that has `installation.moved` in the row that a move writes to its target. */
  readonly recordsMove?: string
}
