/**
 * §8.11: a field that lists filter and sort is split in a new version. A derived field has the old
 * value by SQL, so that the old version filters and sorts by it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { check, promisesOf } from '../../src/cli/check.ts'
import { lockOf } from '../../src/declare/gate/lock.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const access = { read: 'g:read', create: 'g:write', update: 'g:write', delete: false } as const

const guests = resource('guests', {
  fields: {
    id: f.id(),
    first_name: f.string().max(200),
    last_name: f.string().max(200),
    name_v1: f.derived(
      f.string().min(1).max(200),
      "substr(trim(first_name || ' ' || last_name), 1, 200)",
    ),
  },
  list: { filter: ['name_v1'], sort: ['name_v1', 'last_name'] },
  access,
  events: ['guest.created', 'guest.updated'],
}).before('v2', {
  why: 'A name has two parts.',
  had: { name: f.string().min(1).max(200) },
  hadNot: ['first_name', 'last_name', 'name_v1'],
  up: ({ name }) => {
    const [first_name = '', ...others] = name.split(' ')
    return { first_name, last_name: others.join(' '), name_v1: name }
  },
  down: ({ name_v1 }) => ({ name: name_v1 }),
  renamed: { name: 'name_v1' },
})

const HOTEL = {
  service: service({
    name: 'hotel',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
    resources: [guests],
  }),
}

eachService(
  'the old version filters, sorts, writes and reads the field that was split',
  async ({ get, post, patch }) => {
    const created = await post('/api/v1/guests', { name: 'Ada Lovelace' })
    assert.deepEqual([created.status, created.body], [201, { id: 1, name: 'Ada Lovelace' }])
    await post('/api/v2/guests', { first_name: 'Grace', last_name: 'Hopper' })
    await post('/api/v1/guests', { name: 'Barbara Liskov' })
    const names = async (query: string) =>
      (await get(`/api/v1/guests?${query}`)).body.data.map(({ name }: { name: string }) => name)
    assert.deepEqual(await names('sort=-name'), ['Grace Hopper', 'Barbara Liskov', 'Ada Lovelace'])
    assert.deepEqual(await names('name=Grace Hopper'), ['Grace Hopper'])
    const patched = await patch('/api/v1/guests/1', { name: 'Ada King' })
    assert.deepEqual([patched.status, patched.body.name], [200, 'Ada King'])
    const { first_name, last_name } = (await get('/api/v2/guests/1')).body
    assert.deepEqual([first_name, last_name], ['Ada', 'King'])
    assert.deepEqual(await names('name[gt]=Ada King&sort=name'), ['Barbara Liskov', 'Grace Hopper'])
    const parts = { first_name: 'é'.repeat(200), last_name: 'y'.repeat(200) }
    const long = await post('/api/v2/guests', parts)
    const { name } = (await get(`/api/v1/guests/${long.body.id}`)).body
    assert.equal(name, parts.first_name)
    assert.equal((await post('/api/v1/guests', { name })).status, 201)
  },
  HOTEL,
)

eachService(
  'no write leaves a name that the old version rejects',
  async ({ get, post, patch }) => {
    const rejected = async (reply: Promise<{ status: number; body: object }>) => {
      const { status, body } = (await reply) as { status: number; body: { errors?: object[] } }
      const errors = (body.errors ?? []) as { pointer: string; code: string; message: string }[]
      return [status, ...errors.map(({ pointer, code }) => `${pointer} ${code}`)]
    }
    const oneWord = await post('/api/v1/guests', { name: 'Ada' })
    assert.deepEqual([oneWord.status, oneWord.body.name], [201, 'Ada'])
    const empty = { first_name: '', last_name: '' }
    const both = [422, '/first_name too_short', '/last_name too_short']
    assert.deepEqual(await rejected(post('/api/v2/guests', empty)), both)
    assert.deepEqual(await rejected(patch('/api/v2/guests/1', { first_name: ' ' })), both)
    const old = [422, '/name too_short']
    assert.deepEqual(await rejected(post('/api/v1/guests', { name: '   ' })), old)
    assert.deepEqual(await rejected(patch('/api/v1/guests/1', { name: ' ' })), old)
    assert.deepEqual((await get('/api/v1/guests')).body.data, [oneWord.body])
    const { data } = (await get('/events')).body
    assert.equal(data.length, 1, 'a rejected write has no event')
  },
  HOTEL,
)

const copyOf = (parts: { first: number; last: number }) =>
  service({
    name: 'hotel',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
    resources: [
      resource('guests', {
        fields: {
          id: f.id(),
          first_name: f.string().max(parts.first),
          last_name: f.string().max(parts.last),
        },
        list: { filter: [], sort: [] },
        access,
        events: [],
      }).before('v2', {
        why: 'A name has two parts.',
        had: { name: f.string().max(200) },
        hadNot: ['first_name', 'last_name'],
        up: ({ name }) => {
          const [first_name = '', ...others] = name.split(' ')
          return { first_name, last_name: others.join(' ') }
        },
        down: (row) => ({ name: `${row.first_name} ${row.last_name}`.trim().slice(0, 200) }),
      }),
    ],
  }).definition

test('parts that hold less than the promised field break callers', () => {
  const before = service({
    name: 'hotel',
    versions: { v1: { released: '2025-01-01' } },
    resources: [
      resource('guests', {
        fields: { id: f.id(), name: f.string().max(200) },
        list: { filter: [], sort: [] },
        access,
        events: [],
      }),
    ],
  }).definition
  const lock = lockOf(promisesOf(before))
  const breaksOf = (parts: { first: number; last: number }, promised = lock) =>
    check(copyOf(parts), promised).verdicts.flatMap(({ breaks }) =>
      breaks.map(({ sentence }) => sentence),
    )
  assert.deepEqual(breaksOf({ first: 200, last: 200 }), [])
  const [sentence, ...others] = breaksOf({ first: 40, last: 40 })
  assert.match(
    sentence!,
    /^guests: v1 accepts name "x+… \(200 long\), but .* must have at most 40 characters: callers/,
  )
  assert.deepEqual(others, [])
  const accepted = lockOf(promisesOf(copyOf({ first: 40, last: 40 })))
  assert.deepEqual(breaksOf({ first: 40, last: 40 }, accepted), [])
  assert.equal(
    breaksOf({ first: 30, last: 40 }, accepted).some((text) => /most 30/.test(text)),
    true,
  )
})
