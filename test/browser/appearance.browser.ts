/**
 * The appearance of every page: dark mode, small screens, large text, forced colours.
 * `flow.browser.ts` tests the function of the pages.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import axe from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { documentEnv, openDocumentHost } from '../../packages/gatehook/test/oauth/document-host.ts'
import { next, openStage, press, signIn } from './stage.ts'

const stage = await openStage(documentEnv)
const { link } = stage
const [person, throttled] = [await stage.makePerson(), await stage.makeThrottled()]
const tester = await stage.makePerson({ mode: 'test' })
const scopes = ['users:read', 'orders:read', 'orders:write', 'webhooks:read', 'webhooks:write']
const elsewhere = await stage.makeClient({ mode: 'test', name: 'Ledger of the Night', scopes })
const endless = await stage.makeClient({ name: 'Donaudampfschifffahrt'.repeat(4) })

const television = await stage.makeClient({
  name: 'TV',
  redirect_uris: [],
  public: true,
  grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
})

type Look = (page: Page, name: string) => Promise<void>

/** Opens every page and runs `look` on each. */
async function everyPage(t: TestContext, options: BrowserContextOptions, look: Look) {
  const page = await stage.open(t, options)
  await page.goto(link())
  await look(page, 'sign in')
  await signIn(page, person, 'wrong')
  await look(page, 'wrong password')
  await signIn(page, throttled)
  await look(page, 'throttled')
  await signIn(page, person)
  await look(page, 'consent')
  await page.goto(link(endless))
  await look(page, 'consent, a long name')
  await page.goto(link(elsewhere))
  await look(page, 'another mode')
  await signIn(page, tester)
  await look(page, 'consent in test mode')
  await page.goto(link(stage.client, { client_id: 'unknown' }))
  await look(page, 'trouble')
  await page.goto(link(elsewhere, { prompt: 'login' }))
  await page.context().clearCookies()
  await signIn(page, tester)
  await look(page, 'expired')
  await page.context().clearCookies()
  await lookAtDevice(page, look)
  await lookAtDocument(t, page, look)
}

async function lookAtDevice(page: Page, look: Look) {
  const address = await stage.requestDevice(television)
  await page.goto(address.split('?')[0]!)
  await look(page, 'sign in for a device')
  await signIn(page, person)
  await look(page, 'the code of a device')
  await page.locator('[name="user_code"]').fill('BBBB-BBBB')
  await next(page, () => page.keyboard.press('Enter'))
  await look(page, 'a wrong code')
  await page.goto(address)
  await look(page, 'consent for a device')
  await press(page, 'Allow')
  await look(page, 'a connected device')
}

/** The person of the device is signed in. */
async function lookAtDocument(t: TestContext, page: Page, look: Look) {
  const host = await openDocumentHost(t)
  const id = host.document({ redirect_uris: [stage.application.callback] })
  await page.goto(link(stage.client, { client_id: id }))
  await page.getByText('its own claim').waitFor()
  await look(page, 'consent for a client that describes itself')
}

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** Asserts that Axe finds no fault and has run the essential rules. */
async function assertAccessible(page: Page, name: string): Promise<void> {
  await page.evaluate(axe.source)
  const run = `axe.run(document, { runOnly: ${JSON.stringify(WCAG)} })`
  const report = await page.evaluate<axe.AxeResults>(run)
  const summary = (results: axe.Result[]) =>
    results.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`)
  assert.deepEqual(summary(report.violations), [], name)
  assert.deepEqual(summary(report.incomplete), [], name)
  const passed = new Set(report.passes.map(({ id }) => id))
  for (const id of ['color-contrast', 'document-title', 'html-has-lang']) assert(passed.has(id), id)
}

interface Box {
  readonly html: string
  readonly right: number
  readonly width: number
  readonly height: number
}

const boxesOf = (page: Page, selector: string): Promise<Box[]> =>
  page.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})].map((element) => {
    const { right, width, height } = element.getBoundingClientRect()
    return { html: element.outerHTML.slice(0, 80), right, width, height }
  })`)

/** Asserts that the page does not scroll sideways and that targets have at least 44 px. */
async function assertFits(page: Page, name: string): Promise<void> {
  const [inner, whole] = await page.evaluate<[number, number]>(
    '[innerWidth, document.documentElement.scrollWidth]',
  )
  assert(whole <= inner, `${name}: ${whole} in ${inner}`)
  const boxes = await boxesOf(page, 'body *')
  assert(boxes.length >= 3, name)
  for (const { html, right } of boxes) assert(right <= inner, `${name}: ${html}`)
  for (const { html, width, height } of await boxesOf(page, 'button, input:not([type=hidden])')) {
    assert(width >= 44 && height >= 44, `${name}: ${width} × ${height} ${html}`)
  }
}

const large = { width: 1280, height: 800 }
const small = { width: 320, height: 640 }
const settings: readonly [name: string, options: BrowserContextOptions][] = [
  ['in light mode', { viewport: large, colorScheme: 'light' }],
  ['in dark mode', { viewport: large, colorScheme: 'dark' }],
  ['in light mode, on 320 px', { viewport: small, colorScheme: 'light' }],
  ['in dark mode, on 320 px', { viewport: small, colorScheme: 'dark' }],
]

for (const [name, options] of settings) {
  test(`every page is accessible and fits ${name}`, async (t) => {
    const backgrounds = new Set<string>()
    await everyPage(t, options, async (page, which) => {
      backgrounds.add(await page.evaluate('getComputedStyle(document.body).backgroundColor'))
      await assertAccessible(page, which)
      await assertFits(page, which)
    })
    const [background, ...others] = backgrounds
    assert.deepEqual(others, [])
    assert.equal(luminance(background!) < 0.1, options.colorScheme === 'dark')
  })
}

for (const viewport of [large, small]) {
  test(`every page fits with text of double size on ${viewport.width} px`, async (t) => {
    await everyPage(t, { viewport }, async (page, name) => {
      const height = () => page.evaluate<number>('document.body.getBoundingClientRect().height')
      const before = await height()
      await page.evaluate(`document.documentElement.style.fontSize = '200%'`)
      assert((await height()) > 1.3 * before, name)
      await assertFits(page, name)
    })
  })
}

/** Returns the relative luminance (WCAG 2.2) of a computed colour. */
function luminance(color: string): number {
  const parts = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(color)!.slice(1)
  const [red, green, blue] = parts
    .map((part) => Number(part) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}

function contrast(first: string, second: string): number {
  const [dark, light] = [luminance(first), luminance(second)].sort((a, b) => a - b)
  return (light! + 0.05) / (dark! + 0.05)
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`the focus and field borders have enough contrast in ${colorScheme} mode`, async (t) => {
    const page = await stage.open(t, { colorScheme })
    await page.goto(link())
    const colors = await page.evaluate<Record<'outline' | 'paper' | 'border' | 'field', string>>(
      `(({ outlineColor, borderTopColor, backgroundColor }, main) => ({
        outline: outlineColor, border: borderTopColor, field: backgroundColor,
        paper: main.backgroundColor,
      }))(getComputedStyle(document.activeElement),
          getComputedStyle(document.querySelector('main')))`,
    )
    assert(contrast(colors.outline, colors.paper) >= 3, JSON.stringify(colors))
    assert(contrast(colors.border, colors.paper) >= 3, JSON.stringify(colors))
    assert(contrast(colors.border, colors.field) >= 3, JSON.stringify(colors))
  })
}

test('no page has animations or transitions with reduced motion', async (t) => {
  await everyPage(t, { reducedMotion: 'reduce' }, async (page, name) => {
    assert.equal(await page.evaluate(`matchMedia('(prefers-reduced-motion)').matches`), true)
    const moving = await page.evaluate(`[...document.querySelectorAll('*')].filter((element) => {
      const { animationName, transitionDuration } = getComputedStyle(element)
      return animationName !== 'none' || transitionDuration !== '0s'
    }).length + document.getAnimations().length`)
    assert.equal(moving, 0, name)
  })
})

test('with forced colours, buttons, fields and the focus have borders', async (t) => {
  await everyPage(t, { forcedColors: 'active' }, async (page, name) => {
    assert.equal(await page.evaluate(`matchMedia('(forced-colors: active)').matches`), true)
    const selector = 'button:not(.link), input:not([type=hidden]), .notice'
    const edgeless =
      await page.evaluate(`[...document.querySelectorAll('${selector}')].filter((element) => {
      const { borderTopWidth, borderTopColor } = getComputedStyle(element)
      const around = getComputedStyle(document.querySelector('main')).backgroundColor
      return borderTopWidth === '0px' || borderTopColor === around
    }).length`)
    assert.equal(edgeless, 0, name)
    await page.keyboard.press('Tab')
    const outline = await page.evaluate<string>('getComputedStyle(document.activeElement).outline')
    if ((await page.locator('button').count()) > 0) assert.match(outline, / solid 3px$/, name)
    await assertFits(page, name)
  })
})
