/** How the audit trail is listed (`/admin/audit`). */
import type { Collection } from '../lists/collection.ts'
import { cellView } from '../lists/encode.ts'

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
    { name: 'detail', type: 'json' },
  ],
  integerId: false,
  scoped: false,
  counted: false,
  filter: ['id', 'at', 'actor_kind', 'actor_id', 'action', 'target'],
  sort: ['id', 'at'],
}

export const auditView = cellView(auditCollection.columns, () => '{}')
