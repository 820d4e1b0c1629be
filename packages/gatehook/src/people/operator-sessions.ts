/** Lists and ends the sessions of operators, for HTTP and the command line (§13). */
import { type AdminDeps, adminOperations } from '../access/admin-operations.ts'
import { type AdminTable, createAdminTable } from '../access/admin-table.ts'
import type { Administration } from '../access/administration.ts'
import { type Actor, recordAudit } from '../audit/store.ts'
import { noContent, type Route, route } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import * as store from './operator-store.ts'

interface OperatorSessionJson {
  readonly id: string
  /** Null in the session of a link without an operator. */
  readonly operator: string | null
  readonly address: string
  /** Whether a second factor was verified, or a link opened the session. */
  readonly verified: boolean
  readonly created_at: string
  readonly last_used_at: string
  /** The end of the session unless it is used before. */
  readonly expires_at: string
}

export const operatorSessionTable: AdminTable<OperatorSessionJson> = createAdminTable(
  {
    name: 'operator_sessions',
    table: 'gh_console_sessions',
    columns: [
      { name: 'id', type: 'text' },
      { name: 'operator', type: 'text', nullable: true },
      { name: 'address', type: 'text' },
      { name: 'verified', type: 'bool' },
      { name: 'created_at', type: 'time' },
      { name: 'last_used_at', type: 'time' },
      { name: 'expires_at', type: 'time' },
    ],
    filter: ['operator'],
    sort: ['id'],
  },
  '/admin/operator-sessions',
)

/** Ends a session. Throws 404. */
export const endOperatorSession = (
  admin: Administration,
  id: string,
  actor: Actor,
): Promise<{ readonly id: string }> =>
  admin.write(async (tx) => {
    if ((await store.deleteSessionById(tx, id)) === 0) throw new Failure('not_found')
    await recordAudit(tx, { actor, action: 'operator.session_end', target: id }, admin)
    return { id }
  })

export function operatorSessionRoutes(admin: Administration, deps: AdminDeps): Route[] {
  const { list, change } = adminOperations(admin, deps)
  return [
    route('/admin/operator-sessions', { GET: list(operatorSessionTable) }),
    route('/admin/operator-sessions/:id', {
      DELETE: change(
        'none',
        (admin, { params }, { actor }) => endOperatorSession(admin, params.id ?? '', actor),
        noContent,
      ),
    }),
  ]
}
