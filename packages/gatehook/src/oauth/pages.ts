/**
 * The pages a person sees on the way of a code: sign in, consent, what went wrong (§5.2). They work
 * without JavaScript; what they say, not who may see them, is decided here. Pure.
 */

import type { Answer } from '../http/call.ts'
import type { ProblemContext } from '../http/problem.ts'
import type { Failure } from '../kernel/failure.ts'
import { type Html, html, type Page, pageMaker } from './html.ts'
import { formActionSource, shownHost } from './redirect-uri.ts'
import { scopeInWords } from './scope-words.ts'
import { style } from './style.ts'

const page = pageMaker(style)

export const SIGN_IN_PATH = '/oauth/sign-in'
export const CONSENT_PATH = '/oauth/consent'

/** What both forms are about. */
export interface About {
  /** Of the API, as its team calls it. */
  readonly service: string
  readonly client: string
  readonly redirectUri: string
  readonly mode: 'live' | 'test'
  /** Sealed; comes back with the form. */
  readonly ticket: string
  readonly cookie: string | undefined
}

export interface SignInView extends About {
  /** What was typed before. */
  readonly username?: string
  readonly notice?: string | undefined
  readonly status?: number
  readonly headers?: Page['headers']
}

const hidden = (ticket: string): Html => html`<input type="hidden" name="ticket" value="${ticket}">`

/** Whose page it is, before what it is about. */
const banner = ({ service, mode }: Pick<About, 'service' | 'mode'>): Html =>
  html`<header>
<p>${service}${mode === 'test' && html` <span class="badge">Test mode</span>`}</p>
</header>`

export function signInPage(view: SignInView): Answer {
  const { service, client, notice, username = '', ticket } = view
  // What went wrong is heard with the field that has the focus; an alert alone may be missed.
  const described = notice !== undefined && html` aria-describedby="notice"`
  const focused = html` autofocus`
  return page({
    title: `${notice === undefined ? '' : 'Error: '}Sign in · ${service}`,
    status: view.status ?? 200,
    headers: view.headers ?? {},
    cookie: view.cookie,
    formAction: formActionSource(view.redirectUri),
    body: html`${banner(view)}
<main>
<h1>Sign in</h1>
<p>to continue to <strong>${client}</strong></p>
${notice !== undefined && html`<p class="notice" role="alert" id="notice">${notice}</p>`}
<form method="post" action="${SIGN_IN_PATH}">
${hidden(ticket)}
<label for="username">E-mail</label>
<input id="username" name="username" type="text" inputmode="email" autocomplete="username"
 autocapitalize="none" spellcheck="false" maxlength="320" required${username === '' && focused}
 value="${username}"${described}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password"
 maxlength="1024" required${username !== '' && focused}${described}>
<button type="submit" name="action" value="sign-in">Sign in</button>
<button type="submit" name="action" value="cancel" class="second" formnovalidate>Cancel</button>
</form>
</main>`,
  })
}

export interface ConsentView extends About {
  readonly username: string
  /** The name of the customer that client and person belong to. */
  readonly customer: string
  readonly scopes: readonly string[]
}

/** Nothing has the focus: who pressed Enter twice on the page before has not said yes. */
export function consentPage(view: ConsentView): Answer {
  const { service, client, username, customer, scopes, ticket, redirectUri } = view
  const list = scopes.map((scope) => html`<li>${scopeInWords(scope, customer)}</li>\n`)
  return page({
    title: `Allow ${client}? · ${service}`,
    cookie: view.cookie,
    formAction: formActionSource(redirectUri),
    body: html`${banner(view)}
<main>
<h1>Allow ${client} to use your account?</h1>
<p>You are signed in as <strong>${username}</strong>.</p>
${
  scopes.length === 0
    ? html`<p>${client} will learn who you are, and nothing else.</p>`
    : html`<h2 id="what">${client} will be able to:</h2>
<ul role="list" aria-labelledby="what">
${list}</ul>`
}
<p class="soft">You will return to <strong>${shownHost(redirectUri)}</strong>. Allow only what you
trust; you can take it back at any time.</p>
<form method="post" action="${CONSENT_PATH}">
${hidden(ticket)}
<button type="submit" name="action" value="allow">Allow</button>
<button type="submit" name="action" value="cancel" class="second">Cancel</button>
<button type="submit" name="action" value="switch" class="link">Use another account</button>
</form>
</main>`,
  })
}

/** What cannot be told to the application, told to the person. */
export interface TroubleView {
  readonly status: number
  readonly title: string
  readonly message: string
  readonly requestId?: string
  /** A path of ours where it can be tried again. */
  readonly again?: string
  readonly headers?: Page['headers']
  readonly cookie?: string | undefined
}

export const troublePage = (view: TroubleView): Answer =>
  page({
    title: view.title,
    status: view.status,
    headers: view.headers ?? {},
    cookie: view.cookie,
    body: html`<main>
<h1>${view.title}</h1>
<p>${view.message}</p>
${view.again !== undefined && html`<p><a href="${view.again}">Start again</a></p>`}
${view.requestId !== undefined && html`<p class="soft">Reference: ${view.requestId}</p>`}
</main>`,
  })

/** A failure on the way of a page, for the door's table of error shapes. */
export const pageProblem = (failure: Failure, { requestId }: ProblemContext): Answer =>
  troublePage({
    status: failure.status,
    title: failure.status >= 500 ? 'Something went wrong' : 'This does not work',
    message: failure.message,
    requestId,
    headers: failure.headers ?? {},
  })
