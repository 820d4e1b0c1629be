/** §8.6: from the deprecation on, every response of the version announces its end. */
import assert from 'node:assert/strict'
import { eachFrozen } from '../../../../test/rig/frozen-service.ts'
import type { Reply } from '../../../../test/rig/service.ts'
import { club } from '../fixtures/club.ts'

const guide = 'https://docs.example.com/to-v2'
const calendar = { deprecated_at: '2027-01-01', sunset_at: '2027-07-01', migration_guide: guide }

const signals = ({ headers }: Reply) => [headers.deprecation, headers.sunset]
const announced = ['@1798761600', 'Thu, 01 Jul 2027 00:00:00 GMT']
const none = [undefined, undefined]

eachFrozen(
  'every response announces the end from that instant, including errors',
  async (service) => {
    const { announce, at, get, post, send, as } = service
    await announce('v1', calendar)
    await at('2026-12-31T23:59:59.999Z')
    const before = await get('/api/v1/users')
    assert.deepEqual([signals(before), before.body._warnings], [none, undefined])
    await at('2027-01-01T00:00:00Z')
    const person = { name: 'Ada', email: 'ada@example.com' }
    for (const [reply, status] of [
      [await get('/api/v1/users'), 200],
      [await post('/api/v1/users', person), 201],
      [await post('/api/v1/users', { nope: 1 }), 422],
      [await get('/api/v1/users/999'), 404],
      [await get('/api/v1/nowhere'), 404],
      [await as(undefined).get('/api/v1/users'), 401],
      [await send('DELETE', '/api/v1/users'), 405],
      [await send('OPTIONS', '/api/v1/users'), 204],
      [await send('HEAD', '/api/v1/users'), 200],
      [await get('/api/users?limit=0'), 400],
      [await get('/api/users', { 'x-api-version': 'v1' }), 200],
    ] as const) {
      assert.equal(reply.status, status, reply.text)
      assert.deepEqual(
        [signals(reply), reply.headers['x-api-version']],
        [announced, 'v1'],
        `${status}`,
      )
      const link = reply.headers.link!
      assert.ok(link.includes(`<${guide}>; rel="deprecation"`), link)
      assert.match(link, /<http:\/\/127\.0\.0\.1[:\d]*\/api\/v2>; rel="successor-version"/)
      assert.ok(!link.includes('rel="sunset"'), link)
      if (status >= 400) assert.equal(reply.body._warnings, undefined)
    }
    const page = await get('/api/v1/users?limit=1')
    assert.match(page.headers.link!, /rel="deprecation".*rel="first"/, 'with the links of the page')
    assert.deepEqual(page.body._warnings, [
      {
        type: 'deprecation',
        message: 'Version v1 is deprecated and ends on 2027-07-01. Move to v2.',
        sunset: '2027-07-01',
        migration_guide: guide,
      },
    ])
  },
)

eachFrozen('other versions, other paths and preflights announce nothing', async (service) => {
  const { announce, at, get, send } = service
  await announce('v1', calendar)
  await at('2027-02-01')
  const preflight = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
  for (const reply of [
    await get('/api/v2/users'),
    await get('/events'),
    await get('/api/latest/users'),
    await send('OPTIONS', '/api/v1/users', undefined, preflight),
  ]) {
    assert.deepEqual([signals(reply), reply.body?._warnings], [none, undefined])
  }
})

eachFrozen('`Sunset` and its page require a date', async (service) => {
  const { announce, get } = service
  const page = 'https://status.example.com/v1'
  await announce('v1', { deprecated_at: '2026-11-01', sunset_link: page })
  const open = await get('/api/v1/users')
  assert.deepEqual(signals(open), ['@1793491200', undefined])
  assert.ok(!open.headers.link!.includes('rel="sunset"'))
  const [warning] = open.body._warnings
  assert.deepEqual(Object.keys(warning), ['type', 'message', 'migration_guide'])
  assert.match(warning.migration_guide, /\/docs\/v2$/)
  await announce('v1', { sunset_at: '2027-07-01' })
  const dated = await get('/api/v1/users')
  assert.ok(dated.headers.link!.includes(`<${page}>; rel="sunset"`))
})

eachFrozen(
  'the warning lists the changes of the resource up to the successor',
  async ({ announce, get }) => {
    await announce('v1', { sunset_at: '2028-01-01' })
    const message = async (path: string) => (await get(path)).body._warnings[0].message as string
    const why = 'Heights are whole millimetres; points are a number; mail is called e-mail.'
    assert.ok((await message('/api/v1/people')).endsWith(`Move to v2. Changes: ${why}`))
    assert.match(await message('/api/v1/protected'), /Move to v2\.$/)
    await announce('v1', { successor: 'v3' })
    assert.match(await message('/api/v1/people'), /Names are two fields.*Heights are whole/)
  },
  { service: club },
)
