/** §7.11: `expand` includes the rows to which rows refer, at most three levels, within reach. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import type { Statement } from '../../src/platform/storage/database.ts'
import { idsOf, ok, refused, styles } from '../lists/rows.ts'
import { bearerOf, emailOf, openPeople } from '../people/rig.ts'

const access = (name: string) => ({
  read: `${name}:read`,
  create: `${name}:write`,
  update: `${name}:write`,
  delete: `${name}:write`,
})
const list = { filter: [], sort: ['id'] } as const

const cities = resource('cities', {
  fields: { id: f.id(), name: f.string().max(40) },
  list,
  access: access('cities'),
  events: ['city.created'],
})
const hotels = resource('hotels', {
  fields: { id: f.id(), city_id: f.ref('cities'), name: f.string().max(40) },
  list,
  access: access('hotels'),
  events: ['hotel.created'],
})
const rooms = resource('rooms', {
  fields: {
    id: f.id(),
    hotel_id: f.ref('hotels'),
    label: f.string().max(40),
    /** A reference whose member has the row instead of the id, also of its own resource. */
    beside: f.ref('rooms').nullable().default(null),
  },
  list,
  access: access('rooms'),
  events: ['room.created'],
}).before('v2', {
  why: 'Labels are short.',
  had: { title: f.string().max(40), house_id: f.ref('hotels') },
  hadNot: ['label', 'hotel_id'],
  up: ({ title, house_id }) => ({ label: title, hotel_id: house_id }),
  down: ({ label, hotel_id }) => ({ title: label, house_id: hotel_id }),
  renamed: { title: 'label', house_id: 'hotel_id' },
})
const notes = resource('notes', {
  fields: { id: f.id(), room_id: f.ref('rooms').nullable().default(null), text: f.string() },
  list: { filter: ['room_id'], sort: ['id', 'text'] },
  access: access('notes'),
  events: ['note.created'],
})
const inn = service({
  name: 'Inn',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: [cities, hotels, rooms, notes],
})
const options = { service: inn }

const NOTES = '/api/v2/notes'
const city = { id: 1, name: 'Bergen' }
const hotel = { id: 1, city_id: 1, name: 'Havn' }
const room = (id: number, beside: number | null = null) => ({
  id,
  hotel_id: 1,
  label: `R${id}`,
  beside,
})

/** Creates rows: `hotels` 1, `rooms` 1 and 2, `notes` that refer to 1, 2, null and 1. */
async function fillInn({ post }: Pick<TestApp, 'post'>): Promise<void> {
  const create = async (name: string, body: object) =>
    assert.equal((await post(`/api/v2/${name}`, body)).status, 201)
  await create('cities', { name: 'Bergen' })
  await create('hotels', { city_id: 1, name: 'Havn' })
  await create('rooms', { hotel_id: 1, label: 'R1' })
  await create('rooms', { hotel_id: 1, label: 'R2', beside: 1 })
  for (const room_id of [1, 2, null, 1]) await create('notes', { room_id, text: `of ${room_id}` })
}

eachService(
  'expand adds rows to lists of every style, and to single rows',
  async (app) => {
    await fillInn(app)
    const expected = [room(1), room(2, 1), null, room(1)]
    for (const style of styles) {
      const page = await ok(app.get(`${NOTES}?expand=room&pagination=${style}`))
      const items = page.body.data as { room: unknown; room_id: unknown }[]
      assert.deepEqual(
        items.map((item) => item.room),
        expected,
        style,
      )
      assert.deepEqual(
        items.map((item) => item.room_id),
        [1, 2, null, 1],
        style,
      )
    }
    const single = await ok(app.get(`${NOTES}/2?expand=room.hotel.city,room`))
    assert.deepEqual(single.body, {
      id: 2,
      room_id: 2,
      text: 'of 2',
      room: { ...room(2, 1), hotel: { ...hotel, city } },
    })
    const selected = await ok(app.get(`${NOTES}?fields=id&expand=room&sort=-text&limit=1`))
    assert.deepEqual(selected.body.data, [{ id: 3, room: null }])
    assert.match(selected.headers.link!, /expand=room/)
    const next = await ok(
      app.get(
        `${NOTES}?expand=room&limit=1&cursor=${
          (await ok(app.get(`${NOTES}?limit=1`))).body.next_cursor
        }`,
      ),
    )
    assert.deepEqual(next.body.data[0].room, room(2, 1))
  },
  options,
)

eachService(
  'a reference without _id in its name becomes the row',
  async (app) => {
    await fillInn(app)
    const page = await ok(app.get('/api/v2/rooms?expand=beside,hotel'))
    assert.deepEqual(page.body.data, [
      { id: 1, hotel_id: 1, label: 'R1', beside: null, hotel },
      { id: 2, hotel_id: 1, label: 'R2', beside: room(1), hotel },
    ])
    const nested = await ok(app.get('/api/v2/rooms/2?expand=beside.beside.hotel'))
    assert.deepEqual(nested.body.beside, { ...room(1), beside: null })
  },
  options,
)

eachService(
  'an older version expands by its own names, to rows of its own shape',
  async (app) => {
    await fillInn(app)
    const old = await ok(app.get('/api/v1/notes?expand=room.house'))
    const { house } = old.body.data[0].room
    assert.deepEqual(old.body.data[0].room, {
      id: 1,
      title: 'R1',
      house_id: 1,
      beside: null,
      house,
    })
    assert.deepEqual(house, hotel)
    await refused(app.get('/api/v1/notes?expand=room.hotel'), 'invalid_parameter', 'expand')
    await refused(app.get('/api/v2/notes?expand=room.house'), 'invalid_parameter', 'expand')
  },
  options,
)

const bad = [
  '',
  'room_id',
  'colour',
  'room,',
  'room.',
  'room.hotel.city.land',
  '__proto__',
  'room.room',
]

eachService(
  'an unknown relation, a fourth level and an eleventh relation are 400',
  async (app) => {
    await fillInn(app)
    for (const expand of bad) {
      await refused(app.get(`${NOTES}?expand=${expand}`), 'invalid_parameter', 'expand')
      await refused(app.get(`${NOTES}/1?expand=${expand}`), 'invalid_parameter', 'expand')
    }
    const many = await app.get(`${NOTES}?expand=a,b,c,d,e,f,g,h,i,j,k`)
    assert.match(many.body.message, /expand names more than 10 relations/)
    const several = 'beside.beside.beside,beside.beside.hotel,beside.hotel.city,hotel.city'
    assert.equal((await app.get(`/api/v2/rooms?expand=${several}`)).status, 200)
    for (const path of [NOTES, `${NOTES}/1`]) {
      await refused(app.get(`${path}?expand=room&expand=room`), 'pagination_conflict', 'expand')
    }
    await refused(app.get('/api/v2/cities?expand=room'), 'unknown_parameter', 'expand')
  },
  options,
)

eachService(
  'expand needs the scope of each expanded resource',
  async (app) => {
    await fillInn(app)
    const caller = app.as(await app.key({ scopes: ['notes:read', 'rooms:read'] }))
    assert.equal((await caller.get(`${NOTES}?expand=room`)).status, 200)
    for (const path of [`${NOTES}?expand=room.hotel`, `${NOTES}/1?expand=room,room.hotel`]) {
      const rejected = await caller.get(path)
      assert.equal(rejected.status, 403)
      assert.equal(rejected.body.error, 'insufficient_scope')
      assert.match(rejected.body.message, /hotels:read/)
    }
  },
  options,
)

eachService(
  'each relation is read by one statement, and an unchanged page is a 304',
  async (app) => {
    await fillInn(app)
    const { db } = app.app
    const read = db.arrays
    const texts: string[] = []
    Object.assign(db, {
      arrays(statement: Statement) {
        texts.push(statement.sql)
        return read.call(db, statement)
      },
    })
    const page = await ok(app.get(`${NOTES}?expand=room.hotel.city`))
    const related = texts.filter((text) => / FROM (rooms|hotels|cities) /.test(text))
    assert.equal(related.length, 3, related.join('\n'))
    const { etag } = page.headers
    const headers = { 'if-none-match': etag! }
    assert.equal((await app.get(`${NOTES}?expand=room.hotel.city`, headers)).status, 304)
    await app.patch('/api/v2/cities/1', { name: 'Oslo' })
    const changed = await app.get(`${NOTES}?expand=room.hotel.city`, headers)
    assert.equal(changed.body.data[0].room.hotel.city.name, 'Oslo')
    assert.deepEqual(idsOf(await ok(app.get(NOTES))), [1, 2, 3, 4])
  },
  options,
)

eachService('a person gets the id of a row out of its reach', async (app) => {
  const { anonymous, createPerson, token } = await openPeople(app)
  const scopes = ['orders:read', 'orders:all', 'users:read']
  const [chief, bob] = [await createPerson('chief', { scopes }), await createPerson('bob')]
  for (const user_id of [chief.id, bob.id]) await app.post('/api/v2/orders', { user_id, amount: 5 })
  const path = '/api/v2/orders?expand=user'
  const usersOf = async (page: ReturnType<TestApp['get']>) =>
    (await ok(page)).body.data.map(({ user }: { user: { id: number } | number }) => user)
  // The page of a key, which a cache must not return to the person.
  const all = await usersOf(app.get(path))
  assert.deepEqual(
    all.map(({ id }: { id: number }) => id),
    [chief.id, bob.id],
  )
  const mine = await usersOf(anonymous.get(path, bearerOf(await token(emailOf('chief')))))
  assert.deepEqual([mine[0].id, mine[1]], [chief.id, bob.id])
})

const open = service({
  name: 'Open',
  versions: { v1: { released: '2025-01-01' } },
  resources: [
    cities,
    resource('tags', {
      fields: { id: f.id(), name: f.string().max(20) },
      list,
      access: { ...access('tags'), read: 'public' },
      events: [],
    }),
    resource('news', {
      fields: { id: f.id(), tag_id: f.ref('tags'), city_id: f.ref('cities') },
      list,
      access: { ...access('news'), read: 'public' },
      events: [],
    }),
  ],
})

eachService(
  'an anonymous caller expands public rows only (§6.10)',
  async (app) => {
    const live = app.as(await app.key({ mode: 'live' }))
    await live.post('/api/v1/tags', { name: 'sea' })
    await live.post('/api/v1/cities', { name: 'Bergen' })
    await live.post('/api/v1/news', { tag_id: 1, city_id: 1 })
    const anonymous = app.as(undefined)
    const page = await ok(anonymous.get('/api/v1/news?expand=tag'))
    assert.deepEqual(page.body.data[0].tag, { id: 1, name: 'sea' })
    const rejected = await anonymous.get('/api/v1/news/1?expand=tag,city')
    assert.deepEqual([rejected.status, rejected.body.error], [403, 'insufficient_scope'])
  },
  { service: open },
)
