import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { databases, eachMigrated, freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import { keyTable } from '../../src/access/collections.ts'
import { performFirstRun } from '../../src/access/first-run.ts'
import { revokeKey } from '../../src/access/keys.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { migrateEngine } from '../../src/storage/migrate.ts'
import { sql } from '../../src/storage/sql.ts'
import { SIGNING_PURPOSE } from '../../src/tokens/signing-key-store.ts'
import { ensureSigningKey } from '../../src/tokens/signing-keys.ts'
import { administration, HandClock, openDesk, random } from './desk.ts'

const by = { actor: { kind: 'cli', id: 'test' } } as const

eachMigrated(
  '§2.6 the bootstrap key is taken once, if no admin key ever existed',
  async (db, t) => {
    const admin = administration(db, new HandClock())
    assert.deepEqual(await performFirstRun(admin, {}), {
      created: true,
      bootstrapKey: 'none',
      testKey: undefined,
    })
    const bootstrapKey = generateApiKey(random, 'live')
    assert.equal((await performFirstRun(admin, { bootstrapKey })).bootstrapKey, 'created')
    const again = await performFirstRun(admin, { bootstrapKey })
    assert.deepEqual([again.created, again.bootstrapKey], [false, 'unused'])
    const { ask } = await openDesk(db, t, { operator: bootstrapKey })
    assert.equal((await ask('GET /admin/keys')).body.data.length, 1)
    const [only] = await keyTable.readAll(db)
    await revokeKey(admin, only!.id, by)
    const late = await performFirstRun(admin, { bootstrapKey: generateApiKey(random, 'live') })
    assert.equal(late.bootstrapKey, 'unused', 'one existed, though it is revoked')
    assert.deepEqual(await keyTable.readAll(db), [])
  },
)

eachMigrated('a test key to try with is made when wished for, once', async (db) => {
  const admin = administration(db, new HandClock())
  const testKeyScopes = ['things:read']
  const { testKey } = await performFirstRun(admin, { testKeyScopes })
  assert.match(testKey ?? '', /^gk_test_/)
  assert.equal((await performFirstRun(admin, { testKeyScopes })).testKey, undefined)
  const [key] = await keyTable.readAll(db)
  assert.deepEqual([key?.mode, key?.scopes], ['test', testKeyScopes])
})

for (const database of databases) {
  test(`two first starts at once leave one of each [${database.name}]`, async (t) => {
    const url = await freshUrl(t, database.name)
    const nodes = await Promise.all([openForTest(t, url), openForTest(t, url)])
    const time = new HandClock()
    const vault = new Vault('a master secret of enough characters', random)
    const starts = nodes.map(async (db) => {
      await migrateEngine(db, { clock: time.clock })
      const bootstrapKey = generateApiKey(random, 'live') // each node was given another
      const wishes = { bootstrapKey, testKeyScopes: ['things:read'] }
      const run = await performFirstRun(administration(db, time), wishes)
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

eachMigrated('§4.6 the signing key is ES256, its private part sealed', async (db) => {
  const vault = new Vault('a master secret of enough characters', random)
  const { clock } = new HandClock()
  const kid = await ensureSigningKey(db, { vault, clock })
  assert.equal(await ensureSigningKey(db, { vault, clock }), kid)
  const [row] = await db.all(sql`SELECT * FROM gh_signing_keys`)
  const shared = JSON.parse(row!.public_jwk)
  assert.deepEqual(
    [shared.kty, shared.crv, shared.alg, shared.use, shared.kid, shared.d],
    [...['EC', 'P-256', 'ES256', 'sig', kid], undefined],
  )
  // RFC 7638 §3: these members, in this order, without white space.
  const members = `{"crv":"P-256","kty":"EC","x":"${shared.x}","y":"${shared.y}"}`
  assert.equal(kid, createHash('sha256').update(members).digest('base64url'))
  const sealed = Buffer.from(row!.sealed_private_jwk)
  const { d, ...rest } = JSON.parse(vault.decrypt(SIGNING_PURPOSE, kid, sealed).toString())
  assert.deepEqual(rest, shared)
  assert.equal(Buffer.from(d, 'base64url').length, 32)
  assert(!sealed.includes(d))
  assert.throws(() => vault.decrypt('cursor', kid, sealed))
})
