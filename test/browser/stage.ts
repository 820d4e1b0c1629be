/**
 * The fixture of the browser tests: the program on a new SQLite file, an application on another
 * port that receives redirects, and one Chromium for all tests of a file.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page, Response } from 'playwright-core'
import { startService } from '../docs/process.ts'
import { onEnd } from '../rig/cleanup.ts'
import { launchChromium } from './chromium.ts'

const SERVICE = fileURLToPath(new URL('../../packages/gatehook/service', import.meta.url))
export const PASSWORD = 'correct horse battery'
const VERIFIER = 'a-verifier-that-is-long-enough-for-the-rule-of-43'
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
export const STATE = 'state & more'

export interface Client {
  readonly client_id: string
  readonly client_secret: string
}

export interface Application {
  readonly origin: string
  readonly callback: string
  /** The queries of the redirects to the callback. */
  readonly returns: URLSearchParams[]
}

export interface Stage {
  readonly url: string
  readonly application: Application
  readonly client: Client
  makeClient(overrides?: Record<string, unknown>): Promise<Client>
  /** Creates a person with the password `PASSWORD`, and returns the e-mail. */
  makePerson(overrides?: Record<string, unknown>): Promise<string>
  makeCustomer(name: string): Promise<string>
  /** Returns the authorization URL of a client. */
  link(client?: Client, more?: Record<string, string>): string
  /** Creates a person that is throttled after failed sign-ins, and returns the e-mail. */
  makeThrottled(): Promise<string>
  /**
   * Opens a tab in a new browser context. The test fails when the tab loads a subresource, or when
   * the number of violations of the content security policy differs from `violations`.
   */
  open(t: TestContext, options?: BrowserContextOptions, violations?: number): Promise<Page>
  /** Returns the page that a device displays, with its code. */
  requestDevice(client: Client): Promise<string>
  /** Exchanges a code at the token endpoint. */
  exchange(code: string): Promise<{ status: number; body: Record<string, unknown> }>
}

/** Starts the fixture for the tests of a file, and stops it after the last one. */
export async function openStage(
  environment: Readonly<Record<string, string>> = {},
): Promise<Stage> {
  const { url, admin } = await startService({ after }, SERVICE, [], {
    GATEHOOK_RATE_LIMIT: '0',
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
    ...environment,
  })
  const application = await openApplication(url)
  const browser = await launchChromium()
  after(() => browser.close())
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of responses
  const make = async (path: string, body: object): Promise<any> => {
    const reply = await fetch(url + path, {
      method: 'POST',
      headers: { 'x-api-key': admin, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.equal(reply.status, 201, await reply.clone().text())
    return reply.json()
  }
  const makeClient: Stage['makeClient'] = (overrides = {}) => {
    const scopes = ['users:read', 'orders:read', 'orders:write']
    const redirect_uris = [application.callback]
    return make('/admin/clients', { name: 'Ledger', redirect_uris, scopes, ...overrides })
  }
  let people = 0
  const makePerson: Stage['makePerson'] = async (overrides = {}) => {
    const email = `ada${++people}@example.com`
    await make('/admin/users', { name: 'Ada', email, password: PASSWORD, ...overrides })
    return email
  }
  const client = await makeClient()
  return {
    url,
    application,
    client,
    makeClient,
    makePerson,
    makeCustomer: async (name) => (await make('/admin/customers', { name })).id,
    link: (to = client, more = {}) => `${url}/oauth/authorize?${query(application, to, more)}`,
    async makeThrottled() {
      const username = await makePerson()
      for (let n = 0; n < 10; n++) {
        const body = JSON.stringify({ username, password: 'wrong' })
        const headers = { 'content-type': 'application/json' }
        const reply = await fetch(`${url}/auth/login`, { method: 'POST', headers, body })
        assert.equal(reply.status, 401)
      }
      return username
    },
    async requestDevice({ client_id }) {
      const body = new URLSearchParams({ client_id })
      const reply = await fetch(`${url}/oauth/device_authorization`, { method: 'POST', body })
      const { verification_uri_complete: page } = (await reply.json()) as Record<string, string>
      return page ?? assert.fail(`no code: ${reply.status}`)
    },
    open: (t, options, violations) => openTab(t, browser, options, violations),
    exchange: (code) => exchange(url, client, { code, redirect_uri: application.callback }),
  }
}

const query = ({ callback }: Application, client: Client, more: Record<string, string>) =>
  new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: callback,
    state: STATE,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    ...more,
  })

/** Starts the server of an application, which receives redirects and tries to frame pages. */
async function openApplication(url: string): Promise<Application> {
  const returns: URLSearchParams[] = []
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://self.invalid')
    if (pathname === '/callback') returns.push(searchParams)
    if (pathname === '/onward') {
      const { port } = server.address() as AddressInfo
      response.writeHead(302, { location: `http://localhost:${port}/home` }).end()
      return
    }
    const frame = pathname === '/frame' ? `<iframe src="${url}${searchParams.get('of')}">` : ''
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
    response.end(`<!doctype html><title>The application</title>${frame}<p>${pathname}`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => void server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  return { origin, callback: `${origin}/callback`, returns }
}

async function openTab(
  t: TestContext,
  browser: Browser,
  options: BrowserContextOptions = {},
  violations = 0,
): Promise<Page> {
  const context = await browser.newContext(options)
  const [policyViolations, loaded]: [string[], string[]] = [[], []]
  context.on('console', (message) => {
    if (/content security policy/i.test(message.text())) policyViolations.push(message.text())
  })
  context.on('request', (request) => {
    if (request.resourceType() !== 'document') loaded.push(request.url())
  })
  context.setDefaultTimeout(30_000)
  onEnd(t, async () => {
    await context.close()
    assert.equal(policyViolations.length, violations, policyViolations.join('\n'))
    assert.deepEqual(loaded, [])
  })
  return context.newPage()
}

/** Runs an action that navigates, waits for the page, and returns its status. */
export async function next(page: Page, action: () => Promise<unknown>): Promise<number> {
  const [response] = await Promise.all([
    page.waitForEvent(
      'response',
      (response) => response.request().isNavigationRequest() && !isRedirect(response),
    ),
    page.waitForEvent('load'),
    action(),
  ])
  return response.status()
}

const isRedirect = (response: Response): boolean => 'location' in response.headers()

/** Fills in the form and submits it with the keyboard. */
export async function signIn(page: Page, username: string, password = PASSWORD): Promise<number> {
  await page.getByLabel('E-mail').fill(username)
  await page.getByLabel('Password').fill(password)
  return next(page, () => page.keyboard.press('Enter'))
}

export const press = (page: Page, name: string): Promise<number> =>
  next(page, () => page.getByRole('button', { name, exact: true }).click())

/** Returns the text of the focused button, or the name of the focused field. */
export const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(`(({ tagName, name, textContent }) =>
    tagName === 'BUTTON' ? textContent : name ?? 'nothing')(document.activeElement)`)

async function exchange(url: string, client: Client, fields: Record<string, string>) {
  const reply = await fetch(`${url}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client.client_id}:${client.client_secret}`)}` },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code_verifier: VERIFIER,
      ...fields,
    }),
  })
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
}
