/**
 * Sessions of the portal (§12.2). A one-time link, or the name and password of a person, is
 * exchanged for a cookie, which authenticates requests under `/portal` from the portal's own pages
 * only. A session belongs to one customer and one mode.
 */

import { actorOf, recordAudit } from '../../history/audit/store.ts'
import type { Administration } from '../../identity/access/administration.ts'
import type { Identify } from '../../identity/access/authenticate.ts'
import { principalMembersOf } from '../../identity/access/customers.ts'
import type { AccessEnd } from '../../identity/access/given-access.ts'
import { findCustomer } from '../../identity/access/store.ts'
import type { Devices } from '../../identity/people/devices.ts'
import type { SignInApi, SignInName } from '../../identity/people/login.ts'
import type { NameReach } from '../../identity/people/namespace.ts'
import { Failure } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import type { Principal, Scope, StoredPrincipal } from '../../kernel/principal.ts'
import { sha256 } from '../../kernel/secret.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Answer, Call, Route, Step } from '../../protocol/http/call.ts'
import { readCookie, setCookie } from '../../protocol/http/cookies.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { createOwnPageGuard, hasCredential } from '../../protocol/http/own-page.ts'
import { signOutHeaders } from '../../protocol/http/response-steps.ts'
import { keyScopesOf, personScopes, sectionsOf } from './authority.ts'
import { TOKEN_BYTES } from './link.ts'
import { type PortalSessionJson, sessionOperations } from './operations.ts'
import * as store from './store.ts'

const SESSION_LIFE_MS = 2 * 3_600_000
/** A further sign-in of a person ends the oldest session. */
const SESSIONS_PER_PERSON = 20
const COOKIE_NAME = 'gatehook_portal'

const { rejectForeignOrigin, requireOwnPage } = createOwnPageGuard({
  header: 'x-gatehook-portal',
  message: 'A session of the portal is valid in the portal’s own pages only.',
})

export interface PortalSessions {
  readonly routes: readonly Route[]
  /** Wraps the step that authenticates with credentials: a session's cookie takes its place. */
  guard(next: Step): Step
  /** Identifies the caller of a request under `/portal` by its session, of others by `next`. */
  identifyOr(next: Identify): Identify
}

export interface PortalSessionDeps {
  readonly admin: Administration
  /** Whether the administrator who created a link may still create one. */
  readonly mayStillAdminister: (tx: Tx, maker: StoredPrincipal) => Promise<boolean>
  /** Returns when the access of the maker of a link ends, if it has an end. */
  readonly accessEndMs: AccessEnd
  readonly people: Pick<SignInApi, 'signIn' | 'confirm' | 'findPerson' | 'recordSignIn'>
  readonly devices: Devices
  /** Where a sign-in name is unique (§4.8). */
  readonly names: NameReach
  /** Whether pages of other sites may frame the portal (`GATEHOOK_PORTAL_FRAME_ANCESTORS`). */
  readonly isFramed: boolean
  /** Whether the host belongs to an application (§17.4). */
  readonly isMounted: boolean
  /** Whether a person reaches every row of its customer and mode (§6.7). */
  readonly seesAllRows: (person: Principal) => boolean
}

/**
 * Creates the function that returns the cookie of a session. Browsers send a `Strict` cookie in no
 * frame of another site; a frame that is configured needs `None`, which requires HTTPS. The header
 * of the pages protects against forged requests in either case.
 */
const cookieWriter =
  (isFramed: boolean) =>
  (call: Call, value: string, lifeMs: number): string =>
    setCookie(call, {
      name: COOKIE_NAME,
      value,
      sameSite: isFramed && call.secure ? 'none' : 'strict',
      maxAgeS: Math.floor(lifeMs / 1000),
    })

interface CurrentSession {
  readonly row: store.OpenPortalSession
  readonly principal: Principal
}

/** Returns the session of a cookie's value; undefined without one, or if it has ended. */
type FindSession = (token: string | undefined) => Promise<CurrentSession | undefined>

function createFindSession({ admin, people, seesAllRows }: PortalSessionDeps): FindSession {
  const { db, clock } = admin
  const principalOf = async (row: store.OpenPortalSession): Promise<Principal | undefined> => {
    const { kind, subject, customer, mode, email } = row
    const scope = row.scope as Scope
    const common = { customer, mode, scope, kind, subject, ...principalMembersOf(row) }
    if (kind === 'portal') {
      const name = email === null ? {} : { name: email }
      return { ...common, ...name, inPortal: 'all', scopes: new Set(JSON.parse(row.can)) }
    }
    const person = await people.findPerson(db, scope, subject)
    // A new password, name, role or scope changes the revision.
    if (!person || person.revision !== row.revision) return undefined
    const scopes: ReadonlySet<string> = new Set(person.scopes)
    const { username: name, revision } = person
    const full: Principal = { ...common, name, scopes, revision }
    const isForAll = seesAllRows(full)
    const inPortal = isForAll ? 'all' : 'own'
    return { ...full, inPortal, scopes: personScopes(scopes, isForAll) }
  }
  return async (token) => {
    const row = token && (await store.findSession(db, sha256(token), clock.now()))
    if (!row) return undefined
    const principal = await principalOf(row)
    return principal && { row, principal }
  }
}

/** A session before it has an id and times. */
type PortalOpening = Omit<store.PortalSession, 'id' | 'created_at' | 'expires_at'>

/** The name of the person that opens a session, and its end at the latest. */
interface PortalOpener {
  readonly name: string | null
  readonly endMs?: number | undefined
}

/** Creates the two ways to open a session: a one-time link, or a name and a password. */
function createSignIn({ admin, people, mayStillAdminister, accessEndMs }: PortalSessionDeps) {
  const { db, clock, random } = admin
  const openSession = async (
    tx: Tx,
    call: Call,
    grant: PortalOpening,
    { name, endMs = Number.POSITIVE_INFINITY }: PortalOpener,
  ) => {
    const now = clock.now()
    const token = random.bytes(TOKEN_BYTES).toString('base64url')
    const id = createTimeOrderedId('pss_', now, random)
    // A browser has one session: the new cookie replaces the previous one.
    const previous = readCookie(call, COOKIE_NAME)
    if (previous !== undefined) await store.takeSession(tx, sha256(previous))
    const row = {
      ...grant,
      id,
      created_at: now,
      expires_at: Math.min(now + SESSION_LIFE_MS, endMs),
    }
    await store.insertSession(tx, { ...row, hash: sha256(token), address: call.address })
    if (grant.kind === 'person') await store.trimSessions(tx, grant, SESSIONS_PER_PERSON)
    const { kind, subject, customer, mode, scope } = grant
    const actor = actorOf(call, { kind, id: subject, scope, ...(name !== null && { name }) })
    const detail = { session: id, customer, mode }
    await recordAudit(tx, { actor, action: 'portal.sign_in', target: subject, detail }, admin)
    call.identified = { kind, subject, customer, mode }
    return token
  }

  const signInByLink = (call: Call, token: string) =>
    db.write(async (tx) => {
      const hash = sha256(token)
      // Before the link: the end of an access locks the operator first, too.
      const maker = await store.findLinkMaker(tx, hash)
      const isValid = maker === undefined || (await mayStillAdminister(tx, JSON.parse(maker)))
      const link = isValid && (await store.takeLink(tx, hash, clock.now()))
      if (!link) {
        throw new Failure('invalid_credentials', 'The link was used before or has expired.')
      }
      const { id: subject, created_at: _, expires_at: __, ...grant } = link
      const customer = await findCustomer(tx, link.customer)
      // The failure rolls the deletion back: the link stays valid.
      if (customer?.suspended !== 0) throw new Failure('customer_suspended')
      const session: PortalOpening = { ...grant, kind: 'portal', subject, revision: null }
      const endMs = maker === undefined ? undefined : await accessEndMs(tx, JSON.parse(maker))
      return openSession(tx, call, session, { name: link.email, endMs })
    })

  const signInByPassword = async (
    call: Call,
    client: Parameters<SignInApi['signIn']>[2],
    name: SignInName,
    password: string,
  ) => {
    const person = await people.signIn(name, password, client)
    return db.write(async (tx) => {
      const { scope, customer, mode, subject, revision, username } = await people.confirm(
        tx,
        person,
      )
      await people.recordSignIn(tx, person)
      const session: PortalOpening = {
        ...{ scope, customer, mode, kind: 'person', subject, revision },
        ...{
          can: '[]',
          email: null,
          return_url: null,
          maker_id: null,
          maker_client: null,
          maker_session: null,
        },
      }
      return openSession(tx, call, session, { name: username })
    })
  }

  return { signInByLink, signInByPassword }
}

/** Returns the JSON form of a session. */
const toJson = ({ row, principal }: CurrentSession): PortalSessionJson => ({
  id: row.id,
  customer: { id: row.customer, name: row.customer_name },
  mode: row.mode,
  signed_in: { kind: row.kind === 'portal' ? 'link' : 'person', name: principal.name ?? null },
  scopes: [...principal.scopes],
  key_scopes: [...keyScopesOf(principal)],
  sections: sectionsOf(principal),
  sees_all_rows: principal.inPortal === 'all',
  return_url: row.return_url,
  expires_at: isoTime(row.expires_at),
})

export function createPortalSessions(deps: PortalSessionDeps): PortalSessions {
  const { admin, devices } = deps
  const sessionCookie = cookieWriter(deps.isFramed)
  const findSession = createFindSession(deps)
  const findCurrent = (call: Call) => findSession(readCookie(call, COOKIE_NAME))
  const { signInByLink, signInByPassword } = createSignIn(deps)

  const operations = sessionOperations(deps.names)
  const open = implement(operations.open, async (call, input) => {
    const { token, username, password, customer, mode } = input
    const hasPassword = username !== undefined && password !== undefined
    if (hasPassword === (token !== undefined)) {
      throw new Failure('invalid_request', 'Send a token, or a username and a password.')
    }
    const client = devices.pageClientOf(call)
    const secret = hasPassword
      ? await signInByPassword(call, client, { username, customer, mode }, password)
      : await signInByLink(call, token!)
    const cookies = [sessionCookie(call, secret, SESSION_LIFE_MS)]
    if (hasPassword) cookies.push(client.cookie)
    const answer = respond(operations.open, toJson((await findSession(secret))!))
    return { ...answer, cookies }
  })

  const read = implement(operations.read, async (call) => {
    const current = await findCurrent(call)
    if (!current) throw new Failure('unauthorized')
    return respond(operations.read, toJson(current))
  })

  // Unauthenticated: also for a browser whose session has ended.
  const close = implement(operations.close, async (call): Promise<Answer> => {
    const token = readCookie(call, COOKIE_NAME)
    if (token !== undefined) {
      requireOwnPage(call)
      await admin.db.write(async (tx) => {
        const row = await store.takeSession(tx, sha256(token))
        if (!row) return
        const actor = actorOf(call, { kind: row.kind, id: row.subject, scope: row.scope })
        await recordAudit(tx, { actor, action: 'portal.sign_out', target: row.id }, admin)
      })
    }
    return {
      status: 204,
      headers: signOutHeaders(deps.isMounted),
      cookies: [sessionCookie(call, '', 0)],
    }
  })

  return {
    routes: [open, read, close],
    guard: (next) => (call) => {
      if (call.kind !== 'portal' || !call.operation) return next(call)
      if (call.operation.authenticated === false) {
        // A session opens and closes here: the server rejects the request before its body.
        rejectForeignOrigin(call)
        return next(call)
      }
      if (hasCredential(call)) return next(call)
      if (readCookie(call, COOKIE_NAME) === undefined) throw new Failure('unauthorized')
      requireOwnPage(call)
      return findCurrent(call).then((current) => {
        if (!current) throw new Failure('unauthorized', 'The session of the portal has ended.')
        if (current.row.suspended !== 0) throw new Failure('customer_suspended')
        call.principal = current.principal
      })
    },
    identifyOr: (next) => (call) =>
      call.kind === 'portal' && !hasCredential(call)
        ? findCurrent(call).then((current) =>
            current?.row.suspended === 0 ? current.principal : undefined,
          )
        : next(call),
  }
}
