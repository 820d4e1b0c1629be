/** The example `examples/bookings`: its rules hold on both databases. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { hotel } from '../../examples/bookings/service.ts'

const eachHotel = (title: string, body: (hotel: Hotel) => Promise<void>) =>
  eachService(title, async (app) => body(await withRoom(app)), { service: hotel })

interface Hotel extends TestApp {
  book(arrives: string, departs: string): ReturnType<TestApp['post']>
}

/** Creates what a booking refers to, with two rates. */
async function withRoom(app: TestApp): Promise<Hotel> {
  const create = async (path: string, body: unknown) => {
    const reply = await app.post(path, body)
    assert.equal(reply.status, 201, reply.text)
    return reply.body.id as number
  }
  const room_id = await create('/api/v2/rooms', { number: '101', beds: 2 })
  await create('/api/v2/rates', { room_id, from_night: '2027-01-01', price: '80.00' })
  await create('/api/v2/rates', { room_id, from_night: '2027-06-01', price: '99.50' })
  const guest_id = await create('/api/v1/guests', {
    first_name: 'Ada',
    last_name: 'Okafor',
    email: 'ada@example.com',
  })
  const book = (arrives: string, departs: string) =>
    app.post('/api/v2/bookings', { room_id, guest_id, arrives, departs })
  return { ...app, book }
}

eachHotel('the total is the sum of the rates of all nights', async ({ book, patch }) => {
  const { status, body } = await book('2027-05-30', '2027-06-02')
  assert.deepEqual([status, body.total], [201, '259.50'])
  assert.match(body.id, /^bk_[0-9A-Za-z]{22}$/)
  const longer = await patch(`/api/v2/bookings/${body.id}`, { departs: '2027-06-03' })
  assert.equal(longer.body.total, '359.00')
  const early = await book('2026-12-31', '2027-01-02')
  assert.match(early.body.message, /no rate for the night of 2026-12-31/)
  assert.equal((await book('2027-02-01', '2027-09-01')).status, 409)
})

eachHotel('bookings of a room never overlap', async ({ book, post }) => {
  const first = await book('2027-03-01', '2027-03-05')
  assert.equal((await book('2027-03-04', '2027-03-06')).status, 409)
  assert.equal((await book('2027-03-05', '2027-03-06')).status, 201)
  await post(`/api/v2/bookings/${first.body.id}/cancel`)
  assert.equal((await book('2027-03-04', '2027-03-05')).status, 201)
  assert.equal((await book('2027-03-09', '2027-03-09')).body.errors[0].pointer, '/departs')
})

eachHotel('of twenty requests at once for the same night, one succeeds', async ({ book }) => {
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => book('2027-04-01', '2027-04-02')),
  )
  const statuses = replies.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [201, ...Array(19).fill(409)])
})

eachHotel('v1 has the first and last names of guests', async ({ get }) => {
  const { body } = await get('/api/v1/guests?email=ada@example.com')
  assert.deepEqual([body.data[0].first_name, body.data[0].last_name], ['Ada', 'Okafor'])
  assert.equal((await get('/api/v2/guests')).body.data[0].full_name, 'Ada Okafor')
})
