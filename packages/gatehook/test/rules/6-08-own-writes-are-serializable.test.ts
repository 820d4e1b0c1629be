/** §6.8: the changes of own code are serializable: a rule over several rows holds under load. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { hotel } from '../fixtures/bookings.ts'

const CALLS = 20
const ROUNDS = 200

async function roomOf(service: TestApp): Promise<string> {
  const room = await service.post('/api/v1/rooms', { name: 'Attic' })
  return `/api/v1/rooms/${room.body.id}/book`
}

const inParallel = (body: (n: number) => Promise<{ status: number }>) =>
  Promise.all(Array.from({ length: CALLS }, (_, n) => body(n)))

const count = (replies: readonly { status: number }[], status: number) =>
  replies.filter((reply) => reply.status === status).length

eachService(
  'of parallel bookings of the same days one is stored, and the others are 409',
  async (service) => {
    const path = await roomOf(service)
    for (let round = 0; round < ROUNDS; round++) {
      const days = { first_day: round * 10, last_day: round * 10 + 5 }
      const body = (n: number) => ({
        first_day: days.first_day + (n % 3),
        last_day: days.last_day,
        lock: round % 4 === 3,
      })
      const replies = await inParallel((n) => service.post(path, body(n)))
      assert.deepEqual([count(replies, 201), count(replies, 409)], [1, CALLS - 1])
    }
    assert.equal((await service.get('/api/v1/bookings?pagination=page')).body.total, ROUNDS)
    const events = await service.get('/events?pagination=page&type=booking.created')
    assert.equal(events.body.total, ROUNDS)
  },
  { service: hotel },
)

eachService(
  'parallel bookings of different days are all stored',
  async (service) => {
    const path = await roomOf(service)
    for (let round = 0; round < 3; round++) {
      const day = (n: number) => round * CALLS + n
      const replies = await inParallel((n) =>
        service.post(path, { first_day: day(n), last_day: day(n) }),
      )
      assert.equal(count(replies, 201), CALLS)
    }
  },
  { service: hotel },
)

eachService(
  'a lock waits for a change by the API, and reads the row after it',
  async (service) => {
    const path = await roomOf(service)
    const room = path.replace('/book', '')
    const day = (n: number) => ({ first_day: n, last_day: n, lock: true })
    const replies = await inParallel((n) =>
      n % 2 ? service.patch(room, { name: `Room ${n}` }) : service.post(path, day(n)),
    )
    assert.deepEqual([count(replies, 200), count(replies, 201)], [CALLS / 2, CALLS / 2])
    const missing = await service.post('/api/v1/rooms/999/book', day(1))
    assert.deepEqual([missing.status, missing.body.error], [404, 'not_found'])
  },
  { service: hotel },
)

test('two nodes on one database store one of parallel bookings', async (t) => {
  const first = await openService(t, 'postgres', { service: hotel })
  const second = await openService(t, 'postgres', { service: hotel, url: first.url })
  const nodes = [first, second.as(await first.key())]
  const path = await roomOf(first)
  for (let day = 0; day < 20; day++) {
    const days = { first_day: day, last_day: day }
    const replies = await inParallel((n) => nodes[n % 2]!.post(path, days))
    assert.deepEqual([count(replies, 201), count(replies, 409)], [1, CALLS - 1])
  }
})
