/**
 * The browser at our pages: one cookie, random and of its own for each sign-in, known here by its
 * SHA-256 only; and tickets, which carry a request through a form and back, sealed, for this
 * browser alone. A form without a good ticket was not ours (CSRF).
 */
import { timingSafeEqual } from 'node:crypto'
import { type AuditContext, actorOf, recordAudit } from '../audit/store.ts'
import type { Call } from '../http/call.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import type { Scope } from '../kernel/principal.ts'
import { sha256, type Vault } from '../kernel/secret.ts'
import type { SignInApi } from '../people/login.ts'
import type { Person } from '../people/person.ts'
import type { Database, Row, Tx } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'

const PURPOSE = 'oauth-page'
const COOKIE = 'gatehook'
const COOKIE_BYTES = 32
const COOKIE_LENGTH = 43
/** How long somebody stays signed in at these pages, and how long a page can be filled in. */
const SIGN_IN_MS = 10 * 60_000
const TICKET_MS = 10 * 60_000
const PURGED_AT_ONCE = 1000

export interface Browser {
  /** The cookie's value, new where none was sent. */
  readonly value: string
  /** To be set with the answer; undefined where the browser has it already. */
  readonly cookie: string | undefined
}

/** What a form brings back. */
export interface Ticket {
  readonly page: 'sign-in' | 'consent'
  /** The query of the authorization request, as it came. */
  readonly search: string
  /** Consent: who was asked, and for what. */
  readonly asked?: { readonly subject: string; readonly scope: Scope; readonly scopes: string[] }
}

export interface BrowserDeps extends AuditContext {
  readonly db: Database
  readonly vault: Vault
  readonly people: Pick<SignInApi, 'findPerson'>
}

export type Browsers = ReturnType<typeof createBrowsers>

export function createBrowsers(deps: BrowserDeps) {
  const { db, clock, random, vault, people } = deps
  const fresh = (call: Call): Browser => {
    const value = random.bytes(COOKIE_BYTES).toString('base64url')
    return { value, cookie: setCookie(call, { name: COOKIE, value, sameSite: 'lax' }) }
  }
  const unsealed = (page: Ticket['page'], text: string | undefined) => {
    let found: Ticket & { readonly whose: string; readonly until: number }
    try {
      found = JSON.parse(
        vault.decrypt(PURPOSE, page, Buffer.from(text ?? '', 'base64url')).toString(),
      )
    } catch {
      return undefined
    }
    return found.page === page && found.until > clock.now() ? found : undefined
  }
  return {
    /** The browser of a call; a stranger gets a cookie. */
    of: (call: Call): Browser => {
      const value = cookieOf(call)
      return value === undefined ? fresh(call) : { value, cookie: undefined }
    },

    /** Who is signed in, or nobody: too long ago, gone, disabled, or changed since. */
    async signedIn({ value }: Browser): Promise<Person | undefined> {
      const row = await db.get<SignInRow>(sql`SELECT scope, subject, revision FROM gh_sign_ins
        WHERE hash = ${sha256(value)} AND expires_at > ${clock.now()}`)
      const person = row && (await people.findPerson(db, row.scope as Scope, row.subject))
      return person?.revision === row?.revision ? person : undefined
    },

    /** A new value with each sign-in: what was known before it opens nothing after it. */
    async signIn(call: Call, before: Browser, person: Person) {
      const { scope, subject, name, revision, customer, mode } = person
      const after = fresh(call)
      const now = clock.now()
      await db.write(async (tx) => {
        await tx.run(sql`DELETE FROM gh_sign_ins WHERE hash = ${sha256(before.value)}`)
        await tx.run(sql`INSERT INTO gh_sign_ins
          (hash, scope, subject, revision, created_at, expires_at)
          VALUES (${sha256(after.value)}, ${scope}, ${subject}, ${revision}, ${now},
                  ${now + SIGN_IN_MS})`)
        const actor = actorOf(call, { kind: 'person', id: subject, name })
        const detail = { page: '/oauth/authorize', customer, mode }
        await recordAudit(tx, { actor, action: 'person.login', target: subject, detail }, deps)
      })
      return after
    },

    async signOut(call: Call, { value }: Browser): Promise<void> {
      await db.write(async (tx) => {
        const row = await tx.get<SignInRow>(sql`DELETE FROM gh_sign_ins
          WHERE hash = ${sha256(value)} RETURNING scope, subject, revision`)
        if (!row) return
        const actor = actorOf(call, { kind: 'person', id: row.subject })
        await recordAudit(tx, { actor, action: 'person.logout', target: row.subject }, deps)
      })
    },

    /** The text of a ticket, for a hidden field. */
    ticket({ value }: Browser, ticket: Ticket): string {
      const whose = sha256(value).toString('base64url')
      const text = JSON.stringify({ ...ticket, whose, until: clock.now() + TICKET_MS })
      return vault.encrypt(PURPOSE, ticket.page, text).toString('base64url')
    },

    /** Undefined for what is no ticket of ours for this page and browser, or is too old. */
    opened({ value }: Browser, page: Ticket['page'], text: string | undefined): Ticket | undefined {
      const found = unsealed(page, text)
      const whose = Buffer.from(found?.whose ?? '', 'base64url')
      return found && timingSafeEqual(whose, sha256(value)) ? found : undefined
    },

    /** The request a page of ours was about, whoever's page it was. Proves nothing. */
    searchOf: (page: Ticket['page'], text: string | undefined): string | undefined =>
      unsealed(page, text)?.search,
  }
}

interface SignInRow extends Row {
  readonly scope: number
  readonly subject: string
  readonly revision: number
}

/** A person signs out of every browser (§4.5). */
export const endSignIns = (tx: Tx, scope: Scope, subject: string): Promise<number> =>
  tx.run(sql`DELETE FROM gh_sign_ins WHERE scope = ${scope} AND subject = ${subject}`)

export const purgeSignIns = (db: Database, nowMs: number): Promise<number> =>
  db.write((tx) =>
    tx.run(sql`DELETE FROM gh_sign_ins WHERE hash IN (SELECT hash FROM gh_sign_ins
      WHERE expires_at <= ${nowMs} LIMIT ${PURGED_AT_ONCE})`),
  )

/** Returns the cookie's value, undefined if it is not one that this server sets. */
function cookieOf(call: Call): string | undefined {
  const value = readCookie(call, COOKIE)
  return value?.length === COOKIE_LENGTH && /^[\w-]+$/.test(value) ? value : undefined
}

/**
 * Whether a form came from our own page, by the word of browsers that give one; the ticket is what
 * decides, this is the second lock.
 */
export const fromOwnPage = (call: Call): boolean =>
  (call.headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin'
