/** §12.2: administrators manage operators under `/admin/operators`; each change is audited. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { createConsoleLink, createOperator } from '../../src/identity/people/operators.ts'
import { PASSWORD } from '../people/rig.ts'

const PATH = '/admin/operators'
const ada = { email: 'ada@example.com', password: PASSWORD }
const cli = { kind: 'cli', id: 'test' } as const

async function openAdmin(service: TestApp) {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const actionsOn = async (id: string): Promise<string[]> =>
    (await admin.get(`/admin/audit?target=${id}&sort=id`)).body.data.map(
      ({ action }: { action: string }) => action,
    )
  return { admin, actionsOn }
}

/** Opens the console with a link, and returns the headers of its session. */
async function openSession(service: TestApp, url: string) {
  const anonymous = service.as(undefined)
  const reply = await anonymous.post('/console/session', { token: url.split('#token=')[1] })
  assert.equal(reply.status, 201, reply.text)
  const cookie = String([reply.headers['set-cookie']].flat()[0]).split(';')[0]!
  return { cookie, 'x-gatehook-console': '1' }
}

eachService('an operator is created, changed, disabled and listed', async (service) => {
  const { admin, actionsOn } = await openAdmin(service)
  const { status, body, text } = await admin.post(PATH, { ...ada, role: 'support' })
  assert.equal(status, 201, text)
  const { id } = body
  const members = ['id', 'email', 'role', 'disabled', 'issuer', 'created_at']
  assert.deepEqual(Object.keys(body), members)
  assert.deepEqual((await admin.get(PATH)).body.data, [body])
  const listed = async (filter: string) => (await admin.get(`${PATH}?${filter}`)).body.data.length
  assert.equal(await listed(`id=${id}&role=support&disabled=false&email=${ada.email}`), 1)
  assert.equal(await listed('role=viewer'), 0)
  const patched = await admin.patch(`${PATH}/${id}`, { role: 'viewer', disabled: true })
  assert.deepEqual(patched.body, { ...body, role: 'viewer', disabled: true })
  const link = await admin.post(`${PATH}/${id}/link`)
  assert.deepEqual([link.status, link.body.error], [409, 'invalid_state'])
  assert.equal((await admin.patch(`${PATH}/${id}`, { disabled: false })).body.role, 'viewer')
  assert.equal((await admin.delete(`${PATH}/${id}/second-factor`)).status, 204)
  // Entries of one transaction have no order.
  assert.deepEqual(
    new Set(await actionsOn(id)),
    new Set([
      'operator.create',
      'operator.role',
      'operator.disable',
      'operator.enable',
      'operator.second_factor_reset',
    ]),
  )
})

eachService('bad input and unknown operators change nothing', async (service) => {
  const { admin } = await openAdmin(service)
  assert.equal((await admin.post(PATH, ada)).status, 201)
  const again = await admin.post(PATH, { ...ada, email: 'ADA@example.com' })
  assert.deepEqual([again.status, again.body.error], [409, 'conflict'])
  for (const more of [{ email: 'x' }, { password: 'short' }, { role: 'root' }, { hint: 1 }]) {
    assert.equal((await admin.post(PATH, { ...ada, ...more })).status, 422, JSON.stringify(more))
  }
  assert.equal((await admin.patch(`${PATH}/op_none`, { disabled: true })).status, 404)
  assert.equal((await admin.post(`${PATH}/op_none/link`)).status, 404)
  assert.equal((await admin.delete(`${PATH}/op_none/second-factor`)).status, 404)
  assert.equal((await admin.get(PATH)).body.data.length, 1)
})

eachService('a link opens the console once, as its operator', async (service) => {
  const { admin } = await openAdmin(service)
  const { id } = (await admin.post(PATH, ada)).body
  const { status, body, headers } = await admin.post(`${PATH}/${id}/link`)
  assert.equal(status, 201)
  assert.equal(headers['cache-control'], 'no-store')
  const session = await openSession(service, body.url)
  const anonymous = service.as(undefined)
  assert.equal((await anonymous.get('/console/session', session)).body.operator, id)
  await admin.patch(`${PATH}/${id}`, { disabled: true })
  assert.equal((await anonymous.get('/admin/keys', session)).status, 401, 'its session has ended')
})

eachService(
  'operators cannot change themselves, and only administrators others',
  async (service) => {
    const { administration, hasher } = service.app
    const create = async (name: string, role: 'administrator' | 'support') => {
      const input = { email: `${name}@example.com`, password: PASSWORD, role }
      const { id, email } = await createOperator(administration, hasher, input, cli)
      const { path } = await createConsoleLink(administration, email, cli)
      return { id, session: await openSession(service, path) }
    }
    const [ann, ben] = [await create('ann', 'administrator'), await create('ben', 'support')]
    const anonymous = service.as(undefined)
    const changes = (id: string, headers: Record<string, string>) => [
      anonymous.patch(`${PATH}/${id}`, { role: 'administrator' }, headers),
      anonymous.post(`${PATH}/${id}/link`, undefined, headers),
      anonymous.delete(`${PATH}/${id}/second-factor`, headers),
    ]
    for (const reply of await Promise.all(changes(ann.id, ann.session))) {
      assert.deepEqual([reply.status, reply.body.error], [409, 'invalid_state'])
    }
    for (const id of [ann.id, ben.id]) {
      for (const reply of await Promise.all(changes(id, ben.session))) {
        assert.deepEqual([reply.status, reply.body.error], [403, 'insufficient_role'])
      }
    }
    assert.equal((await anonymous.post(PATH, ada, ben.session)).body.error, 'insufficient_role')
    const demoted = await anonymous.patch(`${PATH}/${ben.id}`, { role: 'viewer' }, ann.session)
    assert.equal(demoted.body.role, 'viewer')
  },
)
