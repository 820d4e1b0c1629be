/**
 * What the steps of an authorization share: the request judged, the sign-in page, the way back with
 * a code or an error. Which step comes when is said in `authorize-routes.ts`.
 */
import { type AuditContext, actorOf, recordAudit } from '../audit/store.ts'
import type { Answer, Call } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import type { Devices } from '../people/devices.ts'
import type { SignInApi } from '../people/login.ts'
import type { Person } from '../people/person.ts'
import type { Database } from '../storage/database.ts'
import {
  type AuthorizationRequest,
  authorizationRequest,
  type ReturnAddress,
  returnAddress,
  withCode,
  withError,
} from './authorization-request.ts'
import type { Browser, Browsers } from './browser.ts'
import { holdClient } from './client-store.ts'
import { issueCode } from './codes.ts'
import { findConsent, keepConsent } from './consent-store.ts'
import type { Parameters } from './form.ts'
import { PAGE_HEADERS } from './html.ts'
import type { KnownClients } from './known-clients.ts'
import { signInPage } from './pages.ts'
import { Refusal, type RefusalName } from './refusal.ts'

export const AUTHORIZE_PATH = '/oauth/authorize'

export interface AuthorizeDeps extends AuditContext {
  readonly db: Database
  readonly clients: KnownClients
  readonly browsers: Browsers
  readonly people: SignInApi
  readonly devices: Devices
  /** As people know the API. */
  readonly service: string
  readonly issuer: () => string
}

/** One call on its way: what was asked, and by which browser. */
export interface Visit {
  readonly call: Call
  readonly browser: Browser
  readonly request: AuthorizationRequest
  /** The request's query, to come back to it. */
  readonly search: string
}

export const goTo = (location: string, cookies: readonly (string | undefined)[] = []): Answer => ({
  status: 303,
  headers: { ...PAGE_HEADERS, location },
  cookies: cookies.filter((cookie) => cookie !== undefined),
})

/** The request behind a query, or the redirect that tells the application why not. */
export async function judged(
  { clients, issuer }: AuthorizeDeps,
  parameters: Parameters,
): Promise<AuthorizationRequest | Answer> {
  const address = await returnAddress(parameters, clients.find)
  try {
    return authorizationRequest(parameters, address)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return goTo(withError(address, issuer(), error.error, error.message))
  }
}

export const declined = (
  deps: AuthorizeDeps,
  address: ReturnAddress,
  error: RefusalName,
  why: string,
) => goTo(withError(address, deps.issuer(), error, why))

export const about = ({ service }: AuthorizeDeps, { client, redirectUri }: ReturnAddress) => ({
  service,
  client: client.name,
  mode: client.mode,
  redirectUri,
})

/** Why a person who is somebody cannot go on here (§4.8). */
export function foreign({ client }: ReturnAddress, { username, customer, mode }: Person): string {
  const other = 'Sign in with another account.'
  if (customer !== client.customer) {
    return `${username} belongs to another organization than ${client.name}. ${other}`
  }
  return `${client.name} is for ${client.mode} accounts; ${username} is a ${mode} one. ${other}`
}

interface Again {
  readonly notice: string
  readonly username: string
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

export function askToSignIn(deps: AuthorizeDeps, visit: Visit, again?: Again): Answer {
  const { browser, request, search } = visit
  return signInPage({
    ...about(deps, request),
    ...again,
    ticket: deps.browsers.ticket(browser, { page: 'sign-in', search }),
    cookie: browser.cookie,
  })
}

/** What a person agreed to on the consent page of this call. */
interface Agreement {
  readonly call: Call
  readonly scopes: readonly string[]
}

/** A code, and what was said yes to, in one transaction; then back to the application. */
export async function grant(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  person: Person,
  scopes: readonly string[],
  agreement?: Agreement,
): Promise<Answer> {
  const { client, redirectUri, challenge } = request
  const { scope, subject, revision } = person
  const code = await deps.db.write(async (tx) => {
    if (!(await holdClient(tx, client.id))) {
      throw new Failure('invalid_request', 'The application is gone.')
    }
    if (agreement) {
      const of = { scope, owner: person.id, clientId: client.id }
      const agreed = agreement.scopes
      const all = [...new Set([...((await findConsent(tx, of)) ?? []), ...agreed])]
      await keepConsent(tx, of, { clientName: client.name, scopes: all, now: deps.clock.now() })
      const actor = actorOf(agreement.call, { kind: 'person', id: subject, name: person.name })
      const detail = { client_name: client.name, scopes: agreed }
      await recordAudit(tx, { actor, action: 'consent.grant', target: client.id, detail }, deps)
    }
    const facts = { clientId: client.id, scope, subject, redirectUri, challenge, scopes, revision }
    return issueCode(tx, facts, deps)
  })
  return goTo(withCode(request, deps.issuer(), code))
}
