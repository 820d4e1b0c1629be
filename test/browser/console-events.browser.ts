/** The console's pages of events and deliveries: a failed delivery is found, read and resent. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, NARROW, openConsoleStage, WIDE } from './console-stage.ts'
import { openReceiver } from './receiver.ts'

const receiver = await openReceiver()
const stage = await openConsoleStage({
  GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
  GATEHOOK_WEBHOOK_SCHEDULE_S: '3600',
})
const shop = await stage.json('POST', '/admin/customers', { name: 'Harbour Shop' })
const scopes = ['users:read', 'users:write', 'webhooks:write']
const { key } = await stage.json('POST', '/admin/keys', {
  name: 'Backend',
  customer: shop.id,
  mode: 'live',
  scopes,
})
await stage.json('POST', '/webhooks', { url: receiver.url, events: ['user.*'] }, key)

let people = 0
/** Creates a row, and returns the id of its event. */
async function createEvent(): Promise<string> {
  const person = { name: 'Ada', email: `ada${++people}@shop.example` }
  const { id } = await stage.json('POST', '/api/v2/users', person, key)
  return (await stage.json('GET', `/admin/events?object=users/${id}`)).data[0].id
}

const thread = (page: Page) => page.getByRole('list', { name: 'From the request' })
const state = (page: Page, word: string) => thread(page).locator('.st', { hasText: word })

for (const viewport of [WIDE, NARROW]) {
  test(`a failed delivery is explained and delivered [${viewport.width}]`, async (t) => {
    receiver.status = 500
    const id = await createEvent()
    const page = await stage.signedIn(t, { viewport })
    await page.goto(`${stage.url}/console/events?type=user.*&delivery=pending`)
    await page.locator(`main a.cover[href*="${id}"]`).click()
    await state(page, 'Attempt 1').waitFor()
    assert.equal(new URL(page.url()).pathname, `/console/events/${id}`)
    await thread(page).getByText('HTTP/1.1 500').waitFor()
    await thread(page).getByText('The time follows from the retry schedule.').waitFor()
    await thread(page).getByRole('tab', { name: 'Request' }).click()
    await thread(page).getByText('webhook-signature').first().waitFor()
    await assertAccessible(page, 'a failed delivery')
    await assertFits(page, 'a failed delivery')

    receiver.status = 204
    await page.getByRole('button', { name: 'Send now' }).click()
    await state(page, 'Delivered').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Send now' }).count(), 0)
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor()
    assert.match(page.url(), /delivery=pending$/)
    await page.locator(`main a.cover[href*="${id}"]`).waitFor({ state: 'detached' })
  })
}

test('a delivery has a URL, which marks it in the thread of its event', async (t) => {
  const id = await createEvent()
  const event = await stage.json('GET', `/admin/events/${id}?expand=deliveries`)
  const [delivery] = event.deliveries.data
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/deliveries/${delivery.id}`)
  await thread(page).locator('li.here', { hasText: receiver.host }).waitFor()
  await thread(page).getByRole('link', { name: event.request_id }).click()
  await page.getByRole('complementary').getByText(id).waitFor()
})

test('the payload is displayed in each version, with the difference', async (t) => {
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/events/${await createEvent()}`)
  const payload = page.getByRole('region', { name: 'Payload' })
  await payload.getByText(`"ada${people}@shop.example"`).waitFor()
  await payload.getByRole('button', { name: 'v1' }).click()
  await payload.getByText(/^\d+ bytes/).waitFor()
  await payload.getByRole('button', { name: 'Difference' }).click()
  await payload.getByText('The payload is the same in v1 and v2.').waitFor()
})

test('a delivery is resent to the selected endpoints', async (t) => {
  receiver.status = 204
  const id = await createEvent()
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/events/${id}`)
  await state(page, 'Delivered').waitFor()
  await page.getByRole('button', { name: 'Resend…' }).click()
  const dialog = page.getByRole('dialog')
  const submit = dialog.getByRole('button', { name: /^Send to/ })
  // A delivery that succeeded is not selected.
  assert.equal(await submit.getAttribute('aria-disabled'), 'true')
  await assertAccessible(page, 'the dialog')
  await dialog.getByRole('checkbox').check()
  await submit.click()
  await dialog.waitFor({ state: 'detached' })
  await state(page, 'Attempt 2').waitFor()
})

test('an event without an endpoint leads to the form that adds one', async (t) => {
  const other = await stage.json('POST', '/admin/customers', { name: 'Lighthouse' })
  const body = { name: 'Tool', customer: other.id, mode: 'live', scopes }
  const tool = await stage.json('POST', '/admin/keys', body)
  const person = { name: 'Eve', email: 'eve@light.example' }
  const { id } = await stage.json('POST', '/api/v2/users', person, tool.key)
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/events?object=users/${id}`)
  await page.locator('main .st', { hasText: 'No endpoint' }).waitFor()
  await page.locator('main a.cover').click()
  await page.getByRole('link', { name: 'Add an endpoint' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add an endpoint' })
  assert.equal(await dialog.getByLabel('Events').inputValue(), 'user.created')
  assert.equal(await dialog.getByLabel(/^Customer/).inputValue(), other.id)
})
