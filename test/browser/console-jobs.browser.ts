/** The console's page of jobs: states, the error and the input of one, retry and cancel. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { eventually } from '../rig/eventually.ts'
import { assertAccessible, assertFits, NARROW, openConsoleStage, WIDE } from './console-stage.ts'

const PRINTING = fileURLToPath(new URL('printing', import.meta.url))
const stage = await openConsoleStage({}, PRINTING)
const { id: customer } = await stage.json('POST', '/admin/customers', { name: 'Town press' })
await stage.json('POST', `/admin/as/${customer}/live/api/v1/pages`, { text: 'Earthsea' })
const jobsIn = async (state: string): Promise<readonly { id: string; name: string }[]> =>
  (await stage.json('GET', `/admin/jobs?customer=${customer}&state=${state}`)).data
const isOne = (rows: readonly unknown[]) => rows.length === 1
const [failed] = await eventually(() => jobsIn('failed'), isOne)
const [waiting] = await eventually(() => jobsIn('waiting'), isOne)

const drawer = (page: Page) => page.getByRole('complementary')

async function openJobs(page: Page, path = ''): Promise<void> {
  await page.goto(`${stage.url}/console/jobs${path}`)
  await page.locator('main[aria-busy=false]').waitFor()
}

const namesOf = (page: Page) => page.locator('main tbody a.cover').allInnerTexts()

test('jobs are selected by their state; recurring ones are a list of their own', async (t) => {
  const page = await stage.signedIn(t)
  await openJobs(page)
  await page.getByRole('row', { name: /print_page.*Failed.*Town press.*no paper/ }).waitFor()
  await page.getByRole('row', { name: /page\.created.*Done/ }).waitFor()
  assert.deepEqual((await namesOf(page)).toSorted(), ['bind_book', 'page.created', 'print_page'])
  await page.getByRole('button', { name: 'Failed', exact: true }).click()
  await page.getByRole('row', { name: /bind_book/ }).waitFor({ state: 'detached' })
  assert.match(page.url(), /state=failed/)
  assert.deepEqual(await namesOf(page), ['print_page'])
  await page.getByRole('button', { name: 'All', exact: true }).click()
  await page.getByRole('button', { name: 'Recurring' }).click()
  await page.getByRole('row', { name: /clean_press.*Waiting/ }).waitFor()
  assert.deepEqual(await namesOf(page), ['clean_press'])
  await page.getByRole('link', { name: 'clean_press' }).click()
  await drawer(page).getByRole('button', { name: 'Run now' }).waitFor()
  assert.equal(await drawer(page).getByRole('button', { name: 'Cancel the job…' }).count(), 0)
})

test('the attention list leads to the failed jobs, the palette to one of them', async (t) => {
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/overview`)
  const notice = page.getByRole('listitem').filter({ hasText: 'print_page failed' })
  await notice.getByRole('link', { name: 'Open' }).click()
  await page.getByRole('row', { name: /print_page.*Failed/ }).waitFor()
  assert.match(page.url(), /jobs\?state=failed&name=print_page/)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: /Search or jump/ }).fill(failed!.id)
  await page.getByRole('option', { name: failed!.id }).waitFor()
  await page.keyboard.press('Enter')
  await drawer(page).getByRole('heading', { name: 'print_page' }).waitFor()
})

test('a job that failed has its error and its input, and is retried', async (t) => {
  const page = await stage.signedIn(t)
  await openJobs(page, `/${failed!.id}`)
  await drawer(page).getByText('Error: no paper for page 1').waitFor()
  assert.match(await drawer(page).innerText(), /"page_id": 1/)
  await drawer(page).getByRole('button', { name: 'Retry', exact: true }).click()
  await page.getByText('print_page is due.').waitFor()
  const trail = await stage.json('GET', '/admin/audit?action=job.retry')
  assert.deepEqual(
    trail.data.map(({ target }: { target: string }) => target),
    [failed!.id],
  )
  await eventually(() => jobsIn('failed'), isOne)
})

test('a job that waits is canceled after a confirmation, and can be retried', async (t) => {
  const page = await stage.signedIn(t)
  await openJobs(page, `/${waiting!.id}`)
  await drawer(page).getByRole('button', { name: 'Cancel the job…' }).click()
  const dialog = page.getByRole('dialog')
  await assertAccessible(page, 'the dialog that cancels a job')
  await dialog.getByRole('button', { name: 'Cancel the job' }).click()
  await drawer(page).getByText('Canceled').waitFor()
  await drawer(page).getByRole('button', { name: 'Retry', exact: true }).waitFor()
  assert.equal((await jobsIn('canceled')).length, 1)
})

test('support sees a job and changes none', async (t) => {
  const page = await stage.signedInAs(t, 'support')
  await openJobs(page, `/${failed!.id}`)
  await drawer(page).getByText('Error: no paper').waitFor()
  assert.equal(
    await drawer(page)
      .getByRole('button', { name: /Retry|Run now|Cancel/ })
      .count(),
    0,
  )
})

for (const colorScheme of ['light', 'dark'] as const) {
  test(`jobs are accessible and fit their window, ${colorScheme}`, async (t) => {
    const page = await stage.signedIn(t, { colorScheme })
    for (const path of ['', `/${failed!.id}`]) {
      await openJobs(page, path)
      for (const viewport of [WIDE, NARROW]) {
        await page.setViewportSize(viewport)
        await assertAccessible(page, `jobs${path} ${viewport.width} ${colorScheme}`)
      }
      for (const width of [320, 768, 1920]) {
        await page.setViewportSize({ width, height: 800 })
        await assertFits(page, `jobs${path} at ${width} px`)
      }
    }
  })
}

test('each link of the side bar has its own name, also of a resource like a page', async (t) => {
  const page = await stage.signedIn(t)
  await page.goto(`${stage.url}/console/overview`)
  const bar = page.getByRole('navigation', { name: 'Console' })
  await bar.getByRole('link', { name: 'customers (rows)', exact: true }).click()
  await page.waitForURL(/\/console\/data\/customers/)
  const names = (await bar.getByRole('link').allInnerTexts()).map((name) => name.toLowerCase())
  assert.ok(names.includes('customers'))
  assert.deepEqual(names, [...new Set(names)])
})
