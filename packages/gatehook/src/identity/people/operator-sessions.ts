/** Lists and ends the sessions of operators, for HTTP and the command line (§13). */

import type { Actor } from '../../history/audit/actor.ts'
import { recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { b } from '../../protocol/fields/members.ts'
import type { Route } from '../../protocol/http/call.ts'
import { operation } from '../../protocol/http/operation.ts'
import { type AdminDeps, adminHandlers } from '../access/admin-handlers.ts'
import { createAdminTable } from '../access/admin-table.ts'
import type { Administration } from '../access/administration.ts'
import { endSessionOfOperator } from './operator-access.ts'

export const operatorSession = b
  .object({
    id: b.text().example('ses_01jdq8w9vgk7'),
    operator: b.text().nullable().describe('Null in the session of a link without an operator.'),
    email: b.text().nullable().describe('The address of the operator.').example('ana@example.com'),
    address: b.text().example('203.0.113.7'),
    verified: b.bool().describe('Whether a second factor was verified, or a link opened it.'),
    second_factor: b.bool().describe('Whether the operator has a second factor now.').example(true),
    created_at: b.time(),
    last_used_at: b.time(),
    expires_at: b.time().describe('The end of the session unless it is used before.'),
  })
  .named('OperatorSession')
  .columns({
    email: { title: 'operator', none: 'one-time link' },
    address: { title: 'from' },
    last_used_at: { as: 'ago' },
    state: {
      title: 'second factor',
      states: [
        ['verified', { false: ['warn', 'open'] }],
        ['second_factor', { true: ['ok', 'verified'], false: ['idle', 'none yet'] }],
      ],
    },
    created_at: { title: 'since', as: 'time' },
    id: {},
    expires_at: { as: 'time' },
  })

const SESSIONS_WITH_OPERATORS = `(SELECT s.id, s.operator, o.email, s.address, s.verified,
    CASE WHEN o.totp IS NULL THEN 0 ELSE 1 END AS second_factor,
    s.created_at, s.last_used_at, s.expires_at
  FROM gh_console_sessions s LEFT JOIN gh_operators o ON o.id = s.operator) AS sessions`

export const operatorSessionTable = createAdminTable({
  row: operatorSession,
  path: '/admin/operator-sessions',
  name: 'operator_sessions',
  table: SESSIONS_WITH_OPERATORS,
  filter: ['operator'],
  sort: ['id'],
})

/** Ends a session, and what its operator has open in the portal. Throws 404. */
export const endOperatorSession = (
  admin: Administration,
  id: string,
  actor: Actor,
): Promise<{ readonly id: string }> =>
  admin.write(async (tx) => {
    if (!(await endSessionOfOperator(admin, tx, id))) throw new Failure('not_found')
    await recordAudit(tx, { actor, action: 'operator.session_end', target: id }, admin)
    return { id }
  })

export const operatorSessionOperations = {
  list: operation('GET /admin/operator-sessions', {
    id: 'list_operator_sessions',
    summary: 'List the sessions of operators',
    output: b.page(operatorSession),
  }),
  end: operation('DELETE /admin/operator-sessions/:id', {
    id: 'end_operator_session',
    summary: 'End a session of an operator',
    headers: ['Idempotency-Key'],
  }),
}

export function operatorSessionRoutes(admin: Administration, deps: AdminDeps): Route[] {
  const { list, change } = adminHandlers(admin, deps)
  return [
    list(operatorSessionOperations.list, operatorSessionTable),
    change(operatorSessionOperations.end, ({ admin, params, caller }) =>
      endOperatorSession(admin, params.id ?? '', caller.actor),
    ),
  ]
}
