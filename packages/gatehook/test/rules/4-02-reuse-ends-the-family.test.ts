/** §4.2: a rotated token that is presented again is a race within 5 s, and reuse later. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { failAt } from '../../../../test/rig/faults.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { countRows, login, openTokenNode, type TokenNode } from '../tokens/token-node.ts'

const listEvents = (db: Database) =>
  db.all(sql`SELECT type, scope, object FROM gh_events ORDER BY position`)
const auditedActions = async (db: Database) =>
  (await db.all(sql`SELECT action FROM gh_audit ORDER BY position`)).map((row) => row.action)

eachMigrated(
  '§4.2 reuse revokes the family with its access tokens, and emits an event',
  async (db, t) => {
    const { tokens, refresh, isAccepted, time } = await openTokenNode(db, t)
    const other = await tokens.openSession(login)
    const first = await tokens.openSession(login)
    const second = (await refresh(first.refresh_token)).body
    time.pass(5_001)
    assert.equal((await refresh(first.refresh_token)).body.error, 'invalid_grant')
    assert.equal((await refresh(second.refresh_token)).body.error, 'invalid_grant')
    assert.equal(await isAccepted(first.access_token), false)
    assert.equal(await isAccepted(second.access_token), false)
    assert(await isAccepted(other.access_token), 'another session of the person is not affected')
    assert.equal((await refresh(other.refresh_token)).status, 200)
    const [event, ...more] = await listEvents(db)
    assert.deepEqual([event!.type, event!.scope, more], ['token.reuse_detected', login.scope, []])
    const object = JSON.parse(event!.object)
    assert.deepEqual([object.subject, object.client_id], ['7', 'gatehook'])
    assert.equal(object.session_id, (await tokens.readAccessToken(first.access_token))!.sid)
    assert.deepEqual(await auditedActions(db), ['token.reuse_detected'])
  },
)

eachMigrated('§4.2 reuse of a token of any age is detected', async (db, t) => {
  const { tokens, refresh, time } = await openTokenNode(db, t)
  const { refresh_token: oldest } = await tokens.openSession(login)
  let current = oldest
  for (let n = 0; n < 4; n++) {
    current = (await refresh(current)).body.refresh_token
    time.pass(60_000)
  }
  assert.equal((await refresh(oldest)).body.error, 'invalid_grant')
  assert.equal((await refresh(current)).body.error, 'invalid_grant')
  assert.equal((await listEvents(db)).length, 1)
})

eachMigrated('§4.2 after the use of its successor, a second use is reuse', async (db, t) => {
  const { tokens, refresh } = await openTokenNode(db, t)
  const first = await tokens.openSession(login)
  const second = (await refresh(first.refresh_token)).body
  const third = (await refresh(second.refresh_token)).body
  assert.equal((await refresh(first.refresh_token)).status, 401)
  assert.equal((await refresh(third.refresh_token)).status, 401)
  assert.deepEqual(await auditedActions(db), ['token.reuse_detected'])
})

eachMigrated('§4.2 a race is audited, and the tokens of the winner stay valid', async (db, t) => {
  const { tokens, refresh, isAccepted, time } = await openTokenNode(db, t)
  const first = await tokens.openSession(login)
  const winner = (await refresh(first.refresh_token)).body
  time.pass(4_999)
  assert.equal((await refresh(first.refresh_token)).body.error, 'invalid_grant')
  assert.equal((await refresh(first.refresh_token)).body.error, 'invalid_grant')
  assert.deepEqual(await auditedActions(db), ['token.refresh_race'], 'one row of a rotation')
  assert.deepEqual(await listEvents(db), [])
  assert(await isAccepted(winner.access_token))
  assert.equal((await refresh(winner.refresh_token)).status, 200)
})

/** Fails each statement of a request in turn, until the request succeeds. */
async function failEachStatement(
  node: TokenNode,
  act: (token: string) => Promise<unknown>,
  token: string,
) {
  for (let nth = 1; ; nth++) {
    const fault = failAt(node.db, nth)
    const outcome = await act(token)
    fault.restore()
    if (fault.statementCount() < nth) return { outcome, statements: nth - 1 }
  }
}

eachMigrated('§4.2 a rotation that fails at any statement is rolled back', async (db, t) => {
  const node = await openTokenNode(db, t)
  const { refresh_token } = await node.tokens.openSession(login)
  const rotate = async (token: string) => (await node.refresh(token)).status
  const { outcome, statements } = await failEachStatement(node, rotate, refresh_token)
  assert.equal(outcome, 200, 'the token was valid until a rotation succeeded')
  assert.equal(statements, 1)
})

eachMigrated(
  '§4.2 a revocation that fails at any statement succeeds at the next reuse',
  async (db, t) => {
    const node = await openTokenNode(db, t)
    const { refresh_token: old } = await node.tokens.openSession(login)
    await node.refresh(old)
    node.time.pass(6_000)
    const statuses: number[] = []
    const reuse = async (token: string) => {
      const { status } = await node.refresh(token)
      statuses.push(status)
      if (status !== 401) {
        assert.deepEqual(
          [await countRows(db, 'gh_sessions'), await countRows(db, 'gh_revocations')],
          [1, 0],
          'the transaction was rolled back',
        )
      }
      return status
    }
    const { outcome, statements } = await failEachStatement(node, reuse, old)
    assert.equal(outcome, 401)
    assert.deepEqual(statuses, [...Array(statements).fill(500), 401])
    assert(statements >= 5, `${statements} statements`)
    assert.equal((await listEvents(db)).length, 1)
    assert.equal(await countRows(db, 'gh_sessions'), 0)
  },
)
