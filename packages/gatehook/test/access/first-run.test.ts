import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { databases, eachMigrated, freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { performFirstRun } from '../../src/identity/access/first-run.ts'
import { keyTable } from '../../src/identity/access/key-members.ts'
import { revokeKey } from '../../src/identity/access/keys.ts'
import { ensureSigningKey } from '../../src/identity/tokens/signing-keys.ts'
import { SIGNING_PURPOSE } from '../../src/identity/tokens/tables.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { administration, ManualClock, openTestNode, random } from './test-node.ts'

const caller = { actor: { kind: 'cli', id: 'test' } } as const

eachMigrated(
  '§2.6 the bootstrap key is stored once, if no admin key existed before',
  async (db, t) => {
    const admin = administration(db, new ManualClock())
    assert.deepEqual(await performFirstRun(admin, {}), {
      created: true,
      bootstrapKey: 'none',
      testKey: undefined,
    })
    const bootstrapKey = generateApiKey(random, 'live')
    assert.equal((await performFirstRun(admin, { bootstrapKey })).bootstrapKey, 'created')
    const secondRun = await performFirstRun(admin, { bootstrapKey })
    assert.deepEqual([secondRun.created, secondRun.bootstrapKey], [false, 'unused'])
    const { send } = await openTestNode(db, t, { operator: bootstrapKey })
    assert.equal((await send('GET /admin/keys')).body.data.length, 1)
    const [key] = await keyTable.readAll(db)
    await revokeKey(admin, key!.id, caller)
    const laterRun = await performFirstRun(admin, { bootstrapKey: generateApiKey(random, 'live') })
    assert.equal(laterRun.bootstrapKey, 'unused', 'a revoked key existed')
    assert.deepEqual(await keyTable.readAll(db), [])
  },
)

eachMigrated('a requested test key is created once', async (db) => {
  const admin = administration(db, new ManualClock())
  const testKeyScopes = ['things:read']
  const { testKey } = await performFirstRun(admin, { testKeyScopes })
  assert.match(testKey ?? '', /^gk_test_/)
  assert.equal((await performFirstRun(admin, { testKeyScopes })).testKey, undefined)
  const [key] = await keyTable.readAll(db)
  assert.deepEqual([key?.mode, key?.scopes], ['test', testKeyScopes])
})

for (const database of databases) {
  test(`two concurrent first starts create each object once [${database.name}]`, async (t) => {
    const url = await freshUrl(t, database.name)
    const nodes = await Promise.all([openForTest(t, url), openForTest(t, url)])
    const time = new ManualClock()
    const vault = new Vault('a master secret of enough characters', random)
    const starts = nodes.map(async (db) => {
      await migrateEngine(db, { clock: time.clock })
      const bootstrapKey = generateApiKey(random, 'live') // each node has another one
      const options = { bootstrapKey, testKeyScopes: ['things:read'] }
      const run = await performFirstRun(administration(db, time), options)
      return { run, kid: await ensureSigningKey(db, { vault, clock: time.clock }) }
    })
    const [a, b] = await Promise.all(starts)
    assert.deepEqual([a!.run.created, b!.run.created].sort(), [false, true])
    assert.deepEqual([a!.run.bootstrapKey, b!.run.bootstrapKey].sort(), ['created', 'unused'])
    assert.equal([a!.run.testKey, b!.run.testKey].filter((key) => key !== undefined).length, 1)
    assert.equal(a!.kid, b!.kid)
    assert.equal((await keyTable.readAll(nodes[0]!)).length, 2)
    assert.equal((await nodes[0]!.all(sql`SELECT id FROM gh_customers`)).length, 1)
    assert.equal((await nodes[0]!.all(sql`SELECT kid FROM gh_signing_keys`)).length, 1)
  })
}

eachMigrated('§4.6 the signing key is ES256, and its private part is encrypted', async (db) => {
  const vault = new Vault('a master secret of enough characters', random)
  const { clock } = new ManualClock()
  const kid = await ensureSigningKey(db, { vault, clock })
  assert.equal(await ensureSigningKey(db, { vault, clock }), kid)
  const [row] = await db.all(sql`SELECT * FROM gh_signing_keys`)
  const publicJwk = JSON.parse(row!.public_jwk)
  assert.deepEqual(
    [publicJwk.kty, publicJwk.crv, publicJwk.alg, publicJwk.use, publicJwk.kid, publicJwk.d],
    ['EC', 'P-256', 'ES256', 'sig', kid, undefined],
  )
  // RFC 7638 §3: these members, in this order, without white space.
  const members = `{"crv":"P-256","kty":"EC","x":"${publicJwk.x}","y":"${publicJwk.y}"}`
  assert.equal(kid, createHash('sha256').update(members).digest('base64url'))
  const encryptedKey = Buffer.from(row!.encrypted_private_jwk)
  const { d, ...rest } = JSON.parse(vault.decrypt(SIGNING_PURPOSE, kid, encryptedKey).toString())
  assert.deepEqual(rest, publicJwk)
  assert.equal(Buffer.from(d, 'base64url').length, 32)
  assert(!encryptedKey.includes(d))
  assert.throws(() => vault.decrypt('cursor', kid, encryptedKey))
})
