/** The console's page of keys: create with the keyboard, roll, change and revoke. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, NARROW, openConsoleStage, WIDE } from './console-stage.ts'

const stage = await openConsoleStage()
const shop = await stage.json('POST', '/admin/customers', { name: 'Harbour Shop' })

const createKey = (name: string): Promise<{ id: string; key: string }> =>
  stage.json('POST', '/admin/keys', {
    name,
    customer: shop.id,
    mode: 'live',
    scopes: ['users:read'],
  })

const read = (key: string) => stage.call('GET', '/api/v2/users', undefined, key)
const drawer = (page: Page) => page.getByRole('complementary')

async function openDialog(page: Page, button: string) {
  await page.getByRole('button', { name: button, exact: true }).click()
  return page.getByRole('dialog')
}

/** Returns every text that the browser stores or displays. */
const traces = (page: Page): Promise<string> =>
  page.evaluate<string>(`JSON.stringify([document.documentElement.outerHTML, location.href,
    { ...localStorage }, { ...sessionStorage }, history.state])`)

const focusedLabel = (page: Page): Promise<string | null> =>
  page.evaluate<string | null>(`document.activeElement.getAttribute('aria-label')`)

for (const viewport of [WIDE, NARROW]) {
  test(`a key is created with the keyboard, and displayed once [${viewport.width}]`, async (t) => {
    const page = await stage.signedIn(t, { viewport }, /status of 422/)
    await page.goto(`${stage.url}/console/keys?customer=${shop.id}`)
    const create = page.getByRole('button', { name: 'Create a key' })
    await create.focus()
    await page.keyboard.press('Enter')
    const sheet = page.getByRole('dialog')
    await sheet.getByText('users').first().waitFor()
    await assertAccessible(page, 'the form of a key')
    const name = `Till ${viewport.width}`
    await page.keyboard.type(name)
    assert.equal(await sheet.getByLabel('Customer', { exact: true }).inputValue(), shop.id)
    for (let n = 0; (await focusedLabel(page)) !== 'users:read'; n++) {
      assert.ok(n < 30, 'the scope is in the tab order')
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Space')
    assert.ok(await sheet.getByRole('checkbox', { name: 'users:read' }).isChecked())
    await page.keyboard.press('Enter')
    const value = sheet.locator('.secret code')
    const key = await value.innerText()
    assert.match(key, /^gk_live_/)
    await assertAccessible(page, 'the new key')
    await assertFits(page, 'the new key')

    // Leaving without the key needs a second decision.
    await page.keyboard.press('Escape')
    await sheet.getByText('cannot display this key again').waitFor()
    assert.equal((await read(key)).status, 200)
    await sheet.getByRole('status').getByText('Arrived at').waitFor()
    await sheet.getByLabel('I have stored it').check()
    await sheet.getByRole('button', { name: 'Done' }).click()
    await sheet.waitFor({ state: 'detached' })
    assert.ok(!(await traces(page)).includes(key))
    await page.getByRole('link', { name }).click()
    await drawer(page)
      .getByText('From 127.0.0.1')
      .or(drawer(page).getByText('No request'))
      .waitFor()
    assert.ok(!(await traces(page)).includes(key))
    await assertAccessible(page, 'a key')
    await assertFits(page, 'a key')
  })
}

test('a form without scopes or with a wrong address says so at the field', async (t) => {
  const page = await stage.signedIn(t, {}, /status of 422/)
  await page.goto(`${stage.url}/console/keys`)
  const sheet = await openDialog(page, 'Create a key')
  await sheet.getByLabel('Name').fill('Broken')
  await sheet.getByLabel('Addresses').fill('not-an-address')
  await sheet.getByRole('button', { name: 'Create the key' }).click()
  await sheet.locator('.field', { hasText: 'Addresses' }).locator('.err').waitFor()
  await assertAccessible(page, 'a rejected form')
})

test('a key is rolled: both secrets are valid, and the list says until when', async (t) => {
  const { id, key } = await createKey('Rolled')
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/keys/${id}`)
  const dialog = await openDialog(page, 'Roll…')
  await dialog.getByRole('button', { name: 'Roll the key' }).click()
  const rolled = await dialog.locator('.secret code').innerText()
  await assertAccessible(page, 'the rolled key')
  const stays = `The old secret ${key.slice(0, 8)}…${key.slice(-4)} stays valid until \\d+ `
  assert.match((await dialog.textContent())!, new RegExp(stays))
  await page.keyboard.press('Escape')
  await dialog.getByRole('button', { name: 'I have stored it' }).click()
  await drawer(page).getByText('Old secret ends', { exact: true }).waitFor()
  await page.locator('main .st', { hasText: 'Old secret ends in' }).waitFor()
  assert.deepEqual([(await read(key)).status, (await read(rolled)).status], [200, 200])
})

test('scopes, addresses and the end of a key change, and the server confirms', async (t) => {
  const { id } = await createKey('Changed')
  const page = await stage.signedIn(t, {}, /status of 422/)
  await page.goto(`${stage.url}/console/keys/${id}`)
  const dialog = await openDialog(page, 'Change…')
  await dialog.getByRole('checkbox', { name: 'users:write' }).check()
  await dialog.getByText('Adds users:write.').waitFor()
  await dialog.getByLabel('Expires on (UTC)').fill('tomorrow')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.locator('.err').waitFor()
  await dialog.getByLabel('Expires on (UTC)').fill('2099-06-30')
  await dialog.getByLabel('Addresses').fill('203.0.113.0/24')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await drawer(page).getByText('203.0.113.0/24').waitFor()
  await drawer(page).getByText('users:read, users:write').waitFor()
  await drawer(page).getByText('30 Jun 2099').waitFor()
})

test('a key in use is revoked by its typed name, an unused one by one click', async (t) => {
  const used = await createKey('In use')
  const unused = await createKey('Unused')
  await read(used.key)
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/keys/${unused.id}`)
  const first = await openDialog(page, 'Revoke…')
  assert.equal(await first.getByLabel(/^Type/).count(), 0)
  await first.getByRole('button', { name: 'Revoke the key' }).click()
  await drawer(page).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Unused' }).waitFor({ state: 'detached' })

  await page.goto(`${stage.url}/console/keys/${used.id}`)
  const second = await openDialog(page, 'Revoke…')
  const revoke = second.getByRole('button', { name: 'Revoke the key' })
  assert.equal(await revoke.getAttribute('aria-disabled'), 'true')
  await second.getByLabel('Type In use to confirm').fill('In use')
  await revoke.click()
  await drawer(page).waitFor({ state: 'detached' })
  assert.equal((await read(used.key)).status, 403)
})

test('the filter finds keys by customer, use and end', async (t) => {
  await createKey('Never used')
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/keys?of=${shop.id}&expires=30d`)
  await page.getByText('No key matches').waitFor()
  await page.getByRole('button', { name: 'Remove expires: 30d' }).click()
  await page.getByRole('link', { name: 'Never used' }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('unused:soon')
  await page.keyboard.press('Enter')
  await page.getByText('It must be a number of days: 90d.').waitFor()
})
