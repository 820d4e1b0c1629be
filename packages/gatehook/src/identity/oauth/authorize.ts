/**
 * `/oauth/authorize` and its forms (§5.1, §5.2), in the order in which a browser sends them:
 *
 * 1. `GET /oauth/authorize` validates the request and renders the sign-in page; to a person with a
 *    sign-in as recent as requested, the consent page. After a consent it redirects with a code.
 * 2. `POST /oauth/sign-in` signs the person in and redirects to step 1.
 * 3. `POST /oauth/consent` stores the consent and a code, and redirects to the client.
 */

import { Failure } from '../../kernel/failure.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { type Answer, type Call, type Route, route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import { findCustomer } from '../access/store.ts'
import type { SignInPlace } from '../people/namespace.ts'
import type { Person } from '../people/person.ts'
import { NAME_MAX } from '../people/sign-in-bounds.ts'
import type { Tokens } from '../tokens/api.ts'
import { intersectScopes } from '../tokens/identity-scopes.ts'
import { issueCode } from './authorization-codes.ts'
import {
  AUTHORIZE_PATH,
  type AuthorizationRequest,
  findRedirectTarget,
  parseAuthorizationRequest,
  type RedirectTarget,
  responseUri,
  resumePath,
  untrustedRequest,
} from './authorization-request.ts'
import { admits } from './client.ts'
import { holdClientAt, storeDocumentClient } from './client-store.ts'
import { describeClient, describeMismatch } from './client-words.ts'
import { coveredScopes, descriptionOf } from './consent.ts'
import { findConsent, lockConsent } from './consent-store.ts'
import type { FormTicket } from './form-ticket.ts'
import { asOauthError, OauthError, type OauthErrorCode } from './oauth-error.ts'
import { oauthOperations } from './operations.ts'
import {
  isOfOwnPage,
  type PageDeps,
  redirect,
  storeConsent,
  withErrorPage,
} from './page-requests.ts'
import {
  CONSENT_PATH,
  renderConsentPage,
  renderErrorPage,
  renderSignInPage,
  SIGN_IN_PATH,
} from './pages.ts'
import { FORM_TYPES, type OauthParameters, parseForm, parseParameters } from './parameters.ts'
import { isAuthenticated } from './redirect-uri.ts'
import { type FailedAttempt, signInByForm } from './sign-in-form.ts'
import type { BrowserCookie, SignedInPerson } from './sign-in-session.ts'

interface AuthorizeDeps extends PageDeps {
  readonly readIdTokenSubject: Tokens['readIdTokenSubject']
}

/** A request of a browser, with the authorization request to which it belongs. */
interface Visit {
  readonly call: Call
  readonly cookie: BrowserCookie
  readonly request: AuthorizationRequest
  /** The query of the authorization request. */
  readonly search: string
}

export function authorizeRoutes(deps: AuthorizeDeps): Route[] {
  const form = { body: 'optional', accepts: FORM_TYPES } as const
  return [
    implement(oauthOperations.authorize, (call) => withErrorPage(() => authorizeQuery(deps, call))),
    route(AUTHORIZE_PATH, {
      POST: { ...form, handle: (call) => withErrorPage(() => authorizeForm(deps, call)) },
    }),
    route(SIGN_IN_PATH, {
      POST: { ...form, handle: (call) => withErrorPage(() => submitSignIn(deps, call)) },
    }),
    route(CONSENT_PATH, {
      POST: { ...form, handle: (call) => withErrorPage(() => submitConsent(deps, call)) },
    }),
  ]
}

const authorizeQuery = async (deps: AuthorizeDeps, call: Call): Promise<Answer> =>
  authorize(deps, call, parseParameters(call.query))

/** The form of another site comes without the cookie: the browser repeats it as a GET. */
async function authorizeForm(deps: AuthorizeDeps, call: Call): Promise<Answer> {
  const parameters = parseForm(call)
  if (isOfOwnPage(call)) return authorize(deps, call, parameters)
  return redirect(`${AUTHORIZE_PATH}?${new URLSearchParams([...parameters])}`)
}

async function authorize(
  deps: AuthorizeDeps,
  call: Call,
  parameters: OauthParameters,
): Promise<Answer> {
  const cookie = deps.signIns.readOrCreateCookie(call)
  const person = await deps.signIns.findPerson(cookie)
  const request = await validateRequest(deps, parameters, person)
  if ('status' in request) return request
  const { prompt } = request
  const search = new URLSearchParams([...parameters]).toString()
  const visit = { call, cookie, request, search }
  const hint = parameters.get('id_token_hint')
  const expected = hint === undefined ? undefined : await deps.readIdTokenSubject(hint)
  // The key of an old hint is gone, so that it names no person: a request without a page fails.
  const isReadable = hint === undefined || expected !== undefined
  const isExpected =
    !person ||
    (expected === undefined ? isReadable || !prompt.has('none') : expected === person.subject)
  const ageMs = person && deps.clock.now() - person.authenticatedAt
  const isRecent = ageMs !== undefined && ageMs <= (request.maxAgeMs ?? ageMs)
  const asksSignIn = prompt.has('login') || prompt.has('select_account')
  if (person && isRecent && isExpected && !asksSignIn) return authorizePerson(deps, visit, person)
  if (prompt.has('none')) {
    return redirectError(deps, request, 'login_required', 'No person is signed in.')
  }
  return renderSignIn(deps, visit, {
    username: (parameters.get('login_hint') ?? '').slice(0, NAME_MAX),
    notice: isExpected ? undefined : 'The application expects another account.',
  })
}

/** Returns the valid request; else the redirect that returns its error to the client. */
async function validateRequest(
  deps: AuthorizeDeps,
  parameters: OauthParameters,
  person: Person | undefined,
): Promise<AuthorizationRequest | Answer> {
  const identity = person && `${person.scope}:${person.subject}`
  const target = await findRedirectTarget(parameters, deps.clients, identity)
  try {
    return parseAuthorizationRequest(parameters, target, deps.audiences)
  } catch (thrown) {
    const error = asOauthError(thrown)
    return redirectError(deps, target, error.code, error.message)
  }
}

/** Redirects with a code if the person has consented; else renders the consent page. */
async function authorizePerson(
  deps: AuthorizeDeps,
  visit: Visit,
  person: SignedInPerson,
): Promise<Answer> {
  const { cookie, request, search } = visit
  const { client, prompt, redirectUri } = request
  const isSilent = prompt.has('none')
  if (!admits(client, person)) {
    return isSilent
      ? redirectError(deps, request, 'login_required', 'Another account is signed in.')
      : renderSignIn(deps, visit, { notice: describeMismatch(request, person), username: '' })
  }
  const scopes = intersectScopes(request.scopes, person.scopes)
  if (scopes.length === 0 && request.scopes.length > 0) {
    return redirectError(deps, request, 'access_denied', 'The person has none of these scopes.')
  }
  const key = { scope: person.scope, owner: person.id, clientId: client.id }
  const covers = (consent: Awaited<ReturnType<typeof findConsent>>) => {
    const consented = coveredScopes(consent, client, redirectUri)
    return consented !== undefined && scopes.every((scope) => consented.includes(scope))
  }
  const isSufficient = isAuthenticated(redirectUri) && !prompt.has('consent')
  if (isSufficient && covers(await findConsent(deps.db, key))) {
    const answer = await grantCode(deps, request, person, scopes, async (tx) =>
      covers(await lockConsent(tx, key)),
    )
    if (answer) return answer
  }
  if (isSilent) return redirectError(deps, request, 'consent_required', 'The person must consent.')
  const description = descriptionOf(client)
  const consent = { subject: person.subject, scope: person.scope, scopes, description }
  const customer = await findCustomer(deps.db, person.customer)
  return renderConsentPage({
    ...describeRequest(deps, request),
    mode: person.mode,
    username: person.username,
    customer: customer?.name ?? person.customer,
    scopes,
    changes: deps.changes,
    lifetimes: deps.lifetimes,
    ticket: deps.tickets.encrypt(cookie.value, { page: 'consent', search, consent }),
    cookie: cookie.line,
  })
}

async function submitSignIn(deps: AuthorizeDeps, call: Call): Promise<Answer> {
  const submission = await readSubmission(deps, call, 'sign-in')
  if ('status' in submission) return submission
  const { fields, visit } = submission
  const result = await signInByForm(deps, visit, fields, {
    place: placeOf(visit.request, fields),
    page: AUTHORIZE_PATH,
    findMismatch: (person) =>
      admits(visit.request.client, person) ? undefined : describeMismatch(visit.request, person),
  })
  if (!('cookies' in result)) return renderSignIn(deps, visit, result)
  return redirect(resumePath(visit.search), result.cookies)
}

async function submitConsent(deps: AuthorizeDeps, call: Call): Promise<Answer> {
  const submission = await readSubmission(deps, call, 'consent')
  if ('status' in submission) return submission
  const { fields, ticket, visit } = submission
  const action = fields.get('action')
  if (action === 'switch') {
    await deps.signIns.signOut(call, visit.cookie)
    return redirect(resumePath(visit.search))
  }
  if (action !== 'allow') {
    throw new OauthError('invalid_request', 'The parameter action must be allow or cancel.')
  }
  const person = await deps.signIns.findPerson(visit.cookie)
  const { consent } = ticket
  // The session may have expired, or another tab may have signed in another person.
  // The document of the client may have changed since the page displayed it.
  const isSameClient = consent?.description === descriptionOf(visit.request.client)
  const isSamePerson = person?.subject === consent?.subject && person?.scope === consent?.scope
  if (!person || !consent || !isSamePerson || !isSameClient) {
    return redirect(`${AUTHORIZE_PATH}?${visit.search}`)
  }
  if (!admits(visit.request.client, person)) return expiredPage()
  const scopes = intersectScopes(consent.scopes, visit.request.scopes, person.scopes)
  const { client, redirectUri } = visit.request
  const submitted = { call, scopes: consent.scopes, person, client, redirectUri }
  const answer = await grantCode(deps, visit.request, person, scopes, async (tx) => {
    await storeConsent(tx, submitted, deps)
    return true
  })
  return answer!
}

/**
 * Verifies the ticket of a form and validates its authorization request again. Returns a response
 * if the form is rejected, or if the person cancelled.
 */
async function readSubmission(deps: AuthorizeDeps, call: Call, page: FormTicket['page']) {
  const fields = parseForm(call)
  const cookie = deps.signIns.readOrCreateCookie(call)
  const ticket = deps.tickets.verify(cookie.value, page, fields.get('ticket'))
  // Defence in depth: the ticket is the CSRF token.
  if (!isOfOwnPage(call)) return expiredPage()
  if (!ticket) {
    // A sign-in form that is submitted twice has the cookie of its first submission. The redirect
    // has no other effect, so the ticket of another browser does no harm.
    const search =
      page === 'sign-in' ? deps.tickets.readSearch(page, fields.get('ticket')) : undefined
    const isResubmission = search !== undefined && (await deps.signIns.findPerson(cookie))
    return isResubmission ? redirect(`${AUTHORIZE_PATH}?${search}`) : expiredPage()
  }
  const parameters = new Map(new URLSearchParams(ticket.search))
  const person = await deps.signIns.findPerson(cookie)
  const request = await validateRequest(deps, parameters, person)
  if ('status' in request) return request
  if (fields.get('action') === 'cancel') {
    return redirectError(deps, request, 'access_denied', 'The person denied the request.')
  }
  return { fields, ticket, visit: { call, cookie, request, search: ticket.search } }
}

const expiredPage = (): Answer =>
  renderErrorPage({
    status: 403,
    title: 'This page has expired',
    message: 'Go back to the application and start again. Nothing was sent to it.',
  })

/**
 * Stores a code in the transaction of `consent`, which stores a new consent or locks an earlier
 * one, and redirects to the client. Returns undefined if the earlier one was revoked since.
 */
async function grantCode(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  person: SignedInPerson,
  scopes: readonly string[],
  consent: (tx: Tx) => Promise<boolean>,
): Promise<Answer | undefined> {
  const { client, redirectUri, challenge, audience, nonce } = request
  const { scope, subject, revision, authenticatedAt } = person
  const code = await deps.db.write(async (tx) => {
    if (client.source === 'document') await storeDocumentClient(tx, client, deps.clock.now())
    if (!(await holdClientAt(tx, client.id, redirectUri))) {
      throw new Failure('invalid_request', 'The application or its redirect URI was deleted.')
    }
    if (!(await consent(tx))) return undefined
    const grant = { clientId: client.id, scope, subject, redirectUri, challenge, scopes, audience }
    return issueCode(tx, { ...grant, revision, authenticatedAt, nonce }, deps)
  })
  return code === undefined ? undefined : redirect(responseUri(request, deps.issuer(), { code }))
}

const redirectError = (
  { issuer }: AuthorizeDeps,
  target: RedirectTarget,
  error: OauthErrorCode,
  description: string,
) => {
  if (!target.isVerified) throw untrustedRequest(description)
  return redirect(responseUri(target, issuer(), { error, error_description: description }))
}

const renderSignIn = (
  deps: AuthorizeDeps,
  { cookie, request, search }: Visit,
  failedAttempt?: FailedAttempt,
): Answer =>
  renderSignInPage({
    ...describeRequest(deps, request),
    asksCustomer: asksCustomer(deps, request),
    ...failedAttempt,
    ticket: deps.tickets.encrypt(cookie.value, { page: 'sign-in', search }),
    cookie: cookie.line,
  })

const describeRequest = ({ service }: AuthorizeDeps, target: RedirectTarget) => ({
  service,
  ...describeClient(target),
  mode: target.client.mode,
  redirectUri: target.redirectUri,
})

/** Whether the person enters the customer: neither the client nor the name has one (§4.8). */
const asksCustomer = ({ people }: AuthorizeDeps, { client }: RedirectTarget): boolean =>
  people.names === 'customer' && client.scope === undefined

/** The customer and mode in which a person signs in: those of the client, or of the form. */
const placeOf = ({ client }: RedirectTarget, fields: OauthParameters): SignInPlace =>
  client.scope === undefined
    ? { customer: fields.get('customer'), mode: fields.get('mode') === 'test' ? 'test' : 'live' }
    : { scope: client.scope }
