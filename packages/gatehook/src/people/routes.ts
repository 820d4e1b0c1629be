/** `/auth/login`, `/auth/password` (§4.3) and the administration of people (§13). */
import { acting, callerOf, withCustomerIds } from '../access/acting.ts'
import { ADMIN_SCOPE, type Administration } from '../access/administration.ts'
import { type Answer, type Call, type Endpoint, json, noContent } from '../http/call.ts'
import type { Perform } from '../idempotency/perform.ts'
import { Failure } from '../kernel/failure.ts'
import { readMembers, required } from '../kernel/members.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Lister } from '../lists/list.ts'
import { LOGIN_CLIENT, type Tokens } from '../tokens/grant.ts'
import { patchPerson, readPerson, setPassword } from './acts.ts'
import { authMembers, text } from './auth-members.ts'
import { accountRows } from './collection.ts'
import { createPerson } from './creation.ts'
import type { ActDeps } from './credential.ts'
import type { Questions } from './questions.ts'
import { newPassword } from './username.ts'

export interface RouteDeps {
  readonly admin: Administration
  readonly perform: Perform
  readonly list: Lister
  readonly people: Questions
  readonly tokens: Pick<Tokens, 'openSession'>
  readonly acts: ActDeps
}

const loginMembers = { username: required(text), password: required(text) }
const passwordMembers = { current: required(text), new: required(text) }

/** Nobody on the way of a token keeps it (RFC 6749 §5.1). */
const unkept = { 'cache-control': 'no-store', pragma: 'no-cache' }

async function login(call: Call, { people, tokens }: RouteDeps): Promise<Answer> {
  const { username, password } = authMembers(call.body, loginMembers)
  const person = await people.signIn(username, password, call.address)
  const issued = await tokens.openSession(async (tx) => {
    const { scope, customer, mode, subject, scopes, claims } = await people.confirm(tx, person)
    return { scope, customer, mode, clientId: LOGIN_CLIENT, subject, scopes, claims }
  })
  return { ...json(200, issued, unkept), secret: true }
}

/** A person itself, by password or login: no application it let in may change its password. */
function themselves({ principal }: Call): Principal {
  const byApplication = principal?.clientId !== undefined && principal.clientId !== LOGIN_CLIENT
  if (principal?.kind !== 'person' || byApplication) {
    throw new Failure('forbidden', 'A password is changed by the person whose it is.')
  }
  return principal
}

async function ownPassword(call: Call, { people }: RouteDeps): Promise<Answer> {
  const principal = themselves(call)
  const sent = authMembers(call.body, passwordMembers)
  const wanted = readMembers({ new: sent.new }, { new: required(newPassword) }).new
  await people.changeOwnPassword(principal, sent.current, wanted, call.address)
  return noContent()
}

/** Ids are `1`, `2`, …; anything else names nobody. */
function idOf({ params }: Call): number {
  const id = /^[1-9][0-9]{0,15}$/.test(params.id ?? '') ? Number(params.id) : Number.NaN
  if (!Number.isSafeInteger(id)) throw new Failure('not_found')
  return id
}

export const signInEndpoints = (deps: RouteDeps): Endpoint[] => [
  {
    kind: 'root',
    path: '/auth/login',
    methods: {
      POST: { authenticated: false, body: 'required', handle: (call) => login(call, deps) },
    },
  },
  {
    kind: 'root',
    path: '/auth/password',
    methods: { POST: { body: 'required', handle: (call) => ownPassword(call, deps) } },
  },
]

export function personEndpoints({ admin, perform, list, acts }: RouteDeps): Endpoint[] {
  const { collection, view } = accountRows(acts.directory.resource)
  const act = acting(admin, perform)
  const scope = ADMIN_SCOPE
  return [
    {
      kind: 'admin',
      path: '/admin/users',
      methods: {
        GET: { scope, handle: (call) => list(withCustomerIds(call), collection, view) },
        POST: {
          scope,
          body: 'required',
          handle: (call) =>
            act(
              call,
              (within) => createPerson(within, acts, call.body, callerOf(call)),
              (made) => json(201, made, { location: `/admin/users/${made.id}` }),
            ),
        },
      },
    },
    {
      kind: 'admin',
      path: '/admin/users/:id',
      methods: {
        GET: {
          scope,
          handle: async (call) => json(200, await readPerson(admin.db, acts, idOf(call))),
        },
        PATCH: {
          scope,
          body: 'required',
          handle: (call) =>
            act(
              call,
              (within) => patchPerson(within, acts, idOf(call), call.body, callerOf(call)),
              (patched) => json(200, patched),
            ),
        },
      },
    },
    {
      kind: 'admin',
      path: '/admin/users/:id/password',
      methods: {
        PUT: {
          scope,
          body: 'required',
          handle: (call) =>
            act(
              call,
              (within) => setPassword(within, acts, idOf(call), call.body, callerOf(call)),
              () => noContent(),
            ),
        },
      },
    },
  ]
}
