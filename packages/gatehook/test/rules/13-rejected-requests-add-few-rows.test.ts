/** §13: a sender of requests that the server rejects cannot fill the audit trail. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import {
  authorizePath,
  basicOf,
  CALLBACK,
  exchange,
  obtainCode,
  openBrowser,
  openOauthFixture,
  PASSWORD,
  VERIFIER,
} from '../oauth/rig.ts'

const REPEATS = 12
/** A limit of failed passwords is audited, and one reuse of a credential. */
const ROWS_MAX = 2

for (const { name: kind } of databases) {
  test(`repeats of a rejected request add at most ${ROWS_MAX} rows [${kind}]`, async (t) => {
    const fixture = await openOauthFixture(t, kind)
    const { app, anonymous, client, person } = fixture
    const login = { username: person.email, password: PASSWORD }
    const code = await obtainCode(fixture)
    await exchange(fixture, code)
    const { refresh_token } = (await anonymous.post('/auth/login', login)).body
    await anonymous.post('/auth/refresh', { refresh_token })
    const ended = (await anonymous.post('/auth/login', login)).body
    await anonymous.post('/auth/logout', { refresh_token: ended.refresh_token })
    const browser = openBrowser(app)
    const page = await browser.get(authorizePath(client))
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const token = (fields: Record<string, string>) =>
      anonymous.send('POST', '/oauth/token', new URLSearchParams(fields).toString(), {
        ...basicOf(client),
        ...form,
      })
    const wrong = 'no password of anyone'
    const requests: Readonly<Record<string, () => Promise<{ status: number }>>> = {
      'a used code': () =>
        token({
          ...{ grant_type: 'authorization_code', code, redirect_uri: CALLBACK },
          code_verifier: VERIFIER,
        }),
      'an unknown code': () =>
        token({ grant_type: 'authorization_code', code: 'x', redirect_uri: CALLBACK }),
      'a rotated refresh token': () => anonymous.post('/auth/refresh', { refresh_token }),
      'an ended refresh token': () =>
        anonymous.post('/auth/refresh', { refresh_token: ended.refresh_token }),
      'an ended session': () =>
        anonymous.get('/auth/sessions', { authorization: `Bearer ${ended.access_token}` }),
      'a wrong key': () => anonymous.get('/api/v2/users', { 'x-api-key': 'gk_live_x' }),
      'a wrong secret of a client': () =>
        anonymous.send('POST', '/oauth/token', 'grant_type=client_credentials', {
          ...basicOf({ ...client, client_secret: wrong }),
          ...form,
        }),
      'a used link of the console': () =>
        anonymous.post('/console/session', { token: 'x' }, { 'x-gatehook-console': '1' }),
      'a used link of the portal': () =>
        anonymous.post('/portal/session', { token: 'x' }, { 'x-gatehook-portal': '1' }),
      'an unknown operator': () =>
        anonymous.post(
          '/console/session',
          { email: 'none@example.com', password: wrong },
          { 'x-gatehook-console': '1' },
        ),
      'a wrong password at login': () =>
        anonymous.post('/auth/login', { username: person.email, password: wrong }),
      'a wrong password of Basic': () =>
        anonymous.get('/api/v2/users', {
          authorization: `Basic ${Buffer.from(`${person.email}:${wrong}`).toString('base64')}`,
        }),
      'a wrong password at the sign-in page': () =>
        browser.submit(page, { username: person.email, password: wrong, action: 'sign-in' }),
    }
    const countRows = async () =>
      Number((await app.db.get(sql`SELECT COUNT(*) AS total FROM gh_audit`))!.total)
    for (const [name, send] of Object.entries(requests)) {
      const before = await countRows()
      for (let count = 0; count < REPEATS; count++) {
        const { status } = await send()
        assert.ok(status >= 400 || name.endsWith('page'), `${name}: ${status}`)
      }
      const rows = (await countRows()) - before
      assert.ok(rows <= ROWS_MAX, `${name}: ${rows} rows`)
    }
  })
}
