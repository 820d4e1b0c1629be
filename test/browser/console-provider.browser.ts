/** The sign-in page of operators with an identity provider: its link, the way for emergencies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, assertFits, NARROW, openConsoleStage, WIDE } from './console-stage.ts'

const issuer = 'https://idp.example'
const stage = await openConsoleStage({
  GATEHOOK_OPERATORS_ISSUER: issuer,
  GATEHOOK_OPERATORS_CLIENT_ID: 'console',
  GATEHOOK_OPERATORS_CLIENT_SECRET: 'a secret of the console, long enough',
  GATEHOOK_OPERATORS_ROLES: 'platform-admins=admin',
  GATEHOOK_OPERATORS_PASSWORDS: 'break-glass',
})

for (const viewport of [WIDE, NARROW]) {
  test(`the provider comes first, a password is for emergencies [${viewport.width}]`, async (t) => {
    const page = await stage.open(t, { viewport }, /status of 401/)
    await page.goto(`${stage.url}/console/requests`)
    const link = page.getByRole('link', { name: 'Sign in with idp.example' })
    await link.waitFor()
    assert.match((await link.getAttribute('href'))!, /^\/console\/oidc\?return=/)
    assert.equal(await page.getByLabel('Password', { exact: true }).isVisible(), false)
    await assertAccessible(page, 'sign in with a provider')
    await assertFits(page, 'sign in with a provider')
    await page.getByText('Emergency: sign in with a password').click()
    await page.getByLabel('Password', { exact: true }).waitFor()
    await page.getByText('Each use is reported to all operators.').waitFor()
    await assertAccessible(page, 'an emergency')
    await assertFits(page, 'an emergency')
  })
}
