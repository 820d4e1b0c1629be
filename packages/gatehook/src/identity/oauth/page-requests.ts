/** The common parts of the pages of OAuth: errors, redirects, and the consents that they store. */
import { type AuditContext, actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import type { Answer, Call } from '../../protocol/http/call.ts'
import { PAGE_HEADERS } from '../../protocol/http/html-page.ts'
import type { ScopeChanges } from '../access/administration.ts'
import type { Devices } from '../people/devices.ts'
import type { SignInApi } from '../people/login.ts'
import type { Person } from '../people/person.ts'
import type { Audiences } from '../tokens/audience.ts'
import type { OauthClient } from './client.ts'
import type { ClientCache } from './client-cache.ts'
import { extendConsent } from './consent.ts'
import { lockConsent, upsertConsent } from './consent-store.ts'
import type { FormTickets } from './form-ticket.ts'
import { OauthError } from './oauth-error.ts'
import type { AuthorizationLifetimes } from './pages.ts'
import type { SignInSessions } from './sign-in-session.ts'

/** The parts that the pages of sign-in and consent use. */
export interface PageDeps extends AuditContext {
  readonly issuer: () => string
  readonly audiences: Audiences
  readonly db: Database
  readonly clients: ClientCache
  readonly signIns: SignInSessions
  readonly tickets: FormTickets
  readonly people: Pick<SignInApi, 'signIn' | 'names'>
  readonly devices: Devices
  /** The display name of the API. */
  readonly service: string
  readonly lifetimes: AuthorizationLifetimes
  readonly changes: ScopeChanges
}

/** Turns an `OauthError` into a failure, which the pipeline renders as a page. */
export async function withErrorPage(handle: () => Promise<Answer>): Promise<Answer> {
  try {
    return await handle()
  } catch (error) {
    if (error instanceof OauthError) throw new Failure('invalid_request', error.message)
    throw error
  }
}

/** Whether a form is of a page of this server, as far as the browser says it. */
export const isOfOwnPage = ({ headers }: Pick<Call, 'headers'>): boolean =>
  (headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin'

export const redirect = (
  location: string,
  cookies: readonly (string | undefined)[] = [],
): Answer => ({
  status: 303,
  headers: { ...PAGE_HEADERS, location },
  cookies: cookies.filter((line) => line !== undefined),
})

interface NewConsent {
  readonly call: Call
  readonly person: Person
  readonly client: OauthClient
  /** Empty for a device. */
  readonly redirectUri: string
  readonly scopes: readonly string[]
}

/** Stores what a person allowed on a page, with its audit entry. */
export async function storeConsent(
  tx: Tx,
  { call, person, client, redirectUri, scopes }: NewConsent,
  audit: AuditContext,
): Promise<void> {
  const { scope, id: owner, subject, name } = person
  const key = { scope, owner, clientId: client.id }
  const consent = extendConsent(await lockConsent(tx, key), client, redirectUri, scopes)
  await upsertConsent(tx, { ...key, clientName: client.name, ...consent }, audit.clock.now())
  const actor = actorOf(call, { kind: 'person', id: subject, name, scope })
  const detail = { client_name: client.name, scopes }
  await recordAudit(tx, { actor, action: 'consent.grant', target: client.id, detail }, audit)
}
