/**
 * Sessions of the console (§12.2): a link or a password is exchanged for a cookie, and the cookie
 * stands for its operator under `/admin`, where the request shows that it comes from our own page.
 */
import { ADMIN_SCOPE, type Administration, DEFAULT_CUSTOMER } from '../access/administration.ts'
import { type Actor, recordAudit } from '../audit/store.ts'
import { type Answer, type Call, type Endpoint, endpoint, json, type Step } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import { timeOrderedId } from '../kernel/id.ts'
import { optional } from '../kernel/members.ts'
import { type Principal, scopeOf } from '../kernel/principal.ts'
import { sha256 } from '../kernel/secret.ts'
import { isoTime } from '../kernel/time.ts'
import type { Tx } from '../storage/database.ts'
import { authMembers, text } from './auth-members.ts'
import type { Devices } from './devices.ts'
import * as store from './operator-store.ts'
import type { SignInClient } from './recognized-clients.ts'
import type { Judge } from './sign-in.ts'
import { invalidCredentials } from './username.ts'

const SESSION_LIFE_MS = 12 * 3_600_000
const TOKEN_BYTES = 32
const NAME = 'gatehook_console'
/** Sent by the console's own script; no form and no foreign page can send it unasked. */
export const CONSOLE_HEADER = 'x-gatehook-console'

export interface ConsoleSessions {
  readonly endpoints: readonly Endpoint[]
  /** Before `next`, the step that asks for a credential. */
  guard(next: Step): Step
  readonly chores: Readonly<Record<string, () => Promise<number>>>
}

export interface ConsoleDeps {
  readonly admin: Administration
  readonly judge: Judge
  readonly devices: Devices
}

const members = { token: optional(text), email: optional(text), password: optional(text) }

/** On HTTPS the prefix ties the cookie to this very host (RFC 6265bis §4.1.3.2). */
const cookieName = ({ secure }: Call): string => (secure ? `__Host-${NAME}` : NAME)

function setCookie(call: Call, value: string, lifeMs: number): string {
  const secure = call.secure ? '; Secure' : ''
  const age = Math.floor(lifeMs / 1000)
  return `${cookieName(call)}=${value}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`
}

function cookieOf(call: Call): string | undefined {
  const name = `${cookieName(call)}=`
  const found = (call.headers.cookie ?? '').split(/; */).filter((one) => one.startsWith(name))
  // Two of one name: somebody else put one of them there.
  return found.length === 1 && found[0] !== name ? found[0]!.slice(name.length) : undefined
}

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

/** How a session begins: by a link, once, or by a password. */
function opening({ admin, judge }: ConsoleDeps) {
  const { db, clock, random } = admin
  const open = async (tx: Tx, operator: string | null, link: string | null) => {
    const now = clock.now()
    const token = random.bytes(TOKEN_BYTES).toString('base64url')
    const id = timeOrderedId('ses_', now, random)
    const row = { id, operator, link, created_at: now, expires_at: now + SESSION_LIFE_MS }
    await store.insertSession(tx, { ...row, hash: sha256(token) })
    const actor: Actor = { kind: 'operator', id: operator ?? link! }
    const act = { actor, action: 'operator.sign_in', target: actor.id, detail: { link } }
    await recordAudit(tx, act, admin)
    return { token, operator, expires_at: row.expires_at }
  }

  const byLink = (token: string) =>
    db.write(async (tx) => {
      const link = await store.takeLink(tx, sha256(token), clock.now())
      if (!link) {
        const message = 'The link was used before or is too old: gatehook operators link.'
        throw new Failure('invalid_credentials', message)
      }
      return open(tx, link.operator, link.id)
    })

  const byPassword = async (email: string, password: string, client: SignInClient) => {
    const operators = {
      realm: 'operator' as const,
      find: (folded: string) => store.findOperator(db, folded),
    }
    const judged = await judge(operators, email, password, client)
    return db.write(async (tx) => {
      const now = await store.lockOperator(tx, judged.folded)
      if (now?.password !== judged.password || now.disabled !== 0) throw invalidCredentials()
      return open(tx, judged.id, null)
    })
  }

  return { byLink, byPassword }
}

export function createConsoleSessions(deps: ConsoleDeps): ConsoleSessions {
  const { db, clock } = deps.admin
  const { byLink, byPassword } = opening(deps)
  const find = (token: string) =>
    store.findSession(db, sha256(token), DEFAULT_CUSTOMER, clock.now())

  const signIn = async (call: Call): Promise<Answer> => {
    refuseForeign(call)
    const { token, email, password } = authMembers(call.body, members)
    const withPassword = email !== undefined && password !== undefined
    if (withPassword === (token !== undefined)) {
      throw new Failure('invalid_request', 'Send a token, or an email and a password.')
    }
    const client = deps.devices.pageClientOf(call)
    const session = withPassword ? await byPassword(email, password, client) : await byLink(token!)
    const shown = { operator: session.operator, expires_at: isoTime(session.expires_at) }
    const cookies = [
      setCookie(call, session.token, SESSION_LIFE_MS),
      ...(withPassword ? [client.cookie] : []),
    ]
    return { ...json(201, shown, { 'cache-control': 'no-store' }), cookies, secret: true }
  }

  const show = async (call: Call): Promise<Answer> => {
    const token = cookieOf(call)
    const row = token === undefined ? undefined : await find(token)
    if (!row) throw new Failure('unauthorized')
    const { operator, email } = row
    return json(200, { operator, email, expires_at: isoTime(row.expires_at) })
  }

  const signOut = async (call: Call): Promise<Answer> => {
    const token = cookieOf(call)
    if (token !== undefined) {
      requireOwnPage(call)
      await db.write((tx) => store.dropSession(tx, sha256(token)))
    }
    return { status: 204, cookies: [setCookie(call, '', 0)] }
  }

  return {
    endpoints: [
      endpoint('admin', '/console/session', {
        POST: { authenticated: false, body: 'required', handle: signIn },
        GET: { handle: show },
        // Also for who is signed out already.
        DELETE: { authenticated: false, handle: signOut },
      }),
    ],
    guard: (next) => (call) => {
      const token = call.kind === 'admin' && !carriesCredential(call) ? cookieOf(call) : undefined
      const asked = call.operation && call.operation.authenticated !== false
      if (token === undefined || !asked) return next(call)
      requireOwnPage(call)
      return find(token).then((row) => {
        if (!row) return next(call)
        call.principal = operatorOf(row)
        return undefined
      })
    },
    chores: { console: () => store.purgeConsole(db, clock.now()) },
  }
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
