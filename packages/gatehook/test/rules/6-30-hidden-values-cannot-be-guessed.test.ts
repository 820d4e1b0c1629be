/** §6.30: right and wrong guesses of a hidden value have the same effects in every write. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const pattern = /^\d{4}$/
const cards = resource('cards', {
  fields: {
    id: f.id(),
    name: f.string().max(20),
    pin: f.pattern(pattern).default('0000').writeOnly(),
    quota: f.int().default(0).visible('limits:read'),
    bonus: f.int().default(0).visible('limits:read'),
    grade: f.oneOf(['a', 'b']).default('a').visible('limits:read').writable('limits:write'),
    status: f.oneOf(['open', 'shut']).default('open').readonly(),
    updated_at: f.updatedAt(),
  },
  list: { filter: [], sort: [] },
  access: { read: 'cards:read', create: 'cards:write', update: 'cards:write', delete: false },
  events: ['card.created', 'card.updated'],
})
  .editable(['bonus'], { from: ['shut'] })
  .action('secure', {
    scope: 'cards:write',
    input: { pin: f.pattern(pattern) },
    run: ({ input }) => ({ pin: input.pin }),
    emits: 'card.secured',
  })
  .before('v2', {
    why: 'Names are shorter.',
    had: {
      secret_pin: f.pattern(pattern).default('0000').writeOnly(),
      extra: f.int().default(0).visible('limits:read'),
      level: f.int().min(1).max(2).default(1).visible('limits:read'),
    },
    hadNot: ['pin', 'bonus', 'grade'],
    up: (old) => ({
      pin: old.secret_pin,
      bonus: old.extra,
      grade: old.level === 1 ? 'a' : 'b',
    }),
    down: (row) => ({
      secret_pin: row.pin,
      extra: row.bonus,
      level: row.grade === 'a' ? 1 : 2,
    }),
    renamed: { secret_pin: 'pin', extra: 'bonus' },
  })

let now = Date.UTC(2026, 0, 1)
const bank = {
  clock: { now: () => now, elapsedMs: () => performance.now() },
  service: service({
    name: 'bank',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
    resources: [cards],
  }),
}

type Caller = Pick<TestApp, 'send' | 'get'>

/** Returns what a caller notices of a write to a new card with the values of `before`. */
async function observe(
  { post, get }: TestApp,
  caller: Caller,
  [method, version, suffix, body]: readonly [string, string, string, object],
) {
  const { body: card } = await post('/api/v2/cards', secrets)
  const url = `/api/${version}/cards/${card.id}${suffix}`
  const tag = async () => (await caller.get(`/api/v2/cards/${card.id}`)).headers.etag
  const eventCount = async () => (await get('/events?pagination=page')).body.total
  const before = [await tag(), await eventCount()]
  now += 1_000
  const dry = await caller.send(method, url, body, { prefer: 'dry-run' })
  assert.deepEqual([await tag(), await eventCount()], before)
  const reply = await caller.send(method, url, body)
  return {
    statuses: [dry.status, reply.status],
    rehearsed: dry.body._dry_run?.event_count,
    isStamped: (await tag()) !== before[0],
    events: (await eventCount()) - (before[1] as number),
  }
}

const secrets = { name: 'Ada', pin: '0042', quota: 7, bonus: 3, grade: 'a' }
const CHANGED = { statuses: [200, 200], rehearsed: 1, isStamped: true, events: 1 }
const REFUSED = { statuses: [422, 422], rehearsed: undefined, isStamped: false, events: 0 }

eachService(
  'the right value and a wrong one have the same status, events and stamps',
  async (app) => {
    const plain = app.as(await app.key({ scopes: ['cards:read', 'cards:write', 'events:read'] }))
    const guesses = [
      ['PATCH', 'v2', '', 'pin', '0042', '0043', CHANGED],
      ['PATCH', 'v1', '', 'secret_pin', '0042', '0043', CHANGED],
      ['PATCH', 'v2', '', 'quota', 7, 8, CHANGED],
      ['PATCH', 'v1', '', 'quota', 7, 8, CHANGED],
      ['PATCH', 'v2', '', 'bonus', 3, 4, REFUSED],
      ['PATCH', 'v1', '', 'extra', 3, 4, REFUSED],
      ['PATCH', 'v2', '', 'grade', 'a', 'b', REFUSED],
      ['PATCH', 'v1', '', 'level', 1, 2, REFUSED],
      ['POST', 'v2', '/secure', 'pin', '0042', '0043', CHANGED],
      ['POST', 'v1', '/secure', 'pin', '0042', '0043', CHANGED],
    ] as const
    for (const [method, version, suffix, name, right, wrong, expected] of guesses) {
      for (const value of [right, wrong]) {
        const effects = await observe(app, plain, [method, version, suffix, { [name]: value }])
        assert.deepEqual(effects, expected, `${method} ${version}${suffix} ${name} ${value}`)
      }
    }
  },
  bank,
)

eachService(
  'a visible field that a patch does not change records no event',
  async (app) => {
    const reader = app.as(
      await app.key({ scopes: ['cards:read', 'cards:write', 'limits:read', 'events:read'] }),
    )
    const unchanged = { statuses: [200, 200], rehearsed: 0, isStamped: false, events: 0 }
    const bodies = [
      ['v2', { name: 'Ada' }],
      ['v2', { quota: 7, bonus: 3 }],
      ['v1', { quota: 7, extra: 3 }],
    ] as const
    for (const [version, body] of bodies) {
      assert.deepEqual(await observe(app, reader, ['PATCH', version, '', body]), unchanged)
    }
  },
  bank,
)
