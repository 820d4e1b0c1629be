/**
 * §12.2: `GET /admin/resources` describes every declared resource, in the names of a version, with
 * its rows counted for one customer and mode.
 */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { fieldKinds } from '../../src/protocol/fields/kinds/table.ts'
import { everyKind } from '../fixtures/every-kind.ts'
import { post } from '../fixtures/three-versions.ts'

interface Named {
  readonly name: string
}

interface Input {
  readonly writable: boolean
  readonly input: {
    readonly json: string
    readonly example: unknown
    readonly filter: { readonly pattern: string | null; readonly keys: boolean }
  }
}

const PATH = '/admin/resources'
const adminOf = async ({ as, key }: TestApp) => as(await key({ scopes: ['admin'], mode: 'live' }))
const named = <T extends Named>(rows: readonly T[], name: string): T =>
  rows.find((row) => row.name === name)!

eachService('fields, lists, scopes and actions are those of the declaration', async (service) => {
  const admin = await adminOf(service)
  const { status, body } = await admin.get(PATH)
  assert.equal(status, 200)
  assert.deepEqual(body.versions, ['v1', 'v2'])
  assert.equal(body.is_reference, false, 'only the command line runs the reference service')
  assert.deepEqual(
    body.resources.map(({ name }: Named) => name),
    ['users', 'orders'],
  )
  assert.ok(body.event_types.includes('payment.succeeded'))
  assert.equal(body.sample_event, 'user.created')
  assert.deepEqual(body.features, { test_clock: false, request_log: true })
  const orders = named<Named & Record<string, never>>(body.resources, 'orders')
  assert.deepEqual(named(orders.fields!, 'status'), {
    name: 'status',
    type: 'one_of',
    of: null,
    id_prefix: null,
    values: ['pending', 'paid', 'shipped', 'delivered', 'cancelled'],
    min: null,
    max: null,
    default: 'pending',
    unit: null,
    nullable: false,
    unique: false,
    writable: false,
    required: false,
    editable_in: null,
    write_only: false,
    read_scope: null,
    write_scope: null,
    describe: null,
    input: {
      json: 'string',
      hint: null,
      example: 'pending',
      free_text: false,
      instant: false,
      amount: false,
      filter: {
        pattern: null,
        words: 'a value or more',
        example: null,
        range: false,
        list: true,
        keys: false,
      },
    },
  })
  const { of, required } = named<Named & Record<string, unknown>>(orders.fields!, 'user_id')
  assert.deepEqual([of, required], ['users', true])
  const amount = named<Named & Record<string, unknown>>(orders.fields!, 'amount')
  assert.deepEqual([amount.editable_in, amount.min], [['pending'], 1])
  const { access, owner, filter, label } = orders as Record<string, unknown>
  assert.deepEqual(access, {
    read: 'orders:read',
    create: 'orders:write',
    update: 'orders:write',
    delete: null,
  })
  assert.deepEqual([owner, label], ['user_id', null])
  assert.deepEqual(filter, ['id', 'user_id', 'status', 'amount', 'currency', 'created_at'])
  const cancel = named<Named & Record<string, unknown>>(orders.actions!, 'cancel')
  assert.deepEqual(
    [cancel.from, cancel.to, cancel.emits, (cancel.input as Named[])[0]!.name],
    [['pending', 'paid'], 'cancelled', 'order.cancelled', 'reason'],
  )
  const users = named<Named & Record<string, unknown>>(body.resources, 'users')
  assert.deepEqual([users.label, users.signs_in, users.count], ['name', 'email', null])
})

eachService('rows are counted for one customer and mode', async (service) => {
  const admin = await adminOf(service)
  const { id } = (await admin.post('/admin/customers', { name: 'Shop' })).body
  const counts = async (query: string) =>
    (await admin.get(`${PATH}?${query}`)).body.resources.map((row: { count: unknown }) => row.count)
  for (const name of ['ann', 'bea']) {
    const row = { name, email: `${name}@example.com` }
    assert.equal((await admin.post(`/admin/as/${id}/live/api/users`, row)).status, 201)
  }
  assert.deepEqual(await counts(`customer=${id}`), [2, 0])
  assert.deepEqual(await counts(`customer=${id}&mode=test`), [0, 0])
  assert.deepEqual(await counts('customer=default&mode=live'), [0, 0])
  assert.deepEqual(await counts('mode=live'), [null, null], 'all customers are not counted')
})

eachService(
  'an older version has its own names of fields, filters and sorts',
  async (service) => {
    const admin = await adminOf(service)
    const { body } = await admin.get(`${PATH}?version=v1`)
    const clients = named<Named & Record<string, readonly Named[]>>(body.resources, 'clients')
    assert.equal(body.version, 'v1')
    assert.deepEqual(
      clients.fields!.map(({ name }) => name),
      ['id', 'name', 'mail', 'created_at'],
    )
    assert.deepEqual(clients.filter, ['mail'], 'no column has the values of a converted field')
    assert.deepEqual(clients.sort, ['id', 'mail', 'created_at'])
    for (const { name, filter, sort } of body.resources) {
      const path = `/admin/as/default/live/api/v1/${name}`
      for (const field of sort) assert.equal((await admin.get(`${path}?sort=${field}`)).status, 200)
      for (const field of filter) {
        const reply = await admin.get(`${path}?${field}[ne]=1`)
        assert.ok(!/unknown_parameter/.test(reply.text), `${field}: ${reply.text}`)
      }
    }
  },
  { service: post },
)

eachService(
  'the input of every kind has an example that a body accepts, and filters accept',
  async (service) => {
    const admin = await adminOf(service)
    const { resources } = (await admin.get(PATH)).body
    const { fields, filter } = named<Named & Record<string, never[]>>(resources, 'things')
    const inputs = (fields as (Named & Input)[]).filter(({ writable }) => writable)
    assert.equal(inputs.length, Object.keys(fieldKinds).length - 1, 'every kind except the id')
    assert.equal((await service.post('/api/v1/targets', {})).status, 201)
    const body = Object.fromEntries(inputs.map(({ name, input }) => [name, input.example]))
    const { status, text } = await service.post('/api/v1/things', body)
    assert.equal(status, 201, text)
    for (const { name, input } of inputs) {
      const jsonType = typeof input.example
      if (input.json !== 'any')
        assert.equal(input.json.replace('integer', 'number'), jsonType, name)
      if (!(filter as string[]).includes(name) || input.filter.keys) continue
      const value = String(input.example)
      if (input.filter.pattern) assert.match(value, new RegExp(input.filter.pattern), name)
      const query = `${name}=${encodeURIComponent(value)}`
      assert.equal((await service.get(`/api/v1/things?${query}`)).body.data?.length, 1, query)
    }
  },
  { service: everyKind },
)

eachService('unknown parameters, customers and versions are 400', async (service) => {
  const admin = await adminOf(service)
  for (const query of ['version=v9', 'customer=cus_none', 'mode=prod', 'limit=3']) {
    assert.equal((await admin.get(`${PATH}?${query}`)).status, 400, query)
  }
  assert.equal((await service.get(PATH)).status, 403, 'a key of a customer')
})
