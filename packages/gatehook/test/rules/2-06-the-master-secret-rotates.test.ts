/** §2.6 note 2, §13: the master secret rotates during service; tokens and cursors stay valid. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Kind } from '../../../../test/rig/databases.ts'
import type { TestApp } from '../../../../test/rig/service.ts'
import { allEncrypted } from '../../src/assembly/secrets.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { addSecret } from '../../src/outbound/deliveries/registration-store.ts'
import { readLiveSecrets } from '../../src/outbound/webhooks/registrations.ts'
import { ConfigError } from '../../src/platform/config/config.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { recordIdsAt } from '../../src/protocol/idempotency/record-ids.ts'
import { createClaim, storeResponse } from '../../src/protocol/idempotency/store.ts'
import { responseRow } from '../../src/protocol/idempotency/tables.ts'
import { bearerOf, emailOf, openPeople } from '../people/rig.ts'
import {
  asBefore,
  countUnder,
  NEW,
  NEW_ID,
  nodesOn,
  OLD,
  OLD_ID,
  random,
  rotate,
} from '../secrets/rotation.ts'

/** A registration of some customer. */
const placeOf = (no: number) => ({ scope: 3 as Scope, no })

const clock = { now: () => 1, elapsedMs: () => 1 }

function each(name: string, body: (t: TestContext, kind: Kind) => Promise<void>): void {
  for (const kind of ['sqlite', 'postgres'] as const) {
    test(`${name} [${kind}]`, (t) => body(t, kind))
  }
}

const user = (email: string) => ({ name: 'Ada', email })
const keyed = (key: string) => ({ 'idempotency-key': key })

/** Values that callers retain: a replayable request, a cursor, tokens. */
async function holdings(node: TestApp) {
  const key = await node.key()
  const api = node.as(key)
  await api.post('/api/v2/users', user('other@example.com'))
  const created = await api.post('/api/v2/users', user('ada@example.com'), keyed('once'))
  assert.equal(created.status, 201)
  const page = await api.get('/api/v2/users?limit=1')
  const { createPerson, login, anonymous } = await openPeople(node)
  await createPerson('eve')
  const first = (await login(emailOf('eve'))).body
  const second = (await anonymous.post('/auth/refresh', { refresh_token: first.refresh_token }))
    .body
  const cursor = page.body.next_cursor as string
  return { key, created, cursor, used: first.refresh_token, current: second.refresh_token }
}

each('callers notice nothing, and old cursors end with the rotation', async (t, kind) => {
  const open = await nodesOn(t, kind)
  const before = await open(OLD)
  const held = await holdings(before)
  await before.app.db.write((tx) => addSecret(tx, new Vault(OLD, random), placeOf(7), 'whsec_x', 1))
  // The nodes restart with both secrets, in turn; the old secret encrypts meanwhile.
  const [first, second] = [await open(NEW, OLD), await open(NEW, OLD)]
  assert.equal(await countUnder(first.app, NEW_ID), 0)
  const mixed = await first
    .as(held.key)
    .post('/api/v2/users', user('m@example.com'), keyed('mixed'))
  const replayed = await before
    .as(held.key)
    .post('/api/v2/users', user('m@example.com'), keyed('mixed'))
  assert.deepEqual([mixed.status, replayed.text], [201, mixed.text])
  const walk = (node: TestApp) => node.as(held.key).get(`/api/v2/users?cursor=${held.cursor}`)
  const meanwhile: number[] = []
  const done = await rotate(first.app, {
    waitForNodes: async () => {
      await second.app.secrets.follow()
      const fresh = await second
        .as(held.key)
        .post('/api/v2/users', user('n@example.com'), keyed('n'))
      const again = await first
        .as(held.key)
        .post('/api/v2/users', user('n@example.com'), keyed('n'))
      assert.equal(again.text, fresh.text)
      meanwhile.push((await walk(first)).status, (await walk(second)).status)
    },
  })
  assert.deepEqual(meanwhile, [200, 200])
  const { values, ...rest } = done
  const expected = { key_id: NEW_ID, previous_key_id: OLD_ID, resumed: false, unreadable: 0 }
  assert.deepEqual(rest, expected)
  assert.ok(values >= 3, `${values} values`)
  await second.app.secrets.follow()
  const after = await open(NEW)
  for (const node of [first, second, after]) {
    const refused = await walk(node)
    assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_cursor'])
    const api = node.as(held.key)
    const again = await api.post('/api/v2/users', user('ada@example.com'), keyed('once'))
    assert.equal(again.text, held.created.text)
    const other = await api.post('/api/v2/users', user('x@example.com'), keyed('once'))
    assert.deepEqual([other.status, other.body.error], [422, 'idempotency_key_reused'])
  }
  const vault = new Vault(NEW, random)
  assert.deepEqual(await readLiveSecrets({ clock, vault }, after.app.db, placeOf(7)), [
    { value: 'whsec_x' },
  ])
  assert.deepEqual([await countUnder(after.app, OLD_ID), await countUnder(after.app, null)], [0, 0])
})

each('sessions and the detection of reuse outlive a rotation', async (t, kind) => {
  const open = await nodesOn(t, kind)
  const held = await holdings(await open(OLD))
  await rotate((await open(NEW, OLD)).app)
  const { anonymous } = await openPeople(await open(NEW))
  const refresh = (refresh_token: string) => anonymous.post('/auth/refresh', { refresh_token })
  const next = await refresh(held.current)
  assert.equal(next.status, 200)
  const me = await anonymous.get('/api/v1/protected', bearerOf(next.body.access_token))
  assert.equal(me.status, 200)
  assert.equal((await refresh(held.used)).status, 401)
  assert.equal((await refresh(next.body.refresh_token)).status, 401, 'the family has ended')
})

each('an interrupted rotation goes on where it was', async (t, kind) => {
  const open = await nodesOn(t, kind)
  const { app } = await open(OLD)
  const vault = new Vault(OLD, random)
  const [scopes, rows] = [3, 230]
  await app.db.write(async (tx) => {
    for (let n = 0; n < rows; n++) {
      const scope = 10 + (n % scopes)
      const times = { now: 0, since: 0 }
      const ids = recordIdsAt(Buffer.from(`row ${n}`.padEnd(32)), times)
      const id = ids.current
      const fingerprint = Buffer.from('print')
      await createClaim(app.db)(tx, { scope, ids, fingerprint, expiresAt: 9e15, times })
      const row = responseRow(scope, id)
      const response = vault.encrypt('idempotency', row, `plain ${n}`)
      storeResponse(tx, scope, id, { response, expiresAt: 9e15, isSecret: false })
    }
  })
  const total = await countUnder(app, OLD_ID)
  assert.ok(total > rows)
  let reached = 0
  const stopped = rotate((await open(NEW, OLD)).app, {
    onProgress(done) {
      reached = done
      if (done > 100) throw new Error('killed')
    },
  })
  await assert.rejects(stopped, /killed/)
  assert.ok(reached > 100 && reached < total, String(reached))
  await assert.rejects(open(NEW), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.match(error.message, /has not finished, .* key [0-9a-f]{16}, is missing: set GATEHOOK/)
    return true
  })
  const both = await open(NEW, OLD)
  assert.equal(await countUnder(both.app, OLD_ID), total - reached)
  const status = await both.app.secrets.status()
  assert.deepEqual([status.key_id, status.rotation?.previous_key_id], [NEW_ID, OLD_ID])
  const done = await rotate(both.app)
  assert.deepEqual([done.resumed, done.values, done.unreadable], [true, total - reached, 0])
  assert.equal(await countUnder(both.app, OLD_ID), 0)
  const fresh = new Vault(NEW, random)
  const stored = await both.app.db.all(sql`SELECT scope, id, answer FROM gh_idempotency
    WHERE answer IS NOT NULL`)
  const texts = stored.map(({ scope, id, answer }) =>
    fresh.decrypt('idempotency', responseRow(scope, id), answer).toString(),
  )
  assert.equal(new Set(texts).size, rows)
  const audit = await both.app.db.all(sql`SELECT action, target FROM gh_audit
    WHERE action LIKE 'master_secret%' ORDER BY position`)
  assert.deepEqual(
    audit.map(({ action, target }) => [action, target]),
    [
      ['master_secret.rotate', NEW_ID],
      ['master_secret.rotated', NEW_ID],
    ],
  )
})

each('a node that lacks the new secret says so and encrypts nothing', async (t, kind) => {
  const open = await nodesOn(t, kind)
  const late = await open(OLD)
  assert.equal((await late.get('/readyz')).status, 200)
  await rotate((await open(NEW, OLD)).app, { waitForNodes: () => late.app.secrets.follow() })
  const ready = await late.get('/readyz')
  assert.equal(ready.status, 503)
  assert.deepEqual(
    ready.body.reasons.map(({ check }: { check: string }) => check),
    ['master_secret'],
  )
  const refused = await late.post('/api/v2/users', user('a@example.com'), keyed('late'))
  assert.deepEqual([refused.status, refused.body.error], [503, 'storage_unavailable'])
  assert.equal(await countUnder(late.app, OLD_ID), 0)
  assert.equal((await late.get('/api/v2/users')).status, 200)
})

each('values of earlier releases are rewritten, damaged ones are counted', async (t, kind) => {
  const open = await nodesOn(t, kind)
  const { app } = await open(OLD)
  const vault = new Vault(OLD, random)
  await app.db.write(async (tx) => {
    await addSecret(tx, vault, placeOf(7), 'whsec_x', 1)
    await addSecret(tx, vault, placeOf(8), 'whsec_y', 1)
  })
  await asBefore(app.db, OLD)
  const both = await open(NEW, OLD)
  assert.equal(await countUnder(both.app, null), 3)
  const named = await countUnder(both.app, OLD_ID)
  await app.db.write((tx) =>
    tx.run(sql`UPDATE gh_webhook_secrets SET encrypted = ${Buffer.alloc(60)} WHERE webhook_no = 8`),
  )
  const done = await rotate(both.app)
  assert.deepEqual([done.values, done.unreadable], [named + 2, 1])
  const fresh = new Vault(NEW, random)
  assert.deepEqual(await readLiveSecrets({ clock, vault: fresh }, app.db, placeOf(7)), [
    { value: 'whsec_x' },
  ])
  assert.equal(await countUnder(both.app, null), 1)
})

each('a rotation without the new secret, or after its end, changes nothing', async (t, kind) => {
  const open = await nodesOn(t, kind)
  const only = await open(OLD)
  await assert.rejects(rotate(only.app), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.match(error.message, /in GATEHOOK_SECRET_KEY and this .* in GATEHOOK_/)
    return true
  })
  assert.equal((await only.app.secrets.status()).key_id, OLD_ID)
  await rotate((await open(NEW, OLD)).app)
  const again = await rotate((await open(NEW, OLD)).app)
  assert.deepEqual([again.key_id, again.previous_key_id, again.values], [NEW_ID, null, 0])
  // A process that was suspended during the rotation commits a value of the old secret.
  await only.app.db.write((tx) =>
    addSecret(tx, new Vault(OLD, random), placeOf(7), 'whsec_late', 1),
  )
  const late = await rotate((await open(NEW, OLD)).app)
  assert.deepEqual([late.previous_key_id, late.values, late.unreadable], [null, 1, 0])
  const secrets = await readLiveSecrets(
    { clock, vault: new Vault(NEW, random) },
    only.app.db,
    placeOf(7),
  )
  assert.deepEqual(secrets, [{ value: 'whsec_late' }])
})

/** Columns of hashes, public keys, and refresh tokens encrypted under the previous token. */
const NOT_SEALED = /\.(\w*hash|successor|public_key)$|^gh_idempotency\.(id|fingerprint)$/

test('a rotation rewrites every encrypted column of the schema', async (t) => {
  const { app } = await (await nodesOn(t, 'sqlite'))(OLD)
  const tables = await app.db.all(sql`SELECT name FROM sqlite_master
    WHERE type = 'table' AND name LIKE 'gh_%'`)
  const rewritten = new Set(allEncrypted.map(({ table, column }) => `${table}.${column}`))
  const unknown: string[] = []
  for (const { name } of tables) {
    for (const column of await app.db.columns(name)) {
      const path = `${name}.${column.name}`
      if (column.type === 'bytes' && !rewritten.has(path) && !NOT_SEALED.test(path))
        unknown.push(path)
    }
  }
  assert.deepEqual(unknown, [], 'add it to allEncrypted, or say here what it is')
})
