/** §6.16: `f.id('bk')` gives rows ids as text, which sort by time and cannot be guessed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { isPrefixedId } from '../../src/kernel/row-id.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const

const bookings = resource('bookings', {
  fields: { id: f.id('bk'), guest: f.string(), nights: f.int().default(1) },
  list: { filter: ['id', 'guest', 'nights'], sort: ['id', 'guest', 'nights'] },
  access,
  events: ['booking.created', 'booking.updated', 'booking.deleted'],
  batch: true,
})
const payments = resource('payments', {
  fields: {
    id: f.id('pay'),
    booking_id: f.ref('bookings', 'bk').onDelete('cascade'),
    refund_of: f.ref('payments', 'pay').nullable().default(null),
    amount: f.int(),
  },
  list: { filter: ['booking_id'], sort: ['amount'] },
  access,
  events: ['payment.created', 'payment.deleted'],
})
const notes = resource('notes', {
  fields: { id: f.id(), booking_id: f.ref('bookings', 'bk').nullable().onDelete('setNull') },
  list: { filter: ['booking_id'], sort: ['id'] },
  access,
  events: ['note.updated'],
})
const hotel = {
  service: service({
    name: 'Hotel',
    versions: { v1: { released: '2026-01-01' } },
    resources: [bookings, payments, notes],
  }),
}

const UNKNOWN = `bk_${'1'.repeat(22)}`

const idsOf = async ({ get }: TestApp, path: string): Promise<string[]> => {
  const { body, text } = await get(path)
  assert.ok(Array.isArray(body.data), text)
  return body.data.map(({ id }: { id: string }) => id)
}

const createBookings = async ({ post }: TestApp, count: number): Promise<string[]> => {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    ids.push((await post('/api/v1/bookings', { guest: `g${n % 2}`, nights: n })).body.id)
  }
  return ids
}

eachService(
  'a row has an id with the prefix, by which clients read, change and delete it',
  async ({ get, post, patch, ...app }) => {
    const created = await post('/api/v1/bookings', { guest: 'Ada' })
    assert.equal(created.status, 201, created.text)
    const { id } = created.body
    assert.ok(isPrefixedId('bk', id), id)
    const path = `/api/v1/bookings/${id}`
    assert.equal(created.headers.location, path)
    assert.deepEqual((await get(path)).body, { id, guest: 'Ada', nights: 1 })
    assert.deepEqual((await patch(path, { nights: 2 })).body, { id, guest: 'Ada', nights: 2 })
    assert.equal((await app.delete(path)).status, 204)
    assert.equal((await get(path)).status, 404)
  },
  hotel,
)

eachService(
  'the id of another form is 404 with the form, in each method',
  async ({ get, patch, ...app }) => {
    const others = [
      '1',
      'bk',
      'bk_',
      `pay_${'1'.repeat(22)}`,
      `${UNKNOWN}1`,
      'bk_%C3%A9',
      `BK${UNKNOWN.slice(2)}`,
    ]
    for (const other of others) {
      const path = `/api/v1/bookings/${other}`
      for (const reply of [
        await get(path),
        await patch(path, { nights: 2 }),
        await app.delete(path),
      ]) {
        assert.deepEqual([reply.status, reply.body.error], [404, 'not_found'], other)
        assert.match(reply.body.message, /The ids of bookings are bk_/)
      }
    }
    assert.equal((await get(`/api/v1/bookings/${UNKNOWN}`)).status, 404)
    assert.equal((await get(`/api/v1/notes/${UNKNOWN}`)).status, 404)
  },
  hotel,
)

eachService(
  'lists page by id in the keyset and the cursor style, both ways, and count their rows',
  async (app) => {
    const created = (await createBookings(app, 7)).sort()
    assert.deepEqual(await idsOf(app, '/api/v1/bookings?limit=9&pagination=keyset'), created)
    const visited: string[] = []
    let query = 'pagination=keyset&limit=3'
    for (;;) {
      const { body, headers } = await app.get(`/api/v1/bookings?${query}`)
      visited.push(...body.data.map(({ id }: { id: string }) => id))
      assert.equal(body.after_id, visited.at(-1))
      if (!body.has_more) break
      assert.ok(headers.link!.includes(`after_id=${body.after_id}`), headers.link ?? '')
      query = `after_id=${body.after_id}&limit=3`
    }
    assert.deepEqual(visited, created)
    const down: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const more: string = cursor && `&cursor=${cursor}`
      const { body } = await app.get(`/api/v1/bookings?sort=-nights&limit=2${more}`)
      down.push(...body.data.map(({ nights }: { nights: number }) => nights))
      cursor = body.next_cursor
    }
    assert.deepEqual(down, [6, 5, 4, 3, 2, 1, 0])
    const tied = await app.get('/api/v1/bookings?sort=guest&limit=5')
    const rest = await app.get(`/api/v1/bookings?sort=guest&cursor=${tied.body.next_cursor}`)
    assert.equal(new Set([...tied.body.data, ...rest.body.data].map(({ id }) => id)).size, 7)
    const back = await app.get(`/api/v1/bookings?sort=guest&cursor=${rest.body.cursors.prev}`)
    assert.deepEqual(back.body.data, tied.body.data.slice(-back.body.data.length))
    assert.equal((await app.get('/api/v1/bookings?pagination=page')).body.total, 7)
  },
  hotel,
)

eachService(
  'an empty keyset page has the position of the request, or the lowest id',
  async ({ get }) => {
    const lowest = `bk_${'0'.repeat(22)}`
    assert.equal((await get('/api/v1/bookings?pagination=keyset')).body.after_id, lowest)
    assert.equal((await get(`/api/v1/bookings?after_id=${lowest}`)).body.after_id, lowest)
    assert.equal((await get(`/api/v1/bookings?after_id=${UNKNOWN}`)).body.after_id, UNKNOWN)
    for (const value of ['', '0', '7', `${UNKNOWN}1`, 'bk_', `pay_${'1'.repeat(22)}`]) {
      const { status, body } = await get(`/api/v1/bookings?after_id=${value}`)
      assert.deepEqual([status, body.errors[0].parameter], [400, 'after_id'], value)
    }
    assert.equal((await get(`/api/v1/notes?after_id=${UNKNOWN}`)).status, 400)
  },
  hotel,
)

eachService(
  'filters compare ids, and reject texts that are none',
  async (app) => {
    const [first = '', second = '', third = ''] = (await createBookings(app, 3)).sort()
    const at = '/api/v1/bookings'
    assert.deepEqual(await idsOf(app, `${at}?id=${second}`), [second])
    assert.deepEqual(await idsOf(app, `${at}?id[gt]=${first}`), [second, third])
    assert.deepEqual(await idsOf(app, `${at}?id[in]=${third},${first}`), [first, third])
    assert.deepEqual(await idsOf(app, `${at}?sort=-id&id[lte]=${second}`), [second, first])
    const { status, body } = await app.get(`${at}?id=7`)
    assert.deepEqual([status, body.errors[0].parameter], [400, 'id'])
    assert.match(body.errors[0].message, /begins with bk_/)
  },
  hotel,
)

eachService(
  'references have the ids of their target, with their effects',
  async (app) => {
    const { get, post, patch } = app
    const [booking, other] = await createBookings(app, 2)
    const paid = await post('/api/v1/payments', { booking_id: booking, amount: 5 })
    assert.equal(paid.status, 201, paid.text)
    const { id } = paid.body
    // Of a third booking, which stays: a deletion takes payments in the order of their ids.
    const [third] = await createBookings(app, 1)
    const refund = await post('/api/v1/payments', { booking_id: third, amount: -5, refund_of: id })
    assert.equal(refund.body.refund_of, id)
    for (const [booking_id, code] of [
      [UNKNOWN, 'not_found'],
      [1, 'invalid_type'],
      ['1', 'invalid_format'],
      [id, 'invalid_format'],
    ]) {
      const { status, body } = await post('/api/v1/payments', { booking_id, amount: 1 })
      const [{ pointer, code: actual }] = body.errors
      assert.deepEqual([status, pointer, actual], [422, '/booking_id', code])
    }
    const moved = await patch(`/api/v1/payments/${id}`, { booking_id: other })
    assert.equal(moved.body.booking_id, other)
    assert.deepEqual(await idsOf(app, `/api/v1/payments?booking_id=${booking}`), [])
    const read = await get(`/api/v1/payments/${refund.body.id}?expand=booking,refund_of.booking`)
    assert.equal(read.body.booking.id, third)
    assert.equal(read.body.refund_of.booking.id, other)

    const note = await post('/api/v1/notes', { booking_id: other })
    const page = await get('/api/v1/notes?expand=booking')
    assert.equal(page.body.data[0].booking.id, other)
    assert.equal((await app.delete(`/api/v1/bookings/${other}`)).status, 409) // a refund refers
    await patch(`/api/v1/payments/${refund.body.id}`, { refund_of: null })
    assert.equal((await app.delete(`/api/v1/bookings/${other}`)).status, 204)
    assert.deepEqual(await idsOf(app, '/api/v1/payments'), [refund.body.id])
    assert.equal((await get(`/api/v1/notes/${note.body.id}`)).body.booking_id, null)
    assert.equal((await get('/api/v1/payments?pagination=page')).body.total, 1)
  },
  hotel,
)

eachService(
  'events and batches have the ids, and operators find them by id',
  async (app) => {
    const { get, post } = app
    const items = [{ guest: 'Ada' }, { guest: 'Bob' }]
    const batch = await post('/api/v1/bookings/batch', { items })
    const ids: string[] = batch.body.items.map(({ body }: { body: { id: string } }) => body.id)
    assert.ok(
      ids.every((id) => isPrefixedId('bk', id)),
      batch.text,
    )
    const events = await get('/events')
    const objects = events.body.data.map(
      ({ data }: { data: { object: { id: string } } }) => data.object.id,
    )
    assert.deepEqual(objects.sort(), [...ids].sort())

    const admin = app.as(await app.key({ mode: 'live', scopes: ['admin'] }))
    const own = await admin.get(`/admin/events?object=bookings/${ids[0]}`)
    assert.deepEqual(
      own.body.data.map(({ object }: { object: string }) => object),
      [`bookings/${ids[0]}`],
    )
    const single = await admin.get(`/admin/events/${own.body.data[0].id}`)
    assert.equal(single.body.object, `bookings/${ids[0]}`)
    for (const q of [ids[0]!, ids[0]!.slice(0, -3)]) {
      const { body } = await admin.get(`/admin/search?q=${q}`)
      const hits = body.data.filter(({ id }: { id: string }) => id === ids[0])
      assert.equal(hits[0]?.type, 'row', q)
      assert.ok(hits[0].href.startsWith(`/console/data/bookings/${ids[0]}?customer=`))
    }
    const { body } = await admin.get('/admin/resources')
    const [{ fields }] = body.resources
    assert.equal(fields[0].id_prefix, 'bk')
  },
  hotel,
)

eachService(
  'the OpenAPI document describes the ids, and responses and examples fit',
  async ({ app, get, post }) => {
    const document = app.openapi('v1') as {
      paths: Record<string, Record<string, { parameters: { name?: string; schema: object }[] }>>
    }
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema(document, 'v1')
    const validate = (schema: string, value: unknown) => {
      const isValid = ajv.validate({ $ref: `v1#/components/schemas/${schema}` }, value)
      assert.ok(isValid, `${schema} ${JSON.stringify(value)} ${ajv.errorsText()}`)
    }
    const pattern = '^bk_[0-9A-Za-z]{22}$'
    const at = '/api/v1/bookings'
    const list = document.paths[at]!.get!.parameters
    const afterId = list.find(({ name }) => name === 'after_id')!
    assert.equal((afterId.schema as { pattern: string }).pattern, pattern)
    const inPath = document.paths[`${at}/{id}`]!.parameters as unknown as typeof list
    const { schema } = inPath[0] as {
      schema: { pattern: string; maxLength: number; examples: string[] }
    }
    assert.deepEqual([schema.pattern, schema.maxLength], [pattern, 25])
    assert.match(schema.examples[0]!, new RegExp(pattern))
    validate('BookingList', (await get(`${at}?pagination=keyset`)).body)
    const { body: booking } = await post(at, { guest: 'Ada' })
    validate('Booking', booking)
    const body = { booking_id: booking.id, amount: 1 }
    validate('PaymentCreate', body)
    validate('Payment', (await post('/api/v1/payments', body)).body)
    for (const style of ['keyset', 'cursor', 'offset', 'page', 'hypermedia'])
      validate(
        'PaymentList',
        (await get(`/api/v1/payments?pagination=${style}&expand=booking`)).body,
      )
    assert.equal(
      ajv.validate({ $ref: 'v1#/components/schemas/PaymentCreate' }, { ...body, booking_id: 1 }),
      false,
    )
  },
  hotel,
)

test('two nodes create different ids, and continue each other’s pages [postgres]', async (t) => {
  const first = await openService(t, 'postgres', hotel)
  const second = await openService(t, 'postgres', { ...hotel, url: first.url })
  const created = await Promise.all(
    [first, second, first, second].map((node) => createBookings(node, 5)),
  )
  const ids = created.flat().sort()
  assert.equal(new Set(ids).size, 20)
  const visited: string[] = []
  let query = 'pagination=keyset&limit=4'
  for (const node of [first, second, first, second, first]) {
    const { body } = await node.get(`/api/v1/bookings?${query}`)
    visited.push(...body.data.map(({ id }: { id: string }) => id))
    query = `after_id=${body.after_id}&limit=4`
  }
  assert.deepEqual(visited, ids)
  const page = await first.get('/api/v1/bookings?sort=-id&limit=15')
  const rest = await second.get(`/api/v1/bookings?sort=-id&cursor=${page.body.next_cursor}`)
  assert.equal(rest.body.data.at(-1).id, ids[0])
  const paid = await second.post('/api/v1/payments', { booking_id: ids[0], amount: 1 })
  assert.equal((await first.get(`/api/v1/payments/${paid.body.id}`)).body.booking_id, ids[0])
})
