/**
 * The pages of an authorization (§5.2): sign-in, consent and errors. They work without JavaScript.
 * Pure; `authorize.ts` decides which page a person sees.
 */

import type { Failure } from '../../kernel/failure.ts'
import type { Answer } from '../../protocol/http/call.ts'
import { type Html, html } from '../../protocol/http/html.ts'
import { type HtmlPage, renderPage } from '../../protocol/http/html-page.ts'
import type { ProblemContext } from '../../protocol/http/problem.ts'
import type { ScopeChanges } from '../access/administration.ts'
import { describeScope } from '../access/scope-words.ts'
import { NAME_MAX } from '../people/sign-in-bounds.ts'
import { displayHost, formActionSource, isAuthenticated } from './redirect-uri.ts'

export const SIGN_IN_PATH = '/oauth/sign-in'
export const CONSENT_PATH = '/oauth/consent'

/** The content that all forms share. */
export interface PageView {
  /** The display name of the API. */
  readonly service: string
  /** Undefined: the person who signs in decides. */
  readonly mode?: 'live' | 'test' | undefined
  /** A `Set-Cookie` line. */
  readonly cookie: string | undefined
}

interface FormView extends PageView {
  /** The name of the client; of one that describes itself, its host. */
  readonly client: string
  /** The name that the client claims (§16.4). */
  readonly claimedName?: string | undefined
  readonly redirectUri: string
  /** The encrypted form ticket. */
  readonly ticket: string
}

export interface SignInView extends PageView, Pick<FormView, 'ticket'> {
  /** The name of the client, or `a device`. */
  readonly client: string
  /** The path of the form. */
  readonly action?: string
  /** Undefined if nothing redirects. */
  readonly redirectUri?: string
  /** The name of the failed attempt. */
  readonly username?: string
  /** Whether the person enters customer and mode, too. */
  readonly asksCustomer?: boolean
  /** The error message. */
  readonly notice?: string | undefined
  readonly status?: number
  readonly headers?: HtmlPage['headers']
}

export const hiddenTicket = (ticket: string): Html =>
  html`<input type="hidden" name="ticket" value="${ticket}">`

/** Text of another direction does not reorder the sentence around the name. */
export const isolate = (name: string): Html => html`<bdi>${name}</bdi>`

export const header = ({ service, mode }: Omit<PageView, 'cookie'>): Html =>
  html`<header>
<p>${service}${mode === 'test' && html` <span class="badge">Test mode</span>`}</p>
</header>`

export function renderSignInPage(view: SignInView): Answer {
  const { service, client, notice, username = '', ticket } = view
  // Screen readers announce the error with the focused field; they may miss an alert on load.
  const described = notice !== undefined && html` aria-describedby="notice"`
  const focused = html` autofocus`
  return renderPage({
    title: `${notice === undefined ? '' : 'Error: '}Sign in · ${service}`,
    status: view.status ?? 200,
    headers: view.headers ?? {},
    cookie: view.cookie,
    formAction: view.redirectUri === undefined ? undefined : formActionSource(view.redirectUri),
    body: html`${header(view)}
<main>
<h1>Sign in</h1>
<p>to continue to <strong>${isolate(client)}</strong></p>
${notice !== undefined && html`<p class="notice" role="alert" id="notice">${notice}</p>`}
<form method="post" action="${view.action ?? SIGN_IN_PATH}">
${hiddenTicket(ticket)}
${
  view.asksCustomer &&
  html`<label for="customer">Id of your organization</label>
<input id="customer" name="customer" type="text" autocomplete="off" autocapitalize="none"
 spellcheck="false" maxlength="200" required>
<label for="mode">Account</label>
<select id="mode" name="mode"><option value="live">Live</option>
<option value="test">Test</option></select>`
}
<label for="username">E-mail</label>
<input id="username" name="username" type="text" inputmode="email" autocomplete="username"
 autocapitalize="none" spellcheck="false" maxlength="${NAME_MAX}" value="${username}"
 required${username === '' && focused}${described}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password"
 maxlength="1024" required${username !== '' && focused}${described}>
<button type="submit" name="action" value="sign-in">Sign in</button>
<button type="submit" name="action" value="cancel" class="second" formnovalidate>Cancel</button>
</form>
</main>`,
  })
}

export interface ScopeListView {
  readonly client: string
  /** The name of the customer that client and person belong to. */
  readonly customer: string
  readonly scopes: readonly string[]
  readonly changes: ScopeChanges
}

interface ConsentView extends FormView, ScopeListView {
  readonly username: string
  readonly lifetimes: AuthorizationLifetimes
}

/** How long the tokens of an authorization last, in seconds. */
export interface AuthorizationLifetimes {
  /** Until a refresh token that the client does not use expires. */
  readonly idleS: number
  /** Until the session ends, regardless of refreshes. */
  readonly absoluteS: number
}

const TIME_UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** Returns a duration in the largest unit that it fills, rounded up: `30 days`, `1 hour`. */
export function formatDuration(seconds: number): string {
  const [name, unitS] = TIME_UNITS.find(([, unitS]) => seconds >= unitS) ?? ['second', 1]
  const count = Math.ceil(seconds / unitS)
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

export function describeLifetimes({ idleS, absoluteS }: AuthorizationLifetimes): string {
  const end = `The access lasts ${formatDuration(absoluteS)} at most`
  return idleS < absoluteS
    ? `${end} and ends after ${formatDuration(idleS)} without use.`
    : `${end}.`
}

/** Renders the permissions of the client. */
export function scopeList({ client, scopes, customer, changes }: ScopeListView): Html {
  if (scopes.length === 0) {
    return html`<p>${isolate(client)} will learn who you are, and nothing else.</p>`
  }
  const list = scopes.map((scope) => html`<li>${describeScope(scope, customer, changes)}</li>\n`)
  return html`<h2 id="what">${isolate(client)} will be able to:</h2>
<ul role="list" aria-labelledby="what">
${list}</ul>`
}

/** No button has the focus: a second Enter from the sign-in page must not grant consent. */
export function renderConsentPage(view: ConsentView): Answer {
  const { service, client, claimedName, username, ticket, redirectUri } = view
  return renderPage({
    title: `Allow ${client}? · ${service}`,
    cookie: view.cookie,
    formAction: formActionSource(redirectUri),
    body: html`${header(view)}
<main>
<h1>Allow ${isolate(client)} to use your account?</h1>
${
  claimedName !== undefined &&
  html`<p class="notice">The application calls itself <strong>${isolate(claimedName)}</strong>. That
is its own claim, which nobody has verified. Check that you know <strong>${client}</strong>.</p>`
}
<p>You are signed in as <strong>${isolate(username)}</strong>.</p>
${scopeList(view)}
<p class="soft">You will return to <strong>${displayHost(redirectUri)}</strong>. Allow only what you
trust; you can take it back at any time.</p>
${
  !isAuthenticated(redirectUri) &&
  html`<p class="notice">Any program on this device could ask in the name of ${isolate(client)}.
Allow this only if you have just started it yourself.</p>`
}
<p class="soft">${describeLifetimes(view.lifetimes)}</p>
<form method="post" action="${CONSENT_PATH}">
${hiddenTicket(ticket)}
<button type="submit" name="action" value="allow">Allow</button>
<button type="submit" name="action" value="cancel" class="second">Cancel</button>
<button type="submit" name="action" value="switch" class="link">Use another account</button>
</form>
</main>`,
  })
}

/** An error that the server cannot return to the client by a redirect. */
interface ErrorView {
  readonly status: number
  readonly title: string
  readonly message: string
  readonly requestId?: string
  readonly headers?: HtmlPage['headers']
}

export const renderErrorPage = (view: ErrorView): Answer =>
  renderPage({
    title: view.title,
    status: view.status,
    headers: view.headers ?? {},
    body: html`<main>
<h1>${view.title}</h1>
<p>${view.message}</p>
${view.requestId !== undefined && html`<p class="soft">Reference: ${view.requestId}</p>`}
</main>`,
  })

/** Renders a failure of a page's endpoint. */
export const renderFailurePage = (failure: Failure, { requestId }: ProblemContext): Answer =>
  renderErrorPage({
    status: failure.status,
    title: failure.status >= 500 ? 'Something went wrong' : 'This does not work',
    message: failure.message,
    requestId,
    headers: failure.headers ?? {},
  })
