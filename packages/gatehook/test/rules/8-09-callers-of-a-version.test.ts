/** §8.9: callers of a version have routes, requests by day, a trend and a contact. */
import assert from 'node:assert/strict'
import { eachFrozen } from '../../../../test/rig/frozen-service.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { shop } from '../fixtures/shop.ts'
import { openHook } from '../webhooks/hook.ts'

const PATH = '/admin/versions/v1'

eachFrozen('a caller that comes less often is falling', async (service) => {
  const { at, as, operator } = service
  const { body: key } = await operator.post('/admin/keys', {
    name: 'Till',
    scopes: ['users:read'],
    mode: 'live',
  })
  for (let day = 1; day <= 10; day++) {
    await at(`2026-12-${String(day).padStart(2, '0')}T09:00:00Z`)
    for (let n = day; n <= 10; n++) await as(key.key).get('/api/v1/users')
  }
  await at('2026-12-11T10:00:00Z')
  await as(undefined).get('/api/v1/users')
  const { body, status, text } = await operator.get(`${PATH}/callers?days=12`)
  assert.equal(status, 200, text)
  const till = body.data.find(({ id }: { id: string }) => id === key.id)
  assert.deepEqual(till, {
    customer: 'cus_default',
    customer_name: 'default',
    contact: null,
    mode: 'live',
    kind: 'key',
    id: key.id,
    name: 'Till',
    routes: [{ method: 'GET', route: '/users', count: 55 }],
    count: 55,
    daily: [0, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
    last_at: '2026-12-10T09:00:00.000Z',
    outlook: { kind: 'falling' },
  })
  const anonymous = body.data.find(({ kind }: { kind: string }) => kind === 'anonymous')
  assert.deepEqual([anonymous.customer, anonymous.count, anonymous.daily.at(-1)], [null, 1, 1])
  assert.equal(body.has_more, false)
  const own = await operator.get(`${PATH}/callers?customer=default`)
  assert.ok(own.body.data.every(({ customer }: { customer: string }) => customer === 'cus_default'))
  const idsIn = async (mode: string) => {
    const { data } = (await operator.get(`${PATH}/callers?mode=${mode}`)).body
    return data.map(({ kind, id }: { kind: string; id: string | null }) => id ?? kind)
  }
  assert.deepEqual(await idsIn('live'), [key.id, 'anonymous'])
  assert.deepEqual(await idsIn('test'), ['anonymous'])
  assert.equal((await operator.get(`${PATH}/callers?mode=both`)).status, 400)
  // 2026-12-03 and 2026-12-10 are Thursdays.
  const traffic = await operator.get(`${PATH}/traffic?weekday=4&hour=9`)
  assert.deepEqual(traffic.body, {
    weekday: 4,
    hour: 9,
    hours: 1,
    weeks: 2,
    expected: 2.3,
    customers: [{ customer: 'cus_default', customer_name: 'default', expected: 2.3 }],
  })
  // Thursdays had 8 and 1 requests, Fridays 7 and none.
  const days = await operator.get(`${PATH}/traffic?weekday=4&hour=8&hours=26`)
  assert.deepEqual([days.body.hours, days.body.weeks, days.body.expected], [26, 2, 8])
})

eachFrozen(
  'callers are paged: credentials by requests, then endpoints',
  async (service, t) => {
    const { at, as, operator } = service
    const { url } = await openHook(t)
    await at('2026-12-01T09:00:00Z')
    const names = ['once', 'often', 'twice']
    const ids = new Map<string, string>()
    for (const name of names) {
      const scopes = ['users:read', 'webhooks:write', 'orders:read']
      const { body } = await operator.post('/admin/keys', { name, scopes, mode: 'live' })
      ids.set(name, body.id)
      const requests = name === 'often' ? 3 : 1
      for (let n = 0; n < requests; n++) await as(body.key).get('/api/v1/users')
      const hook = { url: `${url}${name}`, events: ['order.paid'], api_version: 'v1' }
      assert.equal((await as(body.key).post('/webhooks', hook)).status, 201)
    }
    const read = async (query: string) => (await operator.get(`${PATH}/callers?${query}`)).body
    const all = await read('days=30')
    assert.deepEqual([all.data.length, all.has_more, all.next_cursor], [6, false, null])
    const paged: unknown[] = []
    let query = 'limit=2'
    for (let page = 1; page <= 3; page++) {
      const { data, next_cursor, has_more } = await read(query)
      assert.equal(data.length, 2)
      paged.push(...data)
      assert.equal(has_more, page < 3)
      assert.equal(next_cursor === null, page === 3)
      query = `limit=2&cursor=${next_cursor}`
    }
    assert.deepEqual(paged, all.data)
    assert.equal(all.data[0].id, ids.get('often'))
    const kinds = all.data.map(({ kind }: { kind: string }) => kind)
    assert.deepEqual(kinds, ['key', 'key', 'key', 'webhook', 'webhook', 'webhook'])
    const cursor = (await read('limit=2')).next_cursor
    for (const invalid of ['cursor=x', 'limit=0', 'limit=101', `days=7&cursor=${cursor}`]) {
      assert.equal((await operator.get(`${PATH}/callers?${invalid}`)).status, 400, invalid)
    }
  },
  { env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' } },
)

eachService(
  'a pinned endpoint is a caller that never ends by itself',
  async (service, t) => {
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const { url } = await openHook(t)
    const created = await service.post('/webhooks', { url, events: ['*'], api_version: 'v1' })
    assert.equal(created.status, 201, created.text)
    const { data } = (await admin.get(`${PATH}/callers`)).body
    assert.deepEqual(data, [
      {
        customer: 'cus_default',
        customer_name: 'default',
        contact: null,
        mode: 'test',
        kind: 'webhook',
        id: created.body.id,
        name: url,
        routes: [],
        count: 0,
        daily: [],
        last_at: data[0].last_at,
        outlook: { kind: 'pinned' },
      },
    ])
  },
  { env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' } },
)

eachService(
  'the changelog of a version is what the command prints',
  async (service) => {
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const { body } = await admin.get('/admin/versions/v2/changelog')
    assert.equal(body.version, 'v2')
    assert.ok(body.changes.length > 0)
    assert.deepEqual(Object.keys(body.changes[0]), [
      'resource',
      'why',
      'renamed',
      'before',
      'after',
    ])
    assert.deepEqual((await admin.get('/admin/versions/v1/changelog')).body.changes, [])
    for (const part of ['callers', 'changelog', 'traffic?weekday=1&hour=0']) {
      assert.equal((await admin.get(`/admin/versions/v9/${part}`)).status, 404, part)
    }
    for (const query of ['callers?days=0', 'callers?days=91', 'traffic?weekday=1', 'callers?x=1']) {
      assert.equal((await admin.get(`${PATH}/${query}`)).status, 400, query)
    }
  },
  { service: shop },
)
