/** Clients as the hot path knows them: a second at most, and never by a transaction's own word. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import * as store from '../../src/oauth/client-store.ts'
import { knownClients } from '../../src/oauth/known-clients.ts'
import { ManualClock } from '../access/test-node.ts'
import { openPlace } from './rig.ts'

for (const { name } of databases) {
  test(`what a transaction sees is not remembered, what was committed is [${name}]`, async (t) => {
    const place = await openPlace(t, name)
    const { db } = place.app
    const { clock } = new ManualClock()
    const clients = knownClients({ db, clock })
    const id = place.client.client_id
    const gone = new Error('rolled back')
    await assert.rejects(
      db.write(async (tx) => {
        await store.markDeleted(tx, id, 1)
        assert.equal(await clients.within(tx, id), undefined)
        throw gone
      }),
      gone,
    )
    const found = await clients.find(id)
    assert.equal(found?.id, id)
    assert.equal(clients.find(id), found, 'at once')
    await db.write(async (tx) => {
      await store.markDeleted(tx, id, 1)
      assert.equal(await clients.within(tx, id), found, 'for a second at most')
    })
    clients.forget(id)
    assert.equal(await clients.find(id), undefined)
    assert.equal(clients.find('nobody'), undefined)
  })
}
