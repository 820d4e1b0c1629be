/**
 * Sessions of the console (§12.2): a link or a password is exchanged for a cookie, and the cookie
 * stands for its operator under `/admin`, where the request shows that it comes from our own page.
 */
import type { AdminDeps } from '../access/admin-operations.ts'
import { ADMIN_SCOPE, type Administration, DEFAULT_CUSTOMER } from '../access/administration.ts'
import { actorOf, recordAudit } from '../audit/store.ts'
import { type Answer, type Call, json, type Route, route, type Step } from '../http/call.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import { Failure } from '../kernel/failure.ts'
import { createTimeOrderedId } from '../kernel/id.ts'
import { optional, required } from '../kernel/members.ts'
import { type Principal, scopeOf } from '../kernel/principal.ts'
import { sha256 } from '../kernel/secret.ts'
import { isoTime } from '../kernel/time.ts'
import type { Tx } from '../storage/database.ts'
import { authMembers, text } from './auth-members.ts'
import type { Devices } from './devices.ts'
import { operatorSessionRoutes } from './operator-sessions.ts'
import * as store from './operator-store.ts'
import { createOperator } from './operators.ts'
import type { Hasher } from './password.ts'
import type { SignInClient } from './recognized-clients.ts'
import type { SecondFactor } from './second-factor.ts'
import type { Judge } from './sign-in.ts'
import { invalidCredentials } from './username.ts'

const SESSION_LIFE_MS = 12 * 3_600_000
/** A session that is not used for this long has ended. */
const IDLE_MS = 30 * 60_000
/** The use of a session is written at most this often. */
const REFRESH_MS = 60_000
const TOKEN_BYTES = 32
const NAME = 'gatehook_console'
/** What a browser forgets when an operator signs out; the device cookie stays (§3.8). */
const LEFT_BEHIND = '"cache", "storage"'
/** Sent by the console's own script; no form and no foreign page can send it unasked. */
export const CONSOLE_HEADER = 'x-gatehook-console'

export interface ConsoleSessions {
  readonly routes: readonly Route[]
  /** Before `next`, the step that asks for a credential. */
  guard(next: Step): Step
  readonly chores: Readonly<Record<string, () => Promise<number>>>
}

export interface ConsoleDeps extends AdminDeps {
  readonly admin: Administration
  readonly hasher: Hasher
  readonly secondFactor: SecondFactor
  readonly judge: Judge
  readonly devices: Devices
}

const members = {
  token: optional(text),
  email: optional(text),
  password: optional(text),
  code: optional(text),
}
const codeMembers = { code: required(text) }

const tokenIn = (call: Call): string | undefined => readCookie(call, NAME)

const sessionCookie = (call: Call, value: string, lifeMs: number): string =>
  setCookie(call, { name: NAME, value, sameSite: 'strict', maxAgeS: Math.floor(lifeMs / 1000) })

const isSafe = ({ method }: Call): boolean => method === 'GET' || method === 'HEAD'

const foreign = () =>
  new Failure('forbidden', 'A session of the console is good in the console’s own pages only.')

/** What a browser says about where a request comes from, as far as it says anything. */
function refuseForeign(call: Call): void {
  const { origin, 'sec-fetch-site': site } = call.headers
  const own = `${call.secure ? 'https' : 'http'}://${call.host}`.toLowerCase()
  if (origin !== undefined && origin.toLowerCase() !== own) throw foreign()
  if (site === undefined || site === 'same-origin') return
  if (site !== 'none' || !isSafe(call)) throw foreign()
}

/** Cross-site forgery ends here, that of a neighbouring subdomain included. */
function requireOwnPage(call: Call): void {
  refuseForeign(call)
  const told = call.headers[CONSOLE_HEADER] !== undefined
  const seen = isSafe(call) && call.headers['sec-fetch-site'] !== undefined
  if (!told && !seen) throw foreign()
}

const carriesCredential = ({ headers, query }: Call): boolean =>
  headers.authorization !== undefined || 'x-api-key' in headers || query.has('api_key')

/** How a session begins: by a link, once, or by a password and a code. */
function opening({ admin, judge, secondFactor }: ConsoleDeps) {
  const { db, clock, random } = admin
  const open = async (
    tx: Tx,
    call: Call,
    by: { readonly operator: string | null; readonly link: string | null; readonly email?: string },
    isVerified: boolean,
  ) => {
    const { operator, link } = by
    const now = clock.now()
    const token = random.bytes(TOKEN_BYTES).toString('base64url')
    const row = {
      ...{ id: createTimeOrderedId('ses_', now, random), operator, link, address: call.address },
      ...{ verified: Number(isVerified), created_at: now },
      ...{ expires_at: now + IDLE_MS, ends_at: now + SESSION_LIFE_MS },
    }
    // The browser has one session: the cookie of the one before is replaced.
    const before = tokenIn(call)
    const ended = before === undefined ? undefined : await store.takeSession(tx, sha256(before))
    await store.insertSession(tx, { ...row, hash: sha256(token) })
    const name = by.email === undefined ? {} : { name: by.email }
    const actor = actorOf(call, { kind: 'operator', id: operator ?? link!, ...name })
    const also = ended && { ended: ended.id }
    const detail = { link, session: row.id, verified: isVerified, ...also }
    await recordAudit(tx, { actor, action: 'operator.sign_in', target: actor.id, detail }, admin)
    return { ...row, token }
  }

  const byLink = (call: Call, token: string) =>
    db.write(async (tx) => {
      const link = await store.takeLink(tx, sha256(token), clock.now())
      if (!link) {
        const message = 'The link was used before or is too old: gatehook operators link.'
        throw new Failure('invalid_credentials', message)
      }
      return open(tx, call, { operator: link.operator, link: link.id }, true)
    })

  const byPassword = async (
    call: Call,
    client: SignInClient,
    { email, password, code }: { email: string; password: string; code: string | undefined },
  ) => {
    let isVerified = false
    const operators = {
      realm: 'operator' as const,
      find: (folded: string) => store.findOperator(db, folded),
      async confirm({ id, email: name }: store.OperatorRow) {
        const actor = actorOf(call, { kind: 'operator', id, name })
        isVerified = await secondFactor.verify(id, code, actor)
      },
    }
    const judged = await judge(operators, email, password, client)
    return db.write(async (tx) => {
      const now = await store.lockOperator(tx, judged.folded)
      if (now?.password !== judged.password || now.disabled !== 0) throw invalidCredentials()
      const by = { operator: judged.id, link: null, email: judged.email }
      return open(tx, call, by, isVerified)
    })
  }

  return { byLink, byPassword }
}

/** The session of a call that `guard` has let through. Throws 401. */
type Present = (call: Call) => Promise<store.SessionRow>

/** What a session may do for its own operator: be it, and enrol its second factor. */
function ownRoutes(deps: ConsoleDeps, present: Present): Route[] {
  const { admin, secondFactor, hasher } = deps
  const { random } = admin
  /** Gives the session a new token: one that was seen before opens nothing more. */
  const raised = (call: Call, session: store.SessionRow) => {
    const token = random.bytes(TOKEN_BYTES).toString('base64url')
    return {
      cookies: [sessionCookie(call, token, SESSION_LIFE_MS)],
      raise: async (tx: Tx, operator: string): Promise<void> => {
        await store.raiseSession(tx, session.id, operator, sha256(token))
      },
    }
  }
  const own = async (call: Call) => {
    const session = await present(call)
    if (session.operator === null) {
      throw new Failure('invalid_state', 'Create the operator first: /console/session/operator.')
    }
    // A session without the second factor must not replace it.
    if (session.verified === 0 && (await secondFactor.isEnrolled(session.operator))) {
      throw new Failure('second_factor_required')
    }
    return { session, operator: session.operator }
  }

  const create = async (call: Call): Promise<Answer> => {
    const session = await present(call)
    if (session.operator !== null) {
      throw new Failure('invalid_state', 'The session has its operator already.')
    }
    const { cookies, raise } = raised(call, session)
    const tie = (tx: Tx, id: string) => raise(tx, id)
    const made = await createOperator(admin, hasher, call.body, actorOf(call), tie)
    return { ...json(201, made), cookies }
  }

  const enrol = async (call: Call): Promise<Answer> => {
    const { operator } = await own(call)
    const enrolment = await secondFactor.enrol(operator, actorOf(call))
    return { ...json(200, enrolment, { 'cache-control': 'no-store' }), secret: true }
  }

  const confirm = async (call: Call): Promise<Answer> => {
    const { code } = authMembers(call.body, codeMembers)
    const { session, operator } = await own(call)
    const { cookies, raise } = raised(call, session)
    const also = async (tx: Tx) => {
      await raise(tx, operator)
      await store.dropOtherSessions(tx, operator, session.id)
    }
    const recovery_codes = await secondFactor.confirm(operator, code, actorOf(call), also)
    const shown = json(200, { recovery_codes }, { 'cache-control': 'no-store' })
    return { ...shown, cookies, secret: true }
  }

  return [
    route('/console/session/operator', {
      POST: { body: 'required', handle: create },
    }),
    route('/console/session/second-factor', {
      POST: { handle: enrol },
      PUT: { body: 'required', handle: confirm },
    }),
  ]
}

/** As `/console/session` shows a session. */
const shownSession = (row: Pick<store.SessionRow, 'operator' | 'verified' | 'expires_at'>) => ({
  operator: row.operator,
  expires_at: isoTime(row.expires_at),
  second_factor: row.verified === 0 ? 'enrolment_required' : 'verified',
})

export function createConsoleSessions(deps: ConsoleDeps): ConsoleSessions {
  const { db, clock } = deps.admin
  const { byLink, byPassword } = opening(deps)
  const find = (token: string) =>
    store.findSession(db, sha256(token), DEFAULT_CUSTOMER, clock.now())

  const signIn = async (call: Call): Promise<Answer> => {
    refuseForeign(call)
    const { token, email, password, code } = authMembers(call.body, members)
    const withPassword = email !== undefined && password !== undefined
    if (withPassword === (token !== undefined)) {
      throw new Failure('invalid_request', 'Send a token, or an email and a password.')
    }
    const client = deps.devices.pageClientOf(call)
    const session = withPassword
      ? await byPassword(call, client, { email, password, code })
      : await byLink(call, token!)
    const cookies = [
      sessionCookie(call, session.token, SESSION_LIFE_MS),
      ...(withPassword ? [client.cookie] : []),
    ]
    const shown = json(201, shownSession(session), { 'cache-control': 'no-store' })
    return { ...shown, cookies, secret: true }
  }

  const present: Present = async (call) => {
    const token = tokenIn(call)
    const row = token === undefined ? undefined : await find(token)
    if (!row) throw new Failure('unauthorized')
    return row
  }

  const show = async (call: Call): Promise<Answer> => {
    const row = await present(call)
    return json(200, { ...shownSession(row), email: row.email, ends_at: isoTime(row.ends_at) })
  }

  const signOut = async (call: Call): Promise<Answer> => {
    const token = tokenIn(call)
    if (token !== undefined) {
      requireOwnPage(call)
      await db.write((tx) => signOutOf(tx, deps.admin, call, token))
    }
    const headers = { 'clear-site-data': LEFT_BEHIND }
    return { status: 204, headers, cookies: [sessionCookie(call, '', 0)] }
  }

  /** Each use within `IDLE_MS` of the one before keeps the session, until `ends_at`. */
  const refresh = async (row: store.SessionRow): Promise<void> => {
    const now = clock.now()
    if (now - row.last_used_at < REFRESH_MS) return
    const expires_at = Math.min(now + IDLE_MS, row.ends_at)
    await db.write((tx) => store.refreshSession(tx, { id: row.id, expires_at, last_used_at: now }))
  }

  return {
    routes: [
      route('/console/session', {
        POST: { body: 'required', handle: signIn },
        GET: { handle: show },
        // Also for who is signed out already.
        DELETE: { handle: signOut },
      }),
      ...ownRoutes(deps, present),
      ...operatorSessionRoutes(deps.admin, deps),
    ],
    guard: (next) => (call) => {
      const token = call.kind === 'admin' && !carriesCredential(call) ? tokenIn(call) : undefined
      const asked = call.operation && call.operation.authenticated !== false
      if (token === undefined || !asked) return next(call)
      requireOwnPage(call)
      return find(token).then(async (row) => {
        if (!row) return next(call)
        if (row.verified === 0 && !call.route.startsWith('/console/session')) {
          throw new Failure('second_factor_required')
        }
        await refresh(row)
        call.principal = operatorOf(row)
        return undefined
      })
    },
    chores: { console: () => store.purgeConsole(db, clock.now()) },
  }
}

async function signOutOf(tx: Tx, admin: Administration, call: Call, token: string): Promise<void> {
  const row = await store.takeSession(tx, sha256(token))
  if (!row) return
  const actor = actorOf(call, { kind: 'operator', id: row.operator ?? row.link! })
  const act = { actor, action: 'operator.sign_out', target: row.id }
  await recordAudit(tx, act, admin)
}

/** An operator acts for the installation: live, of the operator's own customer (§13). */
const operatorOf = (row: store.SessionRow): Principal => ({
  customer: DEFAULT_CUSTOMER,
  mode: 'live',
  scope: scopeOf(row.customer_no, 'live'),
  kind: 'operator',
  subject: row.operator ?? row.link!,
  ...(row.email !== null && { name: row.email }),
  scopes: new Set([ADMIN_SCOPE]),
})
