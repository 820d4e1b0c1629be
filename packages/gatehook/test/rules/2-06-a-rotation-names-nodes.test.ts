/** §2.6, §13: a rotation of the master secret begins when each node that runs has the new one. */
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { wallClock } from '../../src/kernel/clock.ts'
import { ConfigError } from '../../src/platform/config/config.ts'
import { storeNode } from '../../src/platform/nodes/registry.ts'
import { readState } from '../../src/platform/secrets/state.ts'
import { NEW, NEW_ID, nodesOn, OLD, OLD_ID, rotate } from '../secrets/rotation.ts'

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a node without the new secret is named, and nothing begins [${kind}]`, async (t) => {
    const open = await nodesOn(t, kind)
    const old = await open(OLD)
    await old.app.work()
    const command = await open(NEW, OLD)
    const gone = { id: 'x', name: 'gone', slot: 1, facts: '{}', columns: {}, keyIds: [OLD_ID] }
    await storeNode(command.app.db, { ...gone, seenAt: wallClock.now() - 46_000 })
    await assert.rejects(rotate(command.app), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, /without the new master secret/)
      assert.ok(error.message.includes(hostname()))
      assert.ok(!error.message.includes('gone'), 'a node that ended needs no secret')
      return true
    })
    assert.deepEqual((await readState(command.app.db))!.key_id, OLD_ID)

    await old.app.close()
    const restarted = await open(NEW, OLD)
    await restarted.app.work()
    assert.equal((await rotate(command.app)).key_id, NEW_ID)
  })

  test(`the 503 of a node without the secret names the cause [${kind}]`, async (t) => {
    const open = await nodesOn(t, kind)
    const old = await open(OLD) // it does not work yet, so that no row names it
    const key = await old.key()
    const command = await open(NEW, OLD)
    await rotate(command.app)
    await old.app.secrets.follow()
    const headers = { 'idempotency-key': 'once' }
    const user = { name: 'Ada', email: 'ada@example.com' }
    const { status, body } = await old.as(key).post('/api/v2/users', user, headers)
    assert.deepEqual([status, body.error], [503, 'storage_unavailable'])
    assert.match(body.message, /master secret/)
    const { body: readiness } = await old.as(undefined).get('/readyz')
    assert.match(readiness.reasons[0].message, /master secret/)
  })
}
