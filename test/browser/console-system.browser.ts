/** The System page: the failed checks of a node in words, and the keys that sign tokens. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, openConsoleStage } from './console-stage.ts'

const stage = await openConsoleStage({ GATEHOOK_TEST_CLOCK: '1' })

test('a node that is not ready has the sentence of each failed check', async (t) => {
  const page = await stage.signedIn(t)
  const reasons = [
    { check: 'writes', message: 'The database does not accept writes at the moment.' },
    { check: 'draining', message: 'This node is shutting down.' },
  ]
  await page.route('**/admin/system', async (route) => {
    const response = await route.fetch()
    const body = await response.json()
    assert.deepEqual(body.health, { status: 'ready', reasons: [] })
    await route.fulfill({ response, json: { ...body, health: { status: 'not_ready', reasons } } })
  })
  await page.goto(`${stage.url}/console/system`)
  const words = reasons.map(({ message }) => message).join(' ')
  await page.locator('main').getByText(words).waitFor()
})

test('while the database serves no operator, the console says why', async (t) => {
  const page = await stage.signedIn(t, {}, /the server responded with a status of 503/)
  const message = 'The database has no connection left for this node.'
  const error = 'storage_unavailable'
  const problem = { error, message: 'The database is unavailable. Retry later.', status: 503 }
  const reasons = [{ check: 'primary', message }]
  const away = /\/(admin|console\/session)/
  await page.route(away, (route) => route.fulfill({ status: 503, json: problem }))
  await page.route('**/readyz', (route) =>
    route.fulfill({ status: 503, json: { status: 'not_ready', reasons } }),
  )
  await page.goto(`${stage.url}/console/system`)
  await page.getByRole('alert').filter({ hasText: message }).first().waitFor()
  await page.unroute(away)
  await page.getByRole('button', { name: 'Try again' }).first().click()
  await page.getByRole('heading', { name: 'System' }).waitFor()
})

test('the page lists the signing key by its id', async (t) => {
  const { keys } = await stage.json('GET', '/.well-known/jwks.json')
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/system`)
  const row = page.locator('main tbody tr', { hasText: keys[0].kid })
  await row.getByText('Signs', { exact: true }).waitFor()
  await assertAccessible(page, 'system')
})

test('the keys g d open the rows of the only customer', async (t) => {
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/system`)
  await page.getByRole('heading', { name: 'System' }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('d')
  await page.waitForURL(/\/console\/data\/users/)
  await page.getByText(/has no rows of users in live mode yet/).waitFor()
  await assertAccessible(page, 'an empty list')
})
