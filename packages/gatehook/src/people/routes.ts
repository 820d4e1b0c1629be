/** `/auth/login`, `/auth/password` (§4.3) and the administration of people (§13). */
import { type AdminDeps, adminOperations } from '../access/admin-operations.ts'
import type { Administration } from '../access/administration.ts'
import { type Call, json, noContent, type Route, route } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import { accountTable } from './collection.ts'
import { type LoginDeps, login } from './login.ts'
import { changeOwnPassword, type OwnPasswordDeps } from './own-password.ts'
import {
  createPerson,
  type PersonContext,
  readPerson,
  setPassword,
  updatePerson,
} from './person-administration.ts'

export const signInRoutes = (deps: LoginDeps & OwnPasswordDeps): Route[] => [
  route('/auth/login', {
    POST: { body: 'required', handle: (call) => login(call, deps) },
  }),
  route('/auth/password', {
    POST: { body: 'required', handle: (call) => changeOwnPassword(call, deps) },
  }),
]

/** Returns the id of the path: `1`, `2`, …. Throws 404 for any other text. */
function idOf({ params }: Call): number {
  const id = /^[1-9][0-9]{0,15}$/.test(params.id ?? '') ? Number(params.id) : Number.NaN
  if (!Number.isSafeInteger(id)) throw new Failure('not_found')
  return id
}

export function personRoutes(
  admin: Administration,
  context: PersonContext,
  deps: AdminDeps,
): Route[] {
  const { list, change, row } = adminOperations(admin, deps)
  const person = row((from, call) => readPerson(from, context, idOf(call)))
  return [
    route('/admin/users', {
      GET: list(accountTable(context.directory.resource)),
      POST: change(
        'required',
        (admin, { body }, caller) => createPerson(admin, context, body, caller),
        (created) => json(201, created, { location: `/admin/users/${created.id}` }),
      ),
    }),
    route('/admin/users/:id', {
      GET: person.read,
      PATCH: person.change('required', (admin, call, caller) =>
        updatePerson(admin, context, idOf(call), call.body, caller),
      ),
    }),
    route('/admin/users/:id/password', {
      PUT: change(
        'required',
        (admin, call, caller) => setPassword(admin, context, idOf(call), call.body, caller),
        noContent,
      ),
    }),
  ]
}
