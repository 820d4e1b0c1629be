/** Trusted issuers in the console: the form, the explanation of an assertion, and the deletion. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, NARROW, openConsoleStage, WIDE } from './console-stage.ts'

const stage = await openConsoleStage()
const list = `${stage.url}/console/issuers`
const drawer = (page: Page) => page.getByRole('complementary')
const dialog = (page: Page) => page.getByRole('dialog')
const { privateKey, publicKey } = await generateKeyPair('ES256')
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }] }

const assertionOf = (issuer: string, repository: string) =>
  new SignJWT({ repository, jti: crypto.randomUUID() })
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setIssuer(issuer)
    .setSubject('repo:acme/shop')
    .setAudience(stage.url)
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(privateKey)

for (const viewport of [WIDE, NARROW]) {
  test(`an issuer is trusted, explains and ends [${viewport.width}]`, async (t) => {
    const issuer = `https://ci${viewport.width}.example.com`
    const page = await stage.signedIn(t, { viewport }, /status of 422/)
    await page.goto(list)
    await page.getByRole('button', { name: 'Trust an issuer' }).click()
    const form = dialog(page)
    await form.getByLabel('Kind', { exact: true }).selectOption('Kubernetes service accounts')
    assert.equal(
      await form.getByLabel('Claims', { exact: true }).inputValue(),
      'sub=system:serviceaccount:',
    )
    await form.getByLabel('Kind', { exact: true }).selectOption('GitHub Actions')
    await form.getByLabel('Issuer', { exact: true }).fill(issuer)
    await form.getByLabel('Its keys', { exact: true }).selectOption('stored here')
    await form.getByLabel('Public keys (JWK set)', { exact: true }).fill('no JSON')
    await form.getByLabel('Claims', { exact: true }).fill('ref=refs/heads/main')
    const submit = form.getByRole('button', { name: 'Trust the issuer' })
    await submit.click()
    await form.getByText('These keys are no JSON.').waitFor()
    await form.getByLabel('Public keys (JWK set)', { exact: true }).fill(JSON.stringify(jwks))
    await submit.click()
    await form.locator('.field .err').getByText('names no claim of the owner').waitFor()
    await assertAccessible(page, 'a rejected issuer')
    await assertFits(page, 'a rejected issuer')
    await form
      .getByLabel('Claims', { exact: true })
      .fill('repository=acme/shop\nrepository=acme/till')
    await form.getByLabel('users:read', { exact: true }).check()
    await submit.click()

    await drawer(page).getByRole('heading', { name: issuer }).waitFor()
    await drawer(page).getByText('{"repository":["acme/shop","acme/till"]}').waitFor()
    await assertAccessible(page, 'an issuer')
    await assertFits(page, 'an issuer')
    await drawer(page).getByRole('button', { name: 'Explain an assertion…' }).click()
    await dialog(page)
      .getByLabel('Assertion', { exact: true })
      .fill(await assertionOf(issuer, 'evil/shop'))
    await dialog(page).getByRole('button', { name: 'Explain', exact: true }).click()
    await dialog(page).getByText('It is refused.').waitFor()
    await dialog(page).getByText('has another repository').waitFor()
    await assertAccessible(page, 'a refused assertion')
    await assertFits(page, 'a refused assertion')
    await dialog(page)
      .getByLabel('Assertion', { exact: true })
      .fill(await assertionOf(issuer, 'acme/till'))
    await dialog(page).getByRole('button', { name: 'Explain', exact: true }).click()
    await dialog(page).getByText('It is accepted.').waitFor()
    await page.keyboard.press('Escape')

    await drawer(page).getByRole('button', { name: 'Keys and rules…' }).click()
    const claims = dialog(page).getByLabel('Claims', { exact: true })
    assert.equal(await claims.inputValue(), 'repository=acme/shop\nrepository=acme/till')
    await dialog(page).getByRole('button', { name: 'Add a rule' }).click()
    await claims.nth(1).fill('project_id=7\ncontext={"env":"live"}')
    await dialog(page)
      .getByLabel('Caller', { exact: true })
      .nth(1)
      .selectOption('a person, by a verified address')
    await dialog(page).getByLabel('Domains', { exact: true }).fill('example.com, example.org')
    await dialog(page).getByRole('button', { name: 'Remove rule 1' }).click()
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await drawer(page).getByText('{"project_id":"7","context":{"env":"live"}}').waitFor()
    await drawer(page).getByText('example.com, example.org').waitFor()
    const { data } = await stage.json('GET', '/admin/issuers')
    const row = data.find((each: { issuer: string }) => each.issuer === issuer)
    assert.deepEqual([row.rules.length, row.jwks], [1, jwks])

    await drawer(page).getByRole('button', { name: 'Delete…' }).click()
    await dialog(page).getByLabel(`Type ${issuer} to confirm`).fill(issuer)
    await dialog(page).getByRole('button', { name: 'Delete the issuer' }).click()
    await page.getByText(`${issuer} is deleted.`).waitFor()
  })
}

test('a viewer reads issuers, and changes none', async (t) => {
  const match = { repository: 'acme/shop' }
  const rules = [{ match, customer: 'default', mode: 'test', scopes: ['users:read'] }]
  const { id } = await stage.json('POST', '/admin/issuers', { issuer: 'https://a.example', rules })
  const page = await stage.signedInAs(t, 'viewer')
  await page.goto(`${list}/${id}`)
  await drawer(page).getByText('{"repository":"acme/shop"}').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Trust an issuer' }).count(), 0)
  assert.equal(await drawer(page).getByRole('button', { name: /…$/ }).count(), 0)
  await assertAccessible(page, 'an issuer of a viewer')
})
