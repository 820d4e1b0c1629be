/** `/auth/login`, `/auth/password` (§4.3) and the administration of people (§13). */

import { Failure } from '../../kernel/failure.ts'
import type { Call, Route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import { type AdminDeps, adminHandlers } from '../access/admin-handlers.ts'
import type { Administration } from '../access/administration.ts'
import { accountTable } from './collection.ts'
import { type LoginDeps, login } from './login.ts'
import { personOperations } from './operations.ts'
import { changeOwnPassword, type OwnPasswordDeps } from './own-password.ts'
import {
  createPerson,
  type PersonContext,
  readPerson,
  setPassword,
  updatePerson,
} from './person-administration.ts'
import { type PersonSessionContext, personSessionRoutes } from './person-sessions.ts'
import { signInOperations } from './sign-in-operations.ts'

export function signInRoutes(deps: Omit<LoginDeps, 'operation'> & OwnPasswordDeps): Route[] {
  const operations = signInOperations(deps.context.directory.names)
  const loginDeps = { ...deps, operation: operations.login }
  return [
    implement(operations.login, (call, input) => login(call, input, loginDeps)),
    implement(operations.changePassword, (call, input) => changeOwnPassword(call, input, deps)),
  ]
}

/** Returns the id of the path: `1`, `2`, …. Throws 404 for any other text. */
export function personIdOfPath({ params }: Pick<Call, 'params'>): number {
  const id = /^[1-9][0-9]{0,15}$/.test(params.id ?? '') ? Number(params.id) : Number.NaN
  if (!Number.isSafeInteger(id)) throw new Failure('not_found')
  return id
}

export function personRoutes(
  admin: Administration,
  context: PersonContext & PersonSessionContext,
  deps: AdminDeps,
): Route[] {
  const { list, change, row } = adminHandlers(admin, deps)
  const operations = personOperations(admin, context.directory.fields)
  const person = row((from, call) => readPerson(from, context, personIdOfPath(call)))
  return [
    list(operations.list, accountTable(context.directory)),
    change(operations.create, ({ admin, call, caller }) =>
      createPerson(admin, context, call.body, caller),
    ),
    person.read(operations.read),
    person.change(operations.update, ({ admin, call, input, caller }) =>
      updatePerson(admin, context, personIdOfPath(call), input, caller),
    ),
    change(operations.setPassword, ({ admin, call, input, caller }) =>
      setPassword(admin, context, personIdOfPath(call), input, caller),
    ),
    ...personSessionRoutes(admin, context, deps, personIdOfPath),
  ]
}
