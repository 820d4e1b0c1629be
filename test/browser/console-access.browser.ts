/** The console's pages of clients, customers, audit and system: each operation, once. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, NARROW, openConsoleStage, WIDE } from './console-stage.ts'

const stage = await openConsoleStage({ GATEHOOK_TEST_CLOCK: '1' })
const drawer = (page: Page) => page.getByRole('complementary')

async function openDialog(page: Page, button: string) {
  await page.getByRole('button', { name: button, exact: true }).click()
  return page.getByRole('dialog')
}

test('a client is registered, rotated and deleted', async (t) => {
  const page = await stage.signedIn(t, {}, /status of 422/)
  await page.goto(`${stage.url}/console/clients`)
  await page.getByText('No client in live mode yet').waitFor()
  const sheet = await openDialog(page, 'Register a client')
  await sheet.getByRole('textbox', { name: 'Name' }).fill('Ledger')
  await sheet.getByLabel('Redirect URIs').fill('not a uri')
  await sheet.getByRole('checkbox', { name: 'users:read' }).check()
  await sheet.getByRole('button', { name: 'Register the client' }).click()
  await sheet.locator('.field .err').waitFor()
  await assertAccessible(page, 'a rejected client')
  await sheet.getByLabel('Redirect URIs').fill('https://ledger.example/callback')
  await sheet.getByRole('button', { name: 'Register the client' }).click()
  const secret = await sheet.locator('.secret code').innerText()
  await page.keyboard.press('Escape')
  await sheet.getByRole('button', { name: 'I have stored it' }).click()
  assert.ok(!(await page.content()).includes(secret))

  await page.getByRole('link', { name: 'Ledger' }).click()
  const rotation = await openDialog(page, 'Rotate the secret…')
  await rotation.getByRole('button', { name: 'Rotate', exact: true }).click()
  assert.notEqual(await rotation.locator('.secret code').innerText(), secret)
  await rotation.getByRole('button', { name: 'I have stored it' }).click()
  const removal = await openDialog(page, 'Delete…')
  await removal.getByLabel('Type Ledger to confirm').fill('Ledger')
  await removal.getByRole('button', { name: 'Delete the client' }).click()
  await page.getByText('No client in live mode yet').waitFor()
})

for (const viewport of [WIDE, NARROW]) {
  test(`a customer is created, limited, suspended and resumed [${viewport.width}]`, async (t) => {
    const name = `Harbour ${viewport.width}`
    const page = await stage.signedIn(t, { viewport }, /status of 4(22|03)/)
    await page.goto(`${stage.url}/console/customers`)
    const creation = await openDialog(page, 'Create a customer')
    await creation.getByLabel('Name').fill(name)
    await page.keyboard.press('Enter')
    await drawer(page).getByRole('heading', { name }).waitFor()
    const id = new URL(page.url()).pathname.split('/').at(-1)!
    const scopes = ['users:read']
    const body = { name: 'Tool', customer: id, mode: 'live', scopes }
    const { key } = await stage.json('POST', '/admin/keys', body)

    const limits = await openDialog(page, 'Limits…')
    await limits.getByLabel('Requests of each credential').fill('many')
    await limits.getByText('It must be a number per seconds').waitFor()
    await limits.getByLabel('Requests of each credential').fill('600/60')
    await limits.getByRole('button', { name: 'Save' }).click()
    await drawer(page).getByText('600 per 1 min').waitFor()

    const suspension = await openDialog(page, 'Suspend…')
    await suspension.getByLabel(`Type ${name} to confirm`).fill(name)
    await suspension.getByRole('button', { name: 'Suspend', exact: true }).click()
    await drawer(page).locator('.st', { hasText: 'Suspended' }).waitFor()
    assert.equal((await stage.call('GET', '/api/v2/users', undefined, key)).status, 403)
    await assertAccessible(page, 'a suspended customer')
    await assertFits(page, 'a suspended customer')
    const resumption = await openDialog(page, 'Resume…')
    await resumption.getByRole('button', { name: 'Resume', exact: true }).click()
    await drawer(page).locator('.st', { hasText: 'Active' }).waitFor()
  })
}

test('a link to the portal of a customer opens it once', async (t) => {
  const { id } = await stage.json('POST', '/admin/customers', { name: 'Portal Shop' })
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/customers/${id}`)
  const dialog = await openDialog(page, 'Portal link…')
  await dialog.getByRole('checkbox', { name: 'webhooks:read' }).waitFor()
  await dialog.getByRole('button', { name: 'Create the link' }).click()
  const link = new URL(await dialog.locator('.secret code').innerText())
  const reader = await stage.open(t)
  await reader.goto(stage.url + link.pathname + link.hash)
  await reader.getByText('Portal Shop').first().waitFor()
})

test('the audit trail names the operation, and leads to its target and request', async (t) => {
  const { id } = await stage.json('POST', '/admin/customers', { name: 'Audited' })
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/audit?target=${id}`)
  await page.locator('main a.cover', { hasText: 'customer.create' }).click()
  await drawer(page).getByRole('link', { name: id }).waitFor()
  await drawer(page).getByRole('link', { name: /^req_/ }).waitFor()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save as CSV' }).click(),
  ])
  const [header, row] = (await readFile((await file!.path()) as string, 'utf8')).split('\r\n')
  assert.match(header!, /^at,principal_kind,principal,action,target/)
  assert.ok(row?.includes(`customer.create,${id}`), String(row))
  await page.keyboard.press('/')
  await page.keyboard.type('since:yesterday')
  await page.keyboard.press('Enter')
  await page.getByText('It must be 24h, 7d or a date').waitFor()
})

test('the system page searches the options, ends a session and moves the clock', async (t) => {
  const other = await stage.signedInAs(t, 'support', {}, /status of 401/)
  await other.goto(`${stage.url}/console/system`)
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/system`)
  await page.getByText('serves requests and stores writes').waitFor()
  await page.getByLabel('Search the options').fill('test_clock')
  await page.getByRole('row', { name: /GATEHOOK_TEST_CLOCK/ }).waitFor()
  const options = page.getByRole('table', { name: 'Options with their source' })
  assert.equal(await options.locator('tbody tr').count(), 1)
  const secret = 'a secret that only tests know'
  assert.ok(!(await page.content()).includes(secret))

  const row = page.getByRole('row', { name: /support\d+@example\.com/ })
  await row.getByRole('button', { name: 'End…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'End the session' }).click()
  await row.waitFor({ state: 'detached' })
  await other.reload()
  await other.getByRole('heading', { name: 'Sign in' }).waitFor()

  const clock = page.getByRole('region', { name: 'Test clock' })
  await clock.getByRole('button', { name: 'Freeze' }).click()
  await clock.locator('.st', { hasText: 'Frozen' }).waitFor()
  await clock.getByRole('button', { name: 'Resume' }).click()
  await clock.locator('.st', { hasText: 'Runs' }).waitFor()
})
