/** §13: creations of an operator outlive the account, and are listed while they give access. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { auditActions } from '../../src/history/audit/actions.ts'
import { recordAudit } from '../../src/history/audit/store.ts'
import { adminOf } from '../monitoring/admin.ts'
import { cookieOf } from '../portal/rig.ts'
import { openHook } from '../webhooks/hook.ts'

eachService('keys and clients of an operator are listed while they work', async (service) => {
  const { app } = service
  const admin = await adminOf(service)
  const email = 'ann@example.com'
  const password = 'a long phrase of Ann'
  const operator = (await admin.post('/admin/operators', { email, password })).body
  const recordOf = (action: string, target: string, id = operator.id) =>
    app.db.write((tx) =>
      recordAudit(
        tx,
        { actor: { kind: 'operator', id, name: email }, action, target },
        app.administration,
      ),
    )
  const key = (await admin.post('/admin/keys', { name: 'k', scopes: ['admin'] })).body
  const other = (await admin.post('/admin/keys', { name: 'o', scopes: ['admin'] })).body
  const client = (await admin.post('/admin/clients', { name: 'c', scopes: ['orders:read'] })).body
  await recordOf('key.create', key.id)
  await recordOf('key.create', other.id, 'opr_other')
  await recordOf('client.create', client.client_id)
  const list = async () => {
    const path = `/admin/operators/${operator.id}/credentials`
    const { status, body, text } = await admin.get(path)
    assert.equal(status, 200, text)
    return body.data.map(({ kind, id }: { kind: string; id: string }) => `${kind} ${id}`)
  }
  assert.deepEqual(await list(), [`key ${key.id}`, `client ${client.client_id}`])
  await admin.delete(`/admin/keys/${key.id}`)
  assert.deepEqual(await list(), [`client ${client.client_id}`])
  await admin.delete(`/admin/clients/${client.client_id}`)
  assert.deepEqual(await list(), [])
  assert.equal((await admin.get('/admin/operators/opr_none/credentials')).status, 404)
  const { data } = (await admin.get(`/admin/audit?actor_name=${email}`)).body
  assert.equal(data.length, 3)
})

/** Where operators create what gives access, and how each ends. */
const CREATIONS: Readonly<Record<string, { path: string; body: object; end: object | 'delete' }>> =
  {
    key: { path: '/admin/keys', body: { name: 'k', scopes: ['admin'] }, end: 'delete' },
    client: { path: '/admin/clients', body: { name: 'c', scopes: ['orders:read'] }, end: 'delete' },
    operator: {
      path: '/admin/operators',
      body: { email: 'bob@example.com', password: 'a long phrase of Bob' },
      end: { disabled: true },
    },
    person: {
      path: '/admin/users',
      body: {
        name: 'Eve',
        email: 'eve@example.com',
        password: 'correct horse',
        ...{ mode: 'live', customer: 'default', scopes: ['admin'] },
      },
      end: { disabled: true },
    },
    issuer: {
      path: '/admin/issuers',
      body: { issuer: 'https://ci.example', jwks_uri: 'https://ci.example/keys', rules: [] },
      end: 'delete',
    },
    webhook: {
      path: '/admin/as/default/test/webhooks',
      body: { events: ['*'] },
      end: 'delete',
    },
  }

eachService(
  'everything of an operator that gives access is listed until it ends',
  async (service, t) => {
    const admin = await adminOf(service)
    const anonymous = service.as(undefined)
    const signIn = async (id: string) => {
      const { url } = (await admin.post(`/admin/operators/${id}/link`)).body
      const session = await anonymous.post('/console/session', { token: url.split('#token=')[1] })
      return { cookie: cookieOf(session), 'x-gatehook-console': '1' }
    }
    const account = { email: 'ann@example.com', password: 'a long phrase of Ann' }
    const ann = (await admin.post('/admin/operators', account)).body
    const headers = await signIn(ann.id)
    const list = async (): Promise<string[]> => {
      const { status, body, text } = await admin.get(`/admin/operators/${ann.id}/credentials`)
      assert.equal(status, 200, text)
      return body.data.map(({ kind, id }: { kind: string; id: string }) => `${kind} ${id}`)
    }
    const hook = await openHook(t)
    const created: string[] = []
    for (const [kind, { path, body }] of Object.entries(CREATIONS)) {
      const input = kind === 'webhook' ? { ...body, url: hook.url } : body
      const reply = await anonymous.post(path, input, headers)
      assert.equal(reply.status, 201, `${kind}: ${reply.text}`)
      created.push(`${kind} ${reply.body.client_id ?? reply.body.id}`)
    }
    assert.deepEqual((await list()).toSorted(), created.toSorted())
    await admin.patch(`/admin/operators/${ann.id}`, { disabled: true })
    assert.deepEqual((await list()).toSorted(), created.toSorted())
    for (const entry of created) {
      const [kind, id] = entry.split(' ') as [string, string]
      const { path, end } = CREATIONS[kind]!
      const { status, text } = await (end === 'delete'
        ? admin.delete(`${path}/${id}`)
        : admin.patch(`${path}/${id}`, end))
      assert.ok(status < 300, `${kind}: ${text}`)
    }
    assert.deepEqual(await list(), [])
  },
  { env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' } },
)

/** Why an operation that creates adds nothing to the list. */
const UNLISTED: Readonly<Record<string, string>> = {
  'customer.create': 'it gives no access',
  'operator.passkey_create': 'of the own account',
  'passkey.create': 'of the own account',
  'portal_link.create': 'it ends with its operator (§12.2)',
  'session.create': 'of a person, who ends it',
}

test('every audited operation that creates is listed, or says why not', () => {
  const names = Object.keys(auditActions).filter((name) => /\.(\w+_)?create$/.test(name))
  const listed = Object.keys(CREATIONS).map((kind) => `${kind}.create`)
  assert.deepEqual(names.toSorted(), [...listed, ...Object.keys(UNLISTED)].toSorted())
})
