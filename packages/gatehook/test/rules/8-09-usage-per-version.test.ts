/** §8.9: requests are counted per version, caller and route, without a write per request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachMigrated, freshUrl } from '../../../../test/rig/databases.ts'
import { eachFrozen } from '../../../../test/rig/frozen-service.ts'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { createUsageCounter, MAX_SUBJECTS } from '../../src/declare/versions/usage-counter.ts'
import type { Principal, Scope } from '../../src/kernel/principal.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

interface Use {
  readonly customer: string
  readonly key_id: string | null
  readonly client_id: string | null
  readonly method: string
  readonly route: string
  readonly count: number
  readonly last_at: string
}

const line = ({ customer, method, route, count }: Use) => `${customer} ${method} ${route} ${count}`

async function usageOf(service: Pick<TestApp, 'as' | 'key'>, version: string, query = '') {
  const operator = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const { body } = await operator.get(`/admin/versions/${version}/usage?limit=100&${query}`)
  return body.data as Use[]
}

eachFrozen('usage has caller, method, route template, count and last time', async (service) => {
  const { get, post, as, send, at, operator } = service
  await get('/api/v1/users')
  await get('/api/v1/users?limit=1')
  await at('2026-12-02T00:00:00Z')
  await get('/api/users', { 'x-api-version': 'v1' })
  await get('/api/v1/users/7')
  await post('/api/v1/orders/7/pay')
  await get('/api/v1/nowhere/at/all')
  await send('DELETE', '/api/v1/users')
  await as(undefined).get('/api/v1/users')
  await as(undefined).get('/api/v1/nowhere')
  await as('not a key').get('/api/v1/users/9')
  await get('/api/v2/users')
  await get('/api/latest/users')
  await get('/events')
  const used = await usageOf(service, 'v1')
  assert.deepEqual(used.map(line).sort(), [
    'anonymous GET * 1',
    'anonymous GET /users 1',
    'anonymous GET /users/{id} 1',
    'cus_default DELETE /users 1',
    'cus_default GET * 1',
    'cus_default GET /users 3',
    'cus_default GET /users/{id} 1',
    'cus_default POST /orders/{id}/pay 1',
  ])
  const busiest = used.find((use) => use.count === 3)!
  assert.equal(busiest.last_at, '2026-12-02T00:00:00.000Z')
  assert.match(busiest.key_id!, /^key_/)
  assert.deepEqual(Object.keys(busiest), [
    'customer',
    'key_id',
    'client_id',
    'method',
    'route',
    'count',
    'last_at',
  ])
  const anonymous = used.find((use) => use.customer === 'anonymous')!
  assert.deepEqual([anonymous.key_id, anonymous.client_id], [null, null])
  assert.deepEqual((await usageOf(service, 'v2')).map(line), ['cus_default GET /users 1'])
  assert.equal((await operator.get('/admin/versions/v3/usage')).status, 404)
})

eachFrozen(
  'requests of a retired version are counted, and their credentials never rejected',
  async (service) => {
    const { get, as, announce, key } = service
    await announce('v1', { sunset_at: '2026-12-01', force: true })
    const narrow = as(await key({ scopes: ['events:read'] }))
    for (const path of ['/api/v1/users', '/api/v1/nowhere', '/api/v1']) {
      assert.equal((await narrow.get(path)).status, 410)
      assert.equal((await as(undefined).get(path)).status, 410)
    }
    assert.equal((await as('wrong').get('/api/v1/users')).status, 410)
    const authorization = `Basic ${btoa('ada@example.com:secret')}`
    assert.equal((await as(undefined).get('/api/v1/users', { authorization })).status, 410)
    assert.equal((await get('/api/v1/users', { authorization })).status, 410, 'two credentials')
    const used = await usageOf(service, 'v1')
    assert.deepEqual(used.map(line).sort(), [
      'anonymous GET * 2',
      'anonymous GET /users 4',
      'cus_default GET * 2',
      'cus_default GET /users 1',
    ])
  },
)

eachService('usage has the pagination, filters and sorts of every list', async (service) => {
  const { get } = service
  for (let n = 0; n < 3; n++) await get('/api/v1/users')
  for (let n = 0; n < 2; n++) await get('/api/v1/orders')
  await get('/api/v1/protected')
  const counts = async (query: string) => (await usageOf(service, 'v1', query)).map((u) => u.count)
  assert.deepEqual(await counts('sort=-count'), [3, 2, 1])
  assert.deepEqual(await counts('count[gte]=2&sort=count'), [2, 3])
  assert.deepEqual(await counts('route=/orders'), [2])
  assert.deepEqual(await counts('customer=cus_none'), [])
  assert.deepEqual((await counts('after_id=0')).sort(), [1, 2, 3])
})

eachService('counts of several flushes add up', async ({ app, get }) => {
  const stored = async () => {
    const row = await app.db.get(sql`SELECT sum(count) AS n FROM gh_version_usage`)
    return Number(row?.n ?? 0)
  }
  await get('/api/v1/users')
  assert.equal(await stored(), 0, 'a request writes nothing')
  await app.versioning.flush()
  await get('/api/v1/users')
  await get('/api/v1/users')
  await Promise.all([app.versioning.flush(), app.versioning.flush()])
  await app.versioning.flush()
  assert.equal(await stored(), 3)
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a node that stops stores its counts [${kind}]`, async (t) => {
    const url = await freshUrl(t, kind)
    const first = await openService(t, kind, { url })
    await first.get('/api/v1/users')
    await first.app.close()
    const second = await openService(t, kind, { url })
    assert.deepEqual((await usageOf(second, 'v1')).map(line), ['cus_default GET /users 1'])
  })
}

const principal: Principal = {
  customer: 'cus_a',
  mode: 'live',
  scope: 3 as Scope,
  kind: 'key',
  subject: 'key_a',
  scopes: new Set(),
  keyId: 'key_a',
}
const call = { route: '/api/things/:id', method: 'GET' } as const

eachMigrated('a failed flush loses no counts', async (db) => {
  let broken = true
  const write: Database['write'] = (change) =>
    db.write(async (tx) => {
      const done = await change(tx)
      if (broken) throw new Error('no space left')
      return done
    })
  const clock = { now: () => 1000, elapsedMs: () => 0 }
  const usage = createUsageCounter({ db: { ...db, write }, clock })
  for (let n = 0; n < 5; n++) usage.countRequest('v1', call, principal)
  await assert.rejects(usage.flush(), /no space left/)
  usage.countRequest('v1', call, principal)
  usage.countRequest('v1', call, undefined)
  broken = false
  await usage.flush()
  await usage.flush()
  const rows = await db.arrays(
    sql`SELECT customer, key_id, route, count, last_at FROM gh_version_usage ORDER BY customer`,
  )
  assert.deepEqual(
    rows.map((row) => row.map((cell) => (/^\d+$/.test(String(cell)) ? Number(cell) : cell))),
    [
      ['anonymous', '', '/things/{id}', 1, 1000],
      ['cus_a', 'key_a', '/things/{id}', 6, 1000],
    ],
  )
})

eachMigrated('an issuer has a bound of subjects, also over many flushes', async (db) => {
  const usage = createUsageCounter({ db, clock: { now: () => 1000, elapsedMs: () => 0 } })
  const count = (subject: string) =>
    usage.countRequest('v1', call, {
      ...{ customer: 'cus_a', mode: 'live', scope: 3 as Scope, scopes: new Set() },
      ...{ kind: 'workload', subject, clientId: 'iss_a' },
    })
  const read = async () => {
    const rows = await db.arrays(
      sql`SELECT subject, count FROM gh_version_usage WHERE client_id = 'iss_a'`,
    )
    return new Map(rows.map(([subject, total]) => [String(subject), Number(total)]))
  }
  count('first')
  await usage.flush()
  const more = 10
  for (let n = 0; n < MAX_SUBJECTS + more; n++) count(`s${n}`)
  await usage.flush()
  count('another')
  count('first')
  count('s0')
  await usage.flush()
  const counts = await read()
  assert.equal(counts.size, MAX_SUBJECTS + 1)
  assert.deepEqual(
    [counts.get('first'), counts.get('s0'), counts.get('another')],
    [2, 2, undefined],
  )
  assert.equal(counts.get(''), more + 2, 'no request is lost')
})
