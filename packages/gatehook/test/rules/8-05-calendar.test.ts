/** §8.5: a version has a declared or announced calendar; its state follows from the clock. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { eachFrozen, wallClockOfTests } from '../../../../test/rig/frozen-service.ts'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { users } from '../../service/resources/users.ts'
import { service } from '../../src/gatehook.ts'
import { createLog } from '../../src/kernel/log.ts'

const declare = (v1: object, more: object = {}) =>
  service({
    name: 'declared',
    versions: {
      v1: { released: '2025-06-01', ...v1 },
      v2: { released: '2026-06-01' },
      ...more,
    },
    resources: [users],
  })

eachFrozen('the state follows from the calendar and the clock', async (service) => {
  const { operator, announce, at } = service
  const state = async () => (await operator.get('/admin/versions/v1')).body.state
  const calendar = { deprecated_at: '2027-01-01', sunset_at: '2027-07-01T12:00:00Z' }
  const announced = await announce('v1', calendar)
  assert.deepEqual(announced.body, {
    version: 'v1',
    state: 'supported',
    released: '2025-06-01',
    deprecated_at: '2027-01-01T00:00:00.000Z',
    sunset_at: '2027-07-01T12:00:00.000Z',
    successor: 'v2',
    migration_guide: null,
    sunset_link: null,
    brownouts: [],
  })
  for (const [now, expected] of [
    ['2026-12-31T23:59:59.999Z', 'supported'],
    ['2027-01-01', 'deprecated'],
    ['2027-07-01T11:59:59.999Z', 'deprecated'],
    ['2027-07-01T12:00:00Z', 'retired'],
  ] as const) {
    await at(now)
    assert.equal(await state(), expected, now)
  }
})

eachFrozen(
  'a notice of less than six months, and the return of a version, need force',
  async (service) => {
    const { announce, operator, at } = service
    const short = await announce('v1', { sunset_at: '2027-05-31T23:59:59.999Z' })
    assert.deepEqual([short.status, short.body.error], [422, 'notice_too_short'])
    assert.equal(short.body.errors[0].pointer, '/sunset_at')
    assert.equal((await operator.get('/admin/versions/v1')).body.sunset_at, null)
    assert.equal((await announce('v1', { sunset_at: '2027-06-01' })).status, 200)
    const guide = { migration_guide: 'https://docs.example.com/v2' }
    await at('2027-05-31T00:00:00Z')
    assert.equal((await announce('v1', guide)).status, 200, 'the sunset does not change')
    assert.equal((await announce('v1', { sunset_at: '2027-07-01' })).status, 422)
    assert.equal((await announce('v1', { sunset_at: '2027-07-01', force: true })).status, 200)
    await at('2027-07-01T00:00:00Z')
    for (const calendar of [{ sunset_at: null }, { sunset_at: '2029-01-01' }]) {
      const back = await announce('v1', calendar)
      assert.deepEqual([back.status, back.body.error], [422, 'notice_too_short'])
      assert.equal((await operator.get('/api/v1/users')).status, 410)
    }
    assert.equal((await announce('v1', { sunset_at: null, force: true })).body.state, 'deprecated')
    assert.equal((await operator.get('/api/v1/users')).status, 200)
  },
)

eachFrozen('the last served version can be retired by force only', async ({ announce, at }) => {
  await announce('v1', { sunset_at: '2027-06-01' })
  await at('2027-06-01')
  await announce('v2', { sunset_at: '2027-12-01' })
  const refused = await announce('v2', { sunset_at: '2027-06-01' })
  assert.deepEqual([refused.status, refused.body.error], [422, 'validation_failed'])
  assert.equal(refused.body.errors[0].pointer, '/sunset_at')
  assert.match(refused.body.errors[0].message, /the last version that is served/)
  const forced = await announce('v2', { sunset_at: '2027-06-01', force: true })
  assert.deepEqual([forced.status, forced.body.state], [200, 'retired'])
})

eachFrozen('omitted members stay, null removes, invalid members are rejected', async (service) => {
  const { announce, operator } = service
  const first = { sunset_at: '2028-01-01', migration_guide: 'https://docs.example.com/v2' }
  assert.equal((await announce('v1', first)).body.deprecated_at, '2026-12-01T00:00:00.000Z')
  const page = { sunset_link: 'https://status.example.com/v1' }
  const second = (await announce('v1', page)).body
  assert.deepEqual(
    [second.sunset_at, second.migration_guide, second.sunset_link],
    ['2028-01-01T00:00:00.000Z', first.migration_guide, page.sunset_link],
  )
  assert.equal((await announce('v1', { migration_guide: null })).body.migration_guide, null)
  const pointers = async (body: object) => {
    const refused = await announce('v1', body)
    assert.deepEqual([refused.status, refused.body.error], [422, 'validation_failed'])
    return refused.body.errors.map((error: { pointer: string }) => error.pointer)
  }
  const window = (start: string, end: string) => ({ brownouts: [{ start, end }] })
  assert.deepEqual(await pointers({ sunset_at: '2028-13-01', nope: 1 }), ['/nope', '/sunset_at'])
  assert.deepEqual(await pointers({ deprecated_at: null }), ['/deprecated_at'])
  assert.deepEqual(await pointers({ deprecated_at: '2028-01-02' }), ['/sunset_at'])
  assert.deepEqual(await pointers({ successor: 'v1' }), ['/successor'])
  assert.deepEqual(await pointers({ successor: 'v9' }), ['/successor'])
  assert.deepEqual(await pointers({ migration_guide: 'javascript:alert(1)' }), ['/migration_guide'])
  assert.deepEqual(await pointers(window('2027-02-01', '2027-02-01')), ['/brownouts/0/end'])
  assert.equal((await operator.put('/admin/versions/v9', {})).status, 404)
  assert.equal((await operator.get('/admin/versions/v9')).status, 404)
})

eachFrozen('the update requires an operator and is audited', async (service) => {
  const { announce, operator, put, as } = service
  assert.equal((await put('/admin/versions/v1', { sunset_at: null })).status, 403)
  assert.equal((await as(undefined).get('/admin/versions')).status, 401)
  await announce('v1', { sunset_at: '2027-01-01' })
  await announce('v1', { sunset_at: '2027-01-01', force: true })
  const acts = (await operator.get('/admin/audit?action=version.update')).body.data
  assert.deepEqual(
    acts.map((act: { target: string; detail: object }) => [act.target, act.detail]),
    [
      [
        'v1',
        {
          sunset_at: '2027-01-01T00:00:00.000Z',
          deprecated_at: '2026-12-01T00:00:00.000Z',
          force: true,
        },
      ],
    ],
  )
})

eachService('versions are listed in every pagination style', async (rig) => {
  const operator = rig.as(await rig.key({ scopes: ['admin'], mode: 'live' }))
  const names = async (query: string) =>
    (await operator.get(`/admin/versions?${query}`)).body.data.map(
      (item: { version: string }) => item.version,
    )
  assert.deepEqual(await names(''), ['v1', 'v2'])
  assert.deepEqual(await names('offset=1&limit=5'), ['v2'])
  assert.deepEqual(await names('page=2&per_page=1'), ['v2'])
  assert.deepEqual(await names('sort=-version&limit=1'), ['v2'])
  const hyper = await operator.get('/admin/versions?pagination=hypermedia&fields=state')
  assert.deepEqual(hyper.body.data[0], {
    state: 'supported',
    _links: { self: '/admin/versions/v1', usage: '/admin/versions/v1/usage' },
  })
  assert.equal((await operator.get('/admin/versions?after_id=1')).status, 400)
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`other nodes and later starts apply the calendar [${kind}]`, async (t) => {
    const url = await freshUrl(t, kind)
    const first = await openService(t, kind, { url })
    const second = await openService(t, kind, { url })
    const operator = first.as(await first.key({ scopes: ['admin'], mode: 'live' }))
    const calendar = { deprecated_at: '2020-01-01', sunset_at: '2020-02-01', force: true }
    assert.equal((await operator.put('/admin/versions/v1', calendar)).status, 200)
    assert.equal((await first.get('/api/v1/users')).status, 410, 'on this node at once')
    await second.app.versioning.refreshCalendars()
    assert.equal((await second.get('/api/v1/users')).status, 410)
    const later = await openService(t, kind, { url })
    assert.equal((await later.get('/api/v1/users')).status, 410)
  })
}

test('an update supports at most two majors', async (t) => {
  const three = declare({ deprecated_at: '2026-07-01' }, { v3: { released: '2026-07-01' } })
  const env = { GATEHOOK_TEST_CLOCK: '1' }
  const clock = wallClockOfTests
  const rig = await openService(t, 'sqlite', { service: three, env, clock })
  await rig.app.clock!.set({ now: Date.UTC(2026, 11, 1) }, { kind: 'cli', id: 'test' })
  const operator = rig.as(await rig.key({ scopes: ['admin'], mode: 'live' }))
  const refused = await operator.put('/admin/versions/v1', { deprecated_at: null })
  assert.equal(refused.status, 422)
  assert.match(refused.body.errors[0].message, /at most 2 majors are supported: v2 and v3/)
})

const dated = declare({ deprecated_at: '2026-10-01', sunset_at: '2027-10-01' })

eachFrozen(
  'an announcement overrides the declared calendar',
  async ({ operator, announce }) => {
    const { body } = await operator.get('/admin/versions/v1')
    assert.deepEqual([body.state, body.sunset_at], ['deprecated', '2027-10-01T00:00:00.000Z'])
    assert.equal((await announce('v1', { sunset_at: null })).body.sunset_at, null)
    assert.equal((await announce('v1', { sunset_at: '2028-01-01' })).status, 200)
  },
  { service: dated },
)

test('a contradictory declared calendar is rejected with a sentence', () => {
  const cases: [object, RegExp][] = [
    [{ sunset_at: '2027-10-01' }, /version v1: deprecated_at must be set while sunset_at is/],
    [{ deprecated_at: '2026-10-01', sunset_at: '2027-03-31' }, /v1: sunset_at must lie at least 6/],
    [{ deprecated_at: 'soon' }, /version v1: deprecated_at must be an ISO 8601 instant/],
    [{ successor: 'v3' }, /version v1: successor must be \w+ of v1, v2/],
    [{ retired: '2027-10-01' }, /version v1: retired is not a field here/],
    [{ released: '2026-06-01' }, /version v2: released is the day of v1; a day names one version/],
  ]
  for (const [calendar, sentence] of cases) assert.throws(() => declare(calendar), sentence)
})

test('a node that starts warns of a third version, and a command does not', async (t) => {
  const lines: string[] = []
  const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } })
  const { app } = await openService(t, 'sqlite', {
    service: declare({}, { v3: { released: '2026-07-01' } }),
    log,
  })
  assert.equal(lines.length, 0, 'a command opens the service only')
  await app.work()
  await app.work()
  assert.equal(lines.filter((line) => line.includes('more than 2 versions')).length, 1)
})
