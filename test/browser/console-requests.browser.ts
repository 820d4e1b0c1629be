/** Overview and Requests: a rejected request is found, explained and solved. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, NARROW, openConsoleStage, WIDE } from './console-stage.ts'
import { sendTraffic } from './traffic.ts'

const stage = await openConsoleStage()
const traffic = await sendTraffic(stage, 2)

const idOf = async (error: string): Promise<string> =>
  (await stage.json('GET', `/admin/requests?error=${error}&path=/api/&limit=1`)).data[0].id

const drawer = (page: Page) => page.getByRole('complementary')
const gateOf = (page: Page) => drawer(page).locator('.gates li.shut')

/** Opens the palette with the keyboard, types a text and opens the first result. */
async function jump(page: Page, text: string, result: RegExp): Promise<void> {
  await page.keyboard.press('Control+k')
  const box = page.getByRole('combobox', { name: /^Search or jump/ })
  await box.fill(text)
  await page.getByRole('option', { name: result }).first().waitFor()
  await page.keyboard.press('Enter')
}

for (const viewport of [WIDE, NARROW]) {
  test(`a 403 is found by its id, explained and solved [${viewport.width}]`, async (t) => {
    const { id, key } = await stage.json('POST', '/admin/keys', {
      name: `Till ${viewport.width}`,
      customer: traffic.customer,
      mode: 'live',
      scopes: ['orders:read'],
    })
    const write = () =>
      stage.call(
        'POST',
        '/api/v2/orders',
        { user_id: traffic.user, amount: 5, currency: 'EUR' },
        key,
      )
    const rejected = await write()
    assert.equal(rejected.status, 403)
    const requestId = rejected.headers.get('x-request-id')!

    const page = await stage.signedIn(t, { viewport })
    await page.goto(`${stage.url}/console/overview`)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await jump(page, requestId, new RegExp(requestId))
    await gateOf(page).waitFor()
    assert.match(page.url(), new RegExp(`/console/requests/${requestId}`))
    assert.match((await gateOf(page).textContent())!, /^Scope.*orders:write/)
    await drawer(page).getByText('of the same customer has').waitFor()
    await assertAccessible(page, 'drawer')
    await assertFits(page, 'drawer')

    const add = drawer(page).getByRole('button', { name: /^Add orders:write to Till/ })
    await add.click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Juniper & Day').waitFor()
    await assertAccessible(page, 'dialog')
    await dialog.getByRole('button', { name: 'Add the scope' }).click()
    await drawer(page).getByText('Repeat the request.').waitFor()
    const { scopes } = await stage.json('GET', `/admin/keys/${id}`)
    assert.deepEqual(scopes.sort(), ['orders:read', 'orders:write'])
    assert.equal((await write()).status, 201)
    await page.reload()
    await drawer(page).getByText('has orders:write now. Repeat the request.').waitFor()
    assert.equal(await add.count(), 0, 'the key has the scope already')
  })
}

test('the palette finds an object by its name, and by its id', async (t) => {
  const body = { name: 'Harbour kiosk', scopes: ['orders:read'], mode: 'live' }
  const { id } = await stage.json('POST', '/admin/keys', body)
  const page = await stage.signedIn(t)
  for (const text of ['harbour', id]) {
    await page.goto(`${stage.url}/console/overview`)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await jump(page, text, /Harbour kiosk/)
    await page.getByRole('heading', { name: 'Harbour kiosk' }).waitFor()
    assert.equal(new URL(page.url()).pathname, `/console/keys/${id}`)
  }
})

test('the palette opens a result in its mode', async (t) => {
  const page = await stage.signedIn(t)
  const scopes = ['orders:read']
  for (const [from, mode, expected] of [
    ['', 'test', '?mode=test'],
    ['?mode=test', 'live', ''],
  ]) {
    const { id } = await stage.json('POST', '/admin/keys', { name: 'Lighthouse', scopes, mode })
    await page.goto(`${stage.url}/console/overview${from}`)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.getByRole('button', { name: 'Search or jump' }).click()
    await page.getByRole('combobox', { name: /^Search or jump/ }).fill(id)
    await page.getByRole('option', { name: id }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Lighthouse' }).waitFor()
    assert.equal(page.url(), `${stage.url}/console/keys/${id}${expected}`)
  }
})

test('a row far down a list opens its panel in the window, also on a phone', async (t) => {
  const page = await stage.signedIn(t, { viewport: NARROW })
  await page.goto(`${stage.url}/console/requests`)
  await page.locator('table a.cover').last().click()
  const close = drawer(page).getByRole('link', { name: 'Close' })
  await close.waitFor()
  const { y, height } = (await close.boundingBox())!
  assert.ok(y >= 0 && y + height <= NARROW.height, `y ${y}`)
})

test('the palette leads from a time to the requests around it', async (t) => {
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/overview`)
  const open = async (text: string, label: string | RegExp) => {
    await page.getByRole('button', { name: 'Search or jump' }).click()
    await page.getByRole('combobox', { name: /^Search or jump/ }).fill(text)
    await page.getByRole('option', { name: label }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor()
    const { searchParams } = new URL(page.url())
    return [searchParams.get('from'), searchParams.get('to')]
  }
  const exact = ['2026-11-23T14:00:00Z', '2026-11-23T14:10:00Z']
  for (const text of ['2026-11-23T14:05Z', '2026-11-23 14:05', '2026-11-23 15:05+01:00']) {
    assert.deepEqual(await open(text, /^Go to\s*Requests around 14:05 UTC, 23 Nov 2026/), exact)
  }
  const day = await open('2026-11-23', /^Go to\s*Requests on 23 Nov 2026/)
  assert.deepEqual(day, ['2026-11-23T00:00:00Z', '2026-11-24T00:00:00Z'])
  const [from, to] = await open('14:05', /^Go to\s*Requests around 14:05 UTC/)
  assert.match(from!, /T14:00:00Z$/)
  assert.match(to!, /T14:10:00Z$/)
  assert.ok(Date.parse(to!) <= Date.now() + 10 * 60_000)
})

test('requests with a revoked or unknown key are in the list and the errors', async (t) => {
  const body = { name: 'Old kiosk', scopes: ['orders:read'], mode: 'live' }
  const { id, key } = await stage.json('POST', '/admin/keys', body)
  assert.equal((await stage.call('DELETE', `/admin/keys/${id}`)).status, 204)
  const rejected = await stage.call('GET', '/api/v2/orders', undefined, key)
  assert.equal(rejected.status, 403)
  const unknown = await stage.call('GET', '/api/v2/orders', undefined, 'gk_live_lost')
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/requests?error=invalid_api_key`)
  for (const { headers } of [rejected, unknown]) {
    await page.locator(`main a.cover[href*="${headers.get('x-request-id')}"]`).waitFor()
  }
  await page.goto(`${stage.url}/console/requests/${rejected.headers.get('x-request-id')}`)
  await drawer(page).getByRole('link', { name: 'Old kiosk' }).click()
  await page.waitForURL(new RegExp(`/console/keys/${id}`))
  // The actor of the revocation, in the audit trail.
  await drawer(page).locator('a[href*="/console/audit"]').waitFor()
  assert.equal(await drawer(page).getByRole('button', { name: 'Revoke…' }).count(), 0)
  for (const text of [key, key.slice(-4), 'old kiosk']) {
    await page.goto(`${stage.url}/console/overview`)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await jump(page, text, /Old kiosk \(revoked\)/)
    await page.waitForURL(new RegExp(`/console/keys/${id}`))
  }
  await page.goto(`${stage.url}/console/keys?state=revoked`)
  await page.getByRole('row', { name: /Old kiosk.*Revoked/ }).waitFor()
  await page.goto(`${stage.url}/console/overview`)
  await page.getByRole('link', { name: 'invalid_api_key' }).first().waitFor()
})

test('a range is selected by a drag, named, left again, and typed', async (t) => {
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/requests?range=7d`)
  const chart = page.getByRole('slider', { name: /^Requests over time/ })
  const { x, y, width } = (await chart.boundingBox())!
  await page.mouse.move(x + width * 0.7, y + 10)
  await page.mouse.down()
  await page.mouse.move(x + width - 2, y + 10, { steps: 4 })
  await page.mouse.up()
  await page.waitForURL(/from=.*to=/)
  await page.locator('main .head .st', { hasText: /UTC to .*UTC/ }).waitFor()
  await page.getByRole('button', { name: '15 min' }).click()
  await page.waitForURL(/range=15m/)
  await page.locator('main .head .st', { hasText: 'Following' }).waitFor()
  assert.equal(await chart.count(), 1)
  await page.getByRole('combobox', { name: 'Filter requests' }).fill('from:2026-01-01T10:00')
  await page.keyboard.press('Enter')
  await page.locator('main .head .st', { hasText: /^1 Jan 2026, 10:00:00 UTC to/ }).waitFor()
})

test('a rejected request of an operator is in the log, and in no count', async (t) => {
  const page = await stage.signedIn(t, {}, /status of 422/)
  await page.goto(`${stage.url}/console/overview`)
  const status = await page.evaluate<number>(`fetch('/admin/keys', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-gatehook-console': '1' },
    body: '{}',
  }).then(({ status }) => status)`)
  assert.equal(status, 422)
  const log = await stage.json('GET', '/admin/requests?route=/admin/keys&status=422')
  assert.equal(log.data[0].credential.kind, 'operator')
  const { data } = await stage.json('GET', '/admin/errors')
  assert.equal(data.filter(({ route }: { route: string }) => route === '/admin/keys').length, 0)
})

const CASES = [
  { error: 'insufficient_scope', gate: /^Scope/ },
  { error: 'invalid_state', gate: /^Handler.*present state is paid/ },
  { error: 'validation_failed', gate: /^Fields/ },
  { error: 'invalid_api_key', gate: /^Credential/ },
  { error: 'unknown_version', gate: /^Version/ },
  { error: 'unknown_parameter', gate: /^Fields/ },
  { error: 'not_found', gate: /^Handler/ },
]

test('each error names the gate that rejected it, and has help', async (t) => {
  const page = await stage.signedIn(t)
  for (const { error, gate } of CASES) {
    await page.goto(`${stage.url}/console/requests/${await idOf(error)}`)
    await gateOf(page).waitFor()
    assert.match((await gateOf(page).textContent())!, gate, error)
    await drawer(page).getByText('What helps.').waitFor()
  }
})

test('the drawer has a URL, takes the focus, and gives it back', async (t) => {
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/requests?error=invalid_state`)
  const row = page.locator('main a.cover').first()
  await row.waitFor()
  const href = await row.getAttribute('href')
  await row.focus()
  await page.keyboard.press('Enter')
  await gateOf(page).waitFor()
  assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, href)
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'H2')
  await page.keyboard.press('Escape')
  await drawer(page).waitFor({ state: 'detached' })
  assert.equal(await page.evaluate('document.activeElement.getAttribute("href")'), href)
  assert.equal(new URL(page.url()).search, '?error=invalid_state')
  // Back opens it again, and a reload displays the same.
  await page.goBack()
  await gateOf(page).waitFor()
  await page.reload()
  await gateOf(page).waitFor()
})

test('a customer and a key are filtered by name, and found by the end of the secret', async (t) => {
  const body = { name: 'Quay office', scopes: ['orders:read'], mode: 'live' }
  const { id, key } = await stage.json('POST', '/admin/keys', body)
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/requests`)
  const box = page.getByRole('combobox', { name: 'Filter requests' })
  await box.fill('customer:juniper')
  await page.getByRole('option', { name: /Juniper & Day/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(new RegExp(`customer=${traffic.customer}`))
  await box.fill('key:quay')
  await page.getByRole('option', { name: /Quay office/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(new RegExp(`key=${id}`))
  for (const text of [key, key.slice(-4)]) {
    await page.goto(`${stage.url}/console/overview`)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await jump(page, text, /Quay office/)
    await page.waitForURL(new RegExp(`/console/keys/${id}`))
  }
})

test('words filter the rows, an unknown word is an error, and chips are removed', async (t) => {
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/requests`)
  await page.locator('main a.cover').first().waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('stat')
  await page.keyboard.press('Tab')
  await page.keyboard.type('409')
  await page.keyboard.press('Enter')
  await page.waitForURL(/status=409/)
  await page.locator('main .code.k2').first().waitFor({ state: 'detached' })
  assert.ok((await page.locator('main tbody tr').count()) >= 2)
  await page.keyboard.type('colour:red')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').filter({ hasText: 'is not a word of this filter' }).waitFor()
  assert.match(page.url(), /status=409$/)
  await assertAccessible(page, 'filter with an error')
  await page.getByRole('button', { name: 'Remove status: 409' }).click()
  await page.waitForURL((url) => !url.search.includes('status'))
})

test('a filter without a match says so, and the keyboard moves in the rows', async (t) => {
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/requests?status=5xx`)
  await page.getByText('No request matches in this range').waitFor()
  await assertAccessible(page, 'no match')
  await page.goto(`${stage.url}/console/requests`)
  await page.locator('main a.cover').first().waitFor()
  const focused = () => page.evaluate('document.activeElement.getAttribute("href")')
  await page.keyboard.press('j')
  const first = await focused()
  await page.keyboard.press('j')
  assert.notEqual(await focused(), first)
  await page.keyboard.press('k')
  assert.equal(await focused(), first)
  await page.keyboard.press('g')
  await page.keyboard.press('o')
  await page.waitForURL(/overview/)
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
  await assertAccessible(page, 'keys')
})

test('charts are tables, series can be hidden, and a moment is read by arrow keys', async (t) => {
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/overview?range=1h`)
  const chart = page.locator('figure', { hasText: 'Requests' }).first()
  const moment = chart.getByRole('slider')
  await moment.waitFor()
  const summary = await moment.getAttribute('aria-valuetext')
  await moment.focus()
  await page.keyboard.press('End')
  const reading = await moment.getAttribute('aria-valuetext')
  assert.notEqual(reading, summary)
  assert.match(reading!, /^\d\d:\d\d: 2xx/)
  await chart.getByRole('button', { name: /^3xx/ }).click()
  await moment.focus()
  await page.keyboard.press('End')
  assert.doesNotMatch((await moment.getAttribute('aria-valuetext'))!, /3xx/)
  await chart.getByRole('button', { name: 'Table' }).click()
  const cells = await chart.locator('tbody td:nth-child(2)').allTextContents()
  const sum = cells.reduce((all, text) => all + (Number(text.replace(/\D/g, '')) || 0), 0)
  assert.ok(sum >= 20, String(sum))
  await assertAccessible(page, 'a table of a chart')
})

const PAGES = ['/console/overview', '/console/requests', '/console/nowhere']
const VIEWS = [WIDE, { width: 768, height: 900 }, NARROW]

for (const colorScheme of ['light', 'dark'] as const) {
  test(`every page is accessible at three widths, ${colorScheme}`, async (t) => {
    const page = await stage.signedIn(t, { colorScheme })
    const details = `/console/requests/${await idOf('validation_failed')}`
    for (const path of [...PAGES, details]) {
      for (const viewport of VIEWS) {
        await page.setViewportSize(viewport)
        await page.goto(stage.url + path)
        await page.waitForLoadState('networkidle')
        await page.locator('h1').first().waitFor()
        await assertAccessible(page, `${path} ${viewport.width} ${colorScheme}`)
      }
    }
  })
}

test('no page is wider than 320 px, also with text of twice the size', async (t) => {
  const page = await stage.signedIn(t, { viewport: { width: 320, height: 700 } })
  const details = `/console/requests/${await idOf('validation_failed')}`
  for (const path of [...PAGES, details]) {
    await page.goto(stage.url + path)
    await page.waitForLoadState('networkidle')
    await assertFits(page, path)
  }
  await page.setViewportSize({ width: 640, height: 900 })
  for (const path of PAGES) {
    await page.goto(stage.url + path)
    await page.waitForLoadState('networkidle')
    await page.evaluate('document.documentElement.style.setProperty("font-size", "200%")')
    await assertFits(page, `${path} at 200 %`)
  }
})
