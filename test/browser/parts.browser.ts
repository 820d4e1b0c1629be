/** Every part of the pages once, on the development page: Axe, widths, forced colours, motion. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createServer } from 'vite'
import { launchChromium } from './chromium.ts'
import { assertAccessible, assertFits, NARROW, openTab, WIDE } from './console-stage.ts'

const project = fileURLToPath(new URL('../../packages/pages/', import.meta.url))
const session = {
  operator: 'op_1',
  email: 'ada@example.com',
  second_factor: 'verified',
  role: 'administrator',
}

/** The parts need no API: the server returns a session, and 404 for everything else. */
const server = await createServer({
  root: project,
  configFile: `${project}vite.config.ts`,
  logLevel: 'error',
  server: { port: 0, host: '127.0.0.1', proxy: {}, ws: false, hmr: false },
  plugins: [
    {
      name: 'session',
      configureServer({ middlewares }) {
        middlewares.use((request, response, next) => {
          const { url = '' } = request
          if (url === '/console/session') response.end(JSON.stringify(session))
          else if (url.startsWith('/admin/')) response.writeHead(404).end('{}')
          else next()
        })
      },
    },
  ],
})
await server.listen()
after(() => server.close())
const browser = await launchChromium()
after(() => browser.close())
const url = server.resolvedUrls!.local[0]!.replace(/\/$/, '')
const NO_API = /status of 404|Vite|vite/
const PARTS = `${url}/console/parts`

for (const colorScheme of ['light', 'dark'] as const) {
  test(`parts and dialogs are accessible, ${colorScheme}`, async (t) => {
    for (const viewport of [WIDE, NARROW]) {
      const page = await openTab(t, url, browser, { colorScheme, viewport }, NO_API)
      await page.goto(PARTS)
      await page.getByRole('heading', { level: 1, name: 'Parts' }).waitFor()
      await assertAccessible(page, `parts ${viewport.width}`)
      await assertFits(page, `parts ${viewport.width}`)
      for (const name of ['Dialog', 'Sheet', 'Confirm']) {
        await page.getByRole('button', { name, exact: true }).click()
        await page.getByRole('dialog').waitFor()
        await assertAccessible(page, `${name} ${viewport.width}`)
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
      }
      await page.locator('main a.cover').first().click()
      await page.getByRole('complementary').waitFor()
      await assertAccessible(page, `drawer ${viewport.width}`)
    }
  })
}

test('an operation that cannot be undone needs its name typed', async (t) => {
  const page = await openTab(t, url, browser, {}, NO_API)
  await page.goto(PARTS)
  await page.getByRole('button', { name: 'Confirm', exact: true }).click()
  const dialog = page.getByRole('dialog')
  const revoke = dialog.getByRole('button', { name: 'Revoke' })
  assert.equal(await revoke.getAttribute('aria-disabled'), 'true')
  await dialog.getByLabel('Type ERP sync to confirm').fill('ERP')
  await revoke.click({ force: true })
  assert.equal(await dialog.isVisible(), true)
  await dialog.getByLabel('Type ERP sync to confirm').fill('ERP sync')
  await revoke.click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('status').filter({ hasText: 'Revoked' }).waitFor()
})

test('tabs, segments and series work with the keyboard', async (t) => {
  const page = await openTab(t, url, browser, {}, NO_API)
  await page.goto(PARTS)
  const tab = page.getByRole('tab', { name: 'Response' })
  await tab.focus()
  await page.keyboard.press('ArrowRight')
  assert.equal(
    await page.getByRole('tab', { name: 'Request' }).getAttribute('aria-selected'),
    'true',
  )
  await page.getByRole('button', { name: '1 h' }).focus()
  await page.keyboard.press('Enter')
  assert.equal(await page.getByRole('button', { name: '1 h' }).getAttribute('aria-pressed'), 'true')
})

test('states are distinguishable in forced colours, and nothing moves on request', async (t) => {
  const options = { forcedColors: 'active', reducedMotion: 'reduce' } as const
  const page = await openTab(t, url, browser, options, NO_API)
  await page.goto(PARTS)
  const state = page.locator('.st.bad').first()
  await state.waitFor()
  const read = (property: string) =>
    page.evaluate<string>(
      `getComputedStyle(document.querySelector('.st.bad'), '::before').${property}`,
    )
  assert.equal(await read('forcedColorAdjust'), 'none')
  assert.equal(await read('borderTopLeftRadius'), '1px')
  const animated = await page.evaluate<number>('document.getAnimations().length')
  assert.equal(animated, 0)
})
