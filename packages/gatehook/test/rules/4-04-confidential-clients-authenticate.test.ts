/** §4.4, §5.4: a confidential client authenticates to refresh, unless registered otherwise. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import {
  basicOf,
  exchange,
  form,
  type OauthFixture,
  obtainCode,
  openOauthFixture,
} from '../oauth/rig.ts'

const tokenOf = async (fixture: OauthFixture): Promise<string> =>
  (await exchange(fixture, await obtainCode(fixture))).body.refresh_token

for (const { name } of databases) {
  test(`a refresh without the client's secret consumes nothing [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const { anonymous, client, createClient } = fixture
    assert.equal(client.require_client_auth_on_refresh, true)
    const other = await createClient()
    const refresh_token = await tokenOf(fixture)
    const refresh = (headers: Record<string, string> = {}) =>
      anonymous.post('/auth/refresh', { refresh_token }, headers)
    const unauthenticated = await refresh()
    assert.deepEqual([unauthenticated.status, unauthenticated.body.error], [401, 'invalid_client'])
    assert.match(unauthenticated.headers['www-authenticate']!, /^Basic /)
    const wrong = await refresh(basicOf({ ...client, client_secret: 'gs_wrong' }))
    assert.deepEqual([wrong.status, wrong.body.error], [401, 'invalid_client'])
    assert.equal((await refresh(basicOf(other))).body.error, 'invalid_grant')
    const accepted = await refresh(basicOf(client))
    assert.equal(accepted.status, 200, accepted.text)
    // Without the secret, the reuse of a rotated token does not revoke the family.
    assert.equal((await refresh()).body.error, 'invalid_client')
    const next = await form(
      anonymous,
      '/oauth/token',
      { grant_type: 'refresh_token', refresh_token: accepted.body.refresh_token },
      basicOf(client),
    )
    assert.equal(next.status, 200, next.text)
  })

  test(`a client may be registered to refresh without authentication [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const client = await fixture.createClient({ require_client_auth_on_refresh: false })
    const refresh_token = await tokenOf({ ...fixture, client })
    const reply = await fixture.anonymous.post('/auth/refresh', { refresh_token })
    assert.equal(reply.status, 200, reply.text)
  })
}
