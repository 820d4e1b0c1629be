/**
 * `GET /oauth/authorize` (§5.1): who is it, do they agree, back to the application. The forms on
 * the way are `authorize-forms.ts`.
 */
import { findCustomer } from '../access/store.ts'
import { type Answer, type Call, type Route, route } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import type { Person } from '../people/person.ts'
import { consent, signIn } from './authorize-forms.ts'
import {
  AUTHORIZE_PATH,
  type AuthorizeDeps,
  about,
  askToSignIn,
  declined,
  foreign,
  grant,
  judged,
  type Visit,
} from './authorize-steps.ts'
import { findConsent } from './consent-store.ts'
import { FORM_TYPES, once } from './form.ts'
import { CONSENT_PATH, consentPage, SIGN_IN_PATH } from './pages.ts'
import { isClaimed } from './redirect-uri.ts'
import { Refusal } from './refusal.ts'
import { common } from './scope.ts'

export function authorizeRoutes(deps: AuthorizeDeps): Route[] {
  const form = { body: 'optional', accepts: FORM_TYPES } as const
  return [
    route(AUTHORIZE_PATH, {
      GET: { handle: (call) => asking(() => begin(deps, call)) },
    }),
    route(SIGN_IN_PATH, {
      POST: { ...form, handle: (call) => asking(() => signIn(deps, call)) },
    }),
    route(CONSENT_PATH, {
      POST: { ...form, handle: (call) => asking(() => consent(deps, call)) },
    }),
  ]
}

/** Where no redirect can be trusted, a refusal is a page. */
async function asking(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) throw new Failure('invalid_request', error.message)
    throw error
  }
}

async function begin(deps: AuthorizeDeps, call: Call): Promise<Answer> {
  const parameters = once(call.query)
  const request = await judged(deps, parameters)
  if ('status' in request) return request
  const browser = deps.browsers.of(call)
  const search = new URLSearchParams([...parameters]).toString()
  const visit = { call, browser, request, search }
  const { prompt } = request
  const person = await deps.browsers.signedIn(browser)
  if (person && !prompt.has('login') && !prompt.has('select_account')) {
    return whenSignedIn(deps, visit, person)
  }
  if (prompt.has('none')) return declined(deps, request, 'login_required', 'Nobody is signed in.')
  return askToSignIn(deps, visit)
}

async function whenSignedIn(deps: AuthorizeDeps, visit: Visit, person: Person): Promise<Answer> {
  const { browser, request, search } = visit
  const { client, prompt, redirectUri } = request
  if (person.scope !== client.scope) {
    if (prompt.has('none')) return declined(deps, request, 'login_required', 'Somebody else is.')
    return askToSignIn(deps, visit, { notice: foreign(request, person), username: '' })
  }
  const scopes = common(request.scopes, person.scopes)
  if (scopes.length === 0 && request.scopes.length > 0) {
    return declined(deps, request, 'access_denied', 'The person has none of these scopes.')
  }
  const of = { scope: person.scope, owner: person.id, clientId: client.id }
  const before = (await findConsent(deps.db, of)) ?? undefined
  // RFC 8252 §8.6: another app may stand where a public one is expected, so a person says it.
  const assured = !client.isPublic || isClaimed(redirectUri)
  const agreed = before !== undefined && scopes.every((scope) => before.includes(scope))
  if (agreed && assured && !prompt.has('consent')) return grant(deps, request, person, scopes)
  if (prompt.has('none')) {
    return declined(deps, request, 'consent_required', 'The person has to be asked.')
  }
  const asked = { subject: person.subject, scope: person.scope, scopes }
  const customer = await findCustomer(deps.db, client.customer)
  return consentPage({
    ...about(deps, request),
    username: person.username,
    customer: customer?.name ?? client.customer,
    scopes,
    ticket: deps.browsers.ticket(browser, { page: 'consent', search, asked }),
    cookie: browser.cookie,
  })
}
