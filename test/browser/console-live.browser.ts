/** Live parts: first steps that tick, the tail of requests, notices that appear by themselves. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, NARROW, openConsoleStage, WIDE } from './console-stage.ts'

let status = 204
const receiver = createServer((request, response) => {
  request.resume()
  response.writeHead(status).end()
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
after(() => void receiver.close().closeAllConnections())
const { port } = receiver.address() as AddressInfo
const stage = await openConsoleStage({ GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' })
const scopes = ['orders:read', 'users:read', 'users:write', 'webhooks:write']
const create = (mode: string) =>
  stage.json('POST', '/admin/keys', { name: `Shop ${mode}`, mode, scopes })
const { key } = await create('live')
const read = (path = '/api/v2/orders') => stage.call('GET', path, undefined, key)

const state = (page: Page, word: string) => page.locator('main .st', { hasText: word })
const step = (page: Page, title: string) => page.locator('.steps li', { hasText: title })

test('the first request and the first webhook tick by themselves', async (t) => {
  const wide = await stage.signedIn(t, { viewport: WIDE })
  const narrow = await stage.signedIn(t, { viewport: NARROW })
  const pages = [wide, narrow]
  for (const page of pages) {
    await page.goto(`${stage.url}/console/setup`)
    await step(page, 'Send a first request').and(page.locator('.now')).waitFor()
    // The node runs a folder that declares a service.
    await step(page, 'Declare a resource').and(page.locator('.done')).waitFor()
  }
  assert.equal((await read()).status, 200)
  for (const page of pages) {
    await step(page, 'The first request has arrived.').and(page.locator('.done')).waitFor()
  }
  const hook = { url: `http://127.0.0.1:${port}/hook`, events: ['user.*'] }
  await stage.json('POST', '/webhooks', hook, key)
  await stage.json('POST', '/api/v2/users', { name: 'Ada', email: 'a@b.example' }, key)
  for (const page of pages) {
    await step(page, 'a receiver has accepted a delivery').and(page.locator('.done')).waitFor()
    await assertAccessible(page, 'first steps')
  }
})

test('new requests enter on top, and wait while the reader reads', async (t) => {
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/requests?path=/api/`)
  const rows = page.locator('main tbody tr')
  const paths = page.locator('main a.cover')
  await state(page, 'Following').waitFor()
  await page.mouse.move(5, 5)
  await page.waitForTimeout(500)
  await read('/api/v2/orders?limit=7')
  await paths.filter({ hasText: 'limit=7' }).waitFor()
  assert.match((await paths.first().textContent())!, /limit=7/)
  // A request that does not match the filter does not enter.
  await stage.call('GET', '/openapi/v2.json')

  // A pointer over the rows stops them.
  await rows.nth(0).hover()
  const before = await paths.first().textContent()
  await read('/api/v2/orders?limit=8')
  const waiting = page.getByRole('button', { name: '1 new, display' })
  await waiting.waitFor()
  assert.equal(await paths.first().textContent(), before)
  await waiting.click()
  await paths.filter({ hasText: 'limit=8' }).waitFor()
  assert.match((await paths.first().textContent())!, /limit=8/)
  assert.equal(await paths.filter({ hasText: 'openapi' }).count(), 0)

  // The reader can stop them; a burst waits in any case.
  await page.mouse.move(5, 5)
  await page.keyboard.press('l')
  await state(page, 'Paused').waitFor()
  await page.keyboard.press('l')
  await state(page, 'Following').waitFor()
  await page.waitForTimeout(500)
  await Promise.all(Array.from({ length: 60 }, () => read('/api/v2/orders?limit=9')))
  await page.getByRole('button', { name: /^\d+ new, display$/ }).click()
  await paths.filter({ hasText: 'limit=9' }).first().waitFor()
  const ids = await page.evaluate<string[]>(
    '[...document.querySelectorAll("main a.cover")].map((link) => link.href)',
  )
  assert.equal(new Set(ids).size, ids.length, 'a row appears twice')
})

test('a failing endpoint appears on the overview, and a notice is put off', async (t) => {
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/overview`)
  await page.getByText('nothing now').waitFor()
  status = 500
  await stage.json('POST', '/api/v2/users', { name: 'Eve', email: 'e@b.example' }, key)
  const notice = page.locator('.attention li', { hasText: 'Failing' })
  await notice.waitFor() // the state is read every 15 s
  await assertAccessible(page, 'a notice')
  await notice.getByRole('button', { name: /^Snooze/ }).click()
  await notice.waitFor({ state: 'detached' })
  await page.reload()
  await page.getByText('nothing now').waitFor()
})

test('at 200 requests a second nothing under the pointer moves, rows are bounded', async (t) => {
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/requests?path=/api/`)
  await state(page, 'Following').waitFor()
  await read()
  const first = page.locator('main a.cover').first()
  await first.hover()
  const heldRow = await first.getAttribute('href')
  const tools = await page.context().newCDPSession(page)
  const heapBytes = async (): Promise<number> => {
    await tools.send('HeapProfiler.collectGarbage')
    return (await tools.send('Runtime.getHeapUsage')).usedSize
  }
  const send = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      const pause = new Promise((resolve) => setTimeout(resolve, 1000))
      await Promise.all(Array.from({ length: 200 }, () => read('/api/v2/orders?limit=1')))
      await pause
    }
  }
  await send(4)
  const before = await heapBytes()
  await send(10)
  const growth = (await heapBytes()) - before
  assert.equal(await first.getAttribute('href'), heldRow)
  assert.ok(growth < 2_000_000, `${growth} bytes more`)
  await page.getByRole('button', { name: /^[\d,]+ new, display$/ }).click()
  const rows = await page.locator('main tbody tr').count()
  assert.ok(rows > 50 && rows <= 550, `${rows} rows`)
})
