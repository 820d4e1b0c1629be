/** §4.5: a token ends its session; a person lists and ends sessions. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { isoTime } from '../../src/kernel/time.ts'
import { readSigningKey, signClaims } from '../tokens/forge.ts'
import { countRows, LIFETIMES, login, openTokenNode } from '../tokens/token-node.ts'

const LOGOUT = 'POST /auth/logout'

eachMigrated('§4.5 logout by either token revokes both, and is idempotent', async (db, t) => {
  const { tokens, send, refresh, isAccepted } = await openTokenNode(db, t)
  for (const method of ['refresh', 'bearer', 'both'] as const) {
    const { access_token, refresh_token } = await tokens.openSession(login)
    const options = {
      ...(method !== 'bearer' && { body: { refresh_token } }),
      ...(method !== 'refresh' && { bearer: access_token }),
    }
    for (let n = 0; n < 2; n++) assert.equal((await send(LOGOUT, options)).status, 204, method)
    assert.equal(await isAccepted(access_token), false, method)
    assert.equal((await refresh(refresh_token)).body.error, 'invalid_grant', method)
  }
  assert.equal(await countRows(db, 'gh_sessions'), 0)
})

eachMigrated('§4.5 an expired token of this server ends its session', async (db, t) => {
  const { tokens, send, refresh, time } = await openTokenNode(db, t)
  const { access_token, refresh_token } = await tokens.openSession(login)
  time.pass(2 * LIFETIMES.accessMs)
  assert.equal((await send(LOGOUT, { bearer: access_token })).status, 204)
  assert.equal((await refresh(refresh_token)).status, 401)
})

eachMigrated('§4.5 logout rejects a token that this server did not issue', async (db, t) => {
  const node = await openTokenNode(db, t)
  const { send } = node
  const { key } = await readSigningKey(node)
  const foreign = await signClaims(key, { alg: 'ES256', typ: 'at+jwt', kid: 'x' }, { sid: 'ses_1' })
  const table: [number, string, object][] = [
    [400, 'invalid_request', {}],
    [400, 'invalid_request', { body: {} }],
    [400, 'invalid_request', { body: { refresh_token: 7 } }],
    [400, 'invalid_request', { body: [] }],
    [401, 'invalid_token', { bearer: 'x.y.z' }],
    [401, 'invalid_token', { bearer: foreign }],
    [401, 'invalid_grant', { body: { refresh_token: 'x' } }],
  ]
  for (const [status, error, options] of table) {
    const reply = await send(LOGOUT, options)
    assert.deepEqual([reply.status, reply.body.error], [status, error], JSON.stringify(options))
  }
})

eachMigrated('§3.1 two Authorization headers are 400', async (db, t) => {
  const { tokens, send, isAccepted } = await openTokenNode(db, t)
  const { access_token, refresh_token } = await tokens.openSession(login)
  const twice = [`Bearer ${access_token}`, `Bearer ${access_token}`]
  const headers = { authorization: twice as unknown as string }
  for (const line of [LOGOUT, 'POST /auth/refresh']) {
    const { status, body } = await send(line, { headers, body: { refresh_token } })
    assert.deepEqual([status, body.error], [400, 'ambiguous_credentials'], line)
  }
  assert(await isAccepted(access_token))
})

eachMigrated('§4.5 a rotated refresh token ends its session', async (db, t) => {
  const { tokens, send, refresh } = await openTokenNode(db, t)
  const { refresh_token } = await tokens.openSession(login)
  const second = (await refresh(refresh_token)).body
  assert.equal((await send(LOGOUT, { body: { refresh_token } })).status, 204)
  assert.equal((await refresh(second.refresh_token)).status, 401)
})

eachMigrated('§4.5 logout-all ends all sessions of the person, and no others', async (db, t) => {
  const { tokens, send, isAccepted, data } = await openTokenNode(db, t)
  data.people.set('8', { claims: {}, scopes: [] })
  const mine = [await tokens.openSession(login), await tokens.openSession(login)]
  const theirs = await tokens.openSession({ ...login, subject: '8' })
  const reply = await send('POST /auth/logout-all', { bearer: mine[0]!.access_token })
  assert.equal(reply.status, 204)
  for (const { access_token } of mine) assert.equal(await isAccepted(access_token), false)
  assert(await isAccepted(theirs.access_token))
})

eachMigrated('§4.5 a person lists sessions and ends one of them', async (db, t) => {
  const { tokens, send, refresh, isAccepted, time } = await openTokenNode(db, t)
  const createdAt = isoTime(time.nowMs)
  const a = await tokens.openSession(login)
  time.pass(1_000)
  const b = await tokens.openSession({ ...login, clientId: 'cli_1', scopes: ['things:read'] })
  await tokens.openSession({ ...login, subject: '8' })
  await refresh(a.refresh_token)
  const bearer = a.access_token
  const listed = (await send('GET /auth/sessions?sort=created_at', { bearer })).body.data
  const id = (await tokens.findRefreshToken(b.refresh_token))!.sessionId
  assert.deepEqual(
    listed.map((session: { client_id: string; scope: string }) => [
      session.client_id,
      session.scope,
    ]),
    [
      ['gatehook', 'things:read things:write'],
      ['cli_1', 'things:read'],
    ],
  )
  const { id: own, ...rest } = listed[0]
  assert.match(own, /^ses_/)
  assert.deepEqual(rest, {
    client_id: 'gatehook',
    scope: 'things:read things:write',
    created_at: createdAt,
    last_used_at: isoTime(time.nowMs),
    expires_at: isoTime(time.nowMs + LIFETIMES.idleMs),
  })
  assert.deepEqual((await send(`GET /auth/sessions/${id}`, { bearer })).body, listed[1])
  for (const [status, sessionId] of [
    [404, 'ses_x'],
    [204, id],
    [404, id],
  ] as const) {
    assert.equal((await send(`DELETE /auth/sessions/${sessionId}`, { bearer })).status, status)
  }
  assert.deepEqual([await isAccepted(b.access_token), await isAccepted(bearer)], [false, true])
})

eachMigrated('§4.5 a person cannot read or end the session of another', async (db, t) => {
  const { tokens, send, isAccepted } = await openTokenNode(db, t)
  const mine = await tokens.openSession(login)
  const theirs = await tokens.openSession({ ...login, subject: '8' })
  const id = (await tokens.findRefreshToken(theirs.refresh_token))!.sessionId
  const bearer = mine.access_token
  assert.equal((await send(`GET /auth/sessions/${id}`, { bearer })).status, 404)
  assert.equal((await send(`DELETE /auth/sessions/${id}`, { bearer })).status, 404)
  assert(await isAccepted(theirs.access_token))
})

eachMigrated('§7.1 sessions are listed in every style but keyset', async (db, t) => {
  const { tokens, send } = await openTokenNode(db, t)
  let bearer = ''
  for (let n = 0; n < 5; n++) bearer = (await tokens.openSession(login)).access_token
  const list = (query: string) => send(`GET /auth/sessions?${query}`, { bearer })
  const first = (await list('limit=2')).body
  const second = (await list(`limit=2&cursor=${first.next_cursor}`)).body
  assert.deepEqual([first.data.length, second.data.length, first.has_more], [2, 2, true])
  assert.equal((await list('offset=4&limit=2')).body.total, 5)
  assert.equal((await list('page=3&per_page=2')).body.total_pages, 3)
  const { data } = (await list('pagination=hypermedia')).body
  assert.deepEqual(data[0]._links, { self: `/auth/sessions/${data[0].id}` })
  assert.equal((await list('after_id=1')).status, 400)
  assert.equal((await list('client_id=cli_1')).body.data.length, 0)
  assert.deepEqual(Object.keys((await list('fields=scope,id')).body.data[0]), ['id', 'scope'])
})

eachMigrated('§4.5 an expired session is not listed, and the janitor deletes it', async (db, t) => {
  const { tokens, send, time } = await openTokenNode(db, t)
  await tokens.openSession(login)
  await tokens.openSession({ ...login, subject: '8' })
  time.pass(LIFETIMES.idleMs)
  const { access_token: bearer } = await tokens.openSession(login)
  assert.equal((await send('GET /auth/sessions', { bearer })).body.data.length, 1)
  time.pass(60_000)
  assert.equal(await tokens.chores.sessions!(), 1)
  assert.equal(await countRows(db, 'gh_sessions'), 1)
})

eachMigrated('§4.5 a key or a client has no sessions', async (db, t) => {
  const { tokens, send } = await openTokenNode(db, t)
  const client = { ...login, kind: 'client' as const, clientId: 'cli_1', subject: 'cli_1' }
  const { access_token } = await tokens.issueAccessToken(client)
  const paths = ['GET /auth/sessions', 'POST /auth/logout-all', 'DELETE /auth/sessions/ses_1']
  for (const line of paths) {
    const byKey = await send(line, { headers: { 'x-api-key': 'k' } })
    assert.deepEqual([byKey.status, byKey.body.error], [403, 'forbidden'], line)
    const byToken = await send(line, { bearer: access_token })
    assert.deepEqual([byToken.status, byToken.body.error], [403, 'first_party_required'], line)
    assert.equal((await send(line)).status, 401)
  }
  assert.equal((await send('POST /auth/logout', { bearer: access_token })).status, 204)
  assert.equal((await send('GET /api/protected', { bearer: access_token })).status, 401)
})
