/** §4.2: refresh tokens rotate, and have an idle and an absolute lifetime. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { countRows, LIFETIMES, login, openTokenNode } from '../tokens/token-node.ts'

const DAY_MS = 86_400_000

eachMigrated('§4.2 a refresh returns a new access token and a new refresh token', async (db, t) => {
  const { tokens, refresh, isAccepted } = await openTokenNode(db, t)
  const first = await tokens.openSession(login)
  assert.match(first.refresh_token, /^grt_/)
  const { status, body, headers } = await refresh(first.refresh_token)
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(body).sort(), [
    'access_token',
    'expires_in',
    'refresh_token',
    'scope',
    'token_type',
  ])
  assert.deepEqual([body.token_type, body.expires_in, body.scope], ['Bearer', 900, first.scope])
  assert.equal(headers['cache-control'], 'no-store')
  assert.notEqual(body.refresh_token, first.refresh_token)
  assert(await isAccepted(body.access_token), 'the new access token')
  assert(await isAccepted(first.access_token), 'the old one, until it expires')
  assert.equal((await refresh(body.refresh_token)).status, 200)
})

eachMigrated('§4.2 the database contains only a hash of a refresh token', async (db, t) => {
  const { tokens, refresh } = await openTokenNode(db, t)
  const first = await tokens.openSession(login)
  const second = (await refresh(first.refresh_token)).body
  const rows = await db.all(sql`SELECT * FROM gh_sessions`)
  assert.equal(rows.length, 1)
  const stored = Buffer.concat(
    Object.values(rows[0]!).map((value) =>
      value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value)),
    ),
  )
  for (const { refresh_token } of [first, second]) {
    assert(!stored.includes(refresh_token.slice(26, 69)), 'its secret part is not stored')
  }
  assert.equal(rows[0]!.token_hash.length, 32)
})

eachMigrated('§4.2 a session ends after 14 idle days, and after 30 days', async (db, t) => {
  const { tokens, refresh, time } = await openTokenNode(db, t)
  const idle = await tokens.openSession(login)
  let { refresh_token } = await tokens.openSession(login)
  time.pass(LIFETIMES.idleMs)
  assert.deepEqual(
    [(await refresh(idle.refresh_token)).status, (await refresh(refresh_token)).body.error],
    [401, 'invalid_grant'],
  )
  const began = time.nowMs
  ;({ refresh_token } = await tokens.openSession(login))
  for (let day = 7; day < 30; day += 7) {
    time.pass(7 * DAY_MS)
    const { status, body } = await refresh(refresh_token)
    assert.equal(status, 200, `day ${day}`)
    ;({ refresh_token } = body)
  }
  time.pass(began + LIFETIMES.absoluteMs - 1_000 - time.nowMs)
  const last = (await refresh(refresh_token)).body
  assert.equal(last.expires_in, 1, 'no access token outlives its session')
  time.pass(1_000)
  assert.equal((await refresh(last.refresh_token)).body.error, 'invalid_grant')
})

eachMigrated('§4.2 a forged token is rejected and revokes nothing', async (db, t) => {
  const { tokens, refresh } = await openTokenNode(db, t)
  const { refresh_token } = await tokens.openSession(login)
  const forged = [
    refresh_token.slice(0, -1) + (refresh_token.endsWith('A') ? 'Q' : 'A'),
    `grt_${refresh_token.slice(4, 26)}${'A'.repeat(65)}`,
    ...['', 'grt_', 'x', 'ключ', refresh_token.toUpperCase(), ` ${refresh_token}`],
    'g'.repeat(100_000),
  ]
  for (const token of forged) {
    const { status, body } = await refresh(token)
    assert.deepEqual([status, body.error], [401, 'invalid_grant'], token.slice(0, 40))
  }
  assert.equal((await refresh(refresh_token)).status, 200)
})

eachMigrated('§4.2 the next token reflects changed permissions of the person', async (db, t) => {
  const { tokens, refresh, data } = await openTokenNode(db, t)
  const first = await tokens.openSession(login)
  data.people.set('7', { claims: { name: 'Ada B.', role: 'user' }, scopes: ['things:read'] })
  const second = (await refresh(first.refresh_token)).body
  const claims = (await tokens.readAccessToken(second.access_token))!
  assert.deepEqual([claims.scope, claims.name, claims.role], ['things:read', 'Ada B.', 'user'])
  data.people.delete('7')
  assert.equal((await refresh(second.refresh_token)).body.error, 'invalid_grant')
})

eachMigrated(
  '§4.2 if the access token cannot be issued, the rotation is rolled back',
  async (db, t) => {
    const { tokens, refresh, data } = await openTokenNode(db, t)
    const { refresh_token } = await tokens.openSession(login)
    const ada = data.people.get('7')!
    data.people.set('7', { ...ada, claims: { essay: 'x'.repeat(8_000) } })
    await assert.rejects(tokens.refreshSession(refresh_token, undefined), /too large/)
    data.people.set('7', ada)
    assert.equal((await refresh(refresh_token)).status, 200)
  },
)

eachMigrated('§4.2 a session and the code that it consumes commit together', async (db, t) => {
  const { tokens } = await openTokenNode(db, t)
  const sessionIds: string[] = []
  const open = (fail: boolean) =>
    tokens.openSession(async (tx, sessionId) => {
      await tx.run(sql`INSERT INTO gh_settings (name, value) VALUES ('code', 'used')`)
      sessionIds.push(sessionId)
      if (fail) throw new Error('the code was used before')
      return login
    })
  await assert.rejects(open(true), /used before/)
  assert.equal(await countRows(db, 'gh_sessions'), 0)
  const { refresh_token } = await open(false)
  assert.equal((await tokens.findRefreshToken(refresh_token))!.sessionId, sessionIds[1])
  await assert.rejects(open(false), 'the code is consumed')
  assert.equal(await countRows(db, 'gh_sessions'), 1)
})
