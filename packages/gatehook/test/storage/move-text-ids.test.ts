/** §6.16: `gatehook move` copies rows whose ids are texts, and those that refer to them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { moveDatabase } from '../../../../test/rig/move.ts'
import { openService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const
const bookings = resource('bookings', {
  fields: { id: f.id('bk'), guest: f.string(), follows: f.ref('bookings', 'bk').nullable() },
  list: { filter: ['guest'], sort: ['guest'] },
  access,
  events: ['booking.created'],
  search: ['guest'],
})
const payments = resource('payments', {
  fields: { id: f.id(), booking_id: f.ref('bookings', 'bk') },
  list: { filter: [], sort: [] },
  access,
  events: [],
})
const hotel = service({
  name: 'Hotel',
  versions: { v1: { released: '2026-01-01' } },
  resources: [bookings, payments],
})

for (const [from, to] of [
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
] as const) {
  test(`rows, references, searches and cursors continue [${from} to ${to}]`, async (t) => {
    const before = await openService(t, from, { service: hotel })
    const key = await before.key()
    let follows: string | null = null
    for (let n = 0; n < 5; n++) {
      const { body } = await before.post('/api/v1/bookings', { guest: `ada ${n}`, follows })
      follows = body.id as string
      await before.post('/api/v1/payments', { booking_id: follows })
    }
    const all = (await before.get('/api/v1/bookings?sort=guest')).body.data
    const { next_cursor: cursor } = (await before.get('/api/v1/bookings?sort=guest&limit=2')).body
    const url = await freshUrl(t, to)
    await moveDatabase(before.url, url, hotel)
    const after = (await openService(t, to, { service: hotel, url })).as(key)
    const rest = await after.get(`/api/v1/bookings?sort=guest&cursor=${cursor}`)
    assert.deepEqual(rest.body.data, all.slice(2))
    assert.deepEqual((await after.get('/api/v1/bookings?q=ada&sort=guest')).body.data, all)
    const paid = (await after.get('/api/v1/payments?expand=booking')).body.data
    assert.deepEqual(
      paid.map(({ booking }: { booking: object }) => booking),
      all,
    )
    const created = await after.post('/api/v1/bookings', { guest: 'bob', follows })
    assert.equal(created.status, 201, created.text)
    assert.equal((await after.get('/api/v1/bookings?pagination=page')).body.total, 6)
  })
}
