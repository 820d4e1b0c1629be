/**
 * The portal in Chromium (design flow 9): a link opens one customer's integration once; keys,
 * endpoints and failed deliveries are handled there; nothing of another customer appears.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, NARROW, openConsoleStage, WIDE } from './console-stage.ts'

const stage = await openConsoleStage({
  GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
  GATEHOOK_WEBHOOK_SCHEDULE_S: '3600',
  GATEHOOK_PORTAL_NAME: 'Harbour Supply',
  GATEHOOK_PORTAL_ACCENT: '#7a1f5c',
})

let status = 200
const posts: { headers: IncomingHttpHeaders; body: string }[] = []
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = Buffer.concat(chunks).toString()
  posts.push({ headers: request.headers, body })
  // A ping may arrive after a test has set its status.
  const isPing = request.headers['gatehook-event'] === 'webhook.ping'
  response.writeHead(isPing ? 200 : status).end('seen')
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
after(() => receiver.close())
const HOOK = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks`

const CAN = ['keys:read', 'keys:write', 'webhooks:read', 'webhooks:write', 'events:read']
const RESOURCES = ['orders:read', 'orders:write', 'users:read', 'users:write']

const customer = async (name: string): Promise<string> =>
  (await stage.json('POST', '/admin/customers', { name })).id

/** Returns the path of a new link. */
async function link(id: string, can = [...CAN, ...RESOURCES]): Promise<string> {
  const body = {
    customer: id,
    mode: 'live',
    can,
    email: 'ines@shop.example',
  }
  const { url } = await stage.json('POST', '/admin/portal-links', body)
  const { pathname, hash } = new URL(url)
  return pathname + hash
}

const key = async (id: string): Promise<string> => {
  const body = { name: 'Backend', customer: id, mode: 'live', scopes: [...CAN, ...RESOURCES] }
  return (await stage.json('POST', '/admin/keys', body)).key
}

async function openPortal(page: Page, path: string): Promise<void> {
  await page.goto(stage.url + path)
  await page.getByRole('heading', { name: 'Webhooks' }).waitFor()
}

for (const viewport of [WIDE, NARROW]) {
  const at = `${viewport.width} px`
  test(`a link opens the portal once, and shows one customer [${at}]`, async (t) => {
    const [shop, other] = [await customer('Shop'), await customer('Other')]
    const foreign = await key(other)
    await stage.json('POST', '/webhooks', { url: HOOK, events: ['*'] }, foreign)
    const path = await link(shop)
    const page = await stage.open(t, { viewport })
    await openPortal(page, path)
    assert.equal(new URL(page.url()).hash, '', 'the token has left the address')
    assert.match(await page.title(), /Harbour Supply/)
    await page.getByText('Nothing needs a change').waitFor()
    await page.getByText('No endpoints yet').waitFor()
    await page.getByText('No keys yet').waitFor()
    const text = await page.locator('body').innerText()
    assert.ok(text.includes('Shop') && !text.includes('Backend') && !text.includes('Other'))
    await page.reload()
    await page.getByText('Nothing needs a change').waitFor()
    await assertFits(page, `portal at ${at}`)

    const second = await stage.open(t, { viewport }, /401/)
    await second.goto(stage.url + path)
    await second.getByText('The link was used before').waitFor()
    const denied = await second.locator('body').innerText()
    assert.ok(!denied.includes('Shop'), 'nothing of the customer is revealed')
  })

  test(`a key is created, displayed once, and revoked [${at}]`, async (t) => {
    const page = await stage.open(t, { viewport })
    await openPortal(page, await link(await customer('Shop')))
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByLabel('Name').fill('Reports')
    await page.getByLabel('orders:read').check()
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const secret = await page.locator('.secret code').innerText()
    assert.match(secret, /^gk_live_/)
    assert.equal((await stage.call('GET', '/api/v2/orders', undefined, secret)).status, 200)
    await page.getByRole('button', { name: 'I have stored it' }).click()
    assert.ok(!(await page.content()).includes(secret))
    await page.getByRole('button', { name: 'Revoke Reports' }).click()
    await page.getByLabel('Type Reports to confirm').fill('Reports')
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByText('No keys yet').waitFor()
    assert.equal((await stage.call('GET', '/api/v2/orders', undefined, secret)).status, 403)
  })

  test(`a key with more scopes than the session is revoked only [${at}]`, async (t) => {
    const shop = await customer('Shop')
    await key(shop)
    const narrow = { name: 'Narrow', customer: shop, mode: 'live', scopes: ['keys:read'] }
    await stage.json('POST', '/admin/keys', narrow)
    const page = await stage.open(t, { viewport })
    await openPortal(page, await link(shop, CAN))
    const actions = (name: string) => page.getByRole('button', { name, exact: true }).count()
    await page.getByRole('button', { name: 'Revoke Backend', exact: true }).waitFor()
    assert.deepEqual([await actions('Roll Backend'), await actions('Roll Narrow')], [0, 1])
    assert.equal(await actions('Revoke Narrow'), 1)
  })

  test(`a failed delivery is found and sent again [${at}]`, async (t) => {
    const shop = await customer('Shop')
    // Before the endpoint exists: its event would get the 410, and disable the endpoint.
    const own = await key(shop)
    const page = await stage.open(t, { viewport })
    await openPortal(page, await link(shop))
    status = 200
    await page.getByRole('button', { name: 'Add an endpoint' }).click()
    await page.getByLabel('URL').fill(HOOK)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.locator('.secret code').waitFor()
    await page.getByRole('button', { name: 'I have stored it' }).click()
    status = 410 // ends the delivery, and disables the endpoint
    const email = `ada-${viewport.width}@example.com`
    await stage.json('POST', '/api/v2/users', { name: 'Ada', email }, own)
    await page.getByText('1 webhook not delivered').waitFor()
    await page.getByRole('link', { name: new URL(HOOK).host }).click()
    // Both parts of the page have arrived, so that nothing moves under the pointer.
    await page.getByRole('heading', { name: HOOK }).waitFor()
    await page.getByText('Failed', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'user.created', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('410 ends the delivery').waitFor()
    await dialog.getByText('HTTP/1.1 410').waitFor()
    await assertFits(page, `a delivery at ${at}`)
    await assertAccessible(page, `a delivery at ${at}`)
    await dialog.getByRole('tab', { name: 'Request' }).click()
    await dialog.getByText(`"email": "${email}"`).waitFor()
    await dialog.getByRole('tab', { name: 'Signature' }).click()
    await dialog.getByText('Gatehook-Signature: t=').waitFor()
    await assertFits(page, `the signatures of a delivery at ${at}`)
    await assertAccessible(page, `the signatures of a delivery at ${at}`)
    await dialog.getByRole('button', { name: 'Send again' }).click()
    await dialog.getByText('Queued again').waitFor()
    await dialog.getByText('Paused').waitFor() // the 410 disabled the endpoint
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Send again: user.created' }).click()
    await page.getByText('Queued again').waitFor()
  })
}

for (const viewport of [WIDE, NARROW]) {
  const at = `${viewport.width} px`
  test(`an endpoint is tested in v2, changed, and its secret rotated [${at}]`, async (t) => {
    const shop = await customer('Shop')
    const own = await key(shop)
    status = 200
    const registration = { url: HOOK, events: ['*'], api_version: 'v1' }
    const { id, secret } = await stage.json('POST', '/webhooks', registration, own)
    const page = await stage.open(t, { viewport })
    await openPortal(page, await link(shop))
    await page.getByRole('link', { name: new URL(HOOK).host }).click()
    await page.getByLabel('Event type').fill('user.created')
    await page.getByLabel('Version').selectOption('v2')
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByText(/^200 in /).waitFor()
    assert.equal(JSON.parse(posts.at(-1)!.body).type, 'user.created')
    await page.getByRole('button', { name: 'user.created', exact: true }).waitFor()
    await assertFits(page, `an endpoint at ${at}`)
    await assertAccessible(page, `an endpoint at ${at}`)

    await page.getByRole('button', { name: 'Edit…' }).click()
    await assertAccessible(page, `the form at ${at}`)
    const form = page.getByRole('dialog')
    await form.getByLabel('Events').fill('order.*')
    await form.getByLabel('Version of the payload').selectOption('v2')
    await form.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Gets order.* as v2').waitFor()

    await page.getByRole('button', { name: 'Rotate the secret…' }).click()
    await assertAccessible(page, `the rotation at ${at}`)
    await page.getByRole('button', { name: 'Rotate', exact: true }).click()
    const next = await page.locator('.secret code').innerText()
    assert.match(next, /^whsec_/)
    assert.notEqual(next, secret)
    await page.getByRole('button', { name: 'I have stored it' }).click()
    assert.ok(!(await page.content()).includes(next))
    await stage.json('POST', `/webhooks/${id}/test`, { event_type: 'order.created' }, own)
    const { headers, body } = posts.at(-1)!
    for (const live of [secret, next]) {
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
      const bytes = Buffer.from(live.slice('whsec_'.length), 'base64')
      const signature = createHmac('sha256', bytes).update(signed).digest('base64')
      assert.ok(String(headers['webhook-signature']).includes(`v1,${signature}`), 'both sign')
    }
  })
}

test('deliveries have pages', async (t) => {
  const shop = await customer('Shop')
  const own = await key(shop)
  status = 200
  const { id } = await stage.json('POST', '/webhooks', { url: HOOK, events: ['user.*'] }, own)
  for (let n = 0; n < 51; n++) {
    const user = { name: 'Ada', email: `paging-${n}@example.com` }
    await stage.json('POST', '/api/v2/users', user, own)
  }
  const page = await stage.open(t, { viewport: WIDE })
  await openPortal(page, await link(shop))
  await page.goto(`${stage.url}/portal/webhooks/${id}`)
  await page.getByRole('link', { name: 'Older' }).click()
  await page.getByText('1 delivery', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Newer' }).click()
  await page.getByText('50 deliveries', { exact: true }).waitFor()
})

for (const colorScheme of ['light', 'dark'] as const) {
  test(`axe finds no violation with the accent of the operator [${colorScheme}]`, async (t) => {
    const shop = await customer('Shop')
    const own = await key(shop)
    status = 200
    await stage.json('POST', '/webhooks', { url: HOOK, events: ['*'] }, own)
    await stage.call('POST', '/api/v2/orders', { amount: 'x' }, own)
    const page = await stage.open(t, { viewport: WIDE, colorScheme })
    await openPortal(page, await link(shop))
    await page.getByText('validation_failed').waitFor()
    await assertAccessible(page, `portal ${colorScheme}`)
    await page.setViewportSize({ width: 320, height: 640 })
    await assertFits(page, `portal ${colorScheme} at 320 px`)
    await assertAccessible(page, `portal ${colorScheme} at 320 px`)
    await page.getByRole('button', { name: 'Create a key' }).click()
    await assertAccessible(page, `new key ${colorScheme}`)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Your integration', exact: true }).waitFor()
    await assertAccessible(page, `entrance ${colorScheme}`)
    const accent = await page.evaluate(
      'getComputedStyle(document.documentElement).getPropertyValue("--accent")',
    )
    assert.match(String(accent), /#7a1f5c/)
  })
}
