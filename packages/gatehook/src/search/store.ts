/**
 * Finds rows of the installation by an id, the beginning of an id, or the beginning of a name. Each
 * statement reads a range of one index.
 */
import type { Reader, Row } from '../storage/database.ts'
import { raw, type Sql, sql } from '../storage/sql.ts'

type SearchType =
  | 'customer'
  | 'key'
  | 'client'
  | 'webhook'
  | 'event'
  | 'delivery'
  | 'operator'
  | 'row'

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

interface Place {
  readonly type: SearchType
  readonly table: string
  readonly id: string
  readonly label: string
  /** The column of the scope, or null. */
  readonly scope: string
  readonly visible: string
}

const place = (
  type: SearchType,
  table: string,
  label: string,
  { id = 'id', scope = 'scope', visible = '1 = 1' }: Partial<Place> = {},
): Place => ({ type, table, id, label, scope, visible })

const customers = place('customer', 'gh_customers', 'name', { scope: 'NULL' })
const keys = place('key', 'gh_api_keys', 'name', { visible: 'revoked_at IS NULL' })
const clients = place('client', 'gh_clients', 'name', {
  id: 'client_id',
  visible: 'deleted_at IS NULL',
})
const operators = place('operator', 'gh_operators', 'email', { scope: 'NULL' })
const webhooks = place('webhook', 'gh_webhooks', 'url', { visible: 'deleted_at IS NULL' })
const events = place('event', 'gh_events', 'type')
const deliveries = place('delivery', 'gh_deliveries', 'event_type')

/** By the prefix of their ids. */
const PLACES: Readonly<Record<string, Place>> = {
  cus: customers,
  key: keys,
  client: clients,
  cli: clients,
  op: operators,
  wh: webhooks,
  evt: events,
  dlv: deliveries,
}

/** Those whose index of ids begins with the scope. */
const SCOPED: ReadonlySet<Place> = new Set([events, deliveries])
const NAMED: readonly Place[] = [customers, keys, clients]

export interface SearchHit {
  readonly type: SearchType
  readonly id: string
  readonly label: string
  readonly scope: number | null
  /** Of a row: its collection. */
  readonly collection?: string
}

const select = ({ id, label, scope }: Place): string =>
  `e.${id} AS id, e.${label} AS label, ${scope === 'NULL' ? 'NULL' : `e.${scope}`} AS scope`

const customerNumbers = raw(`(SELECT no FROM gh_customers ORDER BY no LIMIT ${CUSTOMERS_MAX})`)

/** Returns a statement that seeks in the rows of each customer and mode. */
const inEveryScope = (columns: string, table: string, condition: Sql, limit: number): Sql => {
  const ofMode = (live: number) => sql`SELECT ${raw(columns)} FROM ${customerNumbers} c
    CROSS JOIN ${raw(table)} e WHERE e.scope = c.no * 2 + ${raw(String(live))} AND ${condition}`
  return sql`${ofMode(0)} UNION ALL ${ofMode(1)} LIMIT ${limit}`
}

async function readHits(from: Reader, type: SearchType, statement: Sql): Promise<SearchHit[]> {
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
  const { type, id, table, visible } = match
  const condition = sql`e.${raw(id)} >= ${text} AND e.${raw(id)} <= ${text + LAST}
    AND ${raw(visible)}`
  const statement = SCOPED.has(match)
    ? inEveryScope(select(match), table, condition, limit)
    : sql`SELECT ${raw(select(match))} FROM ${raw(table)} e WHERE ${condition}
        ORDER BY e.${raw(id)} LIMIT ${limit}`
  return readHits(from, type, statement)
}

/** Returns the spellings of a name that an index finds: as written, and with a capital. */
const spellingsOf = (text: string): string[] => [
  ...new Set([text, text.charAt(0).toUpperCase() + text.slice(1)]),
]

/** Returns customers, keys, clients and operators whose name begins with `text`. */
export async function findByName(from: Reader, text: string, limit: number): Promise<SearchHit[]> {
  const inName = (column: string, start: string) =>
    sql`e.${raw(column)} >= ${start} AND e.${raw(column)} < ${start + LAST_CHARACTER}`
  const searches = NAMED.flatMap((named) =>
    spellingsOf(text).map((start) =>
      readHits(
        from,
        named.type,
        sql`SELECT ${raw(select(named))} FROM ${raw(named.table)} e
          WHERE ${inName(named.label, start)} AND ${raw(named.visible)}
          ORDER BY e.${raw(named.label)} LIMIT ${limit}`,
      ),
    ),
  )
  const people = readHits(
    from,
    'operator',
    sql`SELECT ${raw(select(operators))} FROM gh_operators e
      WHERE ${inName('folded', text.toLowerCase())} ORDER BY e.folded LIMIT ${limit}`,
  )
  return (await Promise.all([...searches, people])).flat()
}

/** The last character of the basic plane: names that begin with a text sort before it. */
const LAST_CHARACTER = '\uffff'

/** A table of a declared resource, whose ids are integers. */
export interface SearchedTable {
  readonly collection: string
  readonly table: string
}

/** Returns the rows of resources with an id, of the first customers. */
export async function findRows(
  from: Reader,
  tables: readonly SearchedTable[],
  id: number,
  limit: number,
): Promise<SearchHit[]> {
  const hits = tables.map(async ({ collection, table }) => {
    const condition = sql`e.id = ${id}`
    const statement = inEveryScope('e.id, NULL AS label, e.scope', table, condition, limit)
    const rows = await readHits(from, 'row', statement)
    return rows.map((row) => ({ ...row, label: `${collection} ${id}`, collection }))
  })
  return (await Promise.all(hits)).flat()
}
