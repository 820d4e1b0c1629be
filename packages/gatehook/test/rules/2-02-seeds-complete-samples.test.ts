/** §2.2: a sample that omits required fields never stops a start. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const options = (name: string) =>
  ({
    list: { filter: [], sort: ['id'] },
    access: { read: 's:read', create: 's:write', update: 's:write', delete: false },
    events: [`${name}.created`],
  }) as const

/** Without `.sample()`: it is not seeded. */
const rooms = resource('rooms', {
  fields: { id: f.id('rm'), name: f.string() },
  ...options('room'),
})
const stays = resource('stays', {
  fields: { id: f.id('st'), room_id: f.ref('rooms', 'rm'), day: f.date() },
  ...options('stay'),
}).sample(() => ({ day: '2026-06-01' }))
const badges = resource('badges', {
  fields: { id: f.id(), code: f.string().unique(), color: f.string() },
  ...options('badge'),
}).sample(() => ({ color: 'red' }))
const guests = resource('guests', {
  fields: { id: f.id(), name: f.string(), nights: f.int().min(2) },
  ...options('guest'),
}).sample((n) => ({ name: `Guest ${n}` }))
const letters = resource('letters', {
  fields: { id: f.id(), guest_id: f.ref('guests'), text: f.string() },
  ...options('letter'),
}).sample(() => ({}))
/** References inside values have ids of seeded rows, too (§15.9). */
const parties = resource('parties', {
  fields: { id: f.id(), guests: f.array(f.object({ guest_id: f.ref('guests') }), { max: 9 }) },
  ...options('party'),
}).sample(() => ({}))
const fights = resource('fights', {
  fields: { id: f.id(), rooms: f.array(f.ref('rooms', 'rm'), { max: 9 }) },
  ...options('fight'),
}).sample(() => ({}))

const inn = service({
  name: 'inn',
  versions: { v1: { released: '2025-01-01' } },
  resources: [rooms, stays, badges, guests, letters, parties, fights],
})

eachService(
  'seeds complete samples, and leave out rows without a reference or a unique value',
  async ({ get }) => {
    const totals = await Promise.all(
      inn.definition.resources.map(async ({ name }) => {
        const { body } = await get(`/api/v1/${name}?pagination=page`)
        return [name, body.total]
      }),
    )
    assert.deepEqual(Object.fromEntries(totals), {
      rooms: 0,
      stays: 0,
      badges: 0,
      guests: 25,
      letters: 120,
      parties: 120,
      fights: 0,
    })
    const { body } = await get('/api/v1/letters?limit=1&expand=guest')
    assert.equal(body.data[0].text, 'Text')
    assert.equal(body.data[0].guest.nights, 2)
    const party = (await get('/api/v1/parties/1?expand=guests.guest')).body
    assert.equal(party.guests[0].guest.nights, 2)
  },
  { service: inn, seed: true },
)
