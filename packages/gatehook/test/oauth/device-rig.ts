/** A device that requests codes and polls, and a person who decides in a browser. */
import assert from 'node:assert/strict'
import { DEVICE_GRANT } from '../../src/identity/oauth/client.ts'
import {
  type Client,
  follow,
  form,
  type OauthFixture,
  PASSWORD,
  type Page,
  type Person,
  type TestBrowser,
} from './rig.ts'

export const DEVICE_PAGE = '/oauth/device'
export const DEVICE_GRANTS = ['refresh_token', DEVICE_GRANT]

export const createDeviceClient = (fixture: OauthFixture, members = {}) =>
  fixture.createClient({
    name: 'TV app',
    redirect_uris: [],
    public: true,
    grant_types: DEVICE_GRANTS,
    ...members,
  })

export const deviceOf = (
  { anonymous }: Pick<OauthFixture, 'anonymous'>,
  client: Pick<Client, 'client_id'>,
) => {
  const { client_id } = client
  return {
    request: (fields: Record<string, string> = {}) =>
      form(anonymous, '/oauth/device_authorization', { client_id, ...fields }),
    poll: (device_code: string, fields: Record<string, string> = {}) =>
      form(anonymous, '/oauth/token', {
        grant_type: DEVICE_GRANT,
        client_id,
        device_code,
        ...fields,
      }),
  }
}

/** Enters the code and signs in, in the order of the pages. Returns the last page. */
export async function enterCode(
  browser: TestBrowser,
  userCode: string,
  { email }: Pick<Person, 'email'>,
): Promise<Page> {
  let page = await browser.get(DEVICE_PAGE)
  for (let step = 0; step < 4 && page.status === 200; step++) {
    if (page.text.includes('name="user_code"')) {
      page = await browser.post(DEVICE_PAGE, { user_code: userCode })
    } else if (page.text.includes('name="password"')) {
      const fields = { username: email, password: PASSWORD, action: 'sign-in' }
      const next = await browser.submit(page, fields)
      page = next.status === 303 ? await follow(browser, next) : next
    } else {
      return page
    }
  }
  return page
}

/** Lets a person decide; returns the page that says so. */
export async function decide(
  browser: TestBrowser,
  userCode: string,
  person: Pick<Person, 'email'>,
  action: 'allow' | 'cancel' = 'allow',
): Promise<Page> {
  const page = await enterCode(browser, userCode, person)
  assert.match(page.text, /name="action" value="allow"/, page.text)
  return browser.submit(page, { action })
}
