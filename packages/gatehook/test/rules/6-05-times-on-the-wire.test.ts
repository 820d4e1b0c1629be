/** §6.5: times are stored in epoch milliseconds; JSON has ISO 8601 with three decimals and `Z`. */
import assert from 'node:assert/strict'
import { wallClockOfTests } from '../../../../test/rig/frozen-service.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { idsOf, ok, refused, run, styles, testScope } from '../lists/rows.ts'

eachService(
  'created_at stays, updated_at changes',
  async ({ app, post, patch }) => {
    const set = (now: string) =>
      app.clock!.set({ now: Date.parse(now), freeze: true }, { kind: 'test', id: 't' } as never)
    await set('2030-01-02T03:04:05.006Z')
    const user = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
    assert.equal(user.body.created_at, '2030-01-02T03:04:05.006Z')
    const order = await post('/api/v2/orders', { user_id: user.body.id, amount: 1 })
    await set('2030-01-02T03:04:06.000Z')
    const { body } = await patch(order.headers.location!, { amount: 2 })
    assert.equal(body.created_at, '2030-01-02T03:04:05.006Z')
    assert.equal(body.updated_at, '2030-01-02T03:04:06.000Z')
    const row = await app.db.get(sql`SELECT created_at FROM orders WHERE id = ${body.id}`)
    assert.equal(row?.created_at, Date.parse('2030-01-02T03:04:05.006Z'))
  },
  { env: { GATEHOOK_TEST_CLOCK: '1' }, clock: wallClockOfTests },
)

const days = resource('days', {
  fields: {
    id: f.id(),
    at: f.time().nullable().default(null),
    every: f.array(f.time(), { max: 2 }).default([]),
  },
  list: { filter: ['at'], sort: ['at'] },
  access: { read: 'days:read', create: 'days:write', update: 'days:write', delete: false },
  events: ['day.created'],
  export: true,
})
const calendar = service({
  name: 'Calendar',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: [days],
})
const options = { service: calendar, env: { GATEHOOK_TEST_CLOCK: '1' } }
const PATH = '/api/v2/days'

const outside = [
  '9999-12-31T23:59:59-05:00',
  '0000-01-01T00:00:00+00:01',
  '+010000-01-01T00:00:00Z',
]
const LAST = '9999-12-31T23:59:59.999Z'
const FIRST = '0000-01-01T00:00:00.000Z'

eachService(
  'no instant outside of the years 0 to 9999 enters or leaves',
  async ({ get, post, key, as }) => {
    const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
    const hook = await post('/webhooks', { url: 'https://example.com/', events: ['day.created'] })
    for (const text of outside) {
      const rejected = [
        post(PATH, { at: text }),
        post(PATH, { every: [text] }),
        admin.post('/admin/keys', { name: 'k', scopes: ['days:read'], expires_at: text }),
        admin.put('/admin/versions/v1', { sunset_at: text, force: true }),
        admin.put('/admin/versions/v1', { brownouts: [{ start: text, end: text }] }),
        admin.post('/admin/clock', { now: text }),
        post(`/webhooks/${hook.body.id}/replay`, { since: text }),
        post(`/webhooks/${hook.body.id}/recover`, { since: text }),
      ]
      for (const [at, reply] of (await Promise.all(rejected)).entries()) {
        assert.equal(reply.status, 422, `${at} ${text} ${reply.text}`)
      }
      const query = encodeURIComponent(text)
      for (const parameter of ['at', 'at[gte]', 'at[in]']) {
        await refused(get(`${PATH}?${parameter}=${query}`), 'invalid_parameter', parameter)
      }
      for (const path of ['/admin/requests?from=', '/admin/keys?expires_at[lt]=']) {
        assert.equal((await admin.get(path + query)).status, 400, path)
      }
    }
    for (const text of [LAST, FIRST]) {
      const created = await post(PATH, { at: text, every: [text] })
      assert.equal(created.body.at, text, created.text)
      assert.deepEqual(idsOf(await ok(get(`${PATH}?at=${text}`))), [created.body.id])
    }
    for (const accept of ['application/json', 'application/x-ndjson', 'text/csv']) {
      assert.doesNotMatch((await get(PATH, { accept })).text, /[+-]\d{6}-/)
    }
  },
  options,
)

/** Rows at 10, 11 and 12 ms, and one without an instant; ids 1 to 4. */
const at = (digits: string) => `2026-01-01T00:00:00.${digits}Z`
const exact: readonly (readonly [query: string, ...ids: number[]])[] = [
  [`at=${at('011')}`, 2],
  [`at=${at('0110000')}`, 2],
  [`at=${at('0110001')}`],
  [`at[ne]=${at('0110001')}`, 1, 2, 3, 4],
  [`at[in]=${at('0110001')},${at('010')}`, 1],
  [`at[in]=${at('0110001')}`],
  [`at[gt]=${at('0110001')}`, 3],
  [`at[gte]=${at('0110001')}`, 3],
  [`at[gte]=${at('0109999')}`, 2, 3],
  [`at[gt]=${at('011')}`, 3],
  [`at[lt]=${at('0110001')}`, 1, 2],
  [`at[lte]=${at('0110001')}`, 1, 2],
  [`at[lt]=${at('011')}`, 1],
  [`at[gte]=${at('0109')}&at[lt]=${at('0119')}`, 2],
]

eachService(
  'an instant with more than three decimals is compared exactly (§7.7)',
  async ({ app, get }) => {
    const scope = await testScope(app.db)
    const start = Date.parse('2026-01-01T00:00:00.010Z')
    for (const ms of [start, start + 1, start + 2, null]) {
      await run(app.db, "INSERT INTO days (scope, at, every) VALUES (?, ?, '[]')", [scope, ms])
    }
    for (const [query, ...ids] of exact) {
      for (const style of styles) {
        assert.deepEqual(idsOf(await ok(get(`${PATH}?${query}&pagination=${style}`))), ids, query)
      }
      const sorted = await ok(get(`${PATH}?${query}&sort=-at&limit=2`))
      const rest = sorted.body.next_cursor
        ? idsOf(
            await ok(get(`${PATH}?${query}&sort=-at&limit=2&cursor=${sorted.body.next_cursor}`)),
          )
        : []
      assert.deepEqual(new Set([...idsOf(sorted), ...rest]), new Set(ids), query)
    }
  },
  options,
)
