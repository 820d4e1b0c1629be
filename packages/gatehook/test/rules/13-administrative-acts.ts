/** The administrative operations of §13, each once: what the test of audited actions performs. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { createKey } from '../../src/access/keys.ts'
import {
  createConsoleLink,
  createOperator,
  setOperatorDisabled,
  setOperatorPassword,
} from '../../src/people/operators.ts'
import { resetSecondFactor } from '../../src/people/second-factor.ts'
import { PASSWORD, type Place } from '../oauth/rig.ts'

const OPERATOR = 'operator@example.com'
const LONG = 'a long one for the console'

export async function administer({
  admin,
  anybody,
  makeClient,
  makePerson,
  app,
}: Place): Promise<void> {
  const { body: customer } = await admin.post('/admin/customers', { name: 'Acme' })
  await admin.patch(`/admin/customers/${customer.id}`, { suspended: true })
  const { body: key } = await admin.post('/admin/keys', { name: 'k', scopes: ['events:read'] })
  await admin.patch(`/admin/keys/${key.id}`, { scopes: [] })
  await admin.post(`/admin/keys/${key.id}/roll`)
  assert.equal((await admin.delete(`/admin/keys/${key.id}`)).status, 204)
  const { client_id } = await makeClient()
  const client = `/admin/clients/${client_id}`
  await admin.patch(client, { name: 'Other' })
  await admin.post(`${client}/rotate-secret`)
  assert.equal((await admin.delete(client)).status, 204)
  const { id } = await makePerson()
  await admin.patch(`/admin/users/${id}`, { role: 'clerk' })
  assert.equal((await admin.put(`/admin/users/${id}/password`, { password: PASSWORD })).status, 204)
  await changeRow({ app, anybody, id })
  const calendar = { deprecated_at: new Date().toISOString() }
  const version = await admin.put('/admin/versions/v1', calendar)
  assert.equal(version.status, 200, version.text)
  await app.tokens.rotateSigningKey({ kind: 'cli', id: 'test' })
}

/** Renames the row of a person, and deletes it. */
async function changeRow({ app, anybody, id }: Pick<Place, 'app' | 'anybody'> & { id: number }) {
  const wish = { name: 'rows', scopes: ['users:read', 'users:write'], mode: 'live' }
  const by = { actor: { kind: 'cli', id: 'test' }, customer: 'default' } as const
  const headers = { 'x-api-key': (await createKey(app.administration, wish, by)).key }
  const row = `/api/v2/users/${id}`
  const email = 'renamed@example.com'
  assert.equal((await anybody.patch(row, { email }, headers)).status, 200)
  assert.equal((await anybody.delete(row, headers)).status, 204)
}

export async function operate({ app, anybody }: Place): Promise<void> {
  const actor = { kind: 'cli', id: 'test' } as const
  const { administration, hasher } = app
  const wish = { email: OPERATOR, password: LONG }
  await createOperator(administration, hasher, wish, actor)
  const change = { password: `${LONG} 2` }
  await setOperatorPassword(administration, hasher, OPERATOR, change, actor)
  await setOperatorDisabled(administration, OPERATOR, true, actor)
  await setOperatorDisabled(administration, OPERATOR, false, actor)
  await resetSecondFactor(administration, OPERATOR, actor)
  const { path } = await createConsoleLink(administration, OPERATOR, actor)
  const signed = await anybody.post('/console/session', { token: path.split('#token=')[1] })
  assert.equal(signed.status, 201, signed.text)
}

/** A registration is made, changed and deleted, with a receiver that answers its ping. */
export async function changeWebhook({ app, anybody }: Place, t: TestContext): Promise<void> {
  const receiver = createServer((request, response) => {
    request.resume()
    response.end()
  })
  t.after(() => receiver.close())
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  const scopes = ['webhooks:read', 'webhooks:write', 'orders:read']
  const by = { actor: { kind: 'cli', id: 'test' }, customer: 'default' } as const
  const { key } = await createKey(app.administration, { name: 'hooks', scopes }, by)
  const headers = { 'x-api-key': key }
  const wish = { url: `http://127.0.0.1:${port}/`, events: ['order.paid'] }
  const made = await anybody.post('/webhooks', wish, headers)
  assert.equal(made.status, 201, made.text)
  const path = `/webhooks/${made.body.id}`
  assert.equal((await anybody.patch(path, { description: 'x' }, headers)).status, 200)
  assert.equal((await anybody.post(`${path}/rotate-secret`, {}, headers)).status, 200)
  assert.equal((await anybody.delete(path, headers)).status, 204)
}
