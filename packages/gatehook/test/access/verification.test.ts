import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachMigrated, quietLog } from '../../../../test/rig/databases.ts'
import { createKeyVerifier } from '../../src/access/key-verifier.ts'
import { revokeKey } from '../../src/access/keys.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import type { Database, Row } from '../../src/storage/database.ts'
import { administration, counting, HandClock, openDesk, random } from './desk.ts'

const PATH = 'GET /api/protected'
const HERE = '127.0.0.1'

eachMigrated('a busy key costs no request a look-up', async (db, t) => {
  const { make, time } = await openDesk(db, t)
  const { id, key } = await make({})
  const watched = counting(db)
  const verifier = createKeyVerifier({ db: watched.db, clock: time.clock, log: quietLog })
  const many = await Promise.all(Array.from({ length: 20 }, () => verifier.verify(key, HERE)))
  assert.equal(watched.lookUps(), 1, 'those who come together share one look-up')
  assert.equal(many[7]?.subject, id)
  time.realMs += 399
  assert(!(verifier.verify(key, HERE) instanceof Promise))
  assert.equal(watched.lookUps(), 1)
  for (let round = 2; round < 6; round++) {
    time.realMs += 600
    assert(!(verifier.verify(key, HERE) instanceof Promise), 'answered from memory')
    await verifier.idle()
    assert.equal(watched.lookUps(), round, 'and looked up again beside it')
  }
  time.realMs += 1000
  assert(verifier.verify(key, HERE) instanceof Promise, 'a second old: not used any more')
  await verifier.idle()
})

eachMigrated('§3.10 a change on one node acts on the others within a second', async (db, t) => {
  const time = new HandClock()
  const here = await openDesk(db, t, { time })
  const there = await openDesk(db, t, { time, operator: here.operator })
  const { body: customer } = await here.ask('POST /admin/customers', { body: { name: 'c' } })
  const changes: [expected: string, line: (id: string) => string, body?: object][] = [
    ['invalid_api_key', (id) => `DELETE /admin/keys/${id}`],
    ['invalid_api_key', (id) => `POST /admin/keys/${id}/roll`, { overlap_seconds: 0 }],
    ['customer_suspended', () => `PATCH /admin/customers/${customer.id}`, { suspended: true }],
  ]
  for (const [expected, line, body] of changes) {
    const { id, key } = await here.make({ customer: customer.id })
    for (const node of [here, there]) assert.equal((await node.ask(PATH, { key })).status, 200)
    const changed = await here.ask(line(id), body ? { body } : {})
    assert([200, 204].includes(changed.status))
    assert.equal((await here.ask(PATH, { key })).body.error, expected, 'at once where it was made')
    time.pass(1000)
    const late = await there.ask(PATH, { key })
    assert.deepEqual([late.status, late.body.error], [403, expected])
  }
})

eachMigrated('the last use is noted once a minute, over all nodes', async (db, t) => {
  const time = new HandClock()
  const nodes = [await openDesk(db, t, { time })]
  nodes.push(await openDesk(db, t, { time, operator: nodes[0]!.operator }))
  const { id, key } = await nodes[0]!.make({})
  const shown = async () => (await nodes[0]!.ask(`GET /admin/keys/${id}`)).body.last_used_at
  assert.equal(await shown(), null)
  const first = new Date(time.nowMs).toISOString()
  for (let second = 0; second < 59; second += 5) {
    for (const node of nodes) await node.ask(PATH, { key })
    assert.equal(await shown(), first)
    time.pass(5000)
  }
  await nodes[1]!.ask(PATH, { key })
  assert.equal(await shown(), new Date(Date.parse(first) + 60_000).toISOString())
})

/** What the database says of a good key. */
const row = {
  id: 'key_1',
  scope: 3,
  mode: 'live',
  scopes: '[]',
  cidrs: '[]',
  limits: '{}',
  suspended: 0,
}

test('a look-up that began before a change is not remembered', async () => {
  const time = new HandClock()
  const answers: ((row: Row | undefined) => void)[] = []
  const slow = {
    get: () => new Promise((resolve) => answers.push(resolve)),
    write: () => Promise.resolve(0),
  } as unknown as Database
  const verifier = createKeyVerifier({ db: slow, clock: time.clock, log: quietLog })
  const key = generateApiKey(random, 'live')
  const before = verifier.verify(key, HERE)
  verifier.forget()
  const after = verifier.verify(key, HERE)
  assert.equal(answers.length, 2, 'the later caller does not wait for the earlier look-up')
  answers[1]!(undefined)
  await assert.rejects(async () => after, { code: 'invalid_api_key' })
  answers[0]!({ ...row, expires_at: null, secret_expires_at: null })
  assert.equal((await before).subject, 'key_1')
  const later = verifier.verify(key, HERE)
  assert.equal(
    answers.length,
    3,
    'what came late is right for the one who waited, and for nobody else',
  )
  answers[2]!(undefined)
  await assert.rejects(async () => later, { code: 'invalid_api_key' })
  await verifier.idle()
})

test('a database that does not answer ends remembered keys after a second', async () => {
  const time = new HandClock()
  let up = true
  const shaky = {
    get: () => (up ? Promise.resolve(row) : Promise.reject(new Error('down'))),
    write: () => Promise.reject(new Error('down')),
  } as unknown as Database
  const verifier = createKeyVerifier({ db: shaky, clock: time.clock, log: quietLog })
  const key = generateApiKey(random, 'live')
  await verifier.verify(key, HERE)
  up = false
  time.realMs += 999
  assert.equal((await verifier.verify(key, HERE)).subject, 'key_1')
  time.realMs += 1
  await assert.rejects(async () => verifier.verify(key, HERE), /down/)
  await verifier.idle()
})

eachMigrated('revoking twice at the same moment: one finds it, one does not', async (db, t) => {
  const { make, time } = await openDesk(db, t)
  const { id } = await make({})
  const by = { actor: { kind: 'cli', id: 'test' } } as const
  const admin = administration(db, time)
  const both = await Promise.allSettled([revokeKey(admin, id, by), revokeKey(admin, id, by)])
  assert.deepEqual(both.map((each) => each.status).sort(), ['fulfilled', 'rejected'])
})
