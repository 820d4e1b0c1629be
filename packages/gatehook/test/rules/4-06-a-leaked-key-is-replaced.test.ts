/** §4.6: after a leak one command deletes the signing keys; no node accepts their tokens. */
import assert from 'node:assert/strict'
import { decodeProtectedHeader } from 'jose'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { login, openTokenNode } from '../tokens/token-node.ts'

const actor = { kind: 'cli', id: 'ada' } as const

eachMigrated('a replaced key signs and verifies nothing, on any node', async (db, t) => {
  const node = await openTokenNode(db, t)
  const { time, data } = node
  const other = await openTokenNode(db, t, { time, data })
  const next = await node.tokens.rotateSigningKey(actor)
  const held = await node.tokens.openSession(login)
  for (const each of [node, other]) {
    await each.tokens.tick()
    assert.ok(await each.isAccepted(held.access_token))
  }

  const { kid, deleted } = await node.tokens.replaceSigningKeys(actor)
  const leaked = decodeProtectedHeader(held.access_token).kid!
  assert.deepEqual(deleted.toSorted(), [leaked, next.kid].sort())
  // A transaction of another database on the server may hold the feed back for a moment.
  await eventually(
    async () => {
      await other.tokens.tick()
      return other.isAccepted(held.access_token)
    },
    (isAccepted) => !isAccepted,
  )
  time.pass(2_000)
  for (const each of [node, other]) {
    assert.equal(await each.isAccepted(held.access_token), false)
    const { body } = await each.send('GET /.well-known/jwks.json')
    const kids = body.keys.map((key: { kid: string }) => key.kid)
    assert.deepEqual([kids[0], kids.length], [kid, 2], 'with its key of ID tokens')
  }

  const refreshed = await other.refresh(held.refresh_token!)
  assert.equal(refreshed.status, 200, 'sessions stay')
  assert.equal(decodeProtectedHeader(refreshed.body.access_token).kid, kid)
  assert.ok(await node.isAccepted(refreshed.body.access_token))
  const [row] = await db.all(sql`SELECT target, detail FROM gh_audit
    WHERE action = 'signing_key.replace'`)
  assert.equal(row!.target, kid)
  assert.deepEqual(JSON.parse(row!.detail).deleted.toSorted(), deleted.toSorted())
})
