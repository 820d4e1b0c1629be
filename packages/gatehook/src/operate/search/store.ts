/**
 * Finds rows of the installation by an id, the beginning of an id, or the beginning of a name, and
 * credentials by the end of their secret. Each statement reads a range of one index.
 */
import { inEveryScope } from '../../identity/access/across-customers.ts'
import { parseRowId } from '../../kernel/row-id.ts'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { raw, type Sql, sql } from '../../platform/storage/sql.ts'
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

/** A table of one type. */
interface Place {
  readonly type: StoredType
  readonly table: string
  readonly id: string
  /** An SQL expression of the columns of `e`. */
  readonly label: string
  /** The condition of the rows that results may contain. */
  readonly visible: string
  /** `table`: rows belong to the installation. `index`: the index of ids begins with the scope. */
  readonly scope: 'table' | 'column' | 'index'
}

const place = (
  type: StoredType,
  table: string,
  label: string,
  { id = 'id', scope = 'column', visible = '1 = 1' }: Partial<Place> = {},
): Place => ({ type, table, id, label: `e.${label}`, scope, visible })

const customers = place('customer', 'gh_customers', 'name', { scope: 'table' })
const keys = {
  ...place('key', 'gh_api_keys', 'name'),
  label: "CASE WHEN e.revoked_at IS NULL THEN e.name ELSE e.name || ' (revoked)' END",
}
/** Two indexes have the names of keys. */
const activeKeys: Place = { ...keys, visible: 'revoked_at IS NULL' }
const revokedKeys: Place = { ...keys, visible: 'revoked_at IS NOT NULL' }
const clients = place('client', 'gh_clients', 'name', {
  id: 'client_id',
  visible: 'deleted_at IS NULL',
})
const operators = place('operator', 'gh_operators', 'email', { scope: 'table' })

/** By the prefix of their ids. */
const PLACES: Readonly<Record<string, Place>> = {
  cus: customers,
  key: keys,
  client: clients,
  op: operators,
  wh: place('webhook', 'gh_webhooks', 'url', { visible: 'deleted_at IS NULL' }),
  evt: place('event', 'gh_events', 'type', { scope: 'index' }),
  dlv: place('delivery', 'gh_deliveries', 'event_type', { scope: 'index' }),
}

/** Those with names, and the column that an index of names reads. */
const NAMED: readonly {
  readonly place: Place
  readonly column: string
  /** Returns the spellings of a name that the index contains. */
  readonly spellings: (text: string) => readonly string[]
}[] = [
  ...[customers, activeKeys, clients, revokedKeys].map((named) => ({
    place: named,
    column: 'name',
    spellings: (text: string) => [...new Set([text, text.charAt(0).toUpperCase() + text.slice(1)])],
  })),
  { place: operators, column: 'folded', spellings: (text) => [foldName(text)] },
]

export interface SearchHit {
  readonly type: StoredType
  readonly id: string
  readonly label: string
  readonly scope: number | null
  /** Of a row: its collection. */
  readonly collection?: string
}

const select = ({ id, label, scope }: Place): string =>
  `e.${id} AS id, ${label} AS label, ${scope === 'table' ? 'NULL' : 'e.scope'} AS scope`

async function readHits(from: Reader, type: StoredType, statement: Sql): Promise<SearchHit[]> {
  const rows = await from.all<SearchRow>(statement)
  return rows.map(({ id, label, scope }) => ({
    type,
    id: String(id),
    label,
    scope: scope === null ? null : Number(scope),
  }))
}

/** Returns the rows whose id begins with `text`: `evt_6Vb`. */
export async function findById(from: Reader, text: string, limit: number): Promise<SearchHit[]> {
  const [prefix = ''] = text.split('_')
  const match = Object.hasOwn(PLACES, prefix) ? PLACES[prefix] : undefined
  if (!match) return []
  const { type, id, table, visible, scope } = match
  const condition = sql`e.${raw(id)} >= ${text} AND e.${raw(id)} <= ${text + LAST}
    AND ${raw(visible)}`
  const statement =
    scope === 'index'
      ? inEveryScope(select(match), table, condition, { limit, customers: CUSTOMERS_MAX })
      : sql`SELECT ${raw(select(match))} FROM ${raw(table)} e WHERE ${condition}
        ORDER BY e.${raw(id)} LIMIT ${limit}`
  return readHits(from, type, statement)
}

/** Those with secrets, and the table of the secrets. */
const SECRETS = [
  { owner: keys, table: 'gh_api_key_secrets', column: 'key_id' },
  { owner: clients, table: 'gh_client_secrets', column: 'client_id' },
] as const

/** Returns the keys and clients with a secret that ends with `ending`; older secrets count. */
export async function findByEnding(
  from: Reader,
  ending: string,
  limit: number,
): Promise<SearchHit[]> {
  const searches = SECRETS.map(({ owner, table, column }) =>
    readHits(
      from,
      owner.type,
      sql`SELECT DISTINCT ${raw(select(owner))} FROM ${raw(table)} s
        JOIN ${raw(owner.table)} e ON e.scope = s.scope AND e.${raw(owner.id)} = s.${raw(column)}
        WHERE s.ending = ${ending} AND ${raw(owner.visible)} LIMIT ${limit}`,
    ),
  )
  return (await Promise.all(searches)).flat()
}

/** Returns customers, keys, clients and operators whose name begins with `text`. */
export async function findByName(from: Reader, text: string, limit: number): Promise<SearchHit[]> {
  const searches = NAMED.flatMap(({ place: named, column, spellings }) =>
    spellings(text).map((start) =>
      readHits(
        from,
        named.type,
        sql`SELECT ${raw(select(named))} FROM ${raw(named.table)} e
          WHERE e.${raw(column)} >= ${start} AND e.${raw(column)} < ${start + LAST_OF_NAMES}
            AND ${raw(named.visible)}
          ORDER BY e.${raw(column)} LIMIT ${limit}`,
      ),
    ),
  )
  return (await Promise.all(searches)).flat()
}

/** A table of a declared resource. */
export interface SearchedTable {
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
  tables: readonly SearchedTable[],
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
