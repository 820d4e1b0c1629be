/**
 * Finds rows of the installation by an id, the beginning of an id, or the beginning of a name, and
 * credentials by the end of their secret. Each statement reads a range of one index.
 */
import { engineTables } from '../../engine-tables.ts'
import { inEveryScope } from '../../identity/access/across-customers.ts'
import { parseRowId } from '../../kernel/row-id.ts'
import { ROWS_AND_WAITING } from '../../outbound/deliveries/backlog-store.ts'
import { deliveries } from '../../outbound/deliveries/tables.ts'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { raw, type Sql, sql } from '../../platform/storage/sql.ts'
import type { SearchedRows } from '../../platform/storage/table.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import type { SearchType } from './operations.ts'

type StoredType = Exclude<SearchType, 'request'>

interface SearchRow extends Row {
  readonly id: string
  readonly label: string
  /** The customer and mode; null for rows of the installation. */
  readonly scope: number | null
}

/** The customers whose rows are examined where an index begins with the customer. */
const CUSTOMERS_MAX = 1_000
/** Sorts after every character of an id. */
const LAST = '~'
/** The last character of the basic plane: names that begin with a text sort before it. */
const LAST_OF_NAMES = '\uffff'

interface SearchedTable extends SearchedRows {
  readonly table: string
  readonly visible: string
  /** Whether the rows belong to customers. */
  readonly hasScope: boolean
  /** Whether an index begins with the ids; otherwise the index of ids begins with the scope. */
  readonly isIndexed: boolean
}

const beginsWith = (column: string, on: string): boolean => on.split(', ')[0] === column

const searchedTables: readonly SearchedTable[] = engineTables.flatMap(
  ({ name: table, columns, key, indexes = {}, searched }) => {
    if (!searched) return []
    const lists = [key.join(', '), ...Object.values(indexes).map(({ on }) => on)]
    return {
      visible: '1 = 1',
      ...searched,
      table,
      hasScope: columns.scope !== undefined,
      isIndexed: lists.some((on) => beginsWith(searched.id, on)),
    }
  },
)

const tableByPrefix = new Map(searchedTables.map((searched) => [searched.prefix, searched]))

interface NamedRows extends SearchedTable {
  readonly column: string
  readonly isFolded: boolean
}

/** The rows with names; those of a further index come after all others. */
const namedRows: readonly NamedRows[] = [0, 1].flatMap((at) =>
  searchedTables.flatMap((searched) => {
    const { names, visible } = searched
    const part = names && (names.parts ?? [visible])[at]
    if (!names || part === undefined) return []
    return { ...searched, visible: part, column: names.column, isFolded: names.isFolded ?? false }
  }),
)

/** Returns the spellings of a name that an index of names contains. */
const spellingsOf = (text: string, { isFolded }: NamedRows): readonly string[] =>
  isFolded ? [foldName(text)] : [...new Set([text, text.charAt(0).toUpperCase() + text.slice(1)])]

export interface SearchHit {
  readonly type: StoredType
  readonly id: string
  readonly label: string
  readonly scope: number | null
  /** Of a row: its collection. */
  readonly collection?: string
}

const select = ({ id, label, hasScope }: SearchedTable): string =>
  `e.${id} AS id, ${label} AS label, ${hasScope ? 'e.scope' : 'NULL'} AS scope`

async function readHits(from: Reader, type: string, statement: Sql): Promise<SearchHit[]> {
  const rows = await from.all<SearchRow>(statement)
  return rows.map(({ id, label, scope }) => ({
    type: type as StoredType,
    id: String(id),
    label,
    scope: scope === null ? null : Number(scope),
  }))
}

/** Returns the rows whose id begins with `text`: `evt_6Vb`. */
export async function findById(from: Reader, text: string, limit: number): Promise<SearchHit[]> {
  const [prefix = ''] = text.split('_')
  const match = tableByPrefix.get(prefix)
  if (!match) return []
  const { type, id, visible } = match
  const table = match.table === deliveries.name ? ROWS_AND_WAITING : match.table
  const condition = sql`e.${raw(id)} >= ${text} AND e.${raw(id)} <= ${text + LAST}
    AND ${raw(visible)}`
  const statement = match.isIndexed
    ? sql`SELECT ${raw(select(match))} FROM ${raw(table)} e WHERE ${condition}
        ORDER BY e.${raw(id)} LIMIT ${limit}`
    : inEveryScope(select(match), table, condition, { limit, customers: CUSTOMERS_MAX })
  return readHits(from, type, statement)
}

/** Returns the keys and clients with a secret that ends with `ending`; older secrets count. */
export async function findByEnding(
  from: Reader,
  ending: string,
  limit: number,
): Promise<SearchHit[]> {
  const searches = searchedTables.map(async (searched) => {
    const { type, table, id, visible, secrets } = searched
    if (!secrets) return []
    return readHits(
      from,
      type,
      sql`SELECT DISTINCT ${raw(select(searched))} FROM ${raw(secrets.table)} s
        JOIN ${raw(table)} e ON e.scope = s.scope AND e.${raw(id)} = s.${raw(secrets.owner)}
        WHERE s.ending = ${ending} AND ${raw(visible)} LIMIT ${limit}`,
    )
  })
  return (await Promise.all(searches)).flat()
}

/** Returns customers, keys, clients and operators whose name begins with `text`. */
export async function findByName(from: Reader, text: string, limit: number): Promise<SearchHit[]> {
  const searches = namedRows.flatMap((named) =>
    spellingsOf(text, named).map((start) =>
      readHits(
        from,
        named.type,
        sql`SELECT ${raw(select(named))} FROM ${raw(named.table)} e
          WHERE e.${raw(named.column)} >= ${start}
            AND e.${raw(named.column)} < ${start + LAST_OF_NAMES} AND ${raw(named.visible)}
          ORDER BY e.${raw(named.column)} LIMIT ${limit}`,
      ),
    ),
  )
  return (await Promise.all(searches)).flat()
}

/** A table of a declared resource. */
export interface SearchedResource {
  readonly collection: string
  readonly table: string
  /** The prefix of ids that are texts. */
  readonly idPrefix?: string | undefined
}

/**
 * Returns the rows of the first customers whose id is the text, or begins with it where ids have a
 * prefix.
 */
export async function findRows(
  from: Reader,
  tables: readonly SearchedResource[],
  text: string,
  limit: number,
): Promise<SearchHit[]> {
  const hits = tables.map(async ({ collection, table, idPrefix }) => {
    const condition = conditionOfRows(text, idPrefix)
    if (!condition) return []
    const columns = 'e.id, NULL AS label, e.scope'
    const bounds = { limit, customers: CUSTOMERS_MAX }
    const statement = inEveryScope(columns, table, condition, bounds)
    const rows = await readHits(from, 'row', statement)
    return rows.map((row) => ({ ...row, label: `${collection} ${row.id}`, collection }))
  })
  return (await Promise.all(hits)).flat()
}

/** Returns the condition of ids that a text finds; undefined if no id of the table can match. */
function conditionOfRows(text: string, idPrefix: string | undefined): Sql | undefined {
  if (idPrefix === undefined) {
    const id = parseRowId(idPrefix, text)
    return id === undefined ? undefined : sql`e.id = ${id}`
  }
  if (!text.startsWith(`${idPrefix}_`)) return undefined
  return sql`e.id >= ${text} AND e.id <= ${text + LAST}`
}
