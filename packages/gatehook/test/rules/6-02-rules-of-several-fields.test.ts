/** §6.2: rules over several fields: `unique` is 409 and `.check(name, …)` is 422, with pointers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { eachService, type Reply } from '../../../../test/rig/service.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { DeclarationError, f, resource, service } from '../../src/gatehook.ts'

const stays = (unique: readonly (readonly [never, ...never[]])[] = []) =>
  resource('stays', {
    fields: {
      id: f.id(),
      guest: f.email(),
      room: f.string().max(20),
      day: f.int().nullable().default(null),
      last: f.int().default(99),
    },
    list: { filter: ['room'], sort: ['day'] },
    access: {
      read: 'stays:read',
      create: 'stays:write',
      update: 'stays:write',
      delete: 'stays:write',
    },
    events: ['stay.created', 'stay.updated'],
    unique,
  })
const pairs = [
  ['room', 'day'],
  ['guest', 'day'],
] as never

const declared = stays(pairs)
  .check('days_in_order', (row) => row.day === null || row.last >= row.day, 'last is before day')
  .check((row) => (row.room === 'Cellar' ? { room: 'is closed' } : undefined))
  .before('v2', {
    why: 'Names are short.',
    had: { start: f.int().nullable().default(null) },
    hadNot: ['day'],
    up: ({ start }) => ({ day: start }),
    down: ({ day }) => ({ start: day }),
    renamed: { start: 'day' },
  })
const versions = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }
const inn = service({ name: 'inn', versions, resources: [declared] })

const errorsOf = ({ status, body }: Reply) => [
  status,
  body.error,
  ...body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code]),
]
const taken = (...names: string[]) => [
  409,
  'conflict',
  ...names.map((name) => [`/${name}`, 'conflict']),
]

eachService(
  'rows cannot have the same values in all fields of a tuple',
  async ({ post, patch, get, as, key }) => {
    const stay = { guest: 'a@example.com', room: 'Attic', day: 1 }
    assert.equal((await post('/api/v2/stays', stay)).status, 201)
    const other = { ...stay, guest: 'b@example.com' }
    assert.deepEqual(errorsOf(await post('/api/v2/stays', other)), taken('room', 'day'))
    const { day: start, ...old } = other
    assert.deepEqual(
      errorsOf(await post('/api/v1/stays', { ...old, start })),
      taken('room', 'start'),
    )
    const upper = { guest: 'A@Example.com', room: 'Tower', day: 1 }
    assert.deepEqual(errorsOf(await post('/api/v2/stays', upper)), taken('guest', 'day'))
    const second = await post('/api/v2/stays', { ...other, day: 2 })
    const moved = await patch(`/api/v2/stays/${second.body.id}`, { day: 1 })
    assert.deepEqual(errorsOf(moved), taken('room', 'day'))
    for (const day of [null, null]) {
      assert.equal((await post('/api/v2/stays', { ...stay, day })).status, 201)
    }
    assert.equal((await get('/api/v2/stays?pagination=page')).body.total, 4)
    assert.equal((await get('/events?pagination=page&type=stay.updated')).body.total, 0)
    const live = as(await key({ mode: 'live' }))
    assert.equal((await live.post('/api/v2/stays', stay)).status, 201)
  },
  { service: inn },
)

eachService(
  'a named check points to the fields that it reads',
  async ({ post, get }) => {
    const stay = { guest: 'a@example.com', room: 'Attic', day: 5, last: 4 }
    const order = (day: string) => [
      422,
      'validation_failed',
      [`/${day}`, 'days_in_order'],
      ['/last', 'days_in_order'],
    ]
    const refused = await post('/api/v2/stays', stay)
    assert.deepEqual(errorsOf(refused), order('day'))
    assert.equal(refused.body.errors[0].message, 'last is before day')
    const { day: start, ...old } = stay
    assert.deepEqual(errorsOf(await post('/api/v1/stays', { ...old, start })), order('start'))
    const cellar = await post('/api/v2/stays', { ...stay, last: 6, room: 'Cellar' })
    assert.deepEqual(errorsOf(cellar), [422, 'validation_failed', ['/room', 'invalid_value']])
    assert.equal((await get('/api/v2/stays?pagination=page')).body.total, 0)
  },
  { service: inn },
)

eachMigrated('a new tuple on a table in use needs a reviewed migration', async (db) => {
  const declare = (unique: never, migrations: object[] = []) =>
    service({ name: 'inn', versions, resources: [stays(unique)], migrations: migrations as never })
      .definition
  await migrateService(db, declare([] as never))
  const refused = migrateService(db, declare(pairs))
  const sentence = /CREATE UNIQUE INDEX stays_unique_room_and_day ON stays \(scope, room, day\)/
  await assert.rejects(refused, (error: Error) => sentence.test(error.message))
  const sql = [
    'CREATE UNIQUE INDEX stays_unique_room_and_day ON stays (scope, room, day)',
    'CREATE UNIQUE INDEX stays_unique_guest_and_day ON stays (scope, gh_folded_guest, day)',
  ].join('; ')
  await migrateService(db, declare(pairs, [{ number: 1, name: 'unique', table: 'stays', sql }]))
  await migrateService(db, declare(pairs, [{ number: 1, name: 'unique', table: 'stays', sql }]))
})

test('two checks of one name are a mistake', () => {
  const again = declared.check('days_in_order', () => true, 'the days have no order')
  assert.throws(
    () => service({ name: 'inn', versions, resources: [again] }),
    /\.check\(days_in_order\) is declared twice/,
  )
})

test('a tuple has declared fields, each once', () => {
  const declare = (unique: unknown) =>
    service({ name: 'inn', versions, resources: [stays(unique as never)] })
  assert.throws(() => declare([['room', 'floor']]), /unique: there is no field floor/)
  assert.throws(() => declare([['room', 'room']]), /unique: room occurs twice/)
  assert.throws(() => declare(['room']), /unique is an array of tuples/)
  assert.throws(() => stays().check('Days', (() => true) as never, 's'), DeclarationError)
  assert.throws(
    () => stays().check('days', undefined as never, 7 as never),
    /is a function\n.*third/,
  )
})
