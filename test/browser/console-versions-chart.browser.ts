/** The console's page of versions: the chart up to the end of one, changes, and the CSV file. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, NARROW, openConsoleStage, WIDE } from './console-stage.ts'

const stage = await openConsoleStage({ GATEHOOK_TEST_CLOCK: '1' })
const DAYS = 12

async function createKey(name: string, mode: string): Promise<string> {
  return (await stage.json('POST', '/admin/keys', { name, mode, scopes: ['orders:read'] })).key
}

const setClock = (now: string) => stage.json('POST', '/admin/clock', { now, freeze: true })
const { now } = await stage.json('GET', '/admin/clock')
const startMs = Math.ceil(Date.parse(now) / 86_400_000) * 86_400_000
const dayAt = (days: number) => new Date(startMs + days * 86_400_000).toISOString()

const falling = await createKey('Till', 'live')
const steady = await createKey('Nightly export', 'live')
const trial = await createKey('Trial', 'test')
const END = dayAt(DAYS + 200)
for (let day = 0; day < DAYS; day++) {
  await setClock(dayAt(day))
  const list = (version: string, key: string) =>
    stage.call('GET', `/api/${version}/orders`, undefined, key)
  for (let n = 2 * day; n < 2 * DAYS; n++) await list('v1', falling)
  for (let n = 0; n < 4; n++) await list('v1', steady)
  for (let n = 0; n < 5 + 2 * day; n++) await list('v2', steady)
  await list('v1', trial)
}
await setClock(dayAt(DAYS))
await stage.json('PUT', '/admin/versions/v1', {
  sunset_at: END,
  brownouts: [{ start: dayAt(DAYS + 150), end: dayAt(DAYS + 151) }],
})

async function openVersions(page: Page, query = ''): Promise<void> {
  await page.goto(`${stage.url}/console/versions${query}`)
  await page.getByText('Who still calls v1').waitFor()
  await page
    .getByRole('row', { name: /GET \/orders/ })
    .first()
    .waitFor()
}

/** Returns the date as the console writes it: `30 Jun 2027`. */
const dayOf = (iso: string): string => {
  const [, , month, year] = new Date(iso).toUTCString().split(' ')
  return `${new Date(iso).getUTCDate()} ${month} ${year}`
}

const chartOf = (page: Page) => page.locator('figure.chart')

test('the chart continues to the end of a deprecated version', async (t) => {
  const page = await stage.signedIn(t)
  await openVersions(page)
  const chart = chartOf(page)
  await chart.getByText('Requests a day, up to the end of v1').waitFor()
  await page.getByText(/^On its last whole day v1 had \d+ requests; it ends on /).waitFor()
  assert.equal(await chart.locator('path.f').count(), 2)
  assert.deepEqual(await chart.locator('.flags span').allInnerTexts(), [
    `v1 ends, ${dayOf(END)}`,
    'today',
  ])
  const lanes = chart.locator('.lane')
  assert.match(await lanes.nth(0).innerText(), /supported\s+deprecated\s+brownout .*\s+410/)
  assert.match(await lanes.nth(1).innerText(), /supported, no end announced/)
  await chart.getByRole('button', { name: 'Table' }).click()
  await chart.getByRole('columnheader', { name: 'v1' }).waitFor()
  await page.getByRole('button', { name: '30 d' }).click()
  await chart.getByText('Requests by version', { exact: true }).waitFor()
  assert.match(page.url(), /range=30d/)
  await page.getByRole('button', { name: 'Up to the end of v1' }).click()
  await chart.getByText('Requests a day, up to the end of v1').waitFor()
})

test('a version names what it changed, and the oldest one nothing', async (t) => {
  const page = await stage.signedIn(t)
  await openVersions(page)
  await page.getByText('v2 only adds; a caller of an older version can move.').waitFor()
  const change = { resource: 'orders', why: 'Because.', renamed: {}, before: [], after: [] }
  const changes = [
    { ...change, before: ['total'], after: ['amount', 'currency'] },
    { ...change, renamed: { mail: 'email' } },
    { ...change, before: ['phone'] },
    { ...change, before: ['state'], after: ['state'] },
    { ...change, after: ['due_at'] },
  ]
  await page.route('**/v2/changelog', (route) =>
    route.fulfill({ json: { version: 'v2', released: '2026-06-01', changes } }),
  )
  await page.reload()
  await page.getByText('orders.total became amount and currency: Because.').waitFor()
  assert.deepEqual(await page.locator('.changes li').allInnerTexts(), [
    'orders.total became amount and currency: Because.',
    'orders.mail is now email: Because.',
    'orders.phone left: Because.',
    'orders.state changed: Because.',
    'orders.due_at is new: Because.',
  ])
  assert.equal(await page.getByRole('heading', { name: 'What v1 changed' }).count(), 0)
})

test('the CSV file has the callers of the selected mode', async (t) => {
  const page = await stage.signedIn(t)
  for (const mode of ['live', 'test']) {
    await openVersions(page, `?mode=${mode}`)
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV', exact: true }).click()
    const file = await download
    assert.equal(file.suggestedFilename(), `callers-v1-${mode}.csv`)
    const [header, ...lines] = (await readFile(await file.path(), 'utf8')).trim().split('\r\n')
    assert.match(header!, /^customer,customer_name,mode,kind,id,name,routes,count,last_at/)
    const names = lines.map((line) => line.split(',').slice(2, 6).toSpliced(2, 1).join(' '))
    assert.deepEqual(
      names,
      mode === 'live' ? ['live key Till', 'live key Nightly export'] : ['test key Trial'],
    )
  }
})

for (const colorScheme of ['light', 'dark'] as const) {
  test(`the chart up to the end is accessible and fits, ${colorScheme}`, async (t) => {
    const page = await stage.signedIn(t, { colorScheme })
    await openVersions(page)
    for (const viewport of [WIDE, NARROW, { width: 320, height: 740 }]) {
      await page.setViewportSize(viewport)
      await assertAccessible(page, `versions ${viewport.width} ${colorScheme}`)
      await assertFits(page, `versions ${viewport.width} ${colorScheme}`)
    }
  })
}
