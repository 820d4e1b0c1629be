/**
 * The fixture of the console's browser tests: the program on a new SQLite file, links and operators
 * by the command line, and tabs that report what a page must not do.
 */
import assert from 'node:assert/strict'
import { after, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { gatehookWith, startService } from '../docs/process.ts'
import { onEnd } from '../rig/cleanup.ts'
import { launchChromium } from './chromium.ts'
import { createOperator, openLinkSession } from './operator-session.ts'

const SERVICE = fileURLToPath(new URL('../../packages/gatehook/service', import.meta.url))
const SECRET = 'a secret that only tests know, long enough'
export const OPERATOR = { email: 'ada@example.com', password: 'a long enough phrase' }

/** The widths of the design's checks. */
export const WIDE = { width: 1280, height: 900 }
export const NARROW = { width: 360, height: 740 }

export interface ConsoleStage {
  readonly url: string
  /** A key with the scope `admin`. */
  readonly admin: string
  readonly browser: Browser
  /** Sends a request with a key; default: the admin key. */
  call(method: string, path: string, body?: unknown, key?: string): Promise<Response>
  /** The same, for the JSON of a response below 300. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of responses
  json(method: string, path: string, body?: unknown, key?: string): Promise<any>
  /** Returns the path of a new one-time link, of an operator or of the installation. */
  link(email?: string): Promise<string>
  /**
   * Opens a tab in a new browser context. The test fails when it requests another origin, violates
   * the content security policy, or writes an error to the console other than `expected`.
   */
  open(t: TestContext, options?: BrowserContextOptions, expected?: RegExp): Promise<Page>
  /** Opens a tab with the session of a link, which permits everything. */
  signedIn(t: TestContext, options?: BrowserContextOptions, expected?: RegExp): Promise<Page>
  /** Opens a tab with the session of an operator of this role. */
  signedInAs(
    t: TestContext,
    role: Role,
    options?: BrowserContextOptions,
    expected?: RegExp,
  ): Promise<Page>
}

type Role = 'viewer' | 'support' | 'administrator'

/**
 * Starts the fixture for the tests of a file, and stops it after the last one. `folder`: that of
 * the service; default: the reference service. `flags`: of `gatehook start`.
 */
export async function openConsoleStage(
  environment: Readonly<Record<string, string>> = {},
  folder = SERVICE,
  flags: readonly string[] = [],
): Promise<ConsoleStage> {
  const options = { GATEHOOK_SECRET_KEY: SECRET, GATEHOOK_RATE_LIMIT: '0', ...environment }
  const { url, admin, database } = await startService({ after }, folder, [], options, flags)
  const browser = await launchChromium()
  after(() => browser.close())
  const call: ConsoleStage['call'] = (method, path, body, key = admin) => {
    const headers: Record<string, string> = { 'x-api-key': key }
    if (body !== undefined) headers['content-type'] = 'application/json'
    const init: RequestInit = { method, headers }
    if (body !== undefined) init.body = JSON.stringify(body)
    return fetch(url + path, init)
  }
  const run = (...args: string[]) =>
    gatehookWith({ ...options, GATEHOOK_DATABASE_URL: database }, ...args)
  const stage: Omit<ConsoleStage, 'signedIn' | 'signedInAs'> = {
    url,
    admin,
    browser,
    call,
    async json(...request) {
      const reply = await call(...request)
      const text = await reply.text()
      assert.ok(reply.status < 300, `${request[0]} ${request[1]}: ${reply.status} ${text}`)
      return JSON.parse(text)
    },
    async link(email) {
      const words = ['operators', 'link', ...(email === undefined ? [] : [email])]
      const { url: link, path } = JSON.parse(await run(...words, '--json', '--dir', folder))
      const target = new URL(link ?? path, url)
      return `${target.pathname}${target.hash}`
    },
    open: (t, contextOptions, expected) => openTab(t, url, browser, contextOptions, expected),
  }
  const linkSession = once(async () => openLinkSession(url, await stage.link()))
  return {
    ...stage,
    async signedIn(t, contextOptions, expected) {
      const page = await stage.open(t, contextOptions, expected)
      await page.context().addCookies([await linkSession()])
      return page
    },
    async signedInAs(t, role, contextOptions, expected) {
      const page = await stage.open(t, contextOptions, expected)
      const session = await openLinkSession(url, await stage.link())
      await page.context().addCookies([await createOperator(session, role)])
      return page
    },
  }
}

/** Returns a function that runs once, and returns its first result. */
function once<T>(run: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => {
    result ??= run()
    return result
  }
}

/** Opens a tab whose test fails for the faults that `ConsoleStage.open` names. */
export async function openTab(
  t: TestContext,
  url: string,
  browser: Browser,
  options: BrowserContextOptions = {},
  expected = /$^/,
): Promise<Page> {
  const context = await browser.newContext({ viewport: WIDE, ...options })
  const faults: string[] = []
  context.setDefaultTimeout(60_000)
  context.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (protocol !== 'data:' && origin !== url) faults.push(`request to ${request.url()}`)
  })
  context.on('console', (message) => {
    const isFault = message.type() === 'error' || /security policy/i.test(message.text())
    if (isFault && !expected.test(message.text())) faults.push(message.text())
  })
  context.on('weberror', (error) => faults.push(String(error.error())))
  onEnd(t, async () => {
    await context.close()
    assert.deepEqual(faults, [])
  })
  return context.newPage()
}

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** Asserts that Axe finds no violation, and has run an essential rule. */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  const world = await page.context().newCDPSession(page)
  // The policy of the page does not apply to evaluated code.
  await world.send('Runtime.evaluate', { expression: axe.source })
  const expression = `axe.run(document, { runOnly: ${JSON.stringify(WCAG)} })`
  const { result, exceptionDetails } = await world.send('Runtime.evaluate', {
    expression: `${expression}.then(JSON.stringify)`,
    awaitPromise: true,
    returnByValue: true,
  })
  assert.equal(exceptionDetails, undefined, name)
  const report = JSON.parse(result.value) as axe.AxeResults
  const violations = report.violations.map(({ id, nodes }) => {
    const places = nodes.map(({ html, failureSummary }) => `${html}\n    ${failureSummary}`)
    return `${id}: ${places.join('\n  ')}`
  })
  assert.deepEqual(violations, [], `${name}\n${violations.join('\n')}`)
  const passed = new Set(report.passes.map(({ id }) => id))
  assert.ok(passed.has('color-contrast'), name)
}

/**
 * Lists the low boxes, such as a row of tabs, that scroll by a few pixels: a scroll bar appears
 * where nothing is hidden. The content of a panel may end just below its window.
 */
const SCROLLED_BY_PIXELS = `[...document.querySelectorAll('body *')]
  .filter((box) => /auto|scroll/.test(getComputedStyle(box).overflowY))
  .map((box) => [box, box.scrollHeight - box.clientHeight])
  .filter(([box, hidden]) => box.clientHeight > 0 && hidden > 0 && hidden < 8)
  .filter(([box]) => box.clientHeight < innerHeight / 2)
  .map(([box, hidden]) => box.tagName + '.' + box.className + ' by ' + hidden + ' px')`

/** Asserts that the page is not wider than its window, and that no box scrolls by a few pixels. */
export async function assertFits(page: Page, name: string): Promise<void> {
  const [content, window] = await page.evaluate<[number, number]>(
    '[document.documentElement.scrollWidth, innerWidth]',
  )
  assert.ok(content <= window, `${name}: ${content} px in a window of ${window} px`)
  assert.deepEqual(await page.evaluate<string[]>(SCROLLED_BY_PIXELS), [], name)
}
