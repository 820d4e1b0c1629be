/** §11.1: a repeated request with an `Idempotency-Key` returns the stored response. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { failAt } from '../../../../test/rig/faults.ts'
import { type Caller, eachService, type Reply } from '../../../../test/rig/service.ts'
import { f, service } from '../../src/gatehook.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import type { Call } from '../../src/protocol/http/call.ts'
import { Query } from '../../src/protocol/http/query.ts'
import { createPerform } from '../../src/protocol/idempotency/perform.ts'
import { purgeRecords } from '../../src/protocol/idempotency/store.ts'
import { startWork } from '../fixtures/uncounted-work.ts'
import { readRequestRecords } from '../storage/request-records.ts'

const body = { name: 'Ada', email: 'ada@example.com' }
const key = (text: string) => ({ 'idempotency-key': text })
const replayed = ({ headers }: Reply) => headers['idempotent-replayed'] === 'true'
const count = async ({ get }: Caller, path = '/api/v2/users') =>
  (await get(`${path}?pagination=page`)).body.total

eachService(
  'the replayed response is equal byte by byte, whatever the order of members',
  async (service) => {
    const { post, patch } = service
    const first = await post('/api/v2/users', body, key('a'))
    assert.ok(!replayed(first))
    for (const text of [JSON.stringify(body), '{ "email":"ada@example.com",\n"name":"Ada"}']) {
      const again = await post('/api/v2/users', text, key('"a"'))
      assert.deepEqual([again.status, again.text, replayed(again)], [201, first.text, true])
      assert.equal(again.headers.location, first.headers.location)
      assert.equal(again.headers.etag, first.headers.etag)
    }
    const path = first.headers.location!
    const changed = await patch(path, { name: 'B' }, key('a'))
    await patch(path, { name: 'C' })
    const repeat = await patch(path, { name: 'B' }, key('a'))
    assert.deepEqual([repeat.text, replayed(repeat)], [changed.text, true])
    assert.equal((await service.get(path)).body.name, 'C')
    assert.equal(await count(service), 1)
  },
)

const transfer = {
  method: 'POST',
  scope: 'transfers:write',
  summary: 'Transfer to an account',
  query: { to: f.string() },
  output: { to: f.string() },
} as const
const transfers = service({
  name: 'bank',
  versions: { v1: { released: '2025-06-01' } },
  resources: [],
})
  .route({
    ...transfer,
    path: '/transfers',
    handle: async ({ query }) => ({ body: { to: query.to } }),
  })
  .route({
    ...transfer,
    path: '/transfers/later',
    steps: true,
    handle: async ({ query, step }) => ({ body: { to: await step('to', async () => query.to) } }),
  })

eachService(
  'another query is another request',
  async ({ post }) => {
    for (const path of ['/api/v1/transfers', '/api/v1/transfers/later']) {
      for (const [to, status] of [
        ['ann', 200],
        ['bob', 422],
        ['ann', 200],
      ] as const) {
        const reply = await post(`${path}?to=${to}`, undefined, key('a'))
        assert.deepEqual([reply.status, reply.body.to], [status, status === 200 ? to : undefined])
      }
    }
  },
  { service: transfers },
)

eachService('another body is 422 and a malformed key 400, without effect', async (service) => {
  const { post } = service
  await post('/api/v2/users', body, key('a'))
  const reused = await post('/api/v2/users', { ...body, name: 'Eve' }, key('a'))
  assert.deepEqual([reused.status, reused.body.error], [422, 'idempotency_key_reused'])
  for (const bad of ['', ' ', '""', 'a b', 'é', 'x'.repeat(256), '"a']) {
    const refused = await post('/api/v2/users', { ...body, email: 'x@example.com' }, key(bad))
    if (bad === '"a') assert.equal(refused.status, 201, 'a lone quote is a visible character')
    else
      assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_idempotency_key'], bad)
  }
  assert.equal(await count(service), 2)
  const longest = await post(
    '/api/v2/users',
    { ...body, email: 'y@example.com' },
    key('x'.repeat(255)),
  )
  assert.equal(longest.status, 201)
})

eachService('twenty concurrent requests create one row', async (service) => {
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => service.post('/api/v2/users', body, key('once'))),
  )
  for (const reply of replies) {
    if (reply.status === 201) continue
    assert.deepEqual([reply.status, reply.body.error], [409, 'idempotency_in_progress'])
    assert.match(reply.headers['retry-after']!, /^[1-9]\d*$/)
  }
  assert.equal(
    new Set(replies.filter(({ status }) => status === 201).map(({ text }) => text)).size,
    1,
  )
  assert.equal(await count(service), 1)
  assert.equal((await service.get('/events?pagination=page')).body.total, 1)
  assert.ok(replayed(await service.post('/api/v2/users', body, key('once'))))
})

eachService(
  'rejections by the handler are replayed; by validation, conditions and 5xx not',
  async (service) => {
    const { post, patch, app } = service
    const order = { user_id: 1, amount: 5 }
    const unknown = await post('/api/v2/orders', order, key('kept'))
    assert.equal(unknown.status, 422)
    await post('/api/v2/users', body)
    const again = await post('/api/v2/orders', order, key('kept'))
    assert.deepEqual([again.status, replayed(again)], [422, true])
    const { request_id: _repeated, ...repeatedBody } = again.body
    const { request_id: _first, ...firstBody } = unknown.body
    assert.deepEqual(repeatedBody, firstBody)

    assert.equal((await post('/api/v2/orders', { ...order, amount: 0 }, key('fresh'))).status, 422)
    assert.equal((await post('/api/v2/orders', order, key('fresh'))).status, 201)

    const stale = { 'if-match': '"x"', ...key('condition') }
    assert.equal((await patch('/api/v2/users/1', { name: 'B' }, stale)).status, 412)
    assert.equal((await patch('/api/v2/users/1', { name: 'B' }, key('condition'))).status, 200)

    const fault = failAt(app.db, 2)
    assert.equal((await post('/api/v2/orders', order, key('broken'))).status, 500)
    fault.restore()
    const mended = await post('/api/v2/orders', order, key('broken'))
    assert.deepEqual([mended.status, replayed(mended)], [201, false])
  },
)

eachService(
  'key and effect commit together: a crash at any statement leaves neither',
  async (service) => {
    const { post, app } = service
    // The first use of the API key is stored in another transaction, which must not fail.
    await post('/api/v2/users', { ...body, email: 'first@example.com' })
    for (let nth = 1; ; nth++) {
      const fault = failAt(app.db, nth)
      const reply = await post('/api/v2/users', body, key('crash'))
      fault.restore()
      if (fault.statementCount() < nth) {
        assert.deepEqual([reply.status, replayed(reply)], [201, false])
        break
      }
      assert.equal(reply.status, 500)
      assert.equal(await count(service), 1)
    }
    assert.ok(replayed(await post('/api/v2/users', body, key('crash'))))
    assert.equal(await count(service), 2)
  },
)

eachService(
  'idempotency keys are separate per caller, method, path and version',
  async (service) => {
    const { post, patch, as } = service
    const name = (n: number) => ({ name: 'Ada', email: `u${n}@example.com` })
    const other = as(await service.key())
    const replies = [
      await post('/api/v2/users', name(1), key('k')),
      await post('/api/v1/users', name(2), key('k')),
      await other.post('/api/v2/users', name(3), key('k')),
      await post('/api/v2/orders', { user_id: 1, amount: 1 }, key('k')),
      await patch('/api/v2/users/1', { name: 'B' }, key('k')),
      await patch('/api/v2/users/2', { name: 'B' }, key('k')),
    ]
    for (const reply of replies) assert.ok(reply.status < 300 && !replayed(reply), reply.text)
    // GET and DELETE are idempotent and ignore the key.
    assert.equal((await service.get('/api/v2/users/1', key('bad key'))).status, 200)
    assert.equal((await service.delete('/api/v2/users/2', key('bad key'))).status, 204)
  },
)

eachService(
  'a key of the caller is valid in every version, and for one request',
  async (service) => {
    const { post } = service
    const mine = { ...key('k'), prefer: 'idempotency=caller' }
    const first = await post('/api/v1/users', body, mine)
    const repeat = await post('/api/v2/users', body, mine)
    assert.deepEqual([first.status, repeat.status, replayed(repeat)], [201, 201, true])
    const unversioned = await post('/api/users', body, { ...mine, 'x-api-version': 'v2' })
    assert.ok(replayed(unversioned), unversioned.text)
    for (const other of [
      await post('/api/v2/users', { ...body, name: 'Eve' }, mine),
      await post('/api/v2/orders', { user_id: 1, amount: 1 }, mine),
      await service.patch('/api/v2/users/1', body, mine),
    ]) {
      assert.deepEqual([other.status, other.body.error], [422, 'idempotency_key_reused'])
    }
    // Another caller, and a key without the preference, are apart.
    const stranger = service.as(await service.key())
    const apart = await stranger.post('/api/v2/users', { ...body, email: 'b@example.com' }, mine)
    const plain = await post('/api/v2/users', { ...body, email: 'c@example.com' }, key('k'))
    assert.deepEqual([apart.status, replayed(apart)], [201, false])
    assert.deepEqual([plain.status, replayed(plain)], [201, false])
    assert.equal(await count(service), 3)
  },
)

eachService(
  'a response is replayed for 24 hours',
  async (service) => {
    const { post, app } = service
    const advance = (advance_s: number) =>
      app.clock!.set({ advance_s, freeze: true }, { kind: 'test', id: 't' } as never)
    const first = await post('/api/v2/users', body, key('day'))
    await advance(24 * 3600 - 60)
    assert.equal((await post('/api/v2/users', body, key('day'))).text, first.text)
    await advance(120)
    const later = await post('/api/v2/users', { ...body, email: 'b@example.com' }, key('day'))
    assert.deepEqual([later.status, replayed(later)], [201, false])
  },
  { env: { GATEHOOK_TEST_CLOCK: '1' } },
)

eachMigrated('a response with a secret is stored encrypted, for one hour', async (db) => {
  let now = 1_800_000_000_000
  const clock = { now: () => now, elapsedMs: () => 0 }
  const vault = new Vault('a secret that only tests know, long enough', systemRandom())
  const perform = createPerform({ db, clock, vault })
  const scope = scopeOf(1, 'test')
  const call = {
    method: 'POST',
    path: '/x',
    version: undefined,
    bytes: new Uint8Array(),
    body: {},
    query: Query.empty,
    headers: {},
    rawHeaders: ['Idempotency-Key', 'k'],
    principal: { scope, kind: 'key', subject: 's', scopes: new Set() },
    startWork,
    hasOldAuthority: () => false,
  } as unknown as Call
  let created = 0
  const make = () =>
    perform(call, async () => ({
      status: 201,
      json: `{"secret":"whsec_${++created}"}`,
      secret: true,
    }))
  const first = await make()
  assert.equal(first.secret, true)
  const rows = await readRequestRecords(db)
  assert.equal(Buffer.from(rows[0]!.answer as Uint8Array).includes('whsec_'), false)
  now += 3_599_000
  const repeat = await make()
  assert.deepEqual([repeat.json, repeat.secret], [first.json, true])
  now += 2_000
  assert.equal((await make()).json, '{"secret":"whsec_2"}')
  now += 3_600_000
  assert.equal(await purgeRecords(db, now), 1)
})
