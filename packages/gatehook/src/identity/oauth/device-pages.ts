/**
 * The pages of a device (§16.6): the code, and the consent with a warning of codes from
 * strangers (RFC 8628 §5.4). They work without JavaScript. Pure; `device-routes.ts` decides which
 * page a person sees.
 */
import type { Answer } from '../../protocol/http/call.ts'
import { html } from '../../protocol/http/html.ts'
import { renderPage } from '../../protocol/http/html-page.ts'
import {
  type AuthorizationLifetimes,
  describeLifetimes,
  formatDuration,
  header,
  hiddenTicket,
  isolate,
  type PageView,
  type ScopeListView,
  scopeList,
} from './pages.ts'

export const DEVICE_PATH = '/oauth/device'

interface CodeView extends PageView {
  /** The error message. */
  readonly notice?: string
}

export function renderCodePage(view: CodeView): Answer {
  const { service, notice } = view
  return renderPage({
    title: `${notice === undefined ? '' : 'Error: '}Connect a device · ${service}`,
    status: notice === undefined ? 200 : 400,
    cookie: view.cookie,
    body: html`${header(view)}
<main>
<h1>Connect a device</h1>
${notice !== undefined && html`<p class="notice" role="alert" id="notice">${notice}</p>`}
<form method="post" action="${DEVICE_PATH}">
<label for="user_code">Code that your device displays</label>
<input id="user_code" name="user_code" type="text" autocomplete="one-time-code"
 autocapitalize="characters" spellcheck="false" maxlength="40" required autofocus
 aria-describedby="${notice === undefined ? 'hint' : 'notice hint'}">
<p class="soft" id="hint">Eight letters, for example WDJB-MJHT. Enter a code that your own
device displays. Do not enter a code that another person sent to you.</p>
<button type="submit">Continue</button>
</form>
</main>`,
  })
}

interface DeviceConsentView extends PageView, ScopeListView {
  readonly username: string
  readonly lifetimes: AuthorizationLifetimes
  readonly ticket: string
  /** As the device displays it. */
  readonly userCode: string
  /** The address that requested the code. */
  readonly address: string
  /** In whole minutes. */
  readonly ageS: number
}

export function renderDeviceConsentPage(view: DeviceConsentView): Answer {
  const { service, client, username, userCode, address, ageS } = view
  return renderPage({
    title: `Connect ${client}? · ${service}`,
    cookie: view.cookie,
    body: html`${header(view)}
<main>
<h1>Connect ${isolate(client)} to your account?</h1>
<ul role="list">
<li>Application: <strong>${isolate(client)}</strong></li>
<li>Code: <strong>${userCode}</strong></li>
<li>Requested from the address <strong>${address}</strong></li>
<li>Requested ${ageS < 60 ? 'just now' : `${formatDuration(ageS)} ago`}</li>
</ul>
<p class="notice">Did somebody send you this code or a link to this page, by mail, chat or
telephone? Then deny: that person wants to enter your account. Allow only if you have just started
this yourself, and a device in front of you displays the same code.</p>
<p>You are signed in as <strong>${isolate(username)}</strong>.</p>
${scopeList(view)}
<p class="soft">Allow only what you trust; you can take it back at any time.
${describeLifetimes(view.lifetimes)}</p>
<form method="post" action="${DEVICE_PATH}">
${hiddenTicket(view.ticket)}
<button type="submit" name="action" value="allow">Allow</button>
<button type="submit" name="action" value="cancel" class="second">Deny</button>
<button type="submit" name="action" value="switch" class="link">Use another account</button>
</form>
</main>`,
  })
}

/** Renders the last page, with the decision. */
export const renderDecisionPage = (
  { service, client }: { readonly service: string; readonly client: string },
  isAllowed: boolean,
): Answer =>
  renderPage({
    title: `${isAllowed ? 'Connected' : 'Denied'} · ${service}`,
    body: html`${header({ service })}
<main>
<h1>${isAllowed ? html`${isolate(client)} is connected` : 'Nothing was connected'}</h1>
<p>${
      isAllowed
        ? 'Go back to your device: it continues within a few seconds. You can close this page.'
        : 'You can close this page.'
    }</p>
</main>`,
  })
