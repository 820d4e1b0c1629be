/**
 * Device authorization (§16.6, RFC 8628). A device requests codes by `POST
 * /oauth/device_authorization` and polls `/oauth/token`. Its person, in a browser:
 *
 * 1. `GET /oauth/device` renders the sign-in page, then the form for the code. Where names are
 *    unique per customer, the code comes first: its client leads to the customer.
 * 2. With a code, the consent page: consent is necessary each time.
 * 3. `POST /oauth/device` takes these forms.
 */

import { addressBlock } from '../../kernel/address.ts'
import { Failure } from '../../kernel/failure.ts'
import { sha256 } from '../../kernel/secret.ts'
import { retryAfterS } from '../../kernel/time.ts'
import { writeFor } from '../../protocol/http/authorized-write.ts'
import { type Answer, type Call, type Route, route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import type { Limiter } from '../../protocol/quota/limiter.ts'
import { isAccountScope } from '../access/scopes.ts'
import { findCustomer } from '../access/store.ts'
import type { Person } from '../people/person.ts'
import { selectAudience } from '../tokens/audience.ts'
import { intersectScopes } from '../tokens/identity-scopes.ts'
import { admits, DEVICE_GRANT, type OauthClient } from './client.ts'
import type { AuthenticateClient } from './client-authentication.ts'
import { holdClientAt } from './client-store.ts'
import { describeMismatch } from './client-words.ts'
import { descriptionOf } from './consent.ts'
import {
  type DeviceGrantRow,
  decideDeviceGrant,
  displayUserCode,
  findByUserCode,
  findWaitingGrants,
  INTERVAL_S,
  insertDeviceGrant,
  LIFETIME_S,
  MAX_WAITING_PER_ADDRESS,
} from './device-grants.ts'
import {
  DEVICE_PATH,
  renderCodePage,
  renderDecisionPage,
  renderDeviceConsentPage,
} from './device-pages.ts'
import { NO_STORE, OauthError, respondWithErrors } from './oauth-error.ts'
import { oauthOperations } from './operations.ts'
import {
  isOfOwnPage,
  type PageDeps,
  redirect,
  storeConsent,
  withErrorPage,
} from './page-requests.ts'
import { renderErrorPage, renderSignInPage } from './pages.ts'
import { FORM_TYPES, type OauthParameters, parseForm, resourcesOf } from './parameters.ts'
import { identityScopesOf, parseScopes } from './scopes.ts'
import { type FailedAttempt, signInByForm } from './sign-in-form.ts'
import type { BrowserCookie, SignedInPerson } from './sign-in-session.ts'

const GUESSES_OF_SESSION = { limit: 5, windowMs: 10 * 60_000 } as const
const GUESSES_OF_ADDRESS = { limit: 20, windowMs: 5 * 60_000 } as const

interface DeviceDeps extends PageDeps {
  readonly authenticateClient: AuthenticateClient
  readonly limiter: Limiter
}

/** A request of a browser. */
interface DeviceVisit {
  readonly call: Call
  readonly cookie: BrowserCookie
  /** Undefined before the sign-in. */
  readonly person: SignedInPerson | undefined
  /** The code that the person has entered; '' without one. */
  readonly userCode: string
}

/** A grant that waits for a person, and its client. */
interface OpenGrant {
  readonly grant: DeviceGrantRow
  readonly client: OauthClient
}

export const deviceRoutes = (deps: DeviceDeps): Route[] => [
  implement(oauthOperations.authorizeDevice, (call) =>
    respondWithErrors(async () => {
      const parameters = parseForm(call)
      const response = await requestCodes(deps, call, parameters)
      return respond(oauthOperations.authorizeDevice, response, { ...NO_STORE })
    }),
  ),
  route(DEVICE_PATH, {
    GET: {
      handle: async (call) =>
        showPage(deps, await openVisit(deps, call, call.query.get('user_code'))),
    },
    POST: {
      body: 'optional',
      accepts: FORM_TYPES,
      handle: (call) => withErrorPage(() => submitForm(deps, call)),
    },
  }),
]

/** Stores a grant and returns its codes. Throws 429 for an address with ten open codes. */
async function requestCodes(deps: DeviceDeps, call: Call, parameters: OauthParameters) {
  const { db, clock, issuer } = deps
  const client = await deps.authenticateClient(call, parameters)
  const { id, scope } = client
  const isAllowed = client.source === 'administration' && client.grantTypes.includes(DEVICE_GRANT)
  if (!isAllowed || scope === undefined) {
    throw new OauthError('unauthorized_client', `The client may not use ${DEVICE_GRANT}.`)
  }
  const audience = selectAudience(resourcesOf(parameters), deps.audiences.all())
  const allowedScopes = client.scopes.filter((name) => !isAccountScope(name))
  const scopes = parseScopes(parameters.get('scope'), allowedScopes, identityScopesOf(client))
  const block = addressBlock(call.address)
  const { address } = call
  const request = { clientId: id, scope, scopes, audience, address, addressBlock: block }
  // Before the transaction, so that a refused request writes nothing.
  const { isFull, untilMs } = await findWaitingGrants(db, block, clock.now())
  const insert = writeFor(call, db)
  const codes = isFull ? undefined : await insert((tx) => insertDeviceGrant(tx, request, deps))
  if (!codes) {
    throw tooMany(`An address has at most ${MAX_WAITING_PER_ADDRESS} open codes.`, untilMs, deps)
  }
  const uri = `${issuer()}${DEVICE_PATH}`
  return {
    device_code: codes.deviceCode,
    user_code: codes.userCode,
    verification_uri: uri,
    verification_uri_complete: `${uri}?user_code=${codes.userCode}`,
    expires_in: LIFETIME_S,
    interval: INTERVAL_S,
  }
}

const tooMany = (message: string, untilMs: number, { clock }: Pick<DeviceDeps, 'clock'>) =>
  new Failure('rate_limited', message, {
    headers: { 'retry-after': String(retryAfterS(untilMs - clock.now())) },
  })

async function openVisit(
  { signIns }: DeviceDeps,
  call: Call,
  userCode: string | undefined,
): Promise<DeviceVisit> {
  const cookie = signIns.readOrCreateCookie(call)
  return { call, cookie, person: await signIns.findPerson(cookie), userCode: userCode ?? '' }
}

/** Renders the next page. */
async function showPage(deps: DeviceDeps, visit: DeviceVisit): Promise<Answer> {
  const { service } = deps
  const { cookie, person, userCode } = visit
  if (!person && deps.people.names !== 'customer') return renderSignIn(deps, visit)
  if (userCode === '') return renderCodePage({ service, cookie: cookie.line })
  const openGrant = await guess(deps, visit)
  if (!openGrant) {
    const notice = 'No device waits for this code. Check it, or start again on your device.'
    return renderCodePage({ service, cookie: cookie.line, notice })
  }
  return person
    ? showConsent(deps, visit, person, openGrant)
    : renderSignIn(deps, visit, openGrant.client)
}

/** Finds the grant of a code. Throws 429 after many codes without a grant. */
async function guess(deps: DeviceDeps, { call, cookie, userCode }: DeviceVisit) {
  const browser = sha256(cookie.value).toString('base64url')
  const limits = [
    { key: `device code session ${browser}`, rate: GUESSES_OF_SESSION },
    { key: `device code address ${addressBlock(call.address)}`, rate: GUESSES_OF_ADDRESS },
  ]
  const { allowed, resetMs } = await deps.limiter.take(limits)
  if (!allowed) {
    const message = 'Too many codes were wrong. Wait, and start again on your device.'
    throw tooMany(message, deps.clock.now() + resetMs, deps)
  }
  const openGrant = await findOpenGrant(deps, userCode)
  if (openGrant) for (const limit of limits) deps.limiter.refund(limit)
  return openGrant
}

async function findOpenGrant(
  { db, clock, clients }: DeviceDeps,
  userCode: string,
): Promise<OpenGrant | undefined> {
  const grant = await findByUserCode(db, userCode, clock.now())
  const client = grant && (await clients.find(grant.client_id))
  return client && !client.suspended ? { grant, client } : undefined
}

/** Renders the sign-in page. */
const renderSignIn = (
  deps: DeviceDeps,
  { cookie, userCode }: Pick<DeviceVisit, 'cookie' | 'userCode'>,
  client?: OauthClient,
  failedAttempt?: FailedAttempt,
): Answer =>
  renderSignInPage({
    service: deps.service,
    client: client?.name ?? 'a device',
    mode: client?.mode,
    action: DEVICE_PATH,
    ...failedAttempt,
    ticket: deps.tickets.encrypt(cookie.value, { page: 'device', search: userCode }),
    cookie: cookie.line,
  })

/** The scopes that a person can grant. */
const grantableScopes = ({ grant, client }: OpenGrant, person: Person): string[] =>
  intersectScopes(JSON.parse(grant.scopes), client.scopes, person.scopes)

/** Explains why a person cannot decide about a grant; undefined if it can. */
function findMismatch(openGrant: OpenGrant, person: Person): string | undefined {
  if (!admits(openGrant.client, person)) return describeMismatch(openGrant, person)
  const isEmpty = grantableScopes(openGrant, person).length === 0 && openGrant.grant.scopes !== '[]'
  return isEmpty
    ? `${person.username} has none of the permissions that the device requests.`
    : undefined
}

/** Identifies the content of the page: the grant and the client. */
const describeGrant = ({ grant, client }: OpenGrant): string =>
  `${Buffer.from(grant.hash).toString('base64url')} ${descriptionOf(client)}`

async function showConsent(
  deps: DeviceDeps,
  visit: DeviceVisit,
  person: Person,
  openGrant: OpenGrant,
) {
  const { cookie, userCode } = visit
  const { grant, client } = openGrant
  const notice = findMismatch(openGrant, person)
  if (notice !== undefined) return renderSignIn(deps, visit, client, { notice, username: '' })
  const scopes = grantableScopes(openGrant, person)
  const customer = await findCustomer(deps.db, person.customer)
  const { subject, scope, mode, username } = person
  const consent = { subject, scope, scopes, description: describeGrant(openGrant) }
  return renderDeviceConsentPage({
    service: deps.service,
    client: client.name,
    mode,
    username,
    customer: customer?.name ?? person.customer,
    scopes,
    changes: deps.changes,
    lifetimes: deps.lifetimes,
    userCode: displayUserCode(userCode),
    address: grant.address,
    ageS: Math.floor((deps.clock.now() - grant.created_at) / 60_000) * 60,
    ticket: deps.tickets.encrypt(cookie.value, {
      page: 'device-consent',
      search: userCode,
      consent,
    }),
    cookie: cookie.line,
  })
}

/** Takes the forms of all pages: the code, the sign-in, the consent. */
async function submitForm(deps: DeviceDeps, call: Call): Promise<Answer> {
  const fields = parseForm(call)
  const code = fields.get('user_code')
  const visit = await openVisit(deps, call, code)
  const { cookie, person } = visit
  if (code !== undefined) return showPage(deps, visit)
  // Defence in depth: the ticket is the CSRF token.
  const text = isOfOwnPage(call) ? fields.get('ticket') : undefined
  const signInTicket = deps.tickets.verify(cookie.value, 'device', text)
  if (signInTicket) return submitSignIn(deps, { ...visit, userCode: signInTicket.search }, fields)
  const ticket = deps.tickets.verify(cookie.value, 'device-consent', text)
  const openGrant = ticket && (await findOpenGrant(deps, ticket.search))
  const consent = ticket?.consent
  // The session may have expired, or another tab may have signed in another person.
  const isSamePerson = person?.subject === consent?.subject && person?.scope === consent?.scope
  if (!person || !consent || !isSamePerson || !openGrant) return expiredPage()
  const hasChanged = consent.description !== describeGrant(openGrant)
  if (hasChanged || findMismatch(openGrant, person) !== undefined) return expiredPage()
  const action = fields.get('action')
  if (action === 'switch') {
    await deps.signIns.signOut(call, cookie)
    return resume(ticket.search)
  }
  if (action !== 'allow' && action !== 'cancel') {
    throw new Failure('invalid_request', 'The parameter action must be allow or cancel.')
  }
  const scopes = intersectScopes(consent.scopes, grantableScopes(openGrant, person))
  const isDecided = await decide(deps, visit, openGrant, action === 'allow' ? scopes : undefined)
  if (!isDecided) return expiredPage()
  return renderDecisionPage(
    { service: deps.service, client: openGrant.client.name },
    action === 'allow',
  )
}

async function submitSignIn(deps: DeviceDeps, visit: DeviceVisit, fields: OauthParameters) {
  const { userCode } = visit
  if (fields.get('action') === 'cancel') {
    return renderDecisionPage({ service: deps.service, client: '' }, false)
  }
  const needsGrant = deps.people.names === 'customer'
  const openGrant = needsGrant ? await findOpenGrant(deps, userCode) : undefined
  if (needsGrant && !openGrant) return expiredPage()
  const result = await signInByForm(deps, visit, fields, {
    place: openGrant ? { scope: openGrant.client.scope! } : {},
    page: DEVICE_PATH,
    findMismatch: (person) => openGrant && findMismatch(openGrant, person),
  })
  if (!('cookies' in result)) return renderSignIn(deps, visit, openGrant?.client, result)
  return resume(userCode, result.cookies)
}

const resume = (userCode: string, cookies?: readonly (string | undefined)[]): Answer => {
  const search = userCode && `?${new URLSearchParams({ user_code: userCode })}`
  return redirect(`${DEVICE_PATH}${search}`, cookies)
}

const expiredPage = (): Answer =>
  renderErrorPage({
    status: 403,
    title: 'This page has expired',
    message: 'Start again on your device. Nothing was connected.',
  })

/** Stores the decision, and a consent with its audit entry. Returns false if it comes too late. */
const decide = (
  deps: DeviceDeps,
  { call, person }: DeviceVisit,
  { grant, client }: OpenGrant,
  scopes: string[] | undefined,
): Promise<boolean> =>
  deps.db.write(async (tx) => {
    const now = deps.clock.now()
    if (!scopes) return decideDeviceGrant(tx, grant.hash, now)
    if (!(await holdClientAt(tx, client.id, undefined))) return false
    const isDecided = await decideDeviceGrant(tx, grant.hash, now, { ...person!, scopes })
    if (!isDecided) return false
    await storeConsent(tx, { call, person: person!, client, redirectUri: '', scopes }, deps)
    return true
  })
