/** §8.9: an operator mails the contacts of the customers that call a version, and previews it. */
import assert from 'node:assert/strict'
import { eachMailService, type Inbox } from '../people/mail-rig.ts'

const NOTICE = { subject: 'v1 ends', text: 'Please move to v2.' }
const PATH = '/admin/versions/v1/notices'

/** Creates a customer that calls a version, with or without a contact. */
async function callerOf({ operator, service }: Inbox, name: string, contact?: string) {
  const body = { name, ...(contact && { contact_email: contact }) }
  const { id } = (await operator.post('/admin/customers', body)).body
  const key = await service.key({ customer: id, scopes: ['users:read'], mode: 'live' })
  assert.equal((await service.as(key).get('/api/v1/users')).status, 200)
  return id as string
}

eachMailService('callers with a contact get one mail each, after a preview', async (rig) => {
  const { operator, inbox, service } = rig
  const acme = await callerOf(rig, 'Acme', 'api@acme.example')
  const bolt = await callerOf(rig, 'Bolt', 'api@bolt.example')
  const silent = await callerOf(rig, 'Silent')
  await operator.post('/admin/customers', { name: 'Idle', contact_email: 'api@idle.example' })
  const recipients = [
    { customer: acme, customer_name: 'Acme', contact: 'api@acme.example' },
    { customer: bolt, customer_name: 'Bolt', contact: 'api@bolt.example' },
  ]
  const without_contact = [{ customer: silent, customer_name: 'Silent' }]
  const sorted = ({ body }: Awaited<ReturnType<typeof operator.post>>) => ({
    ...body,
    recipients: body.recipients.toSorted((a: { contact: string }, b: { contact: string }) =>
      a.contact < b.contact ? -1 : 1,
    ),
  })
  const preview = await operator.post(PATH, { ...NOTICE, preview: true })
  const expected = { version: 'v1', recipients, without_contact }
  assert.deepEqual(sorted(preview), { ...expected, sent: false })
  assert.deepEqual(await inbox.receive(), [])
  const headers = { 'idempotency-key': 'notice-1' }
  const sent = await operator.post(PATH, NOTICE, headers)
  assert.deepEqual(sorted(sent), { ...expected, sent: true })
  const replay = await operator.post(PATH, NOTICE, headers)
  assert.deepEqual([replay.headers['idempotent-replayed'], replay.body], ['true', sent.body])
  const mails = (await inbox.receive()).toSorted((a, b) => (a.to < b.to ? -1 : 1))
  assert.deepEqual(
    mails.map(({ to, subject, text }) => ({ to, subject, text })),
    recipients.map(({ contact }) => ({ to: contact, ...NOTICE })),
  )
  const audit = (await operator.get('/admin/audit?action=version.notice')).body.data
  assert.equal(audit.length, 1)
  assert.deepEqual(audit[0].detail.customers.toSorted(), [acme, bolt].toSorted())
  assert.deepEqual((await service.get('/events')).body.data, [])
})

eachMailService('customers with one contact get one mail, and `to` selects', async (rig) => {
  const { operator, inbox } = rig
  const first = await callerOf(rig, 'Acme North', 'api@acme.example')
  await callerOf(rig, 'Acme South', 'api@acme.example')
  await operator.post(PATH, NOTICE)
  assert.equal((await inbox.receive()).length, 1)
  const selected = await operator.post(PATH, { ...NOTICE, to: [first] })
  assert.equal(selected.body.recipients.length, 1)
  const idle = (await operator.post('/admin/customers', { name: 'Idle' })).body.id
  const refused = await operator.post(PATH, { ...NOTICE, to: [first, idle, 'cus_unknown'] })
  assert.equal(refused.status, 422)
  const pointers = refused.body.errors.map(({ pointer }: { pointer: string }) => pointer)
  assert.deepEqual(pointers, ['/to/1', '/to/2'])
})

eachMailService('a subject is one line, and a version exists', async ({ operator, inbox }) => {
  const pointersOf = async (body: unknown) => {
    const reply = await operator.post(PATH, body)
    assert.equal(reply.status, 422, JSON.stringify(body))
    return reply.body.errors.map(({ pointer }: { pointer: string }) => pointer)
  }
  const injected = { ...NOTICE, subject: 'v1\r\nBcc: eve@example.com' }
  assert.deepEqual(await pointersOf(injected), ['/subject'])
  assert.deepEqual(await pointersOf({ subject: '', text: '' }), ['/subject', '/text'])
  assert.deepEqual(await pointersOf({ ...NOTICE, text: 'x'.repeat(10_001) }), ['/text'])
  assert.equal((await operator.post('/admin/versions/v9/notices', NOTICE)).status, 404)
  assert.deepEqual(await inbox.receive(), [])
})

eachMailService('an operator is invited by a mail with a link', async (rig) => {
  const { operator, anonymous, inbox } = rig
  const body = { email: 'op@example.com', password: 'a long one for the console' }
  const { id } = (await operator.post('/admin/operators', body)).body
  const path = `/admin/operators/${id}/invitation`
  assert.equal((await operator.post(path)).status, 202)
  const [mail] = await inbox.receive()
  assert.equal(mail?.to, body.email)
  const token = /#token=([\w-]+)/.exec(mail?.text ?? '')?.[1]
  assert.equal((await anonymous.post('/console/session', { token })).status, 201)
  assert.equal((await anonymous.post('/console/session', { token })).status, 401)
  await operator.patch(`/admin/operators/${id}`, { disabled: true })
  assert.equal((await operator.post(path)).status, 409)
  assert.equal((await operator.post('/admin/operators/op_unknown/invitation')).status, 404)
})
