/** The sessions of a person in the data browser: operators see them, administrators end them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, NARROW, openConsoleStage, WIDE } from './console-stage.ts'

const PASSWORD = 'correct horse battery'
const stage = await openConsoleStage()
const drawer = (page: Page) => page.getByRole('complementary')
const dialog = (page: Page) => page.getByRole('dialog')

/** Creates a person with sessions; returns its URL in the console, and the access tokens. */
async function createPerson(name: string, sessions: number) {
  const email = `${name.toLowerCase()}@example.com`
  const { id } = await stage.json('POST', '/admin/users', { name, email, password: PASSWORD })
  const tokens: string[] = []
  for (let n = 0; n < sessions; n++) {
    const reply = await fetch(`${stage.url}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: email, password: PASSWORD }),
    })
    const { access_token } = (await reply.json()) as { access_token: string }
    tokens.push(access_token)
  }
  const readStatus = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${stage.url}/auth/sessions`, { headers })).status
  }
  return {
    url: `${stage.url}/console/data/users/${id}`,
    listStatuses: () => Promise.all(tokens.map(readStatus)),
  }
}

for (const viewport of [WIDE, NARROW]) {
  test(`one session ends, then all of them [${viewport.width}]`, async (t) => {
    const name = `Ada${viewport.width}`
    const person = await createPerson(name, 3)
    const page = await stage.signedIn(t, { viewport })
    await page.goto(person.url)
    const rows = drawer(page).getByRole('table', { name: `Sessions of ${name}` })
    await rows.locator('tbody tr').nth(2).waitFor()
    await assertAccessible(page, 'sessions of a person')
    await assertFits(page, 'sessions of a person')
    await rows.getByRole('button', { name: 'End…' }).first().click()
    await dialog(page).getByRole('button', { name: 'End the session' }).click()
    await rows.locator('tbody tr').nth(2).waitFor({ state: 'detached' })
    assert.deepEqual((await person.listStatuses()).toSorted(), [200, 200, 401])
    await drawer(page).getByRole('button', { name: 'End all…' }).click()
    await dialog(page).getByText('2 sessions end, also in the portal.').waitFor()
    await assertAccessible(page, 'the end of all sessions')
    await dialog(page).getByRole('button', { name: 'End all' }).click()
    await drawer(page).getByText(`${name} has no session.`).waitFor()
    assert.deepEqual(await person.listStatuses(), [401, 401, 401])
  })
}

test('a viewer sees the sessions and ends none', async (t) => {
  const person = await createPerson('Bo', 1)
  const page = await stage.signedInAs(t, 'viewer')
  await page.goto(person.url)
  await drawer(page).getByRole('table', { name: 'Sessions of Bo' }).waitFor()
  await drawer(page).getByText('Last sign-in').waitFor()
  assert.equal(await drawer(page).getByRole('button', { name: /^End/ }).count(), 0)
})
