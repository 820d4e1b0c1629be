/**
 * The two forms behind `/oauth/authorize` (§5.2). A form proves only that its page was ours and
 * this browser's; what is granted is judged again from the request itself.
 */
import type { Answer, Call } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import type { Person } from '../people/person.ts'
import {
  AUTHORIZE_PATH,
  type AuthorizeDeps,
  askToSignIn,
  declined,
  foreign,
  goTo,
  grant,
  judged,
} from './authorize-steps.ts'
import { type Browser, fromOwnPage, type Ticket } from './browser.ts'
import { formOf, type Parameters } from './form.ts'
import { troublePage } from './pages.ts'
import { Refusal } from './refusal.ts'
import { common } from './scope.ts'

/** A form that is not of a page we made for this browser a short while ago. */
const notOurs = (): Answer =>
  troublePage({
    status: 403,
    title: 'This page has expired',
    message: 'Go back to the application and start again. Nothing was sent to it.',
  })

/** A form of ours, and the request it belongs to; or what is to be answered instead. */
async function returned(deps: AuthorizeDeps, call: Call, page: Ticket['page']) {
  const fields = formOf(call)
  const browser = deps.browsers.of(call)
  const ticket = deps.browsers.opened(browser, page, fields.get('ticket'))
  if (!fromOwnPage(call)) return notOurs()
  if (!ticket) return (await sentTwice(deps, browser, page, fields)) ?? notOurs()
  const parameters: Parameters = new Map(new URLSearchParams(ticket.search))
  const request = await judged(deps, parameters)
  if ('status' in request) return request
  if (fields.get('action') === 'cancel') {
    return declined(deps, request, 'access_denied', 'The person said no.')
  }
  return { fields, ticket, visit: { call, browser, request, search: ticket.search } }
}

/**
 * Of a sign-in form sent twice, or found again by going back, the second comes with the cookie the
 * first was answered with. Nothing is done; a link could have led there as well.
 */
async function sentTwice(
  { browsers }: AuthorizeDeps,
  browser: Browser,
  page: Ticket['page'],
  fields: Parameters,
): Promise<Answer | undefined> {
  const search = page === 'sign-in' ? browsers.searchOf(page, fields.get('ticket')) : undefined
  if (search === undefined || !(await browsers.signedIn(browser))) return undefined
  return goTo(`${AUTHORIZE_PATH}?${search}`)
}

/** The request without what was done: asked to sign in again, somebody did. */
function backTo(search: string): string {
  const parameters = new URLSearchParams(search)
  const prompt = (parameters.get('prompt') ?? '')
    .split(' ')
    .filter((one) => one !== 'login' && one !== 'select_account')
  if (prompt.join('') === '') parameters.delete('prompt')
  else parameters.set('prompt', prompt.join(' '))
  return `${AUTHORIZE_PATH}?${parameters}`
}

/** What is told on the page instead of the door; everything else is for the door. */
const notices: Readonly<Record<string, { status: number; notice: string; again?: true }>> = {
  // Not 401: that would have to challenge, and browsers would open a window of their own.
  invalid_credentials: { status: 403, notice: 'E-mail or password is wrong.' },
  rate_limited: { status: 429, notice: 'Too many failed attempts.', again: true },
  customer_suspended: { status: 403, notice: 'This account is suspended.' },
  overloaded: { status: 503, notice: 'Too many people sign in right now.', again: true },
}

/** `Retry-After` as a person says it. */
function inWords(seconds = '0'): string {
  const minutes = Math.ceil(Number(seconds) / 60)
  if (Number(seconds) <= 10) return 'in a moment'
  return minutes <= 1 ? 'in a minute' : `in ${minutes} minutes`
}

export async function signIn(deps: AuthorizeDeps, call: Call): Promise<Answer> {
  const form = await returned(deps, call, 'sign-in')
  if ('status' in form) return form
  const { fields, visit } = form
  const [username, password] = [fields.get('username') ?? '', fields.get('password') ?? '']
  if (username === '' || password === '') {
    const notice = 'Give your e-mail and your password.'
    return askToSignIn(deps, visit, { notice, username, status: 400 })
  }
  const client = deps.devices.pageClientOf(call)
  let person: Person
  try {
    person = await deps.people.signIn(username, password, client)
  } catch (error) {
    const told = error instanceof Failure ? notices[error.code] : undefined
    if (!told) throw error
    const wait = (error as Failure).headers?.['retry-after']
    const notice = told.again ? `${told.notice} Try again ${inWords(wait)}.` : told.notice
    const headers = wait === undefined ? {} : { 'retry-after': wait }
    return askToSignIn(deps, visit, { status: told.status, notice, username, headers })
  }
  if (person.scope !== visit.request.client.scope) {
    const notice = foreign(visit.request, person)
    return askToSignIn(deps, visit, { notice, username, status: 403 })
  }
  const { customer, mode, subject } = person
  call.identified = { kind: 'person', subject, customer, mode }
  const after = await deps.browsers.signIn(call, visit.browser, person)
  return goTo(backTo(visit.search), [after.cookie, client.cookie])
}

export async function consent(deps: AuthorizeDeps, call: Call): Promise<Answer> {
  const form = await returned(deps, call, 'consent')
  if ('status' in form) return form
  const { fields, ticket, visit } = form
  const action = fields.get('action')
  if (action === 'switch') {
    await deps.browsers.signOut(call, visit.browser)
    return goTo(backTo(visit.search))
  }
  if (action !== 'allow') throw new Refusal('invalid_request', 'Say allow or cancel.')
  const person = await deps.browsers.signedIn(visit.browser)
  const { asked } = ticket
  // The sign-in ended while the page stood open, or somebody else signed in in another tab.
  if (!person || person.subject !== asked?.subject || person.scope !== asked.scope) {
    return goTo(`${AUTHORIZE_PATH}?${visit.search}`)
  }
  const { client } = visit.request
  if (person.scope !== client.scope) return notOurs()
  const scopes = common(asked.scopes, visit.request.scopes, person.scopes)
  return grant(deps, visit.request, person, scopes, { call, scopes: asked.scopes })
}
