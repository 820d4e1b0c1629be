/**
 * §18.11: a customer chooses the values of its persons. Their erasure removes no row of others from
 * the request log and the audit trail, and clears a value of theirs only where it is a whole one.
 */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { createOperator } from '../../src/identity/people/operators.ts'
import { letterbox } from '../fixtures/letters.ts'

const ADDRESS = 'root@operators.example'
/** An address that no other account has. */
const OWN_ADDRESS = 'hostile@members.example'
const STREET = 'Nettle Street 5'
/** Words of the interface. */
const HOSTILE = {
  ...{ given_name: 'created_at 1', nickname: 'admin', bio: '/api/v2/letters' },
  interests: ['live', 'charset=utf-8', 'application/json', 'letter.created', 'administrator'],
  profile: { city: 'customers' },
}

interface LoggedRow {
  readonly id: string
  readonly path: string
}

async function readLog(admin: ReturnType<TestApp['as']>) {
  const { body } = await admin.get('/admin/requests?limit=100')
  const rows: object[] = []
  for (const { id, path } of body.data as LoggedRow[]) {
    const { body: detail } = await admin.get(`/admin/requests/${id}`)
    rows.push({ id, path, caller: detail.credential, body: detail.body, answer: detail.answer })
  }
  return rows as (LoggedRow & { readonly body: unknown })[]
}

eachService(
  'values that a customer chooses remove nothing of others from logs',
  async (service) => {
    const { administration, hasher, erasure } = service.app
    const actor = { kind: 'system', id: 'test', name: 'Setup' } as const
    const password = 'correct horse battery'
    await createOperator(administration, hasher, { email: ADDRESS, password }, actor)
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const neighbour = service.as(await service.key({ mode: 'live' }))
    const { body: customer } = await admin.post('/admin/customers', { name: 'Hostile' })
    const own = service.as(await service.key({ customer: customer.id, mode: 'live' }))
    const person = { ...HOSTILE, email: ADDRESS }
    const { body: member, status } = await own.post('/api/v2/members', person)
    assert.equal(status, 201, JSON.stringify(member))

    const spared = [
      await neighbour.get('/api/v2/letters?sort=-id'),
      await neighbour.get('/events?type=letter.created'),
      await neighbour.post('/api/v2/letters', { address: 'live', code: 'admin', weight: 'x' }),
      await neighbour.post('/webhooks', { url: 'no url', events: ['letter.created'] }),
      await admin.get('/admin/requests?route=/api/v2/letters'),
      await admin.post('/admin/operators', { email: 'no address', role: 'administrator' }),
      await admin.post(`/admin/as/${customer.id}/live/api/v2/letters`, { code: 'live' }),
      await service.as(undefined).get('/api/v2/letters'),
      await service.as(undefined).get('/admin/customers'),
      // The address of an operator is one of the person, too.
      await admin.get(`/admin/users?username=${ADDRESS}`),
      await admin.post('/admin/customers', { name: 5, contact_email: ADDRESS }),
    ].map(({ headers }) => headers['x-request-id'])
    const cleared = [
      await admin.get(`/admin/users?username=${OWN_ADDRESS}`),
      await admin.post('/admin/customers', { name: 5, contact_email: OWN_ADDRESS }),
      await neighbour.post('/api/v2/letters', { address: STREET, weight: 'x' }),
      await service.as(undefined).get(`/nowhere/${encodeURIComponent(STREET)}`),
    ].map(({ headers }) => headers['x-request-id'])
    const before = await readLog(admin)
    const find = (rows: typeof before, ids: readonly unknown[]) =>
      ids.map((id) => rows.find((row) => row.id === id))
    assert.ok([...find(before, spared), ...find(before, cleared)].every(Boolean))
    for (const bio of [OWN_ADDRESS, STREET]) {
      await own.patch(`/api/v2/members/${member.id}`, { bio })
    }
    assert.equal((await admin.delete(`/admin/users/${member.id}`)).status, 202)
    await erasure.runDue()

    const after = await readLog(admin)
    assert.deepEqual(find(after, spared), find(before, spared))
    assert.deepEqual(
      find(after, cleared).map((row) => [row?.path, row?.body]),
      [
        ['/admin/users', null],
        ['/admin/customers', null],
        ['/api/letters', null],
        ['/…', null],
      ],
    )
    const { body: trail } = await admin.get('/admin/audit?limit=100')
    const entry = (action: string) =>
      trail.data.find((row: { readonly action: string }) => row.action === action)
    assert.deepEqual(entry('operator.create').detail, { email: ADDRESS, role: 'administrator' })
    assert.equal(entry('operator.create').actor_name, 'Setup')
    const { erased } = entry('person.erased').detail
    assert.equal(erased['gh_monitoring_requests outside the customer'], cleared.length)
    assert.equal(erased['gh_audit outside the customer'], undefined)
    assert.equal((await service.app.audit.verify()).valid, true)
  },
  { service: letterbox, env: { GATEHOOK_REQUEST_LOG_BODIES: 'errors' } },
)

eachService(
  'an address that a customer chooses removes no other detail from rows of operators',
  async (service) => {
    const { erasure, audit } = service.app
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live', name: 'Ops' }))
    const { id: customer } = (await admin.post('/admin/customers', { name: 'Acme' })).body
    const own = service.as(await service.key({ customer, mode: 'live' }))
    const limits = { rate_limit: { limit: 5000, window_s: 60 } }
    const patch = { contact_email: ADDRESS, limits }
    assert.equal((await admin.patch(`/admin/customers/${customer}`, patch)).status, 200)
    const link = { customer, mode: 'live', can: ['letters:read'], email: ADDRESS }
    const { id } = (await admin.post('/admin/portal-links', link)).body
    const { body: member } = await own.post('/api/v2/members', { ...HOSTILE, email: ADDRESS })
    assert.equal((await admin.delete(`/admin/users/${member.id}`)).status, 202)
    await erasure.runDue()

    const rowOf = async (target: string, action: string) =>
      (await admin.get(`/admin/audit?target=${target}&action=${action}`)).body.data[0]
    const erased = 'erased@example.invalid'
    const update = await rowOf(customer, 'customer.update')
    assert.deepEqual(update.detail, { contact_email: erased, limits })
    assert.deepEqual([update.actor_name, update.address], ['Ops', '127.0.0.1'])
    const creation = await rowOf(id, 'portal_link.create')
    assert.deepEqual(creation.detail, { customer, mode: 'live', can: link.can, email: erased })
    const { detail } = await rowOf(String(member.id), 'person.erased')
    assert.equal(detail.erased['gh_audit details'], 2)
    assert.equal((await audit.verify()).valid, true)

    assert.equal((await admin.delete(`/admin/customers/${customer}`)).status, 202)
    await erasure.runDue()
    const removed = await rowOf(customer, 'customer.update')
    assert.deepEqual([removed.detail, removed.actor_name, removed.address], [{}, null, null])
    assert.equal((await audit.verify()).valid, true)
  },
  { service: letterbox },
)

eachService(
  'values that a person chooses change no event of others',
  async (service) => {
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const own = service.as(await service.key({ mode: 'live' }))
    const words = ['weighed', 'pcl_0000001', 'Ada Lovelace', 'ada@elsewhere.example']
    const person = { ...HOSTILE, given_name: words[0], bio: words[1], interests: words }
    const created = await own.post('/api/v2/members', { ...person, email: OWN_ADDRESS })
    const object = { id: words[1], state: words[0], customer: words[2], mail: words[3] }
    const weigh = async (more: object) =>
      (await own.post('/events', { type: 'parcel.weighed', object: { ...object, ...more } })).body
        .id
    const [ofOthers, ofPerson] = [await weigh({}), await weigh({ to: [OWN_ADDRESS] })]
    assert.equal((await admin.delete(`/admin/users/${created.body.id}`)).status, 202)
    await service.app.erasure.runDue()
    const read = async (id: string) => (await own.get(`/events/${id}`)).body.data.object
    assert.deepEqual(await read(ofOthers), object)
    assert.deepEqual(await read(ofPerson), {
      ...{ id: 'erased', state: 'erased', customer: 'erased' },
      ...{ mail: 'erased@example.invalid', to: ['erased@example.invalid'] },
    })
  },
  { service: letterbox },
)
