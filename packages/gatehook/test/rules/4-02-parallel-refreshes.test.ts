/** §4.2: of concurrent refreshes, on any number of nodes, exactly one succeeds. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { countRows, eachNode, login, openTokenNode, type TokenNode } from '../tokens/token-node.ts'

const CONCURRENT = 24

async function raceRefreshes(nodes: readonly TokenNode[], token: string) {
  const replies = await Promise.all(
    Array.from({ length: CONCURRENT }, (_, n) => nodes[n % nodes.length]!.refresh(token)),
  )
  const succeeded = replies.filter(({ status }) => status === 200)
  const rejected = replies.filter(({ status }) => status === 401)
  assert.deepEqual([succeeded.length, rejected.length], [1, CONCURRENT - 1])
  for (const { body } of rejected) assert.equal(body.error, 'invalid_grant')
  return succeeded[0]!.body
}

async function assertOneWins(nodes: readonly TokenNode[]) {
  const first = await nodes[0]!.tokens.openSession(login)
  const winner = await raceRefreshes(nodes, first.refresh_token)
  for (const node of nodes) assert(await node.isAccepted(winner.access_token))
  const next = await raceRefreshes(nodes, winner.refresh_token)
  assert.equal((await nodes[0]!.refresh(next.refresh_token)).status, 200)
  assert.equal(await countRows(nodes[0]!.db, 'gh_revocations'), 0)
}

eachMigrated('§4.2 one of many concurrent refreshes succeeds', async (db, t) =>
  assertOneWins([await openTokenNode(db, t)]),
)

eachNode('§4.2 one of many concurrent refreshes on two nodes succeeds', assertOneWins)

eachNode('§4.2 concurrent reuse on both nodes revokes the family once', async (nodes) => {
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
