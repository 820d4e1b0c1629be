/** The client cache: it evicts after a second, and caches committed rows only. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { type ClientCache, createClientCache } from '../../src/identity/oauth/client-cache.ts'
import { markClientDeleted } from '../../src/identity/oauth/client-store.ts'
import { ManualClock } from '../access/test-node.ts'
import { openOauthFixture } from './rig.ts'

const withoutDocuments = {
  documents: { accepts: () => false, read: async () => undefined, hasFailed: () => false },
  documentScopes: [],
  hasOpenid: true,
} as const

for (const { name } of databases) {
  test(`a transaction reads its own change; the cache does not store it [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const { db } = fixture.app
    const { clock } = new ManualClock()
    const clients = createClientCache({ db, clock, ...withoutDocuments })
    const id = fixture.client.client_id
    const rollback = new Error('rolled back')
    await assert.rejects(
      db.write(async (tx) => {
        await markClientDeleted(tx, id, 1)
        assert.equal(await clients.findIn(tx, id), undefined)
        throw rollback
      }),
      rollback,
    )
    const client = await clients.find(id)
    assert.equal(client?.id, id)
    assert.equal(clients.find(id), client, 'the second call is synchronous')
  })

  test(`a deleted client is cached for a second, or until its eviction [${name}]`, async (t) => {
    const { app, client } = await openOauthFixture(t, name)
    const id = client.client_id
    const time = new ManualClock()
    const [expiring, evicted] = [0, 1].map(() =>
      createClientCache({ db: app.db, clock: time.clock, ...withoutDocuments }),
    ) as [ClientCache, ClientCache]
    await Promise.all([expiring.find(id), evicted.find(id)])
    await app.db.write(async (tx) => {
      await markClientDeleted(tx, id, 1)
      assert.equal((await evicted.findIn(tx, id))?.id, id)
    })
    evicted.evict(id)
    assert.equal(await evicted.find(id), undefined)
    time.pass(999)
    assert.equal((await expiring.find(id))?.id, id)
    time.pass(1)
    assert.equal(await expiring.find(id), undefined)
  })

  test(`an id in another format causes no look-up [${name}]`, async (t) => {
    const { app } = await openOauthFixture(t, name)
    const { clock } = new ManualClock()
    assert.equal(
      createClientCache({ db: app.db, clock, ...withoutDocuments }).find('client_x'),
      undefined,
    )
  })
}
