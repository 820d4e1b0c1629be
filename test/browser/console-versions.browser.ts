/** The console's page of versions: callers, and each operation on a calendar. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, NARROW, openConsoleStage } from './console-stage.ts'

const stage = await openConsoleStage({ GATEHOOK_TEST_CLOCK: '1' })
const body = { name: 'Nightly export', scopes: ['orders:read'], mode: 'live' }
const { key } = await stage.json('POST', '/admin/keys', body)
await stage.json('GET', '/api/v1/orders', undefined, key)
await stage.call('GET', '/api/v2/orders')
const calendar = () => stage.json('GET', '/admin/versions/v1')

async function openDialog(page: Page, button: string) {
  await page.getByRole('button', { name: button }).last().click()
  return page.getByRole('dialog')
}

test('a version is deprecated, browned out, and its end moves with force only', async (t) => {
  const page = await stage.signedIn(t, {}, /422/)
  await page.goto(`${stage.url}/console/versions`)
  await page.getByText('Who still calls v1').waitFor()
  await page.getByRole('row', { name: /Nightly export.*GET \/orders.*Not moving/ }).waitFor()
  const deprecation = await openDialog(page, 'Deprecate…')
  await deprecation.getByLabel('Ends on (UTC)').fill('2099-06-30')
  await deprecation.getByRole('button', { name: 'Deprecate', exact: true }).click()
  await page.getByText(/Deprecated, ends in/).waitFor()
  assert.equal((await calendar()).sunset_at, '2099-06-30T00:00:00.000Z')

  const brownout = await openDialog(page, 'Announce a brownout…')
  await brownout.getByLabel('From (UTC)').fill('2099-04-13 09:00')
  await brownout.getByLabel('To (UTC)').fill('2099-04-13 08:00')
  await brownout.getByRole('button', { name: 'Announce it' }).click()
  await brownout.getByText('must lie after start').waitFor()
  await brownout.getByLabel('To (UTC)').fill('2099-04-13 13:00')
  await brownout.getByText('These hours have no recorded week yet.').waitFor()
  await brownout.getByRole('button', { name: 'Announce it' }).click()
  await page.getByText('brownout, 09:00 to 13:00 UTC').waitFor()

  const { now } = await stage.json('GET', '/admin/clock')
  const soon = new Date(Date.parse(now) + 30 * 86_400_000).toISOString().slice(0, 10)
  const move = await openDialog(page, 'Move the end…')
  await move.getByLabel('Ends on (UTC)').fill(soon)
  await move.getByRole('button', { name: 'Move the end' }).click()
  await move.getByLabel(/Do it anyway/).check()
  await assertAccessible(page, 'the dialog that moves the end')
  await move.getByRole('button', { name: 'Move the end' }).click()
  await page.getByText(/Deprecated, ends in (29|30) days/).waitFor()
})

test('the contacts of callers get a mail after a preview', async (t) => {
  const contact = { contact_email: 'api@acme.example' }
  await stage.json('PATCH', '/admin/customers/default', contact)
  const page = await stage.signedIn(t, {}, /422/)
  await page.goto(`${stage.url}/console/versions/v1`)
  const dialog = await openDialog(page, 'Write to all…')
  await dialog.getByRole('button', { name: 'Continue' }).click()
  await dialog.getByText('is required').or(dialog.getByText('must')).first().waitFor()
  await dialog.getByLabel('Subject').fill('v1 ends')
  await dialog.getByLabel('Text').fill('Please move to v2.')
  await dialog.getByRole('button', { name: 'Continue' }).click()
  await dialog.getByText('api@acme.example').waitFor()
  await assertAccessible(page, 'the preview of a notice')
  await dialog.getByRole('button', { name: 'Send to 1 customer' }).click()
  await page.getByText('The mail goes to 1 customer.').waitFor()
  const audit = await stage.json('GET', '/admin/audit?action=version.notice')
  assert.deepEqual(audit.data[0].detail, { subject: 'v1 ends', customers: ['cus_default'] })
})

test('a change since the dialog opened is not overwritten', async (t) => {
  const page = await stage.signedIn(t, {}, /412/)
  await page.goto(`${stage.url}/console/versions/v1`)
  const dialog = await openDialog(page, 'Take back…')
  await dialog.getByRole('button', { name: 'Take back', exact: true }).waitFor()
  const guide = 'https://example.com/guide'
  await stage.json('PUT', '/admin/versions/v1', { migration_guide: guide })
  await dialog.getByRole('button', { name: 'Take back', exact: true }).click()
  await dialog.getByText('Someone has changed this calendar').waitFor()
  assert.equal((await calendar()).state, 'deprecated')
})

test('a brownout names the requests that are usual in its hours', async (t) => {
  const page = await stage.signedIn(t)
  const requests: string[] = []
  await page.route('**/traffic?*', async (route) => {
    requests.push(new URL(route.request().url()).search)
    const customers = ['Acme', 'Harbour', null, 'Till'].map((customer_name, n) => ({
      customer: customer_name && `cus_${n}`,
      customer_name,
      expected: 40.4 - 10 * n,
    }))
    const body = { weekday: 1, hour: 9, hours: 4, weeks: 2, expected: 101.6, customers }
    await route.fulfill({ json: body })
  })
  await page.goto(`${stage.url}/console/versions/v1`)
  const brownout = await openDialog(page, 'Announce a brownout…')
  // A Monday.
  await brownout.getByLabel('From (UTC)').fill('2099-04-13 09:00')
  await brownout.getByLabel('To (UTC)').fill('2099-04-13 13:00')
  const words =
    'In these hours v1 usually has 102 requests: Acme 40, Harbour 30, ' +
    'callers without a credential 20, 1 other customer. It is the mean of the last 2 weeks.'
  await brownout.getByText(words).waitFor()
  assert.equal(requests.at(-1), '?weekday=1&hour=9&hours=4')
})

test('a version is retired by its typed name, and taken back with force', async (t) => {
  const page = await stage.signedIn(t, { viewport: NARROW }, /422/)
  await page.goto(`${stage.url}/console/versions/v1`)
  const retirement = await openDialog(page, 'Retire now…')
  await retirement.getByLabel('Type v1 to confirm').fill('v1')
  await retirement.getByRole('button', { name: 'Retire it now' }).click()
  await page.getByText(/Retired since/).waitFor()
  assert.equal((await stage.call('GET', '/api/v1/orders')).status, 410)
  await assertAccessible(page, 'the page of versions')
  await assertFits(page, 'the page of versions')
  const withdrawal = await openDialog(page, 'Take back…')
  await withdrawal.getByRole('button', { name: 'Take back', exact: true }).click()
  await withdrawal.getByLabel(/Do it anyway/).check()
  await withdrawal.getByRole('button', { name: 'Take back', exact: true }).click()
  await page.getByText('Supported', { exact: true }).waitFor()
  assert.equal((await calendar()).sunset_at, null)
})
