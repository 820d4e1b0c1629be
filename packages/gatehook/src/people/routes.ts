/** `/auth/login`, `/auth/password` (§4.3) and the administration of people (§13). */
import { type AdminDeps, adminOperations } from '../access/admin-operations.ts'
import type { Administration } from '../access/administration.ts'
import { actorOf, recordAudit } from '../audit/store.ts'
import { type Answer, type Call, json, noContent, type Route, route } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import { readMembers, required } from '../kernel/members.ts'
import { LOGIN_CLIENT_ID, type Tokens } from '../tokens/api.ts'
import { patchPerson, readPerson, setPassword } from './acts.ts'
import { authMembers, text } from './auth-members.ts'
import { accountRows } from './collection.ts'
import { createPerson } from './creation.ts'
import type { ActDeps } from './credential.ts'
import type { Devices } from './devices.ts'
import { MIN_LENGTH, newPassword } from './password-policy.ts'
import type { Questions } from './questions.ts'

export interface RouteDeps extends AdminDeps {
  readonly admin: Administration
  readonly people: Questions
  readonly devices: Devices
  readonly tokens: Pick<Tokens, 'openSession'>
  readonly acts: ActDeps
}

const loginMembers = { username: required(text), password: required(text) }
const passwordMembers = { current: required(text), new: required(text) }

/** Nobody on the way of a token keeps it (RFC 6749 §5.1). */
const unkept = { 'cache-control': 'no-store', pragma: 'no-cache' }

async function login(call: Call, { admin, people, tokens, devices }: RouteDeps): Promise<Answer> {
  const { username, password } = authMembers(call.body, loginMembers)
  const person = await people.signIn(username, password, devices.clientOf(call))
  const issued = await tokens.openSession(async (tx, session_id) => {
    const now = await people.confirm(tx, person)
    const { scope, customer, mode, subject, name, scopes, claims } = now
    const actor = actorOf(call, { kind: 'person', id: subject, name })
    const detail = { session_id, customer, mode }
    await recordAudit(tx, { actor, action: 'person.login', target: subject, detail }, admin)
    return { scope, customer, mode, clientId: LOGIN_CLIENT_ID, subject, scopes, claims }
  })
  const { customer, mode, subject } = person
  call.identified = { kind: 'person', subject, clientId: LOGIN_CLIENT_ID, customer, mode }
  return { ...json(200, issued, unkept), secret: true }
}

/** `route-table.ts` accepts persons in a first-party session only. */
async function ownPassword(call: Call, { people, devices }: RouteDeps): Promise<Answer> {
  const principal = call.principal!
  const sent = authMembers(call.body, passwordMembers)
  const wanted = readMembers(
    { new: sent.new },
    { new: required(newPassword(MIN_LENGTH.person)) },
  ).new
  const client = devices.clientOf(call)
  await people.changeOwnPassword(principal, sent.current, wanted, client, actorOf(call))
  return noContent()
}

/** Ids are `1`, `2`, …; anything else names nobody. */
function idOf({ params }: Call): number {
  const id = /^[1-9][0-9]{0,15}$/.test(params.id ?? '') ? Number(params.id) : Number.NaN
  if (!Number.isSafeInteger(id)) throw new Failure('not_found')
  return id
}

export const signInRoutes = (deps: RouteDeps): Route[] => [
  route('/auth/login', {
    POST: { body: 'required', handle: (call) => login(call, deps) },
  }),
  route('/auth/password', {
    POST: { body: 'required', handle: (call) => ownPassword(call, deps) },
  }),
]

export function personRoutes({ admin, acts, ...deps }: RouteDeps): Route[] {
  const { list, change, row } = adminOperations(admin, deps)
  const person = row((from, call) => readPerson(from, acts, idOf(call)))
  return [
    route('/admin/users', {
      GET: list(accountRows(acts.directory.resource)),
      POST: change(
        'required',
        (within, { body }, by) => createPerson(within, acts, body, by),
        (made) => json(201, made, { location: `/admin/users/${made.id}` }),
      ),
    }),
    route('/admin/users/:id', {
      GET: person.read,
      PATCH: person.change('required', (within, call, by) =>
        patchPerson(within, acts, idOf(call), call.body, by),
      ),
    }),
    route('/admin/users/:id/password', {
      PUT: change(
        'required',
        (within, call, by) => setPassword(within, acts, idOf(call), call.body, by),
        noContent,
      ),
    }),
  ]
}
