/** §4.2: each use gives another; what is not the current one gives nothing; two lifetimes. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { sql } from '../../src/storage/sql.ts'
import { countRows, LIFETIMES, login, openTokenNode } from '../tokens/token-node.ts'

const DAY_MS = 86_400_000

eachMigrated('§4.2 a refresh gives both tokens anew', async (db, t) => {
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
  assert(await isAccepted(body.access_token), 'the new one')
  assert(await isAccepted(first.access_token), 'and the one before, until it expires')
  assert.equal((await refresh(body.refresh_token)).status, 200)
})

eachMigrated('§4.2 only a hash of it is kept', async (db, t) => {
  const { tokens, refresh } = await openTokenNode(db, t)
  const first = await tokens.openSession(login)
  const second = (await refresh(first.refresh_token)).body
  const rows = await db.all(sql`SELECT * FROM gh_sessions`)
  assert.equal(rows.length, 1)
  const kept = Buffer.concat(
    Object.values(rows[0]!).map((value) =>
      value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value)),
    ),
  )
  for (const { refresh_token } of [first, second]) {
    assert(!kept.includes(refresh_token.slice(26, 69)), 'its secret part is nowhere')
  }
  assert.equal(rows[0]!.token_hash.length, 32)
})

eachMigrated('§4.2 unused for 14 days it is over; 30 days end it in any case', async (db, t) => {
  const { tokens, refresh, time } = await openTokenNode(db, t)
  const left = await tokens.openSession(login)
  let { refresh_token } = await tokens.openSession(login)
  time.pass(LIFETIMES.idleMs)
  assert.deepEqual(
    [(await refresh(left.refresh_token)).status, (await refresh(refresh_token)).body.error],
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

eachMigrated('§4.2 what was never ours is refused, and ends nothing', async (db, t) => {
  const { tokens, refresh } = await openTokenNode(db, t)
  const { refresh_token } = await tokens.openSession(login)
  const bent = [
    refresh_token.slice(0, -1) + (refresh_token.endsWith('A') ? 'Q' : 'A'),
    `grt_${refresh_token.slice(4, 26)}${'A'.repeat(65)}`,
    ...['', 'grt_', 'x', 'ключ', refresh_token.toUpperCase(), ` ${refresh_token}`],
    'g'.repeat(100_000),
  ]
  for (const token of bent) {
    const { status, body } = await refresh(token)
    assert.deepEqual([status, body.error], [401, 'invalid_grant'], token.slice(0, 40))
  }
  assert.equal((await refresh(refresh_token)).status, 200)
})

eachMigrated('§4.2 what a person may do changes with the next token', async (db, t) => {
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
  '§4.2 a rotation whose access token cannot be made has not happened',
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

eachMigrated('§4.2 a session is opened with what it uses up, or not at all', async (db, t) => {
  const { tokens } = await openTokenNode(db, t)
  const used: string[] = []
  const open = (fail: boolean) =>
    tokens.openSession(async (tx, sessionId) => {
      await tx.run(sql`INSERT INTO gh_settings (name, value) VALUES ('code', 'used')`)
      used.push(sessionId)
      if (fail) throw new Error('the code was used before')
      return login
    })
  await assert.rejects(open(true), /used before/)
  assert.equal(await countRows(db, 'gh_sessions'), 0)
  const { refresh_token } = await open(false)
  assert.equal((await tokens.findRefreshToken(refresh_token))!.sessionId, used[1])
  await assert.rejects(open(false), 'the row it uses up is there already')
  assert.equal(await countRows(db, 'gh_sessions'), 1)
})
