/**
 * Sign-in sessions at the pages of an authorization (§5.2): a browser has a random cookie, which
 * changes with each sign-in and is stored as SHA-256.
 */
import { type AuditContext, actorOf, recordAudit } from '../../history/audit/store.ts'
import type { Scope } from '../../kernel/principal.ts'
import { sha256 } from '../../kernel/secret.ts'
import type { Database, Row } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'
import type { Call } from '../../protocol/http/call.ts'
import { readCookie, setCookie } from '../../protocol/http/cookies.ts'
import type { SignInApi } from '../people/login.ts'
import type { Person } from '../people/person.ts'

const COOKIE = 'gatehook'
const COOKIE_BYTES = 32
const COOKIE_FORMAT = /^[\w-]{43}$/
const SESSION_LIFETIME_MS = 10 * 60_000

export interface BrowserCookie {
  readonly value: string
  /** The `Set-Cookie` line of a new cookie; undefined if the browser sent it. */
  readonly line: string | undefined
}

export interface SignedInPerson extends Person {
  /** When the person entered the password, in epoch milliseconds. */
  readonly authenticatedAt: number
}

interface SignInSessionDeps extends AuditContext {
  readonly db: Database
  readonly people: Pick<SignInApi, 'findPerson' | 'recordSignIn'>
}

export type SignInSessions = ReturnType<typeof createSignInSessions>

export function createSignInSessions(deps: SignInSessionDeps) {
  const { db, clock, random, people } = deps
  const createCookie = (call: Call): BrowserCookie => {
    const value = random.bytes(COOKIE_BYTES).toString('base64url')
    return { value, line: setCookie(call, { name: COOKIE, value, sameSite: 'lax' }) }
  }
  return {
    /** Returns the cookie of a request, or a new one. */
    readOrCreateCookie(call: Call): BrowserCookie {
      const value = readCookie(call, COOKIE)
      if (value === undefined || !COOKIE_FORMAT.test(value)) return createCookie(call)
      return { value, line: undefined }
    },

    /**
     * Returns the person that is signed in. Returns undefined if the session has expired, if the
     * person was deleted, disabled or changed since, or the customer is suspended.
     */
    async findPerson({ value }: BrowserCookie): Promise<SignedInPerson | undefined> {
      const row = await db.get<SignInRow>(sql`SELECT scope, subject, revision, created_at
        FROM gh_sign_ins
        WHERE hash = ${sha256(value)} AND expires_at > ${clock.now()}`)
      const person = row && (await people.findPerson(db, row.scope as Scope, row.subject))
      if (person?.revision !== row?.revision || person?.suspended) return undefined
      return person && { ...person, authenticatedAt: row!.created_at }
    },

    /** Opens a session under a new cookie, which prevents session fixation, and returns it. */
    async signIn(
      call: Call,
      before: BrowserCookie,
      person: Person,
      page: string,
    ): Promise<BrowserCookie> {
      const { scope, subject, name, revision, customer, mode } = person
      const cookie = createCookie(call)
      const now = clock.now()
      await db.write(async (tx) => {
        await tx.run(sql`DELETE FROM gh_sign_ins WHERE hash = ${sha256(before.value)}`)
        await tx.run(sql`INSERT INTO gh_sign_ins
          (hash, scope, subject, revision, created_at, expires_at)
          VALUES (${sha256(cookie.value)}, ${scope}, ${subject}, ${revision}, ${now},
                  ${now + SESSION_LIFETIME_MS})`)
        await people.recordSignIn(tx, person)
        const actor = actorOf(call, { kind: 'person', id: subject, name, scope })
        const detail = { page, customer, mode }
        await recordAudit(tx, { actor, action: 'person.login', target: subject, detail }, deps)
      })
      return cookie
    },

    async signOut(call: Call, { value }: BrowserCookie): Promise<void> {
      await db.write(async (tx) => {
        const row = await tx.get<SignInRow>(sql`DELETE FROM gh_sign_ins
          WHERE hash = ${sha256(value)} RETURNING scope, subject, revision, created_at`)
        if (!row) return
        const actor = actorOf(call, { kind: 'person', id: row.subject, scope: row.scope })
        await recordAudit(tx, { actor, action: 'person.logout', target: row.subject }, deps)
      })
    },
  }
}

interface SignInRow extends Row {
  readonly scope: number
  readonly subject: string
  readonly revision: number
  readonly created_at: number
}
