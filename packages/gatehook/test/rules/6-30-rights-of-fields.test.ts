/** §6.30: a field can need a scope to be read or written, in every version and on every path. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { payroll } from '../fixtures/payroll.ts'

const PAYROLL = { service: payroll }
const path = '/api/v2/employees'
const staff = ['employees:read', 'employees:write', 'events:read']
const callerWith = async ({ as, key }: TestApp, ...more: string[]) =>
  as(await key({ scopes: [...staff, ...more] }))
const ada = { name: 'Ada', salary: 900, grade: 'b', pin: '1234', note: 'A note' }

eachService(
  'responses have a visible field for callers with its scope only',
  async (service) => {
    const { post } = service
    const created = await post(path, ada)
    assert.equal(created.status, 201, created.text)
    const { pin: _pin, ...visible } = ada
    assert.deepEqual(created.body, { id: 1, ...visible, pin_length: 4 })
    const plain = await callerWith(service)
    const reader = await callerWith(service, 'salaries:read')
    const row = { id: 1, name: 'Ada', grade: 'b', pin_length: 4 }
    for (const [caller, expected] of [
      [reader, { ...row, salary: 900 }],
      [plain, row],
      [reader, { ...row, salary: 900 }],
    ] as const) {
      assert.deepEqual((await caller.get(`${path}/1`)).body, expected)
      assert.deepEqual((await caller.get(path)).body.data, [expected])
      assert.deepEqual((await caller.get(`${path}?limit=5`)).body.data, [expected])
      assert.deepEqual((await caller.get('/api/v2/first')).body, expected)
      assert.deepEqual((await caller.patch(`${path}/1`, { name: 'Ada' })).body, expected)
      const { salary, grade: _, ...rest } = { salary: undefined, ...expected }
      const old = { ...rest, level: 2, ...(salary !== undefined && { pay: salary }) }
      assert.deepEqual((await caller.get('/api/v1/employees/1')).body, old)
      assert.deepEqual((await caller.get('/api/v1/employees')).body.data, [old])
    }
    const raised = await plain.post(`${path}/1/raise`, { amount: 5 })
    assert.deepEqual([raised.status, raised.body], [200, row])
    assert.equal((await reader.get(`${path}/1`)).body.salary, 905)
  },
  PAYROLL,
)

eachService(
  'a hidden field is unknown to filters, sorts and `fields`',
  async (service) => {
    for (const salary of [300, 100, 200]) {
      await service.post(path, { name: `N${salary}`, salary })
    }
    const plain = await callerWith(service)
    const reader = await callerWith(service, 'salaries:read')
    const ids = async (query: string) =>
      (await reader.get(query)).body.data.map((row: { id: number }) => row.id)
    assert.deepEqual(await ids(`${path}?sort=salary`), [2, 3, 1])
    assert.deepEqual(await ids(`${path}?salary[gte]=200&fields=id,salary`), [1, 3])
    assert.deepEqual(await ids('/api/v1/employees?sort=-pay&pay[lt]=300'), [3, 2])
    const queries: [string, string][] = [
      ['sort=salary', 'invalid_parameter'],
      ['fields=id,salary', 'invalid_parameter'],
      ['salary=100', 'unknown_parameter'],
      ['salary[gte]=1', 'unknown_parameter'],
      ['fields=pin', 'invalid_parameter'],
    ]
    for (const [query, code] of queries) {
      const { status, body } = await plain.get(`${path}?${query}`)
      assert.deepEqual([status, body.error], [400, code], query)
    }
    for (const query of ['sort=pay', 'pay=100', 'fields=pay', 'salary=100']) {
      assert.equal((await plain.get(`/api/v1/employees?${query}`)).status, 400, query)
    }
    const { text } = await plain.get(`${path}?sort=nothing`)
    assert.ok(!text.includes('salary'), text)
    assert.equal((await reader.get(`${path}?fields=pin`)).status, 400)
    const { body } = await reader.get(`${path}?sort=salary&limit=1`)
    const page = await plain.get(`${path}?sort=salary&limit=1&cursor=${body.next_cursor}`)
    assert.equal(page.status, 400)
  },
  PAYROLL,
)

eachService(
  'expanded rows have the rights of their fields, and a hidden reference is no relation',
  async (service) => {
    await service.post(path, ada)
    const desk = await service.post('/api/v2/desks', { employee_id: 1, deputy_id: 1 })
    assert.equal(desk.status, 201, desk.text)
    const plain = await callerWith(service)
    const reader = await callerWith(service, 'salaries:read')
    for (const [caller, salary] of [
      [reader, 900],
      [plain, undefined],
      [reader, 900],
    ] as const) {
      const list = await caller.get('/api/v2/desks?expand=employee')
      assert.equal(list.status, 200, list.text)
      const single = await caller.get('/api/v2/desks/1?expand=employee')
      for (const { employee, deputy_id } of [list.body.data[0], single.body]) {
        assert.deepEqual([employee.name, employee.salary], ['Ada', salary])
        assert.equal(deputy_id, salary && 1)
        assert.ok(!('pin' in employee))
      }
    }
    const relation = '/api/v2/desks?expand=deputy'
    assert.equal((await reader.get(relation)).body.data[0].deputy.salary, 900)
    const reply = await plain.get(relation)
    assert.deepEqual([reply.status, reply.text.includes('deputy;')], [400, false])
    const notes = `${path}?note[prefix]=A`
    assert.equal((await service.get(notes)).body.data.length, 1)
    assert.equal((await plain.get(notes)).status, 400)
  },
  PAYROLL,
)

eachService(
  'events and entity tags contain no hidden value',
  async (service) => {
    const { post, patch, get, send } = service
    await post(path, ada)
    await patch(`${path}/1`, { salary: 901 })
    await patch(`${path}/1`, { pin: '4321' })
    const plain = await callerWith(service)
    for (const caller of [service, plain]) {
      const events = (await caller.get('/events')).body.data
      assert.equal(events.length, 3)
      for (const { data } of events) {
        assert.deepEqual(data.object, { id: 1, name: 'Ada', grade: 'b', pin_length: 4 })
      }
    }
    const old = await service.key({ scopes: staff, api_version: 'v1' })
    for (const { data } of (await service.as(old).get('/events')).body.data) {
      assert.deepEqual(data.object, { id: 1, name: 'Ada', level: 2, pin_length: 4 })
    }
    const { headers } = await plain.get(`${path}/1`)
    await patch(`${path}/1`, { salary: 902 })
    assert.equal((await plain.get(`${path}/1`)).headers.etag, headers.etag)
    const tag = { 'if-match': headers.etag! }
    assert.equal((await plain.patch(`${path}/1`, { name: 'B' }, tag)).status, 200)
    const full = await get(`${path}/1`)
    const matched = await send(
      'PATCH',
      `${path}/1`,
      { salary: 1 },
      { 'if-match': full.headers.etag! },
    )
    assert.equal(matched.status, 200)
  },
  PAYROLL,
)

eachService(
  'a write without the scope is 422 at its pointer in every version',
  async (service) => {
    const plain = await callerWith(service)
    const created = await plain.post(path, { name: 'Bo', pin: '1111' })
    assert.deepEqual([created.status, created.body.grade], [201, 'a'])
    const old = await plain.post('/api/v1/employees', { name: 'Cy' })
    assert.deepEqual([old.status, old.body.level], [201, 1])
    const writes: [string, string, object, string][] = [
      ['POST', path, { name: 'No', grade: 'b' }, '/grade'],
      ['POST', path, { name: 'No', salary: 5 }, '/salary'],
      ['PATCH', `${path}/1`, { grade: 'b' }, '/grade'],
      ['POST', '/api/v1/employees', { name: 'No', level: 2 }, '/level'],
      ['PATCH', '/api/v1/employees/1', { pay: 5 }, '/pay'],
    ]
    for (const [method, url, body, pointer] of writes) {
      const reply = await plain.send(method, url, body)
      const [error] = reply.body.errors
      assert.deepEqual([reply.status, error.pointer, error.code], [422, pointer, 'read_only'])
      assert.match(error.message, /needs the scope salaries:write/)
    }
    assert.equal((await service.get(path)).body.data.length, 2)
    const writer = await callerWith(service, 'salaries:write')
    const reply = await writer.patch(`${path}/1`, { salary: 7, grade: 'b' })
    assert.deepEqual([reply.status, reply.body.grade, reply.body.salary], [200, 'b', undefined])
    assert.equal((await service.get(`${path}/1`)).body.salary, 7)
    const pinned = await plain.patch(`${path}/1`, { pin: '22222' })
    assert.deepEqual([pinned.status, pinned.body.errors[0].pointer], [422, '/pin'])
  },
  PAYROLL,
)

eachService(
  'the documents and the console name the scopes',
  async ({ app, as, key }) => {
    const { schemas } = JSON.parse((await app.inject('/openapi/v2.json')).body).components
    const { Employee: row, EmployeeCreate: create } = schemas
    assert.deepEqual(row.required, ['id', 'name', 'grade', 'pin_length'])
    assert.equal(row.properties.pin, undefined)
    assert.equal(row.properties.salary['x-read-scope'], 'salaries:read')
    assert.equal(create.properties.salary['x-write-scope'], 'salaries:write')
    assert.equal(create.properties.pin.writeOnly, true)
    // Some generated clients send each `default`, which is 422 for callers without the scope.
    const written = create.properties
    const defaults = [written.salary, written.grade].map((field) => [
      'default' in field,
      field['x-default'],
    ])
    assert.deepEqual(defaults, [
      [false, 0],
      [false, 'a'],
    ])
    assert.equal(written.pin.default, '0000')
    const { text } = await as(undefined).get('/docs/v2/employees.md')
    assert.match(text, /Only callers with the scope `salaries:write` write it/)
    const overview = await as(await key({ scopes: ['admin'], mode: 'live' })).get(
      '/admin/resources',
    )
    const fields = overview.body.resources[0].fields as Record<string, unknown>[]
    const salary = fields.find(({ name }) => name === 'salary')!
    assert.deepEqual([salary.read_scope, salary.write_scope], ['salaries:read', 'salaries:write'])
    assert.equal(fields.find(({ name }) => name === 'pin')!.write_only, true)
  },
  PAYROLL,
)

const access = { read: 'r', create: 'w', update: 'w', delete: false } as const
const versions = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }

const staffs = resource('staffs', {
  fields: {
    id: f.id(),
    email: f.email().unique(),
    badge: f.string().default('').writeOnly(),
    level: f.int().default(1).visible('levels:read').writable('levels:write'),
  },
  list: { filter: [], sort: [] },
  access,
  events: [],
})

eachService(
  'operators write and read the fields of people, and read no write-only one',
  async ({ as, key }) => {
    const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
    const body = { email: 'a@b.de', password: 'correct horse battery', badge: 'B1', level: 3 }
    const created = await admin.post('/admin/users', body)
    assert.equal(created.status, 201, created.text)
    const read = await admin.get(`/admin/users/${created.body.id}`)
    for (const person of [created.body, read.body]) {
      assert.deepEqual([person.level, 'badge' in person], [3, false])
    }
  },
  {
    service: service({
      name: 'staff',
      versions: { v1: versions.v1 },
      resources: [staffs.signsIn({ username: 'email' })],
    }),
  },
)

test('a stranger who signs up writes no field that needs a scope', () => {
  const signUp = { fields: ['level'] as const }
  const resources = [staffs.signsIn({ username: 'email', signUp })]
  const declare = () => service({ name: 'staff', versions: { v1: versions.v1 }, resources })
  assert.throws(declare, /signUp: level needs the scope levels:write to be written/)
})

test('rights that contradict themselves are not declared', () => {
  const declare = (field: object, list: string[] = []) => {
    const fields = { id: f.id(), secret: field as ReturnType<typeof f.string> }
    const things = resource('things', {
      fields,
      list: { filter: [], sort: list as ['secret'] },
      access,
      events: [],
    })
    service({ name: 'things', versions, resources: [things] })
  }
  declare(f.string().max(9).visible('s:read'), ['secret'])
  const mistakes: [object, RegExp, string[]?][] = [
    [f.string().writable('s:write'), /secret: \.writable\(\) needs a default/],
    [f.string().writeOnly(), /list: secret is write-only/, ['secret']],
    [f.string().visible('S:read'), /scope "S:read" is not of the form/],
    [f.string().visible('s:read').writeOnly(), /no caller sees it/],
    [f.string().default('').readonly().writeOnly(), /clients never write it/],
    [f.object({ in: f.string().visible('s') }), /has the rights of its field/],
  ]
  for (const [field, sentence, list] of mistakes) {
    assert.throws(() => declare(field, list), sentence)
  }
})

test('a conversion that shows a hidden value to more callers is not declared', () => {
  const declare = (had: object) => {
    const fields = { id: f.id(), salary: f.int().default(0).visible('s:read') }
    const things = resource('things', {
      fields,
      list: { filter: [], sort: [] },
      access,
      events: [],
    })
    const old = things.before('v2', {
      why: 'It has a new name.',
      had: { pay: had as ReturnType<typeof f.int> },
      hadNot: ['salary'],
      up: ({ pay }) => ({ salary: pay }),
      down: ({ salary }) => ({ pay: salary }),
    })
    service({ name: 'things', versions, resources: [old] })
  }
  declare(f.int().default(0).visible('s:read'))
  const sentence = /salary decides pay, .* declare pay with \.visible\('s:read'\)/
  assert.throws(() => declare(f.int().default(0)), sentence)
  assert.throws(() => declare(f.int().default(0).visible('other:read')), sentence)
})

test('a computed or derived field that follows from a limited one is limited itself', () => {
  const declare = (pay: object, double: object, computed = false) => {
    const fields = { id: f.id(), pay: pay as never, double: double as ReturnType<typeof f.int> }
    const things = resource('things', {
      fields,
      list: { filter: [], sort: [] },
      access,
      events: [],
    })
    const whole = computed
      ? things.compute('double' as never, ((row: { pay: number }) => row.pay * 2) as never)
      : things
    service({ name: 'things', versions, resources: [whole] })
  }
  const int = f.int().default(0)
  const visible = /double: pay decides it, .* declare double with \.visible\('s:read'\)/
  const writeOnly = /double: pay decides it, and no caller sees pay: declare double with \.visible/
  const secret = /double: pay decides it, which is secret, .* declare double with \.secret\(\)/
  for (const [field, computed] of [
    [f.derived(f.int(), 'pay * 2'), false],
    [f.computed(f.int()), true],
    [f.computed(f.int().default(0)).stored(), true],
  ] as const) {
    assert.throws(() => declare(int.visible('s:read'), field, computed), visible)
    declare(int.visible('s:read'), field.visible('s:read'), computed)
    declare(int.visible('s:read'), field.visible('s:doubles'), computed)
    assert.throws(() => declare(int.writeOnly(), field, computed), writeOnly)
    declare(int.writeOnly(), field.visible('s:doubles'), computed)
    assert.throws(() => declare(int.secret(), field, computed), secret)
    assert.throws(() => declare(int.secret(), field.visible('s:doubles'), computed), secret)
    declare(int.secret(), field.secret(), computed)
    const both = () => declare(int.secret().visible('s:read'), field, computed)
    assert.throws(both, visible)
    assert.throws(both, secret)
  }
})
