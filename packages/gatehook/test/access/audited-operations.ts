/** Performs each administrative operation of §13 once, for the test of audited actions. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { createKey } from '../../src/identity/access/keys.ts'
import {
  createConsoleLink,
  createOperator,
  setOperatorDisabled,
  setOperatorPassword,
  setOperatorRole,
} from '../../src/identity/people/operators.ts'
import { resetSecondFactor } from '../../src/identity/people/second-factor.ts'
import { type OauthFixture, PASSWORD } from '../oauth/rig.ts'
import { resetTokenOf, signUpTokenOf } from '../people/mail-token-rig.ts'
import { basicOf } from '../people/rig.ts'
import { cookieOf, OWN } from '../portal/rig.ts'

const OPERATOR = 'operator@example.com'
const OPERATOR_PASSWORD = 'a long one for the console'

/** Changes a customer, a key, a client, a person and a version. */
export async function performAdministration({
  admin,
  anonymous,
  createClient,
  createPerson,
  app,
}: OauthFixture): Promise<void> {
  const { body: customer } = await admin.post('/admin/customers', { name: 'Acme' })
  const acting = `/admin/as/${customer.id}/live/api/v2/users`
  const person = { name: 'Ann', email: 'acting@example.com' }
  assert.equal((await admin.post(acting, person)).status, 201)
  await admin.patch(`/admin/customers/${customer.id}`, { suspended: true })
  assert.equal((await admin.get(`/admin/customers/${customer.id}/export`)).status, 200)
  assert.equal((await admin.delete(`/admin/customers/${customer.id}`)).status, 202)
  await app.erasure.runDue()
  const { body: key } = await admin.post('/admin/keys', { name: 'k', scopes: ['events:read'] })
  await admin.patch(`/admin/keys/${key.id}`, { scopes: [] })
  await admin.post(`/admin/keys/${key.id}/roll`)
  assert.equal((await admin.delete(`/admin/keys/${key.id}`)).status, 204)
  const { client_id } = await createClient()
  const client = `/admin/clients/${client_id}`
  await admin.patch(client, { name: 'Other' })
  await admin.post(`${client}/rotate-secret`)
  assert.equal((await admin.delete(client)).status, 204)
  const rule = { match: { sub: 'a' }, customer: 'default', mode: 'live', scopes: [] }
  const trusted = { issuer: 'https://ci.example', rules: [rule] }
  const { body: issuer } = await admin.post('/admin/issuers', trusted)
  await admin.patch(`/admin/issuers/${issuer.id}`, { owners: ['namespace_path'] })
  assert.equal((await admin.delete(`/admin/issuers/${issuer.id}`)).status, 204)
  const { id } = await createPerson()
  await admin.patch(`/admin/users/${id}`, { role: 'clerk' })
  assert.equal((await admin.put(`/admin/users/${id}/password`, { password: PASSWORD })).status, 204)
  await changeRow({ app, anonymous, id })
  const leaver = { name: 'Leo', email: 'leaver@example.com', password: PASSWORD }
  const { body: gone } = await admin.post('/admin/users', leaver)
  assert.equal((await admin.get(`/admin/users/${gone.id}/export`)).status, 200)
  assert.equal((await admin.delete(`/admin/users/${gone.id}`)).status, 202)
  await app.erasure.runDue()
  const calendar = { deprecated_at: new Date().toISOString() }
  const version = await admin.put('/admin/versions/v1', calendar)
  assert.equal(version.status, 200, version.text)
  const notice = await admin.post('/admin/versions/v1/notices', { subject: 'End', text: 'Soon' })
  assert.equal(notice.status, 200, notice.text)
  const delay = { until: '2100-01-01T00:00:00Z' }
  assert.equal((await admin.put('/admin/attention/queue_old.node', delay)).status, 200)
  await app.tokens.rotateSigningKey({ kind: 'cli', id: 'test' })
}

/** Renames the row of a person, and deletes it. */
async function changeRow({
  app,
  anonymous,
  id,
}: Pick<OauthFixture, 'app' | 'anonymous'> & { id: number }) {
  const input = { name: 'rows', scopes: ['users:read', 'users:write'], mode: 'live' } as const
  const caller = { actor: { kind: 'cli', id: 'test' }, customer: 'default' } as const
  const headers = { 'x-api-key': (await createKey(app.administration, input, caller)).key }
  const row = `/api/v2/users/${id}`
  assert.equal((await anonymous.patch(row, { name: 'Renamed' }, headers)).status, 200)
  assert.equal((await anonymous.delete(row, headers)).status, 204)
}

/** Creates and changes an operator, and signs in by a link. */
export async function performOperatorChanges({ app, anonymous }: OauthFixture): Promise<void> {
  const actor = { kind: 'cli', id: 'test' } as const
  const { administration, hasher } = app
  const input = { email: OPERATOR, password: OPERATOR_PASSWORD }
  await createOperator(administration, hasher, input, actor)
  const change = { password: `${OPERATOR_PASSWORD} 2` }
  await setOperatorPassword(administration, hasher, OPERATOR, change, actor)
  await setOperatorRole(administration, OPERATOR, { role: 'support' }, actor)
  await setOperatorDisabled(administration, OPERATOR, true, actor)
  await setOperatorDisabled(administration, OPERATOR, false, actor)
  await resetSecondFactor(administration, OPERATOR, actor)
  const { path } = await createConsoleLink(administration, OPERATOR, actor)
  const reply = await anonymous.post('/console/session', { token: path.split('#token=')[1] })
  assert.equal(reply.status, 201, reply.text)
}

/** Signs up and sets a password with tokens of mail, and invites an operator. */
export async function performMailChanges({
  app,
  admin,
  anonymous,
  createPerson,
}: OauthFixture): Promise<void> {
  const verify = { token: await signUpTokenOf(app, 'Eve', 'eve@example.com'), password: PASSWORD }
  assert.equal((await anonymous.post('/auth/email/verify', verify)).status, 204)
  const { id, email } = await createPerson()
  const reset = { token: await resetTokenOf(app, id, email), password: PASSWORD }
  assert.equal((await anonymous.post('/auth/password/reset', reset)).status, 204)
  const username = { username: 'eve.new@example.com', password: PASSWORD }
  const change = await anonymous.post(
    '/auth/username',
    username,
    basicOf('eve@example.com', PASSWORD),
  )
  assert.equal(change.status, 202, change.text)
  const input = { email: 'invited@example.com', password: OPERATOR_PASSWORD }
  const operator = await admin.post('/admin/operators', input)
  const invitation = await admin.post(`/admin/operators/${operator.body.id}/invitation`)
  assert.deepEqual([invitation.status, invitation.text], [202, ''])
}

/** Creates links to the portal, signs in and out with one, and revokes the other. */
export async function performPortalChanges({ admin, anonymous }: OauthFixture): Promise<void> {
  const link = { customer: 'default', mode: 'live', can: ['keys:read'] }
  const { body: used } = await admin.post('/admin/portal-links', link)
  const token = used.url.split('#token=')[1]
  const reply = await anonymous.post('/portal/session', { token })
  assert.equal(reply.status, 201, reply.text)
  const headers = { cookie: cookieOf(reply), ...OWN }
  assert.equal((await anonymous.delete('/portal/session', headers)).status, 204)
  const { body: unused } = await admin.post('/admin/portal-links', link)
  assert.equal((await admin.delete(`/admin/portal-links/${unused.id}`)).status, 204)
}

/** Creates, changes and deletes a registration, with a receiver that accepts its ping. */
export async function performWebhookChanges(
  { app, anonymous }: OauthFixture,
  t: TestContext,
): Promise<void> {
  const receiver = createServer((request, response) => {
    request.resume()
    response.end()
  })
  onEnd(t, () => receiver.close())
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  const scopes = ['webhooks:read', 'webhooks:write', 'events:read', 'events:write']
  const caller = { actor: { kind: 'cli', id: 'test' }, customer: 'default' } as const
  const { key } = await createKey(app.administration, { name: 'hooks', scopes }, caller)
  const headers = { 'x-api-key': key }
  const input = { url: `http://127.0.0.1:${port}/`, events: ['payment.succeeded'] }
  const created = await anonymous.post('/webhooks', input, headers)
  assert.equal(created.status, 201, created.text)
  const path = `/webhooks/${created.body.id}`
  assert.equal((await anonymous.patch(path, { description: 'x' }, headers)).status, 200)
  assert.equal((await anonymous.post(`${path}/rotate-secret`, {}, headers)).status, 200)
  const event = { type: 'payment.succeeded', object: { id: 1 } }
  assert.equal((await anonymous.post('/events', event, headers)).status, 201)
  const log = await anonymous.get(`${path}/deliveries`, headers)
  const resent = await anonymous.post(`/deliveries/${log.body.data[0].id}/resend`, {}, headers)
  assert.equal(resent.status, 202, resent.text)
  assert.equal((await anonymous.delete(path, headers)).status, 204)
}
