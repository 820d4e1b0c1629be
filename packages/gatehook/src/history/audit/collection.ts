/** Lists the audit trail (`GET /admin/audit`), and reads the entries after one of them. */

import type { Reader, Value } from '../../platform/storage/database.ts'
import { prepareStatement, raw, sql } from '../../platform/storage/sql.ts'
import type { Collection, View } from '../../protocol/lists/collection.ts'
import { cellView } from '../../protocol/lists/encode.ts'
import { auditActions } from './actions.ts'

export const auditCollection: Collection = {
  name: 'audit',
  table: 'gh_audit',
  columns: [
    { name: 'id', type: 'text' },
    { name: 'at', type: 'time' },
    { name: 'actor_kind', type: 'text' },
    { name: 'actor_id', type: 'text' },
    { name: 'action', type: 'text', oneOf: Object.keys(auditActions) },
    { name: 'target', type: 'text' },
    { name: 'address', type: 'text', nullable: true },
    { name: 'request_id', type: 'text', nullable: true },
    { name: 'detail', type: 'json' },
    { name: 'seq', type: 'int', nullable: true },
    { name: 'hash', type: 'text', nullable: true },
    { name: 'previous_hash', type: 'text', nullable: true },
    { name: 'actor_name', type: 'text', nullable: true },
    { name: 'node', type: 'text', nullable: true },
  ],
  scoped: false,
  filter: [
    'id',
    'at',
    'actor_kind',
    'actor_id',
    'actor_name',
    'action',
    'target',
    'address',
    'request_id',
    'seq',
  ],
  sort: ['id', 'at', 'seq'],
  indexes: [
    ['id'],
    ['seq', 'id'],
    ['at', 'id'],
    ['actor_id', 'id'],
    ['action', 'id'],
    ['target', 'id'],
  ],
}

const columns = auditCollection.columns.map(({ name }) => name)
const at = (name: string) => columns.indexOf(name)
const [kind, id, actorName] = [at('actor_kind'), at('actor_id'), at('actor_name')]
const seqColumn = at('seq')

/** Returns the cells of the entries after a place in the chain, in its order. */
export const findEntriesAfter = (
  from: Reader,
  seq: number,
  limit: number,
): Promise<readonly (readonly Value[])[]> =>
  from.arrays(sql`SELECT ${raw(columns.join(', '))} FROM gh_audit
    WHERE seq > ${seq} ORDER BY seq LIMIT ${limit}`)

/** Columns that a command filters by. */
export type AuditFilters = Partial<Record<'action' | 'target' | 'actor_id' | 'actor_name', string>>

/** Returns the cells of the newest entries that fit, newest first. */
export function findNewestEntries(
  from: Reader,
  filters: AuditFilters,
  limit: number,
): Promise<readonly (readonly Value[])[]> {
  const names = Object.keys(filters)
  const condition =
    names.length > 0 ? `WHERE ${names.map((name) => `${name} = ?`).join(' AND ')}` : ''
  const text = `SELECT ${columns.join(', ')} FROM gh_audit ${condition} ORDER BY id DESC LIMIT ?`
  return from.arrays(prepareStatement(text)([...Object.values(filters), limit]))
}

export const seqOf = (row: readonly Value[]): number => Number(row[seqColumn])

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
