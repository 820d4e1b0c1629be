/** The System page: the failed checks of a node in words, and the keys that sign tokens. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, openConsoleStage } from './console-stage.ts'

const stage = await openConsoleStage({ GATEHOOK_TEST_CLOCK: '1' })

const UNLOGGED = 'The table orders is unlogged.'

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

test('options and declarations that differ are listed with their nodes', async (t) => {
  const page = await stage.signedIn(t)
  const values = [
    { value: 'none', nodes: ['api-1'] },
    { value: '10.0.0.0/8', nodes: ['api-2', 'api-3'] },
  ]
  const option = { kind: 'option', name: 'GATEHOOK_TRUST_PROXY', values, columns: [] }
  const digests = values.map(({ nodes }, at) => ({ value: `0a1b2c3d4e5${at}`, nodes }))
  const columns = ['price']
  const declaration = { kind: 'declaration', name: 'orders', values: digests, columns }
  await page.route('**/admin/system', async (route) => {
    const response = await route.fetch()
    const json = { ...(await response.json()), node_differences: [option, declaration] }
    await route.fulfill({ response, json })
  })
  await page.goto(`${stage.url}/console/system`)
  const rowOf = (name: string) => page.locator('main tbody tr', { hasText: name })
  await rowOf('GATEHOOK_TRUST_PROXY').getByText('api-2, api-3: 10.0.0.0/8').first().waitFor()
  await rowOf('orders').getByText('price', { exact: true }).last().waitFor()
  await assertAccessible(page, 'different nodes')
})

test('notices name nodes that ended, failed to start, or differ', async (t) => {
  const page = await stage.signedIn(t)
  const since = new Date(Date.now() - 120_000).toISOString()
  const item = (kind: string, severity: string, facts: object) => ({
    ...{ id: `${kind}.service`, kind, severity, since, facts, customer: null, mode: null },
    subject: { type: 'service', id: 'service', label: 'api-2' },
  })
  const ended = [{ ended_at: since, how: 'silent' }]
  const values = [
    { value: null, nodes: ['api-1'] },
    { value: null, nodes: ['api-2'] },
  ]
  const differences = [{ name: 'GATEHOOK_OPERATORS_CLIENT_SECRET', values, columns: [] }]
  const message = 'The master secret does not fit the database.'
  const nodes = ['api-1', 'api-2']
  const data = [
    item('node_start_failed', 'bad', { reason: 'configuration', message }),
    item('node_options_differ', 'warn', { differences }),
    item('nodes_missing', 'warn', { running: 1, ended, message: 'Its log has the reason.' }),
    item('node_warning', 'bad', { check: 'schema', warnings: [{ message: UNLOGGED, nodes }] }),
  ]
  const json = { data, delayed: 0, next_cursor: null, has_more: false }
  await page.route('**/admin/attention', (route) => route.fulfill({ json }))
  await page.goto(`${stage.url}/console/overview`)
  const notices = page.locator('main')
  await notices.getByText(/api-2 failed to start .*: The master secret does not fit/).waitFor()
  await notices
    .getByText(/one reported last .*, not back since; 1 node runs\. Its log has/)
    .waitFor()
  await notices.getByText(`api-1, api-2: ${UNLOGGED}`).waitFor()
  await notices.getByText(/api-1: another secret, api-2: another secret/).waitFor()
  await assertAccessible(page, 'notices of nodes')
})
