/**
 * §6.12: objects, arrays, metadata and JSON are validated to any depth, and a patch changes only
 * the members that it has (RFC 7396).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { depot } from '../fixtures/depot.ts'

const DEPOT = { service: depot }
const parcels = '/api/v2/parcels'

const first = {
  address: { point: { lon: 13, lat: 52.5 }, city: 'Berlin', since: '2026-01-01T00:00:00+01:00' },
  items: [{ sku: 'a1', price: '1.5' }, { sku: 'b2' }],
  metadata: { 'crm.id': 'x"y', note: '' },
  extra: { deep: [1, { two: null }], keep: true },
}

eachService(
  'a value has its declared form in responses, lists, events and old versions',
  async ({ get, post }) => {
    const { status, body, headers } = await post(parcels, first)
    assert.equal(status, 201)
    const stored = {
      ...body,
      address: {
        city: 'Berlin',
        zip: null,
        since: '2025-12-31T23:00:00.000Z',
        point: { lat: 52.5, lon: 13 },
      },
      items: [
        { sku: 'a1', price: '1.50' },
        { sku: 'b2', price: '0.00' },
      ],
      tags: null,
      metadata: first.metadata,
      extra: first.extra,
    }
    assert.equal(JSON.stringify(body), JSON.stringify(stored))
    const read = await get(`${parcels}/1`)
    assert.deepEqual(read.body, stored)
    assert.equal(read.headers.etag, headers.etag)
    assert.deepEqual((await get(`${parcels}?fields=items,extra`)).body.data, [
      { items: stored.items, extra: stored.extra },
    ])
    const events = (await get('/events')).body.data
    assert.deepEqual(events[0].data.object, stored)
    const old = (await get('/api/v1/parcels/1')).body
    assert.deepEqual(old.place, { town: 'Berlin', zip: null })
    assert.deepEqual(old.items, stored.items)
    assert.equal((await post(parcels, { address: { city: 'Ulm' } })).body.items.length, 0)
  },
  DEPOT,
)

eachService(
  'a mistake at any depth has its pointer, and nothing is stored',
  async ({ get, post }) => {
    const address = { city: 'Berlin' }
    const mistakes: [object, string, string][] = [
      [{}, '/address', 'required'],
      [{ address: null }, '/address', 'invalid_type'],
      [{ address: [] }, '/address', 'invalid_type'],
      [{ address: {} }, '/address/city', 'required'],
      [{ address: { city: '' } }, '/address/city', 'too_short'],
      [{ address: { ...address, street: 'x' } }, '/address/street', 'unknown_field'],
      [{ address: { ...address, point: { lat: 91, lon: 0 } } }, '/address/point/lat', 'too_large'],
      [{ address: { ...address, since: 'no' } }, '/address/since', 'invalid_format'],
      [{ address, items: Array(4).fill({ sku: 'a' }) }, '/items', 'too_long'],
      [{ address, items: [{ sku: 'a' }, { sku: 'A' }] }, '/items/1/sku', 'invalid_format'],
      [{ address, items: [null] }, '/items/0', 'invalid_type'],
      [{ address, tags: 'a' }, '/tags', 'invalid_type'],
      [{ address, metadata: { a: 1 } }, '/metadata/a', 'invalid_type'],
      [{ address, metadata: { a: null } }, '/metadata/a', 'invalid_type'],
      [{ address, metadata: { 'a/b': 'x' } }, '/metadata/a~1b', 'invalid_format'],
      [{ address, metadata: { a: 'x'.repeat(501) } }, '/metadata/a', 'too_long'],
      [{ address, metadata: keys(51) }, '/metadata', 'too_long'],
      [{ address, extra: 'x'.repeat(199) }, '/extra', 'too_long'],
    ]
    for (const [body, pointer, code] of mistakes) {
      const reply = await post(parcels, body)
      assert.equal(reply.status, 422, JSON.stringify(body))
      const [error, ...more] = reply.body.errors
      assert.deepEqual([error.pointer, error.code, more.length], [pointer, code, 0])
    }
    const old = await post('/api/v1/parcels', { place: { town: '', zip: null } })
    assert.deepEqual([old.status, old.body.errors[0].pointer], [422, '/place/town'])
    assert.deepEqual((await get(parcels)).body.data, [])
    assert.deepEqual((await get('/events')).body.data, [])
  },
  DEPOT,
)

const keys = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`key${n}`, 'x']))

eachService(
  'a patch changes the members that it has, and events record real changes only',
  async ({ get, post, patch }) => {
    await post(parcels, first)
    const change = async (body: object, path = `${parcels}/1`) => {
      const reply = await patch(path, body)
      assert.equal(reply.status, 200, reply.text)
      return reply.body
    }
    const { address } = await change({ address: { zip: '10115', point: { lat: 0 } } })
    assert.deepEqual(
      [address.city, address.zip, address.point],
      ['Berlin', '10115', { lat: 0, lon: 13 }],
    )
    assert.equal((await change({ address: { point: null } })).address.point, null)
    const { metadata } = await change({ metadata: { note: null, other: 'o', gone: null } })
    assert.deepEqual(metadata, { 'crm.id': 'x"y', other: 'o' })
    const { extra } = await change({ extra: { keep: null, deep: [2], new: { a: null, b: 1 } } })
    assert.deepEqual(extra, { deep: [2], new: { b: 1 } })
    assert.deepEqual((await change({ items: [{ sku: 'c3' }] })).items, [
      { sku: 'c3', price: '0.00' },
    ])
    assert.equal((await change({ extra: null })).extra, null)
    const old = await change({ place: { town: 'Ulm' } }, '/api/v1/parcels/1')
    assert.deepEqual(old.place, { town: 'Ulm', zip: '10115' })
    const events = async () => (await get('/events?limit=100')).body.data.length
    const before = await events()
    await change({ address: { city: 'Ulm' }, metadata: { gone: null }, items: [{ sku: 'c3' }] })
    assert.equal(await events(), before)
  },
  DEPOT,
)

eachService(
  'a patch whose result is incomplete or too large is 422',
  async ({ get, post, patch }) => {
    await post(parcels, { address: { city: 'Berlin' }, metadata: keys(49) })
    const pointersOf = async (body: object) => {
      const reply = await patch(`${parcels}/1`, body)
      assert.equal(reply.status, 422, reply.text)
      return reply.body.errors.map((error: { pointer: string }) => error.pointer)
    }
    const before = (await get(`${parcels}/1`)).body
    assert.deepEqual(await pointersOf({ address: { point: { lat: 1 } } }), ['/address/point/lon'])
    assert.deepEqual(await pointersOf({ metadata: { a: '1', b: '2' } }), ['/metadata'])
    assert.deepEqual(await pointersOf({ address: { city: null } }), ['/address/city'])
    assert.deepEqual((await get(`${parcels}/1`)).body, before)
  },
  DEPOT,
)

eachService(
  'metadata[key] filters by an entry, exactly',
  async ({ get, post }) => {
    const values: Record<string, string>[] = [
      { a: '1', 'crm.id': 'x"y' },
      { a: '2', b: '"a":"1"' },
      { aa: '1', b: 'a":"1' },
      { a: '1\\', A: '1' },
      {},
    ]
    for (const metadata of values) {
      assert.equal((await post(parcels, { address: { city: 'Ulm' }, metadata })).status, 201)
    }
    const ids = async (name: string, value: string, path = parcels) => {
      const query = `${encodeURIComponent(`metadata[${name}]`)}=${encodeURIComponent(value)}`
      const reply = await get(`${path}?${query}&pagination=page`)
      assert.equal(reply.status, 200, reply.text)
      const rows = reply.body.data.map((row: { id: number }) => row.id)
      assert.equal(reply.body.meta?.total ?? reply.body.total, rows.length)
      return rows
    }
    for (const [n, metadata] of values.entries()) {
      for (const [name, value] of Object.entries(metadata)) {
        const expected = values.flatMap((other, at) => (other[name] === value ? [at + 1] : []))
        assert.deepEqual(await ids(name, value), expected, `${n} ${name}`)
      }
    }
    assert.deepEqual(await ids('a', '1', '/api/v1/parcels'), [1])
    assert.deepEqual(await ids('a', '%'), [])
    for (const wrong of ['metadata=1', 'metadata[a b]=1', 'metadata[in][a]=1', 'extra[a]=1']) {
      assert.equal((await get(`${parcels}?${wrong.replace(' ', '%20')}`)).status, 400, wrong)
    }
    for (const name of ['metadata', 'metadata[]', 'metadata[a b]', 'metadata[a', 'metadata[a]x']) {
      const { body } = await get(`${parcels}?${encodeURIComponent(name)}=1`)
      const [mistake] = body.errors
      assert.deepEqual([mistake.parameter, mistake.code], [name, 'invalid_parameter'])
      assert.match(mistake.message, /as in metadata\[key\]/)
    }
  },
  DEPOT,
)

eachService(
  'the docs list the members of objects, and of the objects of arrays',
  async ({ as }) => {
    const { text } = await as(undefined).get('/docs/v2/parcels.md')
    for (const words of [
      '`address.city` (body, text, at least 1 characters, at most 40 characters, required)',
      '`address.point.lat` (body, number, at least -90, at most 90, required)',
      '`items[].sku` (body, text,',
    ]) {
      assert.ok(text.includes(words), words)
    }
  },
  { service: depot },
)

test('a value inside another is no column, and has a bound', () => {
  const declare = (field: object, filter: string[] = []) =>
    resource('things', {
      fields: { id: f.id(), value: field as never },
      list: { filter: filter as never, sort: [] },
      access: { read: 'r', create: 'w', update: false, delete: false },
      events: [],
    })
  const deep = (depth: number): object =>
    depth === 0 ? f.int() : f.object({ inside: deep(depth - 1) as never })
  const mistakes: [object, RegExp][] = [
    [f.object({ id: f.id() as never }), /field value: field id: a value inside another is no id/],
    [f.object({ a: f.string().unique() }), /unique/],
    [f.object({ a: f.int().readonly() as never }), /read-only/],
    [f.array(f.int(), { max: 1001 }), /max of at most 1000/],
    [f.array(f.int(), {} as never), /max of at most 1000/],
    [f.object({ a: f.decimal(20, 2) }), /1 to 15 digits/],
    [f.metadata().default({ a: 1 } as never), /the default must be a string/],
    [f.json().max(1e6), /max is at most/],
    [deep(8), /nested deeper than 8/],
  ]
  for (const [field, sentence] of mistakes) assert.throws(() => declare(field), sentence)
  declare(deep(7))
  assert.throws(
    () =>
      service({
        name: 's',
        versions: { v1: { released: '2026-01-01' } },
        resources: [declare(f.json(), ['value'])],
      }),
    /list: value has no order/,
  )
})
