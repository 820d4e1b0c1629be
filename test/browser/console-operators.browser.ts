/** The Operators page: administrators create, invite and disable operators; others read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, NARROW, openConsoleStage, WIDE } from './console-stage.ts'

const PASSWORD = 'a long enough phrase'
const stage = await openConsoleStage()
const list = `${stage.url}/console/operators`
const drawer = (page: Page) => page.getByRole('complementary')

async function openDialog(page: Page, button: string) {
  await page.getByRole('button', { name: button, exact: true }).click()
  return page.getByRole('dialog')
}

for (const viewport of [WIDE, NARROW]) {
  test(`an operator is created, invited, changed and disabled [${viewport.width}]`, async (t) => {
    const email = `ann${viewport.width}@example.com`
    const page = await stage.signedIn(t, { viewport }, /status of 422/)
    await page.goto(list)
    const creation = await openDialog(page, 'Create an operator')
    await creation.getByLabel('E-mail address').fill(email)
    await creation.getByLabel('First password').fill('short')
    await page.keyboard.press('Enter')
    await creation.locator('.field .err').waitFor()
    await assertAccessible(page, 'a rejected operator')
    await creation.getByLabel('First password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await drawer(page).getByRole('heading', { name: email }).waitFor()
    await drawer(page).getByText('support: changes keys, webhooks and deliveries').waitFor()

    const link = await openDialog(page, 'Link…')
    await link.getByRole('button', { name: 'Create the link' }).click()
    const { pathname, hash } = new URL(await link.locator('.secret code').innerText())
    await link.getByRole('button', { name: 'I have stored it' }).click()
    const invitation = await openDialog(page, 'Link…')
    await invitation.getByRole('button', { name: 'Mail it' }).click()
    await page.getByText(/^A mail with a link goes to /).waitFor()
    assert.ok(!(await page.content()).includes(hash))
    const invited = await stage.open(t, {}, /status of 401/)
    await invited.goto(stage.url + pathname + hash)
    await invited.getByRole('heading', { name: 'Overview' }).waitFor()

    const role = await openDialog(page, 'Role…')
    await role.getByLabel('Role').selectOption('viewer')
    await role.getByRole('button', { name: 'Save' }).click()
    await drawer(page).getByText('viewer: reads everything').waitFor()
    await drawer(page).locator('tbody tr').first().waitFor()
    await assertAccessible(page, 'an operator with a session')
    await assertFits(page, 'an operator with a session')

    const factor = await openDialog(page, 'Second factor…')
    await factor.getByRole('button', { name: 'Remove' }).click()
    await drawer(page).getByText('The operator is not signed in.').waitFor()
    const disabling = await openDialog(page, 'Disable…')
    await disabling.getByRole('button', { name: 'Disable', exact: true }).click()
    await drawer(page).locator('.st', { hasText: 'Disabled' }).waitFor()
    assert.equal(await drawer(page).getByRole('button', { name: 'Link…' }).count(), 0)
    await invited.reload()
    await invited.getByRole('heading', { name: 'Sign in' }).waitFor()
    const enabling = await openDialog(page, 'Enable…')
    await enabling.getByRole('button', { name: 'Enable', exact: true }).click()
    await drawer(page).locator('.st', { hasText: 'Active' }).waitFor()
  })
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`a viewer reads the operators, and changes none [${colorScheme}]`, async (t) => {
    const page = await stage.signedInAs(t, 'viewer', { colorScheme })
    await page.goto(`${list}?role=viewer`)
    assert.equal(await page.getByRole('button', { name: 'Create an operator' }).count(), 0)
    await page.getByRole('row', { name: /\(you\)/ }).waitFor()
    await assertAccessible(page, 'operators')
    await page.locator('main a.cover').first().click()
    await drawer(page).getByText('viewer: reads everything').waitFor()
    assert.equal(await drawer(page).getByRole('button', { name: /…$/ }).count(), 0)
  })
}

test('administrators leave their own account to another one', async (t) => {
  const page = await stage.signedInAs(t, 'administrator')
  await page.goto(`${list}?role=administrator`)
  await page.locator('tbody tr', { hasText: '(you)' }).locator('a.cover').click()
  await drawer(page).getByText('Another administrator must change your own account.').waitFor()
  assert.equal(await drawer(page).getByRole('button', { name: 'Role…' }).count(), 0)
})
