/** §6.9: a person changes the own sign-in name with the password and a mail to the new address. */
import assert from 'node:assert/strict'
import type { Caller } from '../../../../test/rig/service.ts'
import { club, RULED } from '../fixtures/members.ts'
import { eachMailService, type Inbox, tokenOf } from '../people/mail-rig.ts'
import { basicOf, bearerOf, emailOf, PASSWORD } from '../people/rig.ts'

const ADA = emailOf('ada')
const NEW = emailOf('Ada.New')

const ask = (rig: Inbox, headers: Record<string, string>, username = NEW, password = PASSWORD) =>
  rig.anonymous.post('/auth/username', { username, password }, headers)

/** Requests the change, and returns the token of its mail. */
async function changeToken(rig: Inbox, headers: Record<string, string>, username = NEW) {
  const reply = await ask(rig, headers, username)
  assert.deepEqual([reply.status, reply.text], [202, ''])
  const mails = await rig.inbox.receive()
  assert.deepEqual(
    mails.map(({ to }) => to),
    [username],
  )
  return tokenOf(mails[0])
}

const confirm = async ({ anonymous }: { anonymous: Caller }, token: string) => {
  const reply = await anonymous.post('/auth/username/confirm', { token })
  return `${reply.status} ${reply.body?.error}`
}

eachMailService('the token of the mail changes row, event and sign-in together', async (rig) => {
  const { anonymous, service, operator, inbox, login, createPerson } = rig
  const { id } = await createPerson('ada')
  const [own, other] = [(await login(ADA)).body, (await login(ADA)).body]
  await anonymous.post('/auth/password/forgot', { email: ADA })
  const reset = tokenOf((await inbox.receive())[0])
  const token = await changeToken(rig, bearerOf(own.access_token))

  // Until then the old name signs in, and the new one gets no mail.
  assert.deepEqual([(await login(ADA)).status, (await login(NEW)).status], [200, 401])
  await anonymous.post('/auth/password/forgot', { email: NEW })
  assert.deepEqual(await inbox.receive(), [])
  assert.equal((await service.get(`/api/v2/users/${id}`)).body.email, ADA)

  assert.equal(await confirm(rig, token), '204 undefined')
  assert.equal((await service.get(`/api/v2/users/${id}`)).body.email, NEW)
  const { data } = (await service.get('/events?type=user.updated')).body
  assert.deepEqual(
    data.map((event: { data: { object: object } }) => event.data.object),
    [(await service.get(`/api/v2/users/${id}`)).body],
  )
  assert.deepEqual([(await login(ADA)).status, (await login(NEW)).status], [401, 200])
  const mails = await inbox.receive()
  assert.deepEqual(
    mails.map(({ to, subject }) => [to, subject]),
    [[ADA, 'Your e-mail address for Gatehook reference service was changed']],
  )
  assert.ok(!mails[0]!.text.includes(NEW), 'the former address does not learn the new one')

  // The session of the request continues, the others end.
  const read = (access: string) => anonymous.get('/api/v2/protected', bearerOf(access))
  assert.equal((await read(own.access_token)).status, 200)
  assert.equal((await read(other.access_token)).status, 401)
  const refreshed = await anonymous.post('/auth/refresh', { refresh_token: own.refresh_token })
  assert.equal(refreshed.status, 200)
  assert.equal((await anonymous.get('/api/v2/protected', basicOf(ADA))).status, 401)

  // Open resets end, and the token works once.
  const late = await anonymous.post('/auth/password/reset', {
    token: reset,
    password: 'a new one!',
  })
  assert.deepEqual([late.status, late.body.error], [401, 'invalid_grant'])
  assert.equal(await confirm(rig, token), '401 invalid_grant')
  await anonymous.post('/auth/password/forgot', { email: ADA })
  await anonymous.post('/auth/password/forgot', { email: NEW })
  assert.deepEqual(
    (await inbox.receive()).map(({ to }) => to),
    [NEW],
  )
  for (const action of ['person.request_rename', 'person.rename']) {
    const [row, ...more] = (await operator.get(`/admin/audit?action=${action}`)).body.data
    assert.deepEqual([row.target, row.principal.kind, more], [String(id), 'person', []], action)
    assert.ok(row.request_id && row.address, action)
  }
})

eachMailService('the response is the same whether or not the name is free', async (rig) => {
  const { operator, inbox, createPerson, service } = rig
  await createPerson('ada')
  const other = (await operator.post('/admin/customers', { name: 'Other' })).body.id
  await createPerson('bo', { customer: other, mode: 'live' })
  const shapes: unknown[] = []
  for (const username of [NEW, emailOf('BO')]) {
    const reply = await ask(rig, basicOf(ADA), username)
    const { 'x-request-id': _, date: __, ...headers } = reply.headers
    shapes.push([reply.status, reply.text, headers])
  }
  assert.deepEqual(shapes[0], shapes[1])
  const mails = (await inbox.receive()).toSorted((a, b) => a.to.localeCompare(b.to))
  assert.deepEqual(
    mails.map(({ to, subject }) => [to, subject.split(' for ')[0]?.split(' of ')[0]]),
    [
      [NEW, 'Confirm your new e-mail address'],
      [emailOf('bo'), 'You have an account'],
    ],
  )
  assert.throws(() => tokenOf(mails[1]), 'the holder gets no token')
  assert.equal((await service.get('/events?type=user.updated')).body.data.length, 0)
})

eachMailService('a name that is taken by then is a conflict, and nothing changes', async (rig) => {
  const { service, login, createPerson } = rig
  const { id } = await createPerson('ada')
  const token = await changeToken(rig, basicOf(ADA))
  const { id: other } = await createPerson('x', { email: NEW, mode: 'live' })
  assert.equal(await confirm(rig, token), '409 conflict')
  assert.equal((await service.get(`/api/v2/users/${id}`)).body.email, ADA)
  assert.equal((await login(ADA)).status, 200)
  assert.equal((await rig.inbox.receive()).length, 0)
  const live = service.as(await service.key({ mode: 'live' }))
  assert.equal((await live.delete(`/api/v2/users/${other}`)).status, 204)
  assert.equal(await confirm(rig, token), '204 undefined')
})

eachMailService('a wrong password is 401, and counts with those of the sign-in', async (rig) => {
  const { login, inbox, createPerson } = rig
  await createPerson('ada')
  const { access_token } = (await login(ADA)).body
  const own = bearerOf(access_token)
  for (let n = 0; n < 10; n++) {
    const refused = await ask(rig, own, NEW, `wrong ${n}`)
    assert.deepEqual([refused.status, refused.body.error], [401, 'invalid_credentials'])
  }
  const device = { ...own, 'x-forwarded-for': '203.0.113.9' }
  assert.ok([401, 429].includes((await ask(rig, device, NEW, 'wrong again')).status))
  assert.deepEqual(await inbox.receive(), [])
})

eachMailService('the throttle of passwords holds without a sign-in before', async (rig) => {
  const { anonymous, operator, inbox, createPerson } = rig
  await createPerson('ada')
  for (let n = 0; n < 10; n++) {
    await anonymous.post('/auth/login', { username: ADA, password: `wrong ${n}` })
  }
  const refused = await ask(rig, basicOf(ADA))
  assert.equal(refused.status, 429)
  assert.ok(refused.headers['retry-after'])
  assert.equal((await ask({ ...rig, anonymous: operator }, {})).status, 403, 'a key is no person')
  assert.deepEqual(await inbox.receive(), [])
})

eachMailService('malformed bodies and addresses are rejected', async (rig) => {
  await rig.createPerson('ada')
  const send = async (body: unknown) => {
    const reply = await rig.anonymous.post('/auth/username', body, basicOf(ADA))
    return `${reply.status} ${reply.body.error} ${reply.body.errors[0].pointer}`
  }
  const password = PASSWORD
  assert.equal(await send({ username: NEW }), '400 invalid_request /password')
  assert.equal(await send({ password }), '400 invalid_request /username')
  assert.equal(await send({ username: 7, password }), '400 invalid_request /username')
  for (const username of [
    '',
    'ada',
    'a@b@c',
    'a@b.example, c@d.example',
    'a@b.example\nBcc: c@d',
  ]) {
    assert.equal(await send({ username, password }), '422 validation_failed /username', username)
  }
  assert.equal(await confirm(rig, 'unknown'), '401 invalid_grant')
  assert.deepEqual(await rig.inbox.receive(), [])
})

eachMailService('a token ends after an hour, or when the credential changes', async (rig) => {
  const { operator, clock, login, createPerson } = rig
  const { id } = await createPerson('ada')
  const tokens = [await changeToken(rig, basicOf(ADA))]
  clock.set(clock.now() + 3_600_000)
  assert.equal(await confirm(rig, tokens[0]!), '401 invalid_grant')
  const changes = [
    () => operator.put(`/admin/users/${id}/password`, { password: PASSWORD }),
    () => operator.patch(`/admin/users/${id}`, { role: 'clerk' }),
    () => operator.patch(`/admin/users/${id}`, { disabled: true }),
  ]
  for (const change of changes) {
    const token = await changeToken(rig, basicOf(ADA))
    assert.ok((await change()).status < 300)
    assert.equal(await confirm(rig, token), '401 invalid_grant')
  }
  await operator.patch(`/admin/users/${id}`, { disabled: false })
  assert.equal((await login(ADA)).status, 200)
})

eachMailService('of two requests with one token, and of two tokens, one succeeds', async (rig) => {
  const { login, inbox, createPerson } = rig
  await createPerson('ada')
  const first = await changeToken(rig, basicOf(ADA))
  const second = await changeToken(rig, basicOf(ADA), emailOf('second'))
  const results = await Promise.all([confirm(rig, first), confirm(rig, first)])
  assert.deepEqual(results.toSorted(), ['204 undefined', '401 invalid_grant'])
  assert.equal(await confirm(rig, second), '401 invalid_grant')
  assert.equal((await login(NEW)).status, 200)
  assert.deepEqual(
    (await inbox.receive()).map(({ to }) => to),
    [ADA],
  )
})

eachMailService('another token than that of a change confirms nothing', async (rig) => {
  const { anonymous, inbox, createPerson } = rig
  await createPerson('ada')
  await anonymous.post('/auth/signup', { name: 'Eve', email: emailOf('eve') })
  await anonymous.post('/auth/password/forgot', { email: ADA })
  for (const mail of await inbox.receive()) {
    assert.equal(await confirm(rig, tokenOf(mail)), '401 invalid_grant')
  }
  const token = await changeToken(rig, basicOf(ADA))
  for (const path of ['/auth/password/reset', '/auth/email/verify']) {
    assert.equal((await anonymous.post(path, { token, password: PASSWORD })).status, 401, path)
  }
  assert.equal(await confirm(rig, token), '204 undefined')
})

eachMailService('`admin` tells the former address, and the new one is confirmed', async (rig) => {
  const { anonymous, operator, inbox, createPerson } = rig
  const { id } = await createPerson('ada')
  await anonymous.post('/auth/password/forgot', { email: ADA })
  const reset = tokenOf((await inbox.receive())[0])
  const path = `/admin/as/default/test/api/v2/users/${id}`
  assert.equal((await operator.patch(path, { email: NEW })).status, 200)
  assert.deepEqual(
    (await inbox.receive()).map(({ to }) => to),
    [ADA],
  )
  const late = await anonymous.post('/auth/password/reset', { token: reset, password: PASSWORD })
  assert.equal(late.status, 401)
  for (const email of [ADA, NEW]) await anonymous.post('/auth/password/forgot', { email })
  assert.deepEqual(
    (await inbox.receive()).map(({ to }) => to),
    [NEW],
  )
})

eachMailService(
  'rules run with the change, and old versions have the name by its former field',
  async (rig) => {
    const { service, login, createPerson } = rig
    const { id } = await createPerson('ada')
    const token = await changeToken(rig, basicOf(ADA))
    assert.equal(await confirm(rig, token), '204 undefined')
    const { login: name, former } = (await service.get(`/api/v1/members/${id}`)).body
    assert.deepEqual([name, former], [NEW, ADA])
    assert.equal((await service.patch(`/api/v2/members/${id}`, { name: RULED })).status, 403)
    assert.equal((await login(NEW)).status, 200)
  },
  { service: club },
)
