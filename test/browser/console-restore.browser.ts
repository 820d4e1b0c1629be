/** Restored data in the console: an administrator releases and confirms it, no other role does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, NARROW, openConsoleStage, WIDE } from './console-stage.ts'

const stage = await openConsoleStage({}, undefined, ['--restored'])

const notice = (page: Page, words: string) => page.locator('.attention li', { hasText: words })
const held = (page: Page) => notice(page, 'Deliveries, jobs and mail are held')
const unknown = (page: Page) => notice(page, 'revocations after')
const readRestore = async () => (await stage.json('GET', '/admin/system')).restore

test('other roles read the state, and have no button', async (t) => {
  for (const role of ['viewer', 'support'] as const) {
    const page = await stage.signedInAs(t, role)
    await page.goto(`${stage.url}/console/overview`)
    await held(page).waitFor()
    await unknown(page).waitFor()
    assert.equal(await held(page).getByRole('button', { name: 'Release' }).count(), 0, role)
    assert.equal(await unknown(page).getByRole('button', { name: 'Confirm' }).count(), 0, role)
  }
})

test('an administrator releases and confirms restored data, by keyboard', async (t) => {
  const page = await stage.signedInAs(t, 'administrator', { viewport: NARROW })
  await page.goto(`${stage.url}/console/overview`)
  await held(page).waitFor()
  await assertAccessible(page, 'restored data')
  assert.deepEqual(
    [(await readRestore()).held, (await readRestore()).revocations],
    [true, 'unknown'],
  )
  await held(page).getByRole('button', { name: 'Release' }).press('Enter')
  await page.getByText('Released').waitFor()
  await held(page).waitFor({ state: 'detached' })
  assert.deepEqual(
    [(await readRestore()).held, (await readRestore()).revocations],
    [false, 'unknown'],
    'one button, one effect',
  )
  await unknown(page).getByRole('button', { name: 'Confirm' }).press('Enter')
  await unknown(page).waitFor({ state: 'detached' })
  assert.equal((await readRestore()).revocations, 'confirmed')

  const other = await stage.signedIn(t, { viewport: WIDE })
  await other.goto(`${stage.url}/console/audit`)
  for (const action of ['restore.release', 'restore.confirm']) {
    await other.locator('main tbody tr', { hasText: action }).waitFor()
  }
})
