/** §4.7: revocation reaches each node within 2 s, without a look-up per request. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { insertFeedEntry } from '../../src/identity/tokens/store.ts'
import {
  CUSTOMER,
  countReads,
  countRows,
  eachNode,
  login,
  openTokenNode,
  type TokenNode,
} from '../tokens/token-node.ts'

const client = { ...login, kind: 'client' as const, clientId: 'cli_1', subject: 'cli_1' }
const throughClient = { ...login, clientId: 'cli_1' }

const readClaims = async (tokens: TokenNode['tokens'], jwt: string) =>
  (await tokens.readAccessToken(jwt))!

const revoke: Readonly<
  Record<string, (node: TokenNode, tokens: Record<'own' | 'code' | 'client', string>) => unknown>
> = {
  session: ({ db, tokens }, { own }) =>
    readClaims(tokens, own).then(({ sid }) => db.write((tx) => tokens.revokeSession(tx, sid!))),
  token: ({ db, tokens }, { own }) =>
    readClaims(tokens, own).then((claims) =>
      db.write((tx) => tokens.revokeAccessToken(tx, claims)),
    ),
  subject: ({ db, tokens }) =>
    db.write((tx) => tokens.revokeSessionsOfPerson(tx, login.scope, '7')),
  client: ({ db, tokens }) => db.write((tx) => tokens.revokeClient(tx, login.scope, 'cli_1')),
  consent: ({ db, tokens }) =>
    db.write((tx) => tokens.revokeSessionsAtClient(tx, login.scope, '7', 'cli_1')),
}

/** Whether the tokens `own`, `code` and `client` are accepted after each revocation. */
const acceptedAfter: Readonly<Record<string, readonly boolean[]>> = {
  session: [false, true, true],
  token: [false, true, true],
  subject: [false, false, true],
  client: [true, false, false],
  consent: [true, false, true],
}

async function issueTokens({ tokens }: TokenNode) {
  return {
    own: (await tokens.openSession(login)).access_token,
    code: (await tokens.openSession(throughClient)).access_token,
    client: (await tokens.issueAccessToken(client)).access_token,
  }
}

const listAccepted = async (node: TokenNode, { own, code, client }: Record<string, string>) => [
  await node.isAccepted(own!),
  await node.isAccepted(code!),
  await node.isAccepted(client!),
]

for (const [kind, revokeTokens] of Object.entries(revoke)) {
  eachNode(
    `§4.7 a revoked ${kind} is rejected at once here, and after the next poll there`,
    async (nodes) => {
      const [a, b] = nodes
      await Promise.all([a.tokens.tick(), b.tokens.tick()])
      const tokens = await issueTokens(a)
      for (const node of nodes)
        assert.deepEqual(await listAccepted(node, tokens), [true, true, true])
      await revokeTokens(a, tokens)
      assert.deepEqual(await listAccepted(a, tokens), acceptedAfter[kind])
      a.time.pass(1_000)
      await b.tokens.tick()
      assert.deepEqual(await listAccepted(b, tokens), acceptedAfter[kind])
    },
  )
}

eachMigrated('§4.7 a cached token causes no query', async (db, t) => {
  const { db: countingDb, reads } = countReads(db)
  const { tokens, isAccepted, time } = await openTokenNode(countingDb, t)
  await tokens.tick()
  const { access_token } = await tokens.openSession(login)
  const another = await tokens.openSession(login)
  assert(await isAccepted(access_token))
  const before = reads()
  for (let n = 0; n < 50; n++) assert(await isAccepted(access_token))
  assert(await isAccepted(another.access_token), 'an uncached one neither')
  assert.equal(reads(), before)
  time.pass(2_000)
  assert(await isAccepted(access_token))
  assert.equal(reads(), before, '2 s old is not stale')
})

eachNode('§4.7 while the feed is stale, each request queries the database', async ([a, b]) => {
  await b.tokens.tick()
  const tokens = await issueTokens(a)
  assert.deepEqual(await listAccepted(b, tokens), [true, true, true])
  await revoke.session!(a, tokens)
  assert(await b.isAccepted(tokens.own), 'before the next poll')
  b.time.pass(2_001)
  assert.deepEqual(await listAccepted(b, tokens), [false, true, true])
  await revoke.client!(a, tokens)
  assert.deepEqual(await listAccepted(b, tokens), [false, false, false])
})

eachNode('§4.7 an entry of a transaction that commits late is applied', async ([a, b]) => {
  const early = (await a.tokens.openSession(login)).access_token
  const late = (await a.tokens.openSession(login)).access_token
  const [first, second] = [
    (await b.tokens.readAccessToken(late))!.sid!,
    (await b.tokens.readAccessToken(early))!.sid!,
  ]
  const until = a.time.nowMs + 900_000
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const slow = a.db.write(async (tx) => {
    await insertFeedEntry(tx, 'session', first, until)
    begun.resolve()
    await gate.promise
  })
  await begun.promise
  try {
    await b.db.write((tx) => insertFeedEntry(tx, 'session', second, until))
    await b.tokens.tick()
    assert.deepEqual([await b.isAccepted(early), await b.isAccepted(late)], [false, true])
  } finally {
    gate.resolve()
    await slow
  }
  await b.tokens.tick()
  assert.deepEqual([await b.isAccepted(early), await b.isAccepted(late)], [false, false])
})

eachNode(
  '§4.7 each node rejects a suspended customer, and accepts it afterwards',
  async ([a, b]) => {
    const tokens = await issueTokens(a)
    const set = async (suspended: boolean) => {
      a.data.customers.set(CUSTOMER, { no: 1, suspended })
      await a.db.write((tx) => insertFeedEntry(tx, 'customer', CUSTOMER, a.time.nowMs + 60_000))
      await Promise.all([a.tokens.tick(), b.tokens.tick()])
    }
    const status = async (node: TokenNode) => {
      const reply = await node.send('GET /api/protected', { bearer: tokens.own })
      return reply.status === 403 ? reply.body.error : reply.status
    }
    await set(false)
    assert.deepEqual([await status(a), await status(b)], [200, 200])
    await set(true)
    assert.deepEqual(
      [await status(a), await status(b)],
      ['customer_suspended', 'customer_suspended'],
    )
    await set(false)
    assert.deepEqual([await status(a), await status(b)], [200, 200])
  },
)

eachMigrated('§4.7 entries are purged when all affected tokens have expired', async (db, t) => {
  const node = await openTokenNode(db, t)
  await node.tokens.tick()
  const tokens = await issueTokens(node)
  await revoke.session!(node, tokens)
  node.time.pass(898_000)
  assert.equal(await node.tokens.chores.revocations!(), 0)
  await node.tokens.tick()
  assert.equal(await node.isAccepted(tokens.own), false)
  node.time.pass(70_000)
  assert.equal(await node.tokens.chores.revocations!(), 1)
  assert.equal(await countRows(db, 'gh_revocations'), 0)
})

eachMigrated('§4.7 a node that starts applies earlier revocations', async (db, t) => {
  const first = await openTokenNode(db, t)
  const tokens = await issueTokens(first)
  await revoke.token!(first, tokens)
  const second = await openTokenNode(db, t, { time: first.time })
  await second.tokens.start()
  assert.deepEqual(await listAccepted(second, tokens), [false, true, true])
  const claims = (await second.tokens.readAccessToken(tokens.own))!
  assert.equal(await second.tokens.isActive(claims), false)
  assert.equal(
    await second.tokens.isActive((await second.tokens.readAccessToken(tokens.code))!),
    true,
  )
})
