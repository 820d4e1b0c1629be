/** §4.2: however many come at once, on however many nodes, exactly one is answered. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { countRows, eachNode, login, openTokenNode, type TokenNode } from '../tokens/token-node.ts'

const AT_ONCE = 24

async function raced(nodes: readonly TokenNode[], token: string) {
  const replies = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, n) => nodes[n % nodes.length]!.refresh(token)),
  )
  const won = replies.filter(({ status }) => status === 200)
  const lost = replies.filter(({ status }) => status === 401)
  assert.deepEqual([won.length, lost.length], [1, AT_ONCE - 1])
  for (const { body } of lost) assert.equal(body.error, 'invalid_grant')
  return won[0]!.body
}

async function survives(nodes: readonly TokenNode[]) {
  const first = await nodes[0]!.tokens.openSession(login)
  const winner = await raced(nodes, first.refresh_token)
  for (const node of nodes) assert(await node.isAccepted(winner.access_token))
  const next = await raced(nodes, winner.refresh_token)
  assert.equal((await nodes[0]!.refresh(next.refresh_token)).status, 200)
  assert.equal(await countRows(nodes[0]!.db, 'gh_revocations'), 0)
}

eachMigrated('§4.2 of many at once one is answered', async (db, t) =>
  survives([await openTokenNode(db, t)]),
)

eachNode('§4.2 of many at once on two nodes one is answered', survives)

eachNode('§4.2 reuse seen on both nodes at once ends the family once', async (nodes) => {
  const [a, b] = nodes
  const first = await a.tokens.openSession(login)
  const second = (await a.refresh(first.refresh_token)).body
  a.time.pass(6_000)
  const replies = await Promise.all([a, b, a, b].map((node) => node.refresh(first.refresh_token)))
  assert.deepEqual(
    replies.map(({ status }) => status),
    [401, 401, 401, 401],
  )
  assert.equal(await countRows(a.db, 'gh_sessions'), 0)
  assert.equal(await countRows(a.db, 'gh_revocations'), 1)
  assert.equal((await b.refresh(second.refresh_token)).status, 401)
})
