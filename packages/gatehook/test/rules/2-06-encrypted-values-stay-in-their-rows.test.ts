/** §2.6 note 2: an encrypted value that is copied to another row does not decrypt there. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { signingKeys } from '../../src/identity/tokens/tables.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { DecryptionError, Vault } from '../../src/kernel/secret.ts'
import { addSecret, liveSecrets } from '../../src/outbound/deliveries/registration-store.ts'
import { readLiveSecrets } from '../../src/outbound/webhooks/registrations.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { readRequestRecords } from '../storage/request-records.ts'
import { openTokenNode } from '../tokens/token-node.ts'

/** A registration of some customer. */
const placeOf = (no: number) => ({ scope: 3 as Scope, no })

const vault = new Vault('a secret that only tests know, long enough', systemRandom())
const clock = { now: () => 1, elapsedMs: () => 1 }

eachMigrated('the secret of one registration cannot sign for another', async (db) => {
  await db.write((tx) => addSecret(tx, vault, placeOf(1), 'whsec_own', 1))
  await db.write((tx) => addSecret(tx, vault, placeOf(2), 'whsec_foreign', 1))
  assert.deepEqual(await readLiveSecrets({ clock, vault }, db, placeOf(1)), [
    { value: 'whsec_own' },
  ])
  const [foreign] = await liveSecrets(db, placeOf(2), 1)
  await db.write((tx) =>
    tx.run(
      sql`UPDATE gh_webhook_secrets SET encrypted = ${foreign!.encrypted} WHERE webhook_no = 1`,
    ),
  )
  await assert.rejects(readLiveSecrets({ clock, vault }, db, placeOf(1)), { code: 'invalid_state' })
  assert.deepEqual(await readLiveSecrets({ clock, vault }, db, placeOf(2)), [
    { value: 'whsec_foreign' },
  ])
})

eachMigrated('a signing key opens for its own id', async (db, t) => {
  const { vault } = await openTokenNode(db, t)
  const row = (await db.get(sql`SELECT kid, encrypted_private_jwk FROM gh_signing_keys`))!
  const { purpose, rowOf } = signingKeys.encrypted!.encrypted_private_jwk!
  assert.ok(vault.decrypt(purpose, rowOf([row.kid]), row.encrypted_private_jwk).includes(row.kid))
  assert.throws(
    () => vault.decrypt(purpose, rowOf(['another']), row.encrypted_private_jwk),
    DecryptionError,
  )
})

eachService(
  'a stored response is replayed for its own idempotency key only',
  async ({ post, app, as, key }) => {
    const send = (caller: { post: typeof post }, id: string, email: string) =>
      caller.post('/api/v2/users', { name: 'Ada', email }, { 'idempotency-key': id })
    const other = as(await key())
    const first = await send({ post }, 'a', 'first@example.com')
    const second = await send(other, 'a', 'second@example.com')
    assert.deepEqual([first.status, second.status], [201, 201])
    const rows = await readRequestRecords(app.db)
    assert.equal(rows.length, 2)
    const [a, b] = rows
    const swap = (from: typeof a, to: typeof a) =>
      app.db.write((tx) =>
        tx.run(sql`UPDATE gh_idempotency SET answer = ${from!.answer} WHERE id = ${to!.id}`),
      )
    await swap(a, b)
    await swap(b, a)
    for (const [caller, email] of [
      [{ post }, 'first@example.com'],
      [other, 'second@example.com'],
    ] as const) {
      const replayed = await send(caller, 'a', email)
      assert.equal(replayed.status, 500)
      assert.doesNotMatch(replayed.text, /example\.com/)
    }
  },
)
