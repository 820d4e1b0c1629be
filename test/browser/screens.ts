/**
 * `npm run screens [PAGE…]`: starts the service with sample data, and takes a picture of each page
 * of console, portal and docs at two widths in both themes, into `screens/`.
 */
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { NARROW, openConsoleStage, WIDE } from './console-stage.ts'
import { sendDay } from './traffic.ts'

const OUT = join(import.meta.dirname, '..', '..', 'screens')
const receiver = createServer((request, response) => {
  request.resume()
  response.writeHead(deliveries++ % 9 === 8 ? 502 : 204).end()
})
let deliveries = 0
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
after(() => void receiver.close().closeAllConnections())
const stage = await openConsoleStage({
  GATEHOOK_TEST_CLOCK: '1',
  GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
})
const { port } = receiver.address() as AddressInfo
const traffic = await sendDay(stage, `http://127.0.0.1:${port}/hook`)
const rejected = await stage.json('GET', '/admin/requests?error=insufficient_scope&limit=1')
const [delivery] = (await stage.json('GET', '/admin/deliveries?limit=1')).data
const year = new Date((await stage.json('GET', '/admin/clock')).now).getUTCFullYear() + 1
await stage.json('PUT', '/admin/versions/v1', {
  sunset_at: `${year}-12-30T00:00:00Z`,
  migration_guide: 'https://example.com/v2',
  brownouts: [{ start: `${year}-11-02T09:00:00Z`, end: `${year}-11-02T13:00:00Z` }],
})
after(() => console.log(`pictures are in ${OUT}`))

interface Shot {
  readonly name: string
  readonly path: string
  readonly before?: (page: Page) => Promise<unknown>
  /** The session of the tab; default: an operator. */
  readonly session?: 'none' | 'portal'
}

const shots: readonly Shot[] = [
  { name: 'sign-in', path: '/console', session: 'none' },
  { name: 'setup', path: '/console/setup' },
  { name: 'overview', path: '/console/overview' },
  { name: 'requests', path: '/console/requests' },
  { name: 'events', path: '/console/events' },
  {
    name: 'event',
    path: '/console/events?type=order.*',
    before: (page) =>
      page
        .locator('table a.cover')
        .first()
        .click()
        .then(() => page.waitForTimeout(1500)),
  },
  { name: 'webhooks', path: '/console/webhooks' },
  {
    name: 'webhook',
    path: `/console/webhooks/${(await stage.json('GET', '/admin/webhooks')).data[0].id}`,
  },
  {
    name: 'versions',
    path: '/console/versions',
    before: (page) => page.getByRole('button', { name: 'Move the end…' }).first().waitFor(),
  },
  { name: 'traffic', path: '/console/versions?range=24h' },
  {
    name: 'brownout',
    path: '/console/versions',
    before: (page) => page.getByRole('button', { name: 'Announce a brownout…' }).first().click(),
  },
  { name: 'jobs', path: '/console/jobs' },
  { name: 'keys', path: '/console/keys' },
  { name: 'key', path: `/console/keys/${traffic.reader.id}` },
  {
    name: 'new-key',
    path: '/console/keys',
    before: (page) => page.getByRole('button', { name: 'Create a key' }).click(),
  },
  { name: 'clients', path: '/console/clients' },
  { name: 'customers', path: '/console/customers' },
  { name: 'customer', path: '/console/customers/cus_default' },
  { name: 'data', path: `/console/data/orders?customer=${traffic.customer}` },
  {
    name: 'row',
    path: `/console/data/orders/${traffic.order}?customer=${traffic.customer}&where.amount=>=1000`,
  },
  {
    name: 'new-row',
    path: `/console/data/orders?customer=${traffic.customer}`,
    before: (page) => page.getByRole('button', { name: 'Create', exact: true }).click(),
  },
  { name: 'system', path: '/console/system' },
  { name: 'audit', path: '/console/audit' },
  { name: 'operators', path: '/console/operators' },
  { name: 'why-403', path: `/console/requests/${rejected.data[0].id}?key=${traffic.reader.id}` },
  { name: 'portal-entrance', path: '/portal', session: 'none' },
  { name: 'portal', path: '/portal', session: 'portal' },
  {
    name: 'portal-new-endpoint',
    path: '/portal',
    session: 'portal',
    before: (page) => page.getByRole('button', { name: 'Add an endpoint' }).click(),
  },
  { name: 'portal-endpoint', path: `/portal/webhooks/${delivery.webhook_id}`, session: 'portal' },
  {
    name: 'portal-delivery',
    path: `/portal/webhooks/${delivery.webhook_id}`,
    session: 'portal',
    before: async (page) => {
      await page.locator('table button.link').first().click()
      await page.getByRole('tab', { name: 'Signature' }).first().click()
    },
  },
  { name: 'portal-delivery-page', path: `/portal/deliveries/${delivery.id}`, session: 'portal' },
  ...['start', 'orders', 'webhooks', 'errors', 'changelog'].map(
    (name): Shot => ({ name: `docs-${name}`, path: `/docs/v2/${name}`, session: 'none' }),
  ),
  { name: 'docs', path: '/docs', session: 'none' },
  { name: 'docs-older', path: '/docs/v1/users', session: 'none' },
]

/** Opens the portal of the customer in a tab, by a link of its own. */
async function openPortal(page: Page): Promise<Page> {
  const can = ['keys:read', 'keys:write', 'webhooks:read', 'webhooks:write', 'events:read']
  const body = {
    customer: traffic.customer,
    mode: 'live',
    can: [...can, 'orders:read', 'users:read'],
    email: 'ines@juniper.example',
  }
  const { pathname, hash } = new URL((await stage.json('POST', '/admin/portal-links', body)).url)
  await page.goto(stage.url + pathname + hash)
  await page.getByRole('heading', { name: 'Webhooks' }).waitFor()
  return page
}

/** Tall enough for most of a page. */
const SIZES = {
  wide: { width: WIDE.width, height: 1300 },
  narrow: { width: NARROW.width, height: 1500 },
}

const selected = (process.env.SCREENS ?? '').split(',').filter(Boolean)

await mkdir(OUT, { recursive: true })
for (const [size, viewport] of Object.entries(SIZES)) {
  for (const colorScheme of ['light', 'dark'] as const) {
    test(`${size}, ${colorScheme}`, async (t) => {
      const options = { viewport, colorScheme }
      const anyFault = /./
      const page = await stage.signedIn(t, options, anyFault)
      const stranger = await stage.open(t, options, anyFault)
      const portal = await openPortal(await stage.open(t, options, anyFault))
      for (const { name, path, before, session } of shots) {
        if (selected.length > 0 && !selected.some((start) => name.startsWith(start))) continue
        const tab = session === undefined ? page : session === 'portal' ? portal : stranger
        await tab.goto(stage.url + path)
        await tab.waitForLoadState('networkidle').catch(() => undefined)
        await before?.(tab)
        await tab.waitForTimeout(300)
        const file = join(OUT, `${name}-${size}-${colorScheme}.png`)
        await tab.screenshot({ path: file })
      }
    })
  }
}
