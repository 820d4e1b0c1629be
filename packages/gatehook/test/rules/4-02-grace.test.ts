/** §4.2: within `GATEHOOK_REFRESH_GRACE_S`, a second use returns the same successor. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { eachNode, login, openTokenNode } from '../tokens/token-node.ts'

const lifetimes = { graceMs: 30_000 }

eachMigrated(
  '§4.2 within the grace period the server returns the successor again',
  async (db, t) => {
    const { tokens, refresh, isAccepted, time } = await openTokenNode(db, t, { lifetimes })
    const first = await tokens.openSession(login)
    const second = (await refresh(first.refresh_token)).body
    time.pass(29_999)
    const repeated = await refresh(first.refresh_token)
    assert.equal(repeated.status, 200)
    assert.equal(repeated.body.refresh_token, second.refresh_token)
    assert(await isAccepted(repeated.body.access_token))
    assert.equal((await refresh(second.refresh_token)).status, 200)
  },
)

eachMigrated(
  '§4.2 after the grace period, or the use of the successor, it is reuse',
  async (db, t) => {
    const { tokens, refresh, time } = await openTokenNode(db, t, { lifetimes })
    const late = await tokens.openSession(login)
    await refresh(late.refresh_token)
    const used = await tokens.openSession(login)
    const { refresh_token } = (await refresh(used.refresh_token)).body
    const newest = (await refresh(refresh_token)).body
    assert.equal((await refresh(used.refresh_token)).status, 401)
    assert.equal((await refresh(newest.refresh_token)).status, 401)
    time.pass(30_000)
    assert.equal((await refresh(late.refresh_token)).status, 401)
    const { total } = (await db.get(sql`SELECT COUNT(*) AS total FROM gh_events`))!
    assert.equal(Number(total), 2)
  },
)

eachMigrated('§4.2 revocation covers an access token of the grace period', async (db, t) => {
  const { tokens, refresh, isAccepted, time } = await openTokenNode(db, t, { lifetimes })
  const first = await tokens.openSession(login)
  const second = (await refresh(first.refresh_token)).body
  time.pass(20_000)
  const repeated = (await refresh(first.refresh_token)).body
  const claims = (await tokens.readAccessToken(second.access_token))!
  await db.write((tx) => tokens.revokeSession(tx, claims.sid!))
  time.pass(890_000) // the token of the rotation has expired; the other is valid for 10 s
  await tokens.chores.revocations!()
  assert.equal(await isAccepted(repeated.access_token), false)
})

eachMigrated(
  '§4.2 the successor is encrypted, and deleted after the grace period',
  async (db, t) => {
    const { tokens, refresh, time } = await openTokenNode(db, t, { lifetimes })
    const first = await tokens.openSession(login)
    const second = (await refresh(first.refresh_token)).body
    const readSuccessor = async () =>
      (await db.get(sql`SELECT successor FROM gh_sessions`))!.successor
    const encrypted = Buffer.from((await readSuccessor()) as Uint8Array)
    assert(encrypted.length > 0 && !encrypted.includes(second.refresh_token.slice(26, 69)))
    time.pass(121_000)
    await tokens.chores.sessions!()
    assert.equal(await readSuccessor(), null)
  },
)

eachNode(
  '§4.2 within the grace period concurrent requests get one successor',
  async ([a, b]) => {
    const { refresh_token } = await a.tokens.openSession(login)
    const nodes = [a, b, a, b, a, b, a, b]
    const replies = await Promise.all(nodes.map((node) => node.refresh(refresh_token)))
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
    assert.equal(new Set(replies.map(({ body }) => body.refresh_token)).size, 1)
  },
  { lifetimes },
)
