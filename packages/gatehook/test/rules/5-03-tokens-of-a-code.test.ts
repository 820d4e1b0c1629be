/** §5.3: a code becomes tokens once, within 60 seconds, for its own client. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { basicOf, codeFor, exchange, form, openPlace } from '../oauth/rig.ts'

for (const { name } of databases) {
  test(`a code becomes tokens, and a refresh token the next ones [${name}]`, async (t) => {
    const place = await openPlace(t, name)
    const { anybody, client, person } = place
    const reply = await exchange(place, await codeFor(place, { scope: 'orders:read users:read' }))
    assert.equal(reply.status, 200, reply.text)
    const { access_token, refresh_token, ...rest } = reply.body
    assert.deepEqual(rest, {
      token_type: 'Bearer',
      expires_in: 900,
      scope: 'orders:read users:read',
    })
    assert.equal(reply.headers['cache-control'], 'no-store')
    assert.equal(reply.headers.pragma, 'no-cache')
    const me = await anybody.get('/api/v2/protected', { authorization: `Bearer ${access_token}` })
    assert.deepEqual(me.body, { status: 'ok', user: String(person.id) })

    const again = { grant_type: 'refresh_token', refresh_token, scope: 'orders:read' }
    const narrow = await form(anybody, '/oauth/token', again, basicOf(client))
    assert.equal(narrow.status, 200, narrow.text)
    assert.equal(narrow.body.scope, 'orders:read')
    assert.notEqual(narrow.body.refresh_token, refresh_token)
    const whole = await form(
      anybody,
      '/oauth/token',
      { grant_type: 'refresh_token', refresh_token: narrow.body.refresh_token },
      basicOf(client),
    )
    assert.equal(whole.body.scope, 'orders:read users:read')
  })
}
