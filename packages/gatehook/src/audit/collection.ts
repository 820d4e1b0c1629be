/** How the audit trail is listed (`GET /admin/audit`). */
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

/** `principal {kind, id, name}` as one JSON column after those of the table. */
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

/** An audit row as callers see it. */
export interface ShownAct {
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

type ActFilter = { readonly [name in 'action' | 'target' | 'actor_id']?: string | undefined }

/** The newest rows that match, the newest first. */
export async function newestActs(
  from: Reader,
  filter: ActFilter,
  most: number,
): Promise<ShownAct[]> {
  const wanted = Object.entries(filter).filter(([, value]) => value !== undefined)
  const where = wanted.map(([name]) => `${name} = ?`).join(' AND ') || '1 = 1'
  const select = fixed(
    `SELECT ${columns.join(', ')} FROM gh_audit WHERE ${where} ORDER BY id DESC LIMIT ?`,
  )
  const rows = await from.arrays(select([...wanted.map(([, value]) => value), most]))
  return rows.map((row) => JSON.parse(auditView.item(row, {})) as ShownAct)
}
