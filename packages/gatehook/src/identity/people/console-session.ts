/**
 * Sessions of the console (§12.2). A one-time link, or a password with a second factor, is
 * exchanged for a cookie. Under `/admin` the cookie authenticates its operator, for requests of the
 * console's own pages only.
 */

import { actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { type Principal, scopeOf } from '../../kernel/principal.ts'
import { resolveWithin } from '../../kernel/resolve-within.ts'
import { sha256 } from '../../kernel/secret.ts'
import { isoTime } from '../../kernel/time.ts'
import { pathOfUrl } from '../../kernel/uri.ts'
import type { MailOutbox } from '../../platform/mail/outbox.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { purgeExpired } from '../../platform/storage/purge.ts'
import { whileAvailable } from '../../platform/storage/storage-failure.ts'
import type { ValuesOf } from '../../protocol/fields/members.ts'
import { writeFor } from '../../protocol/http/authorized-write.ts'
import {
  type Answer,
  type Call,
  json,
  type Route,
  route,
  type Step,
} from '../../protocol/http/call.ts'
import { readCookie } from '../../protocol/http/cookies.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { createOwnPageGuard, hasCredential } from '../../protocol/http/own-page.ts'
import { signOutHeaders } from '../../protocol/http/response-steps.ts'
import type { AdminDeps } from '../access/admin-handlers.ts'
import { ADMIN_SCOPE, DEFAULT_CUSTOMER } from '../access/administration.ts'
import type { Identify } from '../access/authenticate.ts'
import { consoleOperations, type signInInput } from './console-operations.ts'
import {
  COOKIE_NAME,
  createSignIn,
  IDLE_MS,
  type OpenedSession,
  type RequireSession,
  SESSION_LIFE_MS,
  type SignInDeps,
  sessionCookie,
  TOKEN_BYTES,
} from './console-sign-in.ts'
import type { Devices } from './devices.ts'
import { endOtherSessions, takeSession } from './operator-access.ts'
import { operatorRoutes } from './operator-administration.ts'
import { OPENID_PATH, type OperatorOpenid } from './operator-openid.ts'
import { operatorPasskeyRoutes, operatorPasskeySignIn } from './operator-passkeys.ts'
import { operatorSessionRoutes } from './operator-sessions.ts'
import * as store from './operator-store.ts'
import { createOperator, type OperatorCreation } from './operators.ts'
import { findPasskeyOrigin, type PasskeyCeremonies } from './passkey-ceremony.ts'
import type { Hasher } from './password.ts'
import { consoleLinks, consoleSessions } from './tables.ts'

/** The use of a session is written at most this often. */
const REFRESH_MS = 60_000
/** A request waits for at most this time until its session is extended. */
const REFRESH_WAIT_MS = 1_000
/** Sent by the console's own script. Forms and other origins cannot send it without CORS. */
const CONSOLE_HEADER = 'x-gatehook-console'

export interface ConsoleSessions {
  readonly routes: readonly Route[]
  /** Wraps the step that authenticates with credentials: a session's cookie takes its place. */
  guard(next: Step): Step
  /** Identifies the operator of a request under `/admin` by the session, others by `next`. */
  identifyOr(next: Identify): Identify
  readonly chores: Readonly<Record<string, () => Promise<number>>>
}

interface ConsoleDeps extends AdminDeps, SignInDeps {
  readonly hasher: Hasher
  readonly devices: Devices
  /** Undefined: operators do not sign in with OpenID Connect. */
  readonly operatorOpenid: OperatorOpenid | undefined
  readonly ceremonies: PasskeyCeremonies
  readonly publicUrl: () => string
  readonly outbox: MailOutbox
  /** Whether the host belongs to an application (§17.4). */
  readonly isMounted: boolean
}

type SignInInput = ValuesOf<typeof signInInput>

const { rejectForeignOrigin, requireOwnPage } = createOwnPageGuard({
  header: CONSOLE_HEADER,
  message: 'A session of the console is valid in the console’s own pages only.',
})

/** Routes in which a session creates its operator and enrols the operator's second factor. */
function enrolmentRoutes(deps: ConsoleDeps, requireSession: RequireSession): Route[] {
  const { admin, secondFactor, hasher } = deps
  const { random } = admin
  /** Replaces the session's token when the session gains authority: an older token is invalid. */
  const elevation = (call: Call, session: store.ConsoleSessionRow) => {
    const token = random.bytes(TOKEN_BYTES).toString('base64url')
    return {
      cookies: [sessionCookie(call, token, SESSION_LIFE_MS)],
      elevate: async (tx: Tx, operator: string): Promise<void> => {
        const verified = { hash: sha256(token), now: admin.clock.now() }
        const isElevated = await store.elevateSession(tx, session.id, operator, verified)
        if (!isElevated) throw new Failure('unauthorized', 'The session has ended since.')
      },
    }
  }
  const requireOperator = async (call: Call) => {
    const session = await requireSession(call)
    if (session.operator === null) {
      throw new Failure('invalid_state', 'Create the operator first: /console/session/operator.')
    }
    if (session.claims_read_at !== null) {
      throw new Failure('invalid_state', 'The identity provider verifies this operator.')
    }
    // A session without the second factor must not replace it.
    if (session.verified === 0 && (await secondFactor.isEnrolled(session.operator))) {
      throw new Failure('second_factor_required')
    }
    return { session, operator: session.operator }
  }

  const create = async (call: Call, input: OperatorCreation): Promise<Answer> => {
    const session = await requireSession(call)
    if (session.operator !== null) {
      throw new Failure('invalid_state', 'The session has its operator already.')
    }
    const { cookies, elevate } = elevation(call, session)
    const own = { ...admin, write: writeFor(call, admin) }
    const operator = await createOperator(own, hasher, input, actorOf(call), elevate)
    return { ...json(201, operator), cookies }
  }

  const enrol = async (call: Call): Promise<Answer> => {
    const { operator } = await requireOperator(call)
    const enrolment = await secondFactor.enrol(operator, actorOf(call))
    return { ...json(200, enrolment, { 'cache-control': 'no-store' }), secret: true }
  }

  const confirm = async (call: Call, { code }: { readonly code: string }): Promise<Answer> => {
    const { session, operator } = await requireOperator(call)
    const { cookies, elevate } = elevation(call, session)
    const continueAlone = async (tx: Tx) => {
      await elevate(tx, operator)
      await endOtherSessions(admin, tx, { operator, id: session.id })
    }
    const actor = actorOf(call)
    const recovery_codes = await secondFactor.confirm(operator, code, actor, continueAlone)
    const answer = json(200, { recovery_codes }, { 'cache-control': 'no-store' })
    return { ...answer, cookies, secret: true }
  }

  return [
    implement(consoleOperations.createOperator, create),
    implement(consoleOperations.enrol, enrol),
    implement(consoleOperations.confirm, confirm),
  ]
}

/** Returns the JSON form of a session at `/console/session`. */
const toJson = (row: Pick<store.ConsoleSessionRow, 'operator' | 'verified' | 'expires_at'>) => ({
  operator: row.operator,
  expires_at: isoTime(row.expires_at),
  second_factor: row.verified === 0 ? 'enrolment_required' : 'verified',
})

/** Returns the response of a sign-in, which sets the cookie of its session. */
const answerWith = (call: Call, session: OpenedSession) => ({
  ...json(201, toJson(session), { 'cache-control': 'no-store' }),
  cookies: [sessionCookie(call, session.token, SESSION_LIFE_MS)],
  secret: true,
})

/** An operator acts for the installation: live, for the default customer (§13). */
const toPrincipal = (row: store.ConsoleSessionRow): Principal => ({
  customer: DEFAULT_CUSTOMER,
  mode: 'live',
  scope: scopeOf(row.customer_no, 'live'),
  kind: 'operator',
  subject: row.operator ?? row.link!,
  sessionId: row.id,
  ...(row.email !== null && { name: row.email }),
  scopes: new Set([ADMIN_SCOPE]),
  // A session without an operator creates the first one.
  ...(row.role !== null && { role: row.role }),
})

/** Ends the session of a request, if there is one. */
async function signOut({ admin, isMounted }: ConsoleDeps, call: Call): Promise<Answer> {
  const { db } = admin
  const token = readCookie(call, COOKIE_NAME)
  if (token !== undefined) {
    requireOwnPage(call)
    await db.write(async (tx) => {
      const row = await takeSession(admin, tx, sha256(token))
      if (!row) return
      const actor = actorOf(call, { kind: 'operator', id: row.operator ?? row.link! })
      await recordAudit(tx, { actor, action: 'operator.sign_out', target: row.id }, admin)
    })
  }
  return { status: 204, headers: signOutHeaders(isMounted), cookies: [sessionCookie(call, '', 0)] }
}

/** Returns the cookie of a request under `/admin` that has no other credential. */
const sessionTokenOf = (call: Call): string | undefined =>
  call.kind === 'admin' && !hasCredential(call) ? readCookie(call, COOKIE_NAME) : undefined

/** Without an identity provider, the path of its redirect is unknown. */
const missingOpenid = route(OPENID_PATH, {
  GET: {
    handle() {
      throw new Failure('not_found')
    },
  },
})

/** Finds the session of a cookie, with the rights that its operator has now. */
function createSessionReader({ admin, operatorOpenid: openid, passwords }: ConsoleDeps) {
  const { db, clock } = admin
  const findSession = async (token: string) => {
    const row = await store.findSession(db, sha256(token), DEFAULT_CUSTOMER, clock.now())
    if (!row || row.claims_read_at === null) return passwords === 'off' ? undefined : row
    return openid?.hasIssuer(row.issuer!) ? row : undefined
  }
  /** Also reads the groups of an operator again, if it is time (§16.9). */
  const findCurrentSession = async (token: string) => {
    const row = await findSession(token)
    if (!row || !openid?.isDue(row)) return row
    await openid.readGroups(row, token)
    const readRow = await findSession(token)
    return readRow && !openid.isOverdue(readRow) ? readRow : undefined
  }
  return { findSession, findCurrentSession }
}

/**
 * Extends a session by `IDLE_MS`, at most until `ends_at`. While the database stores nothing,
 * operators read all the same.
 */
async function refresh(
  { db, clock }: Pick<ConsoleDeps['admin'], 'db' | 'clock'>,
  row: store.ConsoleSessionRow,
): Promise<void> {
  const now = clock.now()
  if (now - row.last_used_at < REFRESH_MS) return
  const expires_at = Math.min(now + IDLE_MS, row.ends_at)
  const session = { id: row.id, expires_at, last_used_at: now }
  const stored = db.write((tx) => store.refreshSession(tx, session)).then(() => undefined)
  await resolveWithin(REFRESH_WAIT_MS, whileAvailable(stored, undefined))
}

export function createConsoleSessions(deps: ConsoleDeps): ConsoleSessions {
  const { admin, devices, operatorOpenid: openid, passwords, publicUrl } = deps
  const { db, clock } = admin
  const { signInByLink, signInByPassword } = createSignIn(deps)
  const { findSession, findCurrentSession } = createSessionReader(deps)

  const signIn = async (call: Call, input: SignInInput): Promise<Answer> => {
    const { token, email, password, code } = input
    const hasPassword = email !== undefined && password !== undefined
    if (hasPassword === (token !== undefined)) {
      throw new Failure('invalid_request', 'Send a token, or an email and a password.')
    }
    const client = devices.pageClientOf(call)
    const session = hasPassword
      ? await signInByPassword(call, client, { email, password, code })
      : await signInByLink(call, token!)
    const answer = answerWith(call, session)
    return hasPassword ? { ...answer, cookies: [...answer.cookies, client.cookie] } : answer
  }

  const requireSession: RequireSession = async (call) => {
    const token = readCookie(call, COOKIE_NAME)
    const row = token === undefined ? undefined : await findSession(token)
    if (!row) throw new Failure('unauthorized')
    return row
  }

  const show = async (call: Call): Promise<Answer> => {
    const row = await requireSession(call)
    const { email, role } = row
    return json(200, { ...toJson(row), email, role, ends_at: isoTime(row.ends_at) })
  }

  return {
    routes: [
      implement(consoleOperations.methods, () => {
        const issuer = openid?.issuer ?? null
        const origin = findPasskeyOrigin(publicUrl())
        const passkeys = origin ? `${origin.origin}${pathOfUrl(publicUrl())}/console` : null
        return respond(consoleOperations.methods, { passwords, issuer, passkeys })
      }),
      ...(openid?.routes ?? [missingOpenid]),
      implement(consoleOperations.open, signIn),
      implement(consoleOperations.read, show),
      // Unauthenticated: also for a browser whose session has ended.
      implement(consoleOperations.close, (call) => signOut(deps, call)),
      ...enrolmentRoutes(deps, requireSession),
      ...operatorPasskeyRoutes(deps, requireSession),
      ...operatorPasskeySignIn(deps, answerWith),
      ...operatorSessionRoutes(admin, deps),
      ...operatorRoutes(admin, deps),
    ],
    guard: (next) => (call) => {
      // A session opens and closes here: the server rejects the request before its body.
      if (call.kind === 'admin' && call.operation?.authenticated === false)
        rejectForeignOrigin(call)
      const token = sessionTokenOf(call)
      const needsPrincipal = call.operation && call.operation.authenticated !== false
      if (token === undefined || !needsPrincipal) return next(call)
      requireOwnPage(call)
      return findCurrentSession(token).then(async (row) => {
        if (!row) return next(call)
        if (row.verified === 0 && !call.route.startsWith('/console/session')) {
          throw new Failure('second_factor_required')
        }
        await refresh(admin, row)
        call.principal = toPrincipal(row)
        return undefined
      })
    },
    // Does not extend the session: an open stream must not keep an unused console signed in.
    identifyOr: (next) => (call) => {
      const token = sessionTokenOf(call)
      if (token === undefined) return next(call)
      return findSession(token).then((row) =>
        row && row.verified !== 0 && !openid?.isOverdue(row) ? toPrincipal(row) : undefined,
      )
    },
    chores: { console: () => purgeExpired(db, [consoleLinks, consoleSessions], clock.now()) },
  }
}
