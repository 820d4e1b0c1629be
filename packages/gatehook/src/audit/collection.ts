/** Lists the audit trail: `GET /admin/audit` and `gatehook audit`. */
import type { Collection, View } from '../lists/collection.ts'
import { cellView } from '../lists/encode.ts'
import type { Reader, Value } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'

export const auditCollection: Collection = {
  name: 'audit',
  table: 'gh_audit',
  columns: [
    { name: 'id', type: 'text' },
    { name: 'at', type: 'time' },
    { name: 'actor_kind', type: 'text' },
    { name: 'actor_id', type: 'text' },
    { name: 'action', type: 'text' },
    { name: 'target', type: 'text' },
    { name: 'address', type: 'text', nullable: true },
    { name: 'request_id', type: 'text', nullable: true },
    { name: 'detail', type: 'json' },
    { name: 'seq', type: 'int', nullable: true },
    { name: 'hash', type: 'text', nullable: true },
    { name: 'previous_hash', type: 'text', nullable: true },
    { name: 'actor_name', type: 'text', nullable: true },
  ],
  integerId: false,
  scoped: false,
  counted: false,
  filter: [
    'id',
    'at',
    'actor_kind',
    'actor_id',
    'action',
    'target',
    'address',
    'request_id',
    'seq',
  ],
  sort: ['id', 'at'],
  indexes: [['id'], ['at', 'id'], ['actor_id', 'id'], ['action', 'id'], ['target', 'id']],
}

const columns = auditCollection.columns.map(({ name }) => name)
const at = (name: string) => columns.indexOf(name)
const [kind, id, actorName] = [at('actor_kind'), at('actor_id'), at('actor_name')]

/** Appends `principal {kind, id, name}` to the cells of a row, as one JSON column. */
const withPrincipal = (row: readonly Value[]): Value[] => [
  ...row,
  JSON.stringify({ kind: row[kind], id: row[id], name: row[actorName] }),
]

const cells = cellView(
  [...auditCollection.columns, { name: 'principal', type: 'json' }],
  () => '{}',
)

export const auditView: View = {
  ...cells,
  item: (row, options) => cells.item(withPrincipal(row), options),
}

/** An audit row as the API returns it. */
export interface ListedAuditRow {
  readonly id: string
  readonly at: string
  readonly principal: {
    readonly kind: string
    readonly id: string
    readonly name: string | null
  }
  readonly action: string
  readonly target: string
  readonly address: string | null
  readonly request_id: string | null
  readonly detail: Readonly<Record<string, unknown>>
  readonly seq: number | null
  readonly hash: string | null
  readonly previous_hash: string | null
}

type AuditFilter = { readonly [name in 'action' | 'target' | 'actor_id']?: string | undefined }

/** Returns up to `limit` rows that match, the newest first. */
export async function listNewestAuditRows(
  from: Reader,
  filter: AuditFilter,
  limit: number,
): Promise<ListedAuditRow[]> {
  const conditions = Object.entries(filter).filter(([, value]) => value !== undefined)
  const where = conditions.map(([name]) => `${name} = ?`).join(' AND ') || '1 = 1'
  const select = fixed(
    `SELECT ${columns.join(', ')} FROM gh_audit WHERE ${where} ORDER BY id DESC LIMIT ?`,
  )
  const rows = await from.arrays(select([...conditions.map(([, value]) => value), limit]))
  return rows.map((row) => JSON.parse(auditView.item(row, {})) as ListedAuditRow)
}
