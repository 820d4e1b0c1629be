/** §8.10: customers that called within 30 days get each deprecation event once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { eachFrozen } from '../../../../test/rig/frozen-service.ts'
import { openService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { EMPTY_CALENDAR } from '../../src/declare/versions/calendar.ts'
import { dueNotices } from '../../src/declare/versions/deprecation-notices.ts'

interface NoticeEvent {
  readonly type: string
  readonly data: { readonly object: Record<string, unknown> }
}

const noticesIn = (reply: Reply): string[] =>
  (reply.body.data as NoticeEvent[]).map(({ type, data: { object } }) =>
    [type.replace('api_version.', ''), object.days_left ?? []].flat().join(' '),
  )

eachFrozen(
  'callers get the notices deprecated, approaching and retired once each',
  async (service) => {
    const { get, as, key, at, announce, app, operator } = service
    const { sendNotices } = app.versioning
    const other = (await operator.post('/admin/customers', { name: 'Other' })).body.id
    const stranger = as(await key({ customer: other }))
    const live = as(await key({ mode: 'live' }))
    await get('/api/v1/users')
    await stranger.get('/api/v2/users')
    assert.equal(await sendNotices(), 0, 'before the announcement')
    await announce('v1', { deprecated_at: '2026-12-10', sunset_at: '2027-07-01' })
    assert.equal(await sendNotices(), 0, 'before the deprecation')
    await at('2026-12-10')
    assert.equal(await sendNotices(), 1)
    assert.equal(await sendNotices(), 0, 'once')
    const [event] = (await get('/events')).body.data as NoticeEvent[]
    assert.equal(event!.type, 'api_version.deprecated')
    const { upgrade_url, ...object } = event!.data.object
    assert.match(String(upgrade_url), /\/api\/v2$/)
    assert.deepEqual(object, {
      id: 'v1',
      status: 'deprecated',
      deprecated_at: '2026-12-10T00:00:00.000Z',
      sunset_at: '2027-07-01T00:00:00.000Z',
      successor: 'v2',
      migration_guide: null,
      last_called_at: '2026-12-01T00:00:00.000Z',
    })
    for (const [now, days] of [
      ['2027-04-02', 90],
      ['2027-06-01', 30],
      ['2027-06-24', 7],
      ['2027-06-30', 1],
    ] as const) {
      await at(`${now}T00:00:00Z`)
      await get('/api/v1/users')
      assert.equal(await sendNotices(), 1, `${days} days`)
      assert.equal(await sendNotices(), 0)
    }
    await at('2027-07-01T00:00:00Z')
    await live.get('/api/v1/users')
    assert.equal(await sendNotices(), 2, 'a caller in live mode after the sunset too')
    const everything = ['deprecated', 'sunset_approaching 90', 'sunset_approaching 30']
    everything.push('sunset_approaching 7', 'sunset_approaching 1', 'retired')
    assert.deepEqual(noticesIn(await get('/events')), everything)
    assert.deepEqual(noticesIn(await live.get('/events')), ['retired'])
    assert.deepEqual(noticesIn(await stranger.get('/events')), [])
  },
)

eachFrozen(
  'customers without a request for 30 days get no notice',
  async ({ get, at, announce, app }) => {
    await get('/api/v1/users')
    await announce('v1', { deprecated_at: '2027-01-01', sunset_at: '2027-07-01' })
    await at('2027-01-01T00:00:00Z')
    assert.equal(await app.versioning.sendNotices(), 0)
  },
)

eachFrozen('a returning customer gets the nearest missed notice', async (rig) => {
  const { get, at, announce, app } = rig
  const { sendNotices } = app.versioning
  await get('/api/v1/users')
  await announce('v1', { deprecated_at: '2027-01-01', sunset_at: '2027-07-01' })
  await at('2027-06-03T00:00:00Z')
  assert.equal(await sendNotices(), 0)
  await get('/api/v1/users')
  assert.equal(await sendNotices(), 2)
  assert.deepEqual(noticesIn(await get('/events')), ['deprecated', 'sunset_approaching 30'])
  await app.versioning.flush()
  await get('/api/v1/users')
  assert.equal(await sendNotices(), 0)
  await at('2027-07-01T00:00:00Z')
  assert.equal(await sendNotices(), 1)
  await get('/api/v1/users')
  assert.equal(await sendNotices(), 0)
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`one of several nodes sends a notice [${kind}]`, async (t) => {
    const url = await freshUrl(t, kind)
    const nodes: TestApp[] = []
    for (let n = 0; n < 3; n++) nodes.push(await openService(t, kind, { url }))
    const [first] = nodes as [TestApp]
    await first.get('/api/v1/users')
    await first.app.versioning.flush()
    const operator = first.as(await first.key({ scopes: ['admin'], mode: 'live' }))
    const update = await operator.put('/admin/versions/v1', { deprecated_at: '2020-01-01' })
    assert.equal(update.status, 200, update.text)
    for (const { app } of nodes) await app.versioning.refreshCalendars()
    const events = await Promise.all(nodes.map(({ app }) => app.versioning.sendNotices()))
    assert.deepEqual(events.sort(), [0, 0, 1])
    assert.deepEqual(noticesIn(await first.get('/events')), ['deprecated'])
  })
}

test('after a gap only the nearest notice is due', () => {
  const at = (text: string) => Date.parse(text)
  const calendar = {
    ...EMPTY_CALENDAR,
    deprecated_at: at('2027-01-01'),
    sunset_at: at('2027-07-01'),
  }
  const due = (now: string) =>
    dueNotices(calendar, at(now)).map(({ type, days }) => `${type.split('.')[1]} ${days ?? ''}`)
  const deprecated = 'deprecated '
  assert.deepEqual(due('2026-12-31'), [])
  assert.deepEqual(due('2027-01-01'), [deprecated])
  assert.deepEqual(due('2027-04-01T23:59:59Z'), [deprecated])
  assert.deepEqual(due('2027-04-02'), [deprecated, 'sunset_approaching 90'])
  assert.deepEqual(due('2027-05-31'), [deprecated, 'sunset_approaching 90'])
  assert.deepEqual(due('2027-06-25'), [deprecated, 'sunset_approaching 7'])
  assert.deepEqual(due('2027-06-30T12:00:00Z'), [deprecated, 'sunset_approaching 1'])
  assert.deepEqual(due('2027-07-01'), ['retired '])
  assert.deepEqual(due('2030-01-01'), ['retired '])
})

test('a new sunset date causes a new notice', () => {
  const keys = (sunset_at: number) =>
    dueNotices({ ...EMPTY_CALENDAR, deprecated_at: 0, sunset_at }, sunset_at - 1)[1]!.key
  assert.notEqual(keys(1e12), keys(2e12))
})
