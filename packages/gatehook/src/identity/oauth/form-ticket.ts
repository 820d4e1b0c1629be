/**
 * Form tickets: each page of an authorization carries the authorization request in a hidden field,
 * encrypted and bound to the browser's cookie. A form without a valid ticket is rejected, which
 * prevents cross-site request forgery (§5.2).
 */
import { timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../kernel/clock.ts'
import type { Scope } from '../../kernel/principal.ts'
import { sha256, type Vault } from '../../kernel/secret.ts'

const PURPOSE = 'oauth-page'
/** How long a person may take to complete a form. */
const TICKET_LIFETIME_MS = 10 * 60_000

export interface FormTicket {
  readonly page: 'sign-in' | 'consent' | 'device' | 'device-consent'
  /** The query of the authorization request; of a device, its code or grant (§16.6). */
  readonly search: string
  /** Consent: the person and the scopes that the page displayed. */
  readonly consent?: {
    readonly subject: string
    readonly scope: Scope
    readonly scopes: readonly string[]
    /** Identifies what the page said about the client. */
    readonly description: string
  }
}

export type FormTickets = ReturnType<typeof createFormTickets>

export function createFormTickets({ clock, vault }: { clock: Clock; vault: Vault }) {
  const decrypt = (page: FormTicket['page'], text = '') => {
    let ticket: FormTicket & { readonly cookieHash: string; readonly expiresAt: number }
    try {
      ticket = JSON.parse(vault.decrypt(PURPOSE, page, Buffer.from(text, 'base64url')).toString())
    } catch {
      return undefined
    }
    return ticket.page === page && ticket.expiresAt > clock.now() ? ticket : undefined
  }
  return {
    /** Encrypts a ticket for the browser with the given cookie. */
    encrypt(cookieValue: string, ticket: FormTicket): string {
      const cookieHash = sha256(cookieValue).toString('base64url')
      const expiresAt = clock.now() + TICKET_LIFETIME_MS
      const text = JSON.stringify({ ...ticket, cookieHash, expiresAt })
      return vault.encrypt(PURPOSE, ticket.page, text).toString('base64url')
    },

    /** Returns undefined if the ticket is forged or expired, or of another page or browser. */
    verify(
      cookieValue: string,
      page: FormTicket['page'],
      text: string | undefined,
    ): FormTicket | undefined {
      const ticket = decrypt(page, text)
      if (!ticket) return undefined
      const cookieHash = Buffer.from(ticket.cookieHash, 'base64url')
      return timingSafeEqual(cookieHash, sha256(cookieValue)) ? ticket : undefined
    },

    /** Returns the authorization request of a ticket of any browser. It authenticates nothing. */
    readSearch: (page: FormTicket['page'], text: string | undefined): string | undefined =>
      decrypt(page, text)?.search,
  }
}
