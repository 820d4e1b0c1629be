import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { eachMigrated, quietLog } from '../../../../test/rig/databases.ts'
import { createKeyVerifier } from '../../src/identity/access/key-verifier.ts'
import { revokeKey } from '../../src/identity/access/keys.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import type { Database, Row } from '../../src/platform/storage/database.ts'
import { administration, countLookups, ManualClock, openTestNode, random } from './test-node.ts'

const PATH = 'GET /api/protected'
const HERE = { address: '127.0.0.1', identified: undefined }

eachMigrated('requests with a cached key wait for no lookup', async (db, t) => {
  const { createKey, time } = await openTestNode(db, t)
  const { id, key } = await createKey({})
  const { db: countingDb, lookups } = countLookups(db)
  const verifier = createKeyVerifier({ db: countingDb, clock: time.clock, log: quietLog })
  const principals = await Promise.all(Array.from({ length: 20 }, () => verifier.verify(key, HERE)))
  assert.equal(lookups(), 2, 'concurrent requests share one lookup, of hash and key')
  assert.equal(principals[7]?.subject, id)
  time.realMs += 399
  assert(!(verifier.verify(key, HERE) instanceof Promise))
  assert.equal(lookups(), 2)
  for (let round = 1; round < 5; round++) {
    time.realMs += 600
    assert(!(verifier.verify(key, HERE) instanceof Promise), 'from the cache')
    await verifier.idle()
    assert.equal(lookups(), 2 + round, 'refreshed in the background, without the hash')
  }
  time.realMs += 1000
  assert(verifier.verify(key, HERE) instanceof Promise, 'after a second the cached key is not used')
  await verifier.idle()
})

eachMigrated('§3.10 the other nodes apply a change within a second', async (db, t) => {
  const time = new ManualClock()
  const node = await openTestNode(db, t, { time })
  const otherNode = await openTestNode(db, t, { time, operator: node.operator })
  const { body: customer } = await node.send('POST /admin/customers', { body: { name: 'c' } })
  const changes: [expected: string, line: (id: string) => string, body?: object][] = [
    ['invalid_api_key', (id) => `DELETE /admin/keys/${id}`],
    ['invalid_api_key', (id) => `POST /admin/keys/${id}/roll`, { overlap_seconds: 0 }],
    ['customer_suspended', () => `PATCH /admin/customers/${customer.id}`, { suspended: true }],
  ]
  for (const [expected, line, body] of changes) {
    const { id, key } = await node.createKey({ customer: customer.id })
    for (const each of [node, otherNode]) assert.equal((await each.send(PATH, { key })).status, 200)
    const reply = await node.send(line(id), body ? { body } : {})
    assert([200, 204].includes(reply.status))
    assert.equal(
      (await node.send(PATH, { key })).body.error,
      expected,
      'at once on the node of the change',
    )
    time.pass(1000)
    const late = await otherNode.send(PATH, { key })
    assert.deepEqual([late.status, late.body.error], [403, expected])
  }
})

eachMigrated('the last use is stored once a minute, by one of all nodes', async (db, t) => {
  const time = new ManualClock()
  const nodes = [await openTestNode(db, t, { time })]
  nodes.push(await openTestNode(db, t, { time, operator: nodes[0]!.operator }))
  const { id, key } = await nodes[0]!.createKey({})
  const lastUse = async () => (await nodes[0]!.send(`GET /admin/keys/${id}`)).body.last_used_at
  assert.equal(await lastUse(), null)
  const first = new Date(time.nowMs).toISOString()
  for (let second = 0; second < 59; second += 5) {
    for (const node of nodes) await node.send(PATH, { key })
    assert.equal(await lastUse(), first)
    time.pass(5000)
  }
  await nodes[1]!.send(PATH, { key })
  assert.equal(await lastUse(), new Date(Date.parse(first) + 60_000).toISOString())
})

/** The database row of a valid key. */
const row = {
  id: 'key_1',
  scope: 3,
  mode: 'live',
  scopes: '[]',
  cidrs: '[]',
  limits: '{}',
  suspended: 0,
  revoked_at: null,
}

test('a lookup that began before a change is not cached', async () => {
  const time = new ManualClock()
  const lookups: ((row: Row | undefined) => void)[] = []
  const slow = {
    get: () => new Promise((resolve) => lookups.push(resolve)),
    write: () => Promise.resolve(0),
  } as unknown as Database
  const verifier = createKeyVerifier({ db: slow, clock: time.clock, log: quietLog })
  const key = generateApiKey(random, 'live')
  const before = verifier.verify(key, HERE)
  verifier.evict()
  const after = verifier.verify(key, HERE)
  assert.equal(lookups.length, 2, 'the later request does not wait for the earlier lookup')
  lookups[1]!(undefined)
  await assert.rejects(async () => after, { code: 'invalid_api_key' })
  lookups[0]!({ scope: row.scope, key_id: row.id })
  await setImmediate()
  lookups[2]!({ ...row, expires_at: null, secret_expires_at: null })
  assert.equal((await before).subject, 'key_1')
  const later = verifier.verify(key, HERE)
  assert.equal(
    lookups.length,
    4,
    'the result of the earlier lookup is returned to its own request only',
  )
  lookups[3]!(undefined)
  await assert.rejects(async () => later, { code: 'invalid_api_key' })
  await verifier.idle()
})

test('cached keys are valid for a second while the database fails', async () => {
  const time = new ManualClock()
  let isUp = true
  const failingDb = {
    get: () => (isUp ? Promise.resolve(row) : Promise.reject(new Error('down'))),
    write: () => Promise.reject(new Error('down')),
  } as unknown as Database
  const verifier = createKeyVerifier({ db: failingDb, clock: time.clock, log: quietLog })
  const key = generateApiKey(random, 'live')
  await verifier.verify(key, HERE)
  isUp = false
  time.realMs += 999
  assert.equal((await verifier.verify(key, HERE)).subject, 'key_1')
  time.realMs += 1
  await assert.rejects(async () => verifier.verify(key, HERE), /down/)
  await verifier.idle()
})

eachMigrated('of two concurrent revocations of a key, one is 404', async (db, t) => {
  const { createKey, time } = await openTestNode(db, t)
  const { id } = await createKey({})
  const caller = { actor: { kind: 'cli', id: 'test' } } as const
  const admin = administration(db, time)
  const results = await Promise.allSettled([
    revokeKey(admin, id, caller),
    revokeKey(admin, id, caller),
  ])
  assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
})
