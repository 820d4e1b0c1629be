/** §13: the credentials that an operator created outlive the account, and are listed. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { recordAudit } from '../../src/history/audit/store.ts'
import { adminOf } from '../monitoring/admin.ts'

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
