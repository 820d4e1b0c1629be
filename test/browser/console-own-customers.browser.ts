/** A resource of the team is named `customers`: the console distinguishes its rows and tenants. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { assertAccessible, openConsoleStage, WIDE } from './console-stage.ts'

const INVOICING = fileURLToPath(
  new URL('../../packages/gatehook/examples/invoicing', import.meta.url),
)
const stage = await openConsoleStage({}, INVOICING)
const { id: tenant } = await stage.json('POST', '/admin/customers', { name: 'Acme tenant' })
const API = `/admin/as/${tenant}/live/api/v2`
const body = { name: 'Acme buyer', email: 'buyer@acme.example' }
const { id: buyer } = await stage.json('POST', `${API}/customers`, body)

test('tenants and the rows of a resource `customers` have titles of their own', async (t) => {
  const page = await stage.signedIn(t, { viewport: WIDE })
  await page.goto(`${stage.url}/console/customers`)
  const heading = () => page.getByRole('heading', { level: 1 }).textContent()
  await page.getByRole('heading', { level: 1, name: 'Customers', exact: true }).waitFor()
  assert.match(await page.title(), /^Customers · /)
  await page.getByRole('link', { name: 'customers (rows)' }).click()
  await page.getByRole('heading', { level: 1, name: 'customers (rows)' }).waitFor()
  assert.equal(await heading(), 'customers (rows)')
  assert.match(await page.title(), /^customers \(rows\) · /)
  const links = await page.getByRole('navigation', { name: 'Console' }).getByRole('link').all()
  const names = await Promise.all(links.map((link) => link.textContent()))
  assert.equal(new Set(names.map((name) => name?.toLowerCase())).size, names.length)
  await assertAccessible(page, 'own customers')
})

test('a search names the kind of each result', async (t) => {
  const page = await stage.signedIn(t, { viewport: WIDE })
  const results = async (q: string) =>
    (await stage.json('GET', `/admin/search?q=${encodeURIComponent(q)}`)).data.map(
      ({ type, label }: { type: string; label: string }) => `${type} ${label}`,
    )
  assert.deepEqual(await results('Acme t'), ['customer Acme tenant'])
  assert.deepEqual(await results(buyer), [`row customers ${buyer}`])
  await page.goto(`${stage.url}/console/overview`)
  await page.getByRole('button', { name: 'Search or jump' }).click()
  await page.getByRole('combobox', { name: /^Search or jump/ }).fill('customers')
  await page.getByRole('option', { name: /customers \(rows\)/ }).waitFor()
})
