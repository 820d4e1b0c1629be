/** The console's page of endpoints: each operation on one, and the words for its health. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, NARROW, openConsoleStage, WIDE } from './console-stage.ts'
import { openReceiver } from './receiver.ts'

const receiver = await openReceiver()
const stage = await openConsoleStage({
  GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
  GATEHOOK_WEBHOOK_SCHEDULE_S: '3600',
  GATEHOOK_TEST_CLOCK: '1',
})
const HOUR_S = 3600

async function createShop(name: string): Promise<{ id: string; key: string }> {
  const { id } = await stage.json('POST', '/admin/customers', { name })
  const scopes = ['users:read', 'users:write', 'webhooks:write']
  const body = { name: 'Backend', customer: id, mode: 'live', scopes }
  return { id, key: (await stage.json('POST', '/admin/keys', body)).key }
}

const addEndpoint = async ({ key }: { key: string }): Promise<string> =>
  (await stage.json('POST', '/webhooks', { url: receiver.url, events: ['*'] }, key)).id

async function openDialog(page: Page, button: string) {
  await page.getByRole('button', { name: button, exact: true }).click()
  return page.getByRole('dialog')
}

for (const viewport of [WIDE, NARROW]) {
  test(`an endpoint is added, tested and deleted [${viewport.width}]`, async (t) => {
    receiver.status = 204
    const shop = await createShop(`Shop ${viewport.width}`)
    const page = await stage.signedIn(t, { viewport }, /status of 422/)
    await page.goto(`${stage.url}/console/webhooks?customer=${shop.id}`)
    await page.getByText('No endpoint in live mode yet').waitFor()
    const form = await openDialog(page, 'Add an endpoint')
    await form.getByLabel('URL').fill('http://127.0.0.1:1/unreachable')
    await form.getByRole('button', { name: 'Add', exact: true }).click()
    await form.locator('.field .err').waitFor()
    await assertAccessible(page, 'a rejected URL')
    await form.getByLabel('URL').fill(receiver.url)
    await form.getByRole('button', { name: 'Add', exact: true }).click()
    const secret = await form.locator('.secret code').innerText()
    assert.match(secret, /^whsec_/)
    // Escape does not discard the secret.
    await page.keyboard.press('Escape')
    await form.getByRole('button', { name: 'I have stored it' }).click()
    assert.ok(!(await page.content()).includes(secret))

    await page.locator('main a.cover').click()
    await page.getByLabel('Event type').fill('user.created')
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page
      .getByRole('status')
      .filter({ hasText: /^204 in/ })
      .waitFor()
    receiver.status = 503
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page
      .getByRole('status')
      .filter({ hasText: /^503 in/ })
      .waitFor()
    await assertAccessible(page, 'an endpoint')
    await assertFits(page, 'an endpoint')

    const removal = await openDialog(page, 'Delete…')
    await removal.getByLabel(`Type ${receiver.host} to confirm`).fill(receiver.host)
    await removal.getByRole('button', { name: 'Delete the endpoint' }).click()
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
    await page.getByText('No endpoint in live mode yet').waitFor()
  })
}

test('deliveries wait while an endpoint is disabled, and follow when it is enabled', async (t) => {
  receiver.status = 204
  const shop = await createShop('Pause')
  const id = await addEndpoint(shop)
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/webhooks/${id}`)
  const disabling = await openDialog(page, 'Disable…')
  await disabling.getByRole('button', { name: 'Disable', exact: true }).click()
  await page.getByText('An operator or the customer disabled it.').waitFor()
  await stage.json('POST', '/api/v2/users', { name: 'Ada', email: 'ada@pause.example' }, shop.key)
  await page.locator('main .st', { hasText: 'Paused' }).waitFor()
  await assertAccessible(page, 'a disabled endpoint')
  const enabling = await openDialog(page, 'Enable')
  await enabling.getByText('It then sends 1 delivery.').waitFor()
  await enabling.getByRole('button', { name: 'Enable', exact: true }).click()
  await page.locator('main .st', { hasText: 'Delivered' }).waitFor()
})

test('failed deliveries are resent, and events are replayed', async (t) => {
  receiver.status = 204
  const shop = await createShop('Replay')
  const id = await addEndpoint(shop)
  receiver.status = 410
  await stage.json('POST', '/api/v2/users', { name: 'Ada', email: 'ada@replay.example' }, shop.key)
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/webhooks/${id}`)
  await page.getByText('The receiver answered 410').waitFor()
  receiver.status = 204
  const enabling = await openDialog(page, 'Enable')
  await enabling.getByRole('button', { name: 'Enable', exact: true }).click()
  await page.getByRole('button', { name: 'Disable…' }).waitFor()
  const resending = await openDialog(page, 'Resend failed…')
  await resending.getByText('1 failed for good').waitFor()
  await resending.getByRole('button', { name: 'Resend', exact: true }).click()
  await page.getByText('Sending 1 delivery.').waitFor()
  await page.locator('main .st', { hasText: 'Delivered' }).waitFor()
  const replay = await openDialog(page, 'Replay…')
  await replay.getByLabel('Event types').fill('user.*')
  await replay.getByRole('button', { name: 'Replay', exact: true }).click()
  await page.getByText('Sending 1 delivery.').first().waitFor()
})

test('the filter finds endpoints by health and customer', async (t) => {
  receiver.status = 204
  const shop = await createShop('Filter')
  await addEndpoint(shop)
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/webhooks?of=${shop.id}`)
  await page.getByRole('button', { name: 'Remove of: Filter' }).waitFor()
  await page.locator('main tbody tr', { hasText: 'Filter' }).waitFor()
  assert.equal(await page.locator('main tbody tr').count(), 1)
  await page.keyboard.press('/')
  await page.keyboard.type('state:failing')
  await page.keyboard.press('Enter')
  await page.getByText('No endpoint matches').waitFor()
})

const secretsOf = (page: Page) =>
  page.getByRole('region', { name: 'Signing secrets' }).locator('tbody tr')

test('a secret is rotated: both sign, and the end of the old one follows the clock', async (t) => {
  receiver.status = 204
  const shop = await createShop('Rotation')
  const id = await addEndpoint(shop)
  const page = await stage.signedIn(t, {}, /status of 40[19]/)
  await page.goto(`${stage.url}/console/webhooks/${id}`)
  const secrets = secretsOf(page)
  await secrets.first().waitFor()
  const rotation = await openDialog(page, 'Rotate…')
  await rotation.getByLabel('The old secret').selectOption({ label: 'Ends in 1 hour' })
  await rotation.getByRole('button', { name: 'Rotate', exact: true }).click()
  await rotation.locator('.secret code').waitFor()
  await assertAccessible(page, 'the new secret')
  await rotation.getByRole('button', { name: 'I have stored it' }).click()
  await secrets.filter({ hasText: 'more' }).waitFor()
  assert.equal(await secrets.count(), 2)

  // A third secret needs force.
  const path = `/admin/as/${shop.id}/live/webhooks/${id}/rotate-secret`
  await stage.json('POST', path, { overlap_seconds: HOUR_S / 2 })
  const second = await openDialog(page, 'Rotate…')
  await second.getByLabel('The old secret').selectOption({ label: 'Ends in 1 hour' })
  await second.getByRole('button', { name: 'Rotate', exact: true }).click()
  await second.getByText('rotation_in_progress').waitFor()
  await second.getByLabel(/^End the rotation that runs/).check()
  await second.getByRole('button', { name: 'Rotate', exact: true }).click()
  await second.getByRole('button', { name: 'I have stored it' }).click()

  await stage.json('POST', '/admin/clock', { advance_s: 2 * HOUR_S })
  // The clock has ended the session as well.
  await page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
  const later = await stage.signedInAs(t, 'administrator')
  await later.goto(`${stage.url}/console/webhooks/${id}`)
  await secretsOf(later).filter({ hasText: 'from now on' }).waitFor()
  assert.equal(await secretsOf(later).count(), 1)
})
