/**
 * §6.11: dates, times of day, durations, decimals and UUIDs are exact. Lists sort and filter them
 * by value, in every version.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource } from '../../src/gatehook.ts'
import { clinic } from '../fixtures/clinic.ts'

const CLINIC = { service: clinic }
const visits = '/api/v2/visits'
const UUID = '018f6f3e-8c1a-7b52-9d3e-2f5a6c7d8e9f'

async function createVisit({ post }: TestApp, body: object) {
  const reply = await post(visits, { day: '2026-02-28', ...body })
  assert.equal(reply.status, 201, reply.text)
  return reply.body
}

eachService(
  'a value has one text, in responses, lists, events and old versions',
  async (service) => {
    const { get, post, patch } = service
    const sent = {
      starts: '09:30',
      lasts: 'PT90M',
      price: '12.5',
      rate: '-0.000000000000001',
      token: UUID,
    }
    const row = await createVisit(service, { ...sent, token: UUID.toUpperCase() })
    const stored = {
      ...row,
      ...sent,
      day: '2026-02-28',
      starts: '09:30:00',
      lasts: 'PT1H30M',
      price: '12.50',
    }
    assert.deepEqual(row, stored)
    assert.deepEqual((await get(`${visits}/1`)).body, stored)
    assert.deepEqual((await get(visits)).body.data, [stored])
    assert.deepEqual((await get(`${visits}?fields=price,lasts`)).body.data, [
      { price: '12.50', lasts: 'PT1H30M' },
    ])
    const [event] = (await get('/events')).body.data
    assert.deepEqual(event.data.object, stored)
    const old = (await get('/api/v1/visits/1')).body
    assert.deepEqual([old.cents, old.minutes, old.rate], [1250, 90, stored.rate])
    const oldRow = await post('/api/v1/visits', { day: '2026-03-01', cents: 5, minutes: 30 })
    assert.deepEqual([oldRow.status, oldRow.body.cents], [201, 5])
    const newRow = (await get(`${visits}/${oldRow.body.id}`)).body
    assert.deepEqual([newRow.price, newRow.lasts], ['0.05', 'PT30M'])
    const same = await patch(`${visits}/1`, { price: '12.5', starts: '09:30', lasts: 'PT1H30M' })
    assert.equal(same.status, 200)
    assert.equal((await get('/events')).body.data.length, 2)
  },
  CLINIC,
)

eachService(
  'another text is 422 at its pointer',
  async ({ post, get }) => {
    const mistakes: [string, unknown, string][] = [
      ['day', '2026-02-29', 'invalid_format'],
      ['day', '2026-02-28T00:00:00Z', 'invalid_format'],
      ['day', 20260228, 'invalid_type'],
      ['starts', '24:00', 'invalid_format'],
      ['starts', '9:30', 'invalid_format'],
      ['starts', '09:30:00Z', 'invalid_format'],
      ['starts', 930, 'invalid_type'],
      ['lasts', 'PT59S', 'too_small'],
      ['lasts', 'P1D', 'too_large'],
      ['lasts', 'P1M', 'invalid_format'],
      ['lasts', 90, 'invalid_type'],
      ['price', 12.5, 'invalid_type'],
      ['price', '12.505', 'invalid_format'],
      ['price', '12345678901.00', 'invalid_format'],
      ['price', '-100.01', 'too_small'],
      ['price', '1e3', 'invalid_format'],
      ['rate', '1', 'invalid_format'],
      ['token', 'no', 'invalid_format'],
      ['room', 'a1', 'invalid_format'],
      ['room', 'A1\n', 'invalid_format'],
    ]
    for (const [name, value, code] of mistakes) {
      const { status, body } = await post(visits, { day: '2026-02-28', [name]: value })
      assert.equal(status, 422, name)
      assert.deepEqual(
        body.errors.map((error: { pointer: string; code: string }) => [error.pointer, error.code]),
        [[`/${name}`, code]],
      )
    }
    assert.deepEqual((await get(visits)).body.data, [])
  },
  CLINIC,
)

eachService(
  'lists sort and filter by value',
  async (service) => {
    const days = ['2026-10-01', '0999-12-31', '2026-09-30', '2026-10-02']
    const times = ['10:00', '09:59:59', '23:00', '00:00:01']
    const prices = ['9.00', '-10.00', '100.00', '10.00']
    const durations = ['PT2H', 'PT30M', 'PT1H30M', 'PT10M']
    const tokens = ['b', 'a', 'd', 'c'].map((letter) => letter + UUID.slice(1))
    for (const [n, day] of days.entries()) {
      const [price, lasts, token] = [prices[n], durations[n], tokens[n]]
      await createVisit(service, { day, price, lasts, token, starts: times[n] })
    }
    const ids = async (query: string) => {
      const { status, body, text } = await service.get(`${visits}?${query}`)
      assert.equal(status, 200, text)
      return body.data.map((row: { id: number }) => row.id)
    }
    assert.deepEqual(await ids('sort=day'), [2, 3, 1, 4])
    assert.deepEqual(await ids('sort=starts'), [4, 2, 1, 3])
    assert.deepEqual(await ids('starts[gte]=10:00&sort=-starts'), [3, 1])
    assert.deepEqual(await ids('starts=10:00:00'), [1])
    assert.deepEqual(await ids('sort=-price'), [3, 4, 1, 2])
    assert.deepEqual(await ids('sort=lasts'), [4, 2, 3, 1])
    assert.deepEqual(await ids('sort=token'), [2, 1, 4, 3])
    assert.deepEqual(await ids('price[gte]=9.0&sort=price'), [1, 4, 3])
    assert.deepEqual(await ids('price[in]=-10,10'), [2, 4])
    assert.deepEqual(await ids('lasts=PT90M'), [3])
    assert.deepEqual(await ids('day[lt]=2026-10-01'), [2, 3])
    assert.deepEqual(await ids(`token=${tokens[0]!.toUpperCase()}`), [1])
    const { body } = await service.get(`${visits}?sort=-price&limit=2`)
    const next = await service.get(`${visits}?sort=-price&limit=2&cursor=${body.next_cursor}`)
    assert.deepEqual(
      next.body.data.map((row: { price: string }) => row.price),
      ['9.00', '-10.00'],
    )
    for (const wrong of ['day=2026-02-30', 'starts=25:00', 'price=1.001', 'lasts=90', 'token=x']) {
      const reply = await service.get(`${visits}?${wrong}`)
      assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_parameter'], wrong)
    }
    const again = await service.post(visits, { day: '2026-01-01', token: tokens[0] })
    assert.deepEqual([again.status, again.body.errors[0].pointer], [409, '/token'])
  },
  CLINIC,
)

eachService(
  '`[null]` filters by the absence of a value',
  async (service) => {
    for (const room of ['A1', null, 'B2', null]) await createVisit(service, { room })
    const ids = async (query: string) => {
      const { status, body, text } = await service.get(`${visits}?${query}`)
      assert.equal(status, 200, text)
      return body.data.map((row: { id: number }) => row.id)
    }
    assert.deepEqual(await ids('room[null]=true'), [2, 4])
    assert.deepEqual(await ids('room[null]=false&sort=-room'), [3, 1])
    assert.deepEqual(await ids('room[null]=true&day=2026-02-28&sort=-room'), [4, 2])
    for (const query of ['room[null]=1', 'room[null]=', 'day[null]=true', 'room[filled]=true']) {
      const reply = await service.get(`${visits}?${query}`)
      assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_parameter'], query)
    }
  },
  CLINIC,
)

eachService(
  'actions have the values of rows',
  async (service) => {
    const row = await createVisit(service, { lasts: 'PT30M' })
    const reply = await service.post(`${visits}/${row.id}/extend`, { more: 'PT1H', fee: '7.5' })
    assert.deepEqual([reply.status, reply.body.lasts, reply.body.price], [200, 'PT1H30M', '7.50'])
  },
  CLINIC,
)

eachService(
  'the docs name the kinds and their bounds',
  async ({ as }) => {
    const { text } = await as(undefined).get('/docs/v2/visits.md')
    for (const words of [
      '`day` (body, day, required)',
      '`starts` (body, time of day, matches',
      '`lasts` (body, duration, at least PT1M, at most PT8H,',
      '`price` (body, decimal, at least -100.00, matches `^-?(0|[1-9]',
      '`token` (body, UUID, or null',
    ]) {
      assert.ok(text.includes(words), words)
    }
  },
  CLINIC,
)

test('a pattern that can take long is not declared', () => {
  const declare = (field: object) =>
    resource('things', {
      fields: { id: f.id(), code: field as never },
      list: { filter: [], sort: [] },
      access: { read: 'r', create: 'w', update: false, delete: false },
      events: [],
    })
  assert.throws(() => declare(f.pattern(/^(a+)+$/)), /things: field code: .* in several ways/)
  assert.throws(() => declare(f.pattern(/a/)), /begins with \^/)
  assert.throws(() => declare(f.pattern(/^a{9}$/).max(8)), /no match has 8 characters/)
  assert.throws(() => declare(f.pattern(/^a$/).default('b')), /the default must be a match of/)
  assert.throws(() => f.pattern(/^a$/i), /without flags/)
})

test('a decimal that cannot be stored exactly is not declared', () => {
  const declare = (field: ReturnType<typeof f.decimal>) =>
    resource('things', {
      fields: { id: f.id(), price: field as never },
      list: { filter: [], sort: [] },
      access: { read: 'r', create: 'w', update: false, delete: false },
      events: [],
    })
  const mistakes: [ReturnType<typeof f.decimal>, RegExp][] = [
    [f.decimal(16, 2), /1 to 15 digits/],
    [f.decimal(0, 0), /1 to 15 digits/],
    [f.decimal(4, 5), /more decimals than digits/],
    [f.decimal(4, 2).min(0.001), /0.001 has more digits/],
    [f.decimal(4, 2).default('1') as never, /write the default as "1.00"/],
  ]
  for (const [field, sentence] of mistakes) assert.throws(() => declare(field), sentence)
  declare(f.decimal(15, 15).min(0.5))
})
