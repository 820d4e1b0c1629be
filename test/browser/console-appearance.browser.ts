/**
 * The appearance of the console's lists and details: both themes, widths from 320 to 1920 px, empty
 * lists, failed requests, and the role viewer.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, NARROW, openConsoleStage, WIDE } from './console-stage.ts'
import { openReceiver } from './receiver.ts'

const receiver = await openReceiver()
const stage = await openConsoleStage({ GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' })

const shop = await stage.json('POST', '/admin/customers', { name: 'Harbour Shop' })
const scopes = ['users:read', 'users:write', 'webhooks:write']
const key = await stage.json('POST', '/admin/keys', {
  name: 'Backend',
  customer: shop.id,
  mode: 'live',
  scopes,
})
const hook = await stage.json('POST', '/webhooks', { url: receiver.url, events: ['*'] }, key.key)
await stage.json('POST', '/api/v2/users', { name: 'Ada', email: 'ada@shop.example' }, key.key)
const client = await stage.json('POST', '/admin/clients', {
  name: 'Ledger',
  customer: shop.id,
  redirect_uris: ['https://ledger.example/callback'],
  scopes: ['users:read'],
})
const [event] = (await stage.json('GET', '/admin/events?type=user.created')).data
const operator = await stage.json('POST', '/admin/operators', {
  email: 'ann@example.com',
  password: 'a long enough phrase',
  role: 'support',
})
const [audit] = (await stage.json('GET', '/admin/audit?limit=1')).data

/** Each list with the request that loads it, and one row of it. */
const LISTS = [
  { path: 'events', api: '/admin/events', row: event.id },
  { path: 'webhooks', api: '/admin/webhooks', row: hook.id },
  { path: 'keys', api: '/admin/keys', row: key.id },
  { path: 'clients', api: '/admin/clients', row: client.client_id },
  { path: 'customers', api: '/admin/customers', row: shop.id },
  { path: 'operators', api: '/admin/operators', row: operator.id },
  { path: 'audit', api: '/admin/audit', row: audit.id },
]
const PAGES = [...LISTS.flatMap(({ path, row }) => [path, `${path}/${row}`]), 'versions', 'system']

async function openPage(page: Page, path: string): Promise<void> {
  await page.goto(`${stage.url}/console/${path}`)
  await page.locator('main[aria-busy=false]').waitFor()
  await page.locator('.ghost').first().waitFor({ state: 'detached' })
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`pages are accessible at 1280 and 360 px, ${colorScheme}`, async (t) => {
    const page = await stage.signedIn(t, { colorScheme })
    for (const path of PAGES) {
      await openPage(page, path)
      for (const viewport of [WIDE, NARROW]) {
        await page.setViewportSize(viewport)
        await assertAccessible(page, `${path} ${viewport.width} ${colorScheme}`)
      }
    }
  })
}

test('no page is wider than its window, from 320 to 1920 px', async (t) => {
  const page = await stage.signedIn(t)
  for (const path of PAGES) {
    await openPage(page, path)
    for (const width of [320, 768, 1920]) {
      await page.setViewportSize({ width, height: 800 })
      await assertFits(page, `${path} at ${width} px`)
    }
  }
})

test('an empty list names the way to fill it', async (t) => {
  const page = await stage.signedIn(t)
  const other = await stage.json('POST', '/admin/customers', { name: 'Empty' })
  for (const path of ['events', 'webhooks', 'keys', 'clients']) {
    await openPage(page, `${path}?customer=${other.id}&mode=test`)
    const empty = page.locator('main .empty')
    await empty.locator('pre', { hasText: 'npx gatehook' }).waitFor()
    assert.match(await empty.innerText(), /^No \w+ in test mode yet/, path)
  }
  await page.setViewportSize(NARROW)
  await assertAccessible(page, 'an empty list')
})

for (const mode of ['live', 'test'] as const) {
  const empty = mode === 'live' ? 'test' : 'live'

  test(`a list without rows in ${empty} mode leads to its rows in ${mode} mode`, async (t) => {
    const page = await stage.signedIn(t)
    const { id: customer } = await stage.json('POST', '/admin/customers', { name: `Only ${mode}` })
    const owner = { customer, mode, name: 'Own', scopes }
    const own = await stage.json('POST', '/admin/keys', owner)
    await stage.json('POST', '/admin/clients', { ...owner, scopes: ['users:read'] })
    await stage.json('POST', '/webhooks', { url: receiver.url, events: ['*'] }, own.key)
    await stage.json('POST', '/api/v2/users', { name: 'Ada', email: 'ada@own.example' }, own.key)
    for (const path of ['keys', 'clients', 'events', 'webhooks', 'data/users']) {
      await openPage(page, `${path}?customer=${customer}${empty === 'test' ? '&mode=test' : ''}`)
      const link = page.locator('main .empty').getByRole('link', { name: ` in ${mode} mode` })
      assert.match((await link.textContent())!, /^\d+ \w+ in /, path)
      await link.click()
      await page.locator('main tbody tr').first().waitFor()
      const { searchParams } = new URL(page.url())
      assert.equal(searchParams.get('mode'), mode === 'test' ? 'test' : null, path)
      assert.equal(searchParams.get('customer'), customer, path)
    }
  })
}

test('badges count what their pages list in the mode', async (t) => {
  const page = await stage.signedIn(t)
  const row = { kind: 'endpoint_failing', severity: 'bad', since: '2026-01-01T00:00:00.000Z' }
  const subject = { type: 'webhook', id: 'whk_1', label: 'https://receiver.example' }
  const rows = (['live', 'test', 'test'] as const).map((mode, at) => {
    return { ...row, id: `${at}`, subject, facts: {}, customer: `cus_${at}`, mode }
  })
  await page.route('**/admin/attention', (route) => route.fulfill({ json: { data: rows } }))
  for (const [words, failing] of [
    ['', 1],
    ['?mode=test', 2],
    ['?mode=test&customer=cus_1', 1],
    ['?customer=cus_1', 0],
  ] as const) {
    await openPage(page, `keys${words}`)
    const link = page.locator('nav').getByRole('link', { name: /^Webhooks/ })
    const expected = failing === 0 ? /^Webhooks$/ : new RegExp(`^Webhooks\\s*${failing} failing$`)
    await link.filter({ hasText: expected }).waitFor()
  }
})

test('a notice leads to its mode', async (t) => {
  const page = await stage.signedIn(t)
  const base = { severity: 'warn', since: '2026-01-01T00:00:00.000Z', customer: 'cus_default' }
  const kinds = [
    'endpoint_failing',
    'endpoint_disabled',
    'endpoint_slow',
    'key_refused',
    'key_expiring',
  ]
  const rows = kinds.map((kind) => {
    const subject = { type: 'key', id: 'id_1', label: kind }
    return { ...base, id: kind, kind, subject, facts: {}, mode: 'test' }
  })
  await page.route('**/admin/attention', (route) => route.fulfill({ json: { data: rows } }))
  await openPage(page, 'overview')
  for (const kind of kinds) {
    const link = page.locator('.attention').getByRole('link', { name: kind })
    const { searchParams } = new URL((await link.getAttribute('href'))!, stage.url)
    assert.equal(searchParams.get('mode'), 'test', kind)
    assert.equal(searchParams.get('customer'), 'cus_default', kind)
  }
})

test('a failed request replaces its part, and can be repeated', async (t) => {
  const page = await stage.signedIn(t, {}, /status of 500/)
  for (const { path, api } of LISTS) {
    const isList = (url: URL) => url.pathname === api && url.searchParams.has('limit')
    await page.route(isList, (route) =>
      route.fulfill({
        status: 500,
        json: { error: 'internal_error', message: 'It broke.', request_id: 'req_1' },
      }),
    )
    await page.goto(`${stage.url}/console/${path}`)
    const failed = page.locator('main').getByRole('alert')
    await failed.getByText('500 internal_error').waitFor()
    await failed.getByText('req_1').waitFor()
    await page.unroute(isList)
    await failed.getByRole('button', { name: 'Try again' }).click()
    await page.locator('main tbody tr').first().waitFor()
    await failed.waitFor({ state: 'detached' })
  }
})

test('a row that does not exist says so', async (t) => {
  const page = await stage.signedIn(t, {}, /status of 404/)
  for (const { path, row } of LISTS) {
    const id = `${row.slice(0, -4)}0000`
    await page.goto(`${stage.url}/console/${path}/${id}`)
    await page.getByText(/404 not_found|No (key|operator) has|has no such row/).waitFor()
  }
})

const READS =
  /^(Search|Theme|Menu|Copy|Close|Follow|Keyboard|Sign out|Save as CSV|CSV|Try again|Copied)/
/** Buttons that select what a page displays. */
const VIEWS = new RegExp(
  '^(All|Columns|Waiting|Failed|Given up|Delivered|Response|Request|Difference|Chart|Table' +
    '|v\\d|\\d+ \\w+)',
)

test('a viewer has no button that changes something', async (t) => {
  const page = await stage.signedInAs(t, 'viewer')
  for (const path of PAGES) {
    await openPage(page, path)
    const names = await page.locator('button:visible, main a.btn:visible').allInnerTexts()
    const other = names.map((name) => name.trim()).filter((name) => name !== '')
    const changes = other.filter((name) => !READS.test(name) && !VIEWS.test(name))
    assert.deepEqual(changes, [], path)
  }
})
