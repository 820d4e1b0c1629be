/** §4.6: a key is published before it signs, and kept while anything it signed is good. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { decodeProtectedHeader } from 'jose'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { sql } from '../../src/storage/sql.ts'
import { signClaims, validClaims } from '../tokens/forge.ts'
import { countReads, eachNode, login, openTokenNode, type TokenNode } from '../tokens/token-node.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const actor = { kind: 'cli', id: 'ada' } as const

const kidsOf = async ({ send }: TokenNode): Promise<string[]> =>
  (await send('GET /.well-known/jwks.json')).body.keys.map(({ kid }: { kid: string }) => kid)
const signedBy = async ({ tokens }: TokenNode) => {
  const { access_token } = await tokens.openSession(login)
  return { kid: decodeProtectedHeader(access_token).kid!, access_token }
}

eachMigrated(
  '§4.6 the key set may be kept for less time than a key is published ahead',
  async (db, t) => {
    const node = await openTokenNode(db, t)
    const { time, tokens, isAccepted } = node
    const before = await signedBy(node)
    const { kid, signs_from } = await tokens.rotateSigningKey(actor)
    const { headers, body } = await node.send('GET /.well-known/jwks.json')
    const maxAge = Number(/^public, max-age=(\d+)$/.exec(String(headers['cache-control']))![1])
    const aheadMs = Date.parse(signs_from) - time.nowMs
    assert(maxAge * 1000 + 4 * MINUTE_MS <= aheadMs, `${maxAge} s, ${aheadMs} ms`)
    assert.deepEqual(await kidsOf(node), [before.kid, kid])
    for (const key of body.keys) {
      assert.deepEqual(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    }
    time.pass(aheadMs - 1)
    assert.equal((await signedBy(node)).kid, before.kid)
    time.pass(1)
    const after = await signedBy(node)
    assert.equal(after.kid, kid)
    assert(await isAccepted(after.access_token))
  },
)

eachMigrated('§4.6 the old key is kept until its tokens are gone', async (db, t) => {
  const node = await openTokenNode(db, t)
  const { time, tokens, isAccepted } = node
  const { kid, signs_from } = await tokens.rotateSigningKey(actor)
  time.pass(Date.parse(signs_from) - time.nowMs - 1)
  const last = await signedBy(node)
  time.pass(899_000)
  assert.equal(await tokens.chores.signing_keys!(), 0)
  assert(await isAccepted(last.access_token))
  time.pass(DAY_MS + 2 * 3_600_000)
  assert.equal(await tokens.chores.signing_keys!(), 1)
  assert.deepEqual(await kidsOf(node), [kid])
  assert.equal(await tokens.readAccessToken(last.access_token), undefined)
  assert.equal(await tokens.chores.signing_keys!(), 0, 'the last key stays')
})

eachMigrated('§4.6 one new key at a time; the act is audited, the key sealed', async (db, t) => {
  const { tokens, time, vault } = await openTokenNode(db, t)
  const { kid, signs_from } = await tokens.rotateSigningKey(actor)
  await assert.rejects(tokens.rotateSigningKey(actor), { code: 'invalid_state' })
  const [act, ...more] = await db.all(sql`SELECT actor_kind, action, target FROM gh_audit`)
  assert.deepEqual([act!.actor_kind, act!.action, act!.target], ['cli', 'signing_key.rotate', kid])
  assert.deepEqual(more, [])
  const row = await db.get(sql`SELECT sealed_private_jwk FROM gh_signing_keys WHERE kid = ${kid}`)
  const sealed = Buffer.from(row!.sealed_private_jwk)
  const { d } = JSON.parse(vault.decrypt('signing', kid, sealed).toString())
  assert(!sealed.includes(d))
  time.pass(Date.parse(signs_from) - time.nowMs)
  await tokens.rotateSigningKey(actor)
})

eachNode('§4.6 after 90 days a key is replaced, by one of the nodes', async ([a, b]) => {
  const [first] = await kidsOf(a)
  a.time.pass(90 * DAY_MS - 1)
  await Promise.all([a.tokens.tick(), b.tokens.tick()])
  assert.deepEqual(await kidsOf(a), [first])
  a.time.pass(1)
  await Promise.all([a.tokens.tick(), b.tokens.tick(), a.tokens.tick(), b.tokens.tick()])
  a.time.pass(2_000)
  const kids = await kidsOf(b)
  assert.deepEqual([kids.length, kids[0]], [2, first])
  a.time.pass(11 * MINUTE_MS)
  await Promise.all([a.tokens.tick(), b.tokens.tick()])
  assert.deepEqual([(await signedBy(a)).kid, (await signedBy(b)).kid], [kids[1], kids[1]])
})

eachNode('§4.6 a key made elsewhere is found when a token names it', async ([a, b]) => {
  assert(await b.isAccepted((await signedBy(a)).access_token))
  const { signs_from } = await a.tokens.rotateSigningKey(actor)
  a.time.pass(Date.parse(signs_from) - a.time.nowMs)
  const { access_token } = await signedBy(a)
  assert(await b.isAccepted(access_token), 'though nothing was announced to it yet')
})

eachMigrated('§4.6 names of keys we never had are looked for once a second', async (db, t) => {
  const { db: watching, reads } = countReads(db)
  const node = await openTokenNode(watching, t)
  await node.tokens.tick()
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const forged = (n: number) =>
    signClaims(privateKey, { alg: 'ES256', typ: 'at+jwt', kid: `k${n}` }, validClaims(node))
  node.time.pass(1_000)
  const before = reads()
  for (let n = 0; n < 20; n++) assert.equal(await node.isAccepted(await forged(n)), false)
  assert.equal(reads() - before, 1)
})
