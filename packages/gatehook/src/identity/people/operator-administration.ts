/** `/admin/operators` (§12.2): operators of the console, by the code of the command line. */

import type { Actor } from '../../history/audit/actor.ts'
import { Failure } from '../../kernel/failure.ts'
import type { MailOutbox } from '../../platform/mail/outbox.ts'
import { b } from '../../protocol/fields/members.ts'
import type { Call, Route } from '../../protocol/http/call.ts'
import { operation } from '../../protocol/http/operation.ts'
import { type AdminDeps, adminHandlers } from '../access/admin-handlers.ts'
import type { Administration } from '../access/administration.ts'
import { operator, operatorTable } from './collection.ts'
import { inviteOperation, inviteOperator } from './operator-invitation.ts'
import {
  createOperator,
  insertConsoleLink,
  operatorCreation,
  operatorPatch,
  updateOperator,
} from './operators.ts'
import type { Hasher } from './password.ts'
import { resetSecondFactor } from './second-factor.ts'

const link = b
  .object({
    url: b
      .text({ format: 'uri' })
      .describe('It opens the console once, as the operator.')
      .example('https://api.example.com/console#token=6fQx0N2mVYq3sK8r'),
    expires_at: b.time(),
  })
  .named('ConsoleLink')

export const operatorOperations = {
  list: operation('GET /admin/operators', {
    id: 'list_operators',
    summary: 'List the operators of the console',
    output: b.page(operator),
  }),
  create: operation('POST /admin/operators', {
    id: 'create_operator',
    summary: 'Create an operator of the console',
    input: operatorCreation,
    headers: ['Idempotency-Key'],
    output: operator,
    status: 201,
    errors: ['conflict'],
  }),
  update: operation('PATCH /admin/operators/:id', {
    id: 'update_operator',
    summary: 'Change the role of an operator, or disable it',
    description: 'The sessions of a disabled operator end. Operators cannot change themselves.',
    input: operatorPatch,
    headers: ['If-Match', 'Idempotency-Key'],
    output: operator,
    errors: ['invalid_state'],
  }),
  createLink: operation('POST /admin/operators/:id/link', {
    id: 'create_operator_link',
    summary: 'Create a link that opens the console as an operator',
    description:
      'It is valid once, for 30 minutes, without a password or second factor, and ends with the ' +
      'access of its creator.',
    headers: ['Idempotency-Key'],
    output: link,
    status: 201,
    isSecret: true,
    errors: ['invalid_state'],
  }),
  invite: inviteOperation,
  resetSecondFactor: operation('DELETE /admin/operators/:id/second-factor', {
    id: 'reset_operator_second_factor',
    summary: 'Remove the second factor of an operator',
    description: 'For a lost device. Sessions end; the next sign-in enrols another one.',
    headers: ['Idempotency-Key'],
    errors: ['invalid_state'],
  }),
}

/** Operators that change themselves could leave the installation without an administrator. */
function rejectOwn(id: string, { kind, id: actor }: Actor): void {
  if (kind === 'operator' && actor === id) {
    throw new Failure('invalid_state', 'Another administrator must change your own account.')
  }
}

interface OperatorRouteDeps extends AdminDeps {
  readonly hasher: Hasher
  readonly publicUrl: () => string
  readonly outbox: MailOutbox
}

export function operatorRoutes(admin: Administration, deps: OperatorRouteDeps): Route[] {
  const { list, change, row } = adminHandlers(admin, deps)
  const operations = operatorOperations
  const operatorRow = row((from, { params }) => operatorTable.read(from, params.id!))
  /** Returns the id of another operator. Throws 404, 409 for the caller's own. */
  const idOf = async ({ id }: Call['params'], actor: Actor): Promise<string> => {
    rejectOwn(id!, actor)
    return (await operatorTable.read(admin.db, id!)).id
  }
  return [
    list(operations.list, operatorTable),
    change(operations.create, ({ admin, input, caller }) =>
      createOperator(admin, deps.hasher, input, caller.actor),
    ),
    operatorRow.change(operations.update, async ({ admin, params, input, caller }) =>
      updateOperator(admin, await idOf(params, caller.actor), input, caller.actor),
    ),
    change(operations.createLink, async ({ admin, params, caller }) => {
      const id = await idOf(params, caller.actor)
      return admin.write(async (tx) => {
        const { path, expires_at } = await insertConsoleLink(tx, admin, id, caller)
        return { url: `${deps.publicUrl()}${path}`, expires_at }
      })
    }),
    change(operations.invite, async ({ admin, params, caller }) =>
      inviteOperator(admin, deps.outbox, await idOf(params, caller.actor), caller),
    ),
    change(operations.resetSecondFactor, async ({ admin, params, caller }) =>
      resetSecondFactor(admin, await idOf(params, caller.actor), caller.actor),
    ),
  ]
}
