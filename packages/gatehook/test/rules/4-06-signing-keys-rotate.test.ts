/** §4.6: a key is published before it signs, and retained until its tokens have expired. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { decodeProtectedHeader } from 'jose'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { listSigningKeyStates } from '../../src/identity/tokens/signing-keys.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { signClaims, validClaims } from '../tokens/forge.ts'
import { countReads, eachNode, login, openTokenNode, type TokenNode } from '../tokens/token-node.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const actor = { kind: 'cli', id: 'ada' } as const

/** Returns the keys of access tokens; each has a key of ID tokens beside it (§16.10). */
const listKids = async ({ send }: TokenNode): Promise<string[]> => {
  const { keys } = (await send('GET /.well-known/jwks.json')).body
  const kidsOf = (alg: string): string[] =>
    keys.filter((key: { alg: string }) => key.alg === alg).map(({ kid }: { kid: string }) => kid)
  assert.equal(new Set(kidsOf('RS256')).size, kidsOf('ES256').length)
  return kidsOf('ES256')
}
const issueToken = async ({ tokens }: TokenNode) => {
  const { access_token } = await tokens.openSession(login)
  return { kid: decodeProtectedHeader(access_token).kid!, access_token }
}

eachMigrated(
  '§4.6 a key is published longer before it signs than clients cache the key set',
  async (db, t) => {
    const node = await openTokenNode(db, t)
    const { time, tokens, isAccepted } = node
    const before = await issueToken(node)
    const { kid, signs_from } = await tokens.rotateSigningKey(actor)
    const { headers, body } = await node.send('GET /.well-known/jwks.json')
    const maxAge = Number(/^public, max-age=(\d+)$/.exec(String(headers['cache-control']))![1])
    const aheadMs = Date.parse(signs_from) - time.nowMs
    assert(maxAge * 1000 + 4 * MINUTE_MS <= aheadMs, `${maxAge} s, ${aheadMs} ms`)
    assert.deepEqual(await listKids(node), [before.kid, kid])
    for (const key of body.keys) {
      const members = key.kty === 'RSA' ? ['e', 'n'] : ['crv', 'x', 'y']
      assert.deepEqual(Object.keys(key).sort(), ['alg', 'kid', 'kty', 'use', ...members].sort())
    }
    const states = async () =>
      (await listSigningKeyStates(db, time.nowMs)).map(({ id, state }) => [id, state])
    time.pass(aheadMs - 1)
    assert.equal((await issueToken(node)).kid, before.kid)
    assert.deepEqual(await states(), [
      [before.kid, 'current'],
      [kid, 'next'],
    ])
    time.pass(1)
    const after = await issueToken(node)
    assert.equal(after.kid, kid)
    assert.deepEqual(await states(), [
      [before.kid, 'previous'],
      [kid, 'current'],
    ])
    assert(await isAccepted(after.access_token))
  },
)

eachMigrated('§4.6 the old key is retained until its tokens have expired', async (db, t) => {
  const node = await openTokenNode(db, t)
  const { time, tokens, isAccepted } = node
  const { kid, signs_from } = await tokens.rotateSigningKey(actor)
  time.pass(Date.parse(signs_from) - time.nowMs - 1)
  const last = await issueToken(node)
  time.pass(899_000)
  assert.equal(await tokens.chores.signing_keys!(), 0)
  assert(await isAccepted(last.access_token))
  time.pass(DAY_MS + 2 * 3_600_000)
  assert.equal(await tokens.chores.signing_keys!(), 1)
  assert.deepEqual(await listKids(node), [kid])
  assert.equal(await tokens.readAccessToken(last.access_token), undefined)
  assert.equal(await tokens.chores.signing_keys!(), 0, 'the newest key is never deleted')
})

eachMigrated(
  '§4.6 one new key at a time; its rotation is audited, the key encrypted',
  async (db, t) => {
    const { tokens, time, vault } = await openTokenNode(db, t)
    const { kid, signs_from } = await tokens.rotateSigningKey(actor)
    await assert.rejects(tokens.rotateSigningKey(actor), { code: 'invalid_state' })
    const [entry, ...more] = await db.all(sql`SELECT actor_kind, action, target FROM gh_audit`)
    assert.deepEqual(
      [entry!.actor_kind, entry!.action, entry!.target],
      ['cli', 'signing_key.rotate', kid],
    )
    assert.deepEqual(more, [])
    const row = await db.get(
      sql`SELECT encrypted_private_jwk FROM gh_signing_keys WHERE kid = ${kid}`,
    )
    const encrypted = Buffer.from(row!.encrypted_private_jwk)
    const { d } = JSON.parse(vault.decrypt('signing', kid, encrypted).toString())
    assert(!encrypted.includes(d))
    time.pass(Date.parse(signs_from) - time.nowMs)
    await tokens.rotateSigningKey(actor)
  },
)

eachNode('§4.6 after 90 days one of the nodes replaces the key', async ([a, b]) => {
  const [first] = await listKids(a)
  a.time.pass(90 * DAY_MS - 1)
  await Promise.all([a.tokens.tick(), b.tokens.tick()])
  assert.deepEqual(await listKids(a), [first])
  a.time.pass(1)
  await Promise.all([a.tokens.tick(), b.tokens.tick(), a.tokens.tick(), b.tokens.tick()])
  a.time.pass(2_000)
  const kids = await listKids(b)
  assert.deepEqual([kids.length, kids[0]], [2, first])
  a.time.pass(11 * MINUTE_MS)
  await Promise.all([a.tokens.tick(), b.tokens.tick()])
  assert.deepEqual([(await issueToken(a)).kid, (await issueToken(b)).kid], [kids[1], kids[1]])
})

eachNode('§4.6 a node finds the key of another node when a token names it', async ([a, b]) => {
  assert(await b.isAccepted((await issueToken(a)).access_token))
  const { signs_from } = await a.tokens.rotateSigningKey(actor)
  a.time.pass(Date.parse(signs_from) - a.time.nowMs)
  const { access_token } = await issueToken(a)
  assert(await b.isAccepted(access_token), 'before its next poll')
})

eachMigrated('§4.6 unknown key ids cause one look-up a second', async (db, t) => {
  const { db: countingDb, reads } = countReads(db)
  const node = await openTokenNode(countingDb, t)
  await node.tokens.tick()
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const forged = (n: number) =>
    signClaims(privateKey, { alg: 'ES256', typ: 'at+jwt', kid: `k${n}` }, validClaims(node))
  node.time.pass(1_000)
  const before = reads()
  for (let n = 0; n < 20; n++) assert.equal(await node.isAccepted(await forged(n)), false)
  assert.equal(reads() - before, 1)
})
