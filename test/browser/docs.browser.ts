/**
 * The docs in Chromium (design flow 10): complete without a script; with it, search, tabs and forms
 * that send a request with a test key. No report of the content security policy.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, NARROW, openConsoleStage, WIDE } from './console-stage.ts'

const stage = await openConsoleStage()
const DOCS = `${stage.url}/docs/v2`
const body = { name: 'Reader', mode: 'test', scopes: ['users:read', 'users:write', 'orders:read'] }
const { key: testKey } = await stage.json('POST', '/admin/keys', body)
const { key: liveKey } = await stage.json('POST', '/admin/keys', { ...body, mode: 'live' })
const PAGES = ['', '/start', '/users', '/orders', '/webhooks', '/errors', '/changelog']

for (const colorScheme of ['light', 'dark'] as const) {
  test(`every page is accessible at 1280 and 360 px, ${colorScheme}`, async (t) => {
    const page = await stage.open(t, { colorScheme })
    for (const path of PAGES) {
      await page.goto(DOCS + path)
      for (const viewport of [WIDE, NARROW]) {
        await page.setViewportSize(viewport)
        await assertAccessible(page, `${path} ${viewport.width}`)
        await assertFits(page, `${path} ${viewport.width}`)
      }
    }
  })
}

test('no page is wider than its window at 320 and 1920 px', async (t) => {
  const page = await stage.open(t)
  for (const path of PAGES) {
    await page.goto(DOCS + path)
    for (const width of [320, 1920]) {
      await page.setViewportSize({ width, height: 800 })
      await assertFits(page, `${path} at ${width} px`)
    }
  }
})

test('without a script every word is on the page, and links lead on', async (t) => {
  const options = { javaScriptEnabled: false, viewport: NARROW }
  const page = await stage.open(t, options)
  await page.goto(`${stage.url}/docs`)
  assert.equal(new URL(page.url()).pathname, '/docs/v2')
  await page.locator('#contents').getByRole('link', { name: 'Users', exact: true }).click()
  assert.equal(new URL(page.url()).pathname, '/docs/v2/users')
  const section = page.locator('section.op', { hasText: 'POST' }).first()
  await section.getByText('curl').first().waitFor()
  // The other languages are folds.
  await section.locator('summary', { hasText: 'TypeScript' }).click()
  await section.locator('details[data-variant="TypeScript"] pre').waitFor()
  assert.equal(await page.locator('form.trial:visible, .find:visible').count(), 0)
  await page.getByRole('link', { name: 'Skip to content' }).focus()
  await page.keyboard.press('Enter')
  assert.equal(new URL(page.url()).hash, '#main')
})

test('the search finds a resource and an error code with the keyboard', async (t) => {
  const page = await stage.open(t)
  await page.goto(DOCS)
  await page.keyboard.press('/')
  await page.keyboard.type('insufficient_scope')
  const results = page.locator('#results')
  await results.getByRole('link').first().waitFor()
  await assertAccessible(page, 'results')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForURL(/errors#insufficient_scope$/)
  await page.keyboard.press('/')
  await page.keyboard.type('no such words anywhere')
  await results.getByText('No page has these words.').waitFor()
  await page.keyboard.press('Escape')
  await results.waitFor({ state: 'hidden' })
})

const trialOf = (page: Page, title: RegExp) =>
  page.locator('section.op', { has: page.getByRole('heading', { level: 2, name: title }) }).first()

for (const viewport of [WIDE, NARROW]) {
  test(`a form sends a request with a test key only [${viewport.width}]`, async (t) => {
    const page = await stage.open(t, { viewport }, /status of 40[34]/)
    await page.goto(`${DOCS}/users`)
    const section = trialOf(page, /^List/)
    await section.getByRole('button', { name: 'Try it' }).click()
    const field = section.locator('[data-key]')
    const send = section.getByRole('button', { name: /^Send/ })
    await field.fill(liveKey)
    await send.click()
    await section.getByText('This is a live key').waitFor()
    await field.fill(testKey)
    await send.click()
    await section.locator('.result strong', { hasText: '200' }).waitFor()
    await section.locator('.result pre').first().getByText('"data"').waitFor()
    await assertAccessible(page, 'a response')
    await assertFits(page, 'a response')

    // The key is for every form of the page, and ends with the page.
    const create = trialOf(page, /^Create/)
    await create.getByRole('button', { name: 'Try it' }).click()
    assert.equal(await create.locator('[data-key]').inputValue(), testKey)
    const stored = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href])'
    assert.ok(!(await page.evaluate<string>(stored)).includes(testKey))
    await page.reload()
    await section.getByRole('button', { name: 'Try it' }).click()
    assert.equal(await field.inputValue(), '')
  })
}

test('the values of a form are those of the examples beside it', async (t) => {
  const page = await stage.open(t)
  await page.goto(`${DOCS}/users`)
  const section = trialOf(page, /^List/)
  const example = section.locator('[role=tabpanel] pre').first()
  await section.getByRole('button', { name: 'Try it' }).click()
  await section.locator('[name=limit]').fill('17')
  await example.getByText('limit=17').waitFor()
  const create = trialOf(page, /^Create/)
  await create.getByRole('button', { name: 'Try it' }).click()
  await create.locator('[data-body]').fill('{"note": "typed"}')
  await create.locator('[role=tabpanel] pre').first().getByText('{"note":"typed"}').waitFor()
  // An incomplete body changes nothing.
  await create.locator('[data-body]').fill('{"note": ')
  const created = create.locator('[role=tabpanel] pre').first()
  await created.getByText('{"note":"typed"}').waitFor()
  await create.locator('[data-body]').fill('{"note": "typed"}')
  await create.locator('[name=Idempotency-Key]').fill('my-key')
  await created.getByText(`-H 'Idempotency-Key: my-key'`).waitFor()
  await create.locator('[name=Idempotency-Key]').fill('')
  await created.getByText('Idempotency-Key: $(openssl rand').waitFor()
  const update = trialOf(page, /^(Change|Update)/)
  await update.getByRole('button', { name: 'Try it' }).click()
  await update.locator('[name=If-Match]').fill('"3-a"')
  await update.locator('[role=tabpanel] pre').first().getByText(`-H 'If-Match: "3-a"'`).waitFor()
})

test('the language of the examples is the same everywhere, and is remembered', async (t) => {
  const page = await stage.open(t)
  await page.goto(`${DOCS}/users`)
  await page.getByRole('tab', { name: 'Python' }).first().click()
  const open = () => page.getByRole('tab', { name: 'Python' }).count()
  const selected = page.locator('[role=tab][aria-selected=true]', { hasText: 'Python' })
  assert.equal(await selected.count(), await open())
  await page.goto(`${DOCS}/orders`)
  assert.equal(await selected.count(), await open())
  await page.getByRole('tab', { name: 'Python' }).first().focus()
  await page.keyboard.press('ArrowLeft')
  await page.locator('[role=tab][aria-selected=true]', { hasText: 'TypeScript' }).first().waitFor()
})

test('the documentation of a failure leads to its anchor', async (t) => {
  const reply = await stage.call('GET', '/api/v2/orders/999999')
  const { documentation } = (await reply.json()) as { documentation: string }
  const page = await stage.open(t)
  await page.goto(documentation)
  assert.equal(new URL(page.url()).hash, '#not_found')
  assert.ok(await page.locator('#not_found').isVisible())
})
