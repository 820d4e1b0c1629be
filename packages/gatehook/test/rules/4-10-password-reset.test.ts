/** §4.10: a person sets a new password with the token of a mail, once, within an hour. */
import assert from 'node:assert/strict'
import { api } from '../../service/service.ts'
import { eachMailService, type Inbox, tokenOf } from '../people/mail-rig.ts'
import { basicOf, bearerOf, emailOf, PASSWORD } from '../people/rig.ts'

const NEW_PASSWORD = 'an even better horse'
const ADA = emailOf('ada')

async function resetToken({ anonymous, inbox }: Inbox, email = ADA): Promise<string> {
  const reply = await anonymous.post('/auth/password/forgot', { email })
  assert.deepEqual([reply.status, reply.text], [202, ''])
  const [message, ...more] = await inbox.receive()
  assert.deepEqual([message?.to, more], [ADA, []])
  return tokenOf(message)
}

const reset = async ({ anonymous }: Pick<Inbox, 'anonymous'>, token: string) => {
  const reply = await anonymous.post('/auth/password/reset', { token, password: NEW_PASSWORD })
  return `${reply.status} ${reply.body?.error}`
}

eachMailService('the token sets the password, and every session ends', async (rig) => {
  const { anonymous, operator, inbox, login, createPerson } = rig
  const { id } = await createPerson('ada')
  const { access_token, refresh_token } = (await login(ADA)).body
  assert.equal((await anonymous.get('/api/v2/protected', basicOf(ADA))).status, 200)
  // The spelling of the request differs; the mail goes to the stored address.
  const token = await resetToken(rig, 'ADA@Example.com')
  assert.equal(await reset(rig, token), '204 undefined')
  assert.equal((await anonymous.post('/auth/refresh', { refresh_token })).status, 401)
  assert.equal((await anonymous.get('/api/v2/protected', bearerOf(access_token))).status, 401)
  assert.equal((await anonymous.get('/api/v2/protected', basicOf(ADA))).status, 401)
  assert.equal((await login(ADA)).status, 401)
  assert.equal((await login(ADA, NEW_PASSWORD)).status, 200)
  const [notice, ...more] = await inbox.receive()
  assert.deepEqual([notice?.to, more], [ADA, []])
  assert.match(notice!.subject, /^Your password for .* was changed$/)
  const audit = (await operator.get('/admin/audit?action=person.password_reset')).body.data
  assert.deepEqual([audit.length, audit[0].target], [1, String(id)])
  assert.equal(await reset(rig, token), '401 invalid_grant')
})

eachMailService('an unknown, disabled or suspended account gets no mail', async (rig) => {
  const { anonymous, operator, inbox, createPerson } = rig
  const { id } = await createPerson('ada')
  const { id: customer } = (await operator.post('/admin/customers', { name: 'Acme' })).body
  await createPerson('bo', { customer })
  await operator.patch(`/admin/users/${id}`, { disabled: true })
  await operator.patch(`/admin/customers/${customer}`, { suspended: true })
  for (const email of [ADA, emailOf('bo'), emailOf('unknown')]) {
    const reply = await anonymous.post('/auth/password/forgot', { email })
    assert.deepEqual([reply.status, reply.text], [202, ''])
  }
  assert.deepEqual(await inbox.receive(), [])
})

eachMailService('an unconfirmed address gets no mail', async (rig) => {
  const { anonymous, operator, service, inbox } = rig
  const key = service.as(await service.key({ scopes: ['users:write'], mode: 'test' }))
  const { id } = (await key.post('/api/v2/users', { name: 'Ada', email: ADA })).body
  const path = `/admin/users/${id}/password`
  assert.equal((await operator.put(path, { password: PASSWORD })).status, 204)
  const reply = await anonymous.post('/auth/password/forgot', { email: ADA })
  assert.deepEqual([reply.status, reply.text], [202, ''])
  assert.deepEqual(await inbox.receive(), [])

  const change = { username: ADA, password: PASSWORD }
  assert.equal((await anonymous.post('/auth/username', change, basicOf(ADA))).status, 202)
  const token = tokenOf((await inbox.receive())[0])
  assert.equal((await anonymous.post('/auth/username/confirm', { token })).status, 204)
  assert.deepEqual(await inbox.receive(), [], 'the name has not changed')
  assert.equal(await reset(rig, await resetToken(rig)), '204 undefined')
})

eachMailService('a malformed address is 400', async ({ anonymous, inbox }) => {
  const values = ['', 'ada', 'a@b@c', 'a@b, c@d', 'a@b\nBcc: c@d', '<a@b>', 7, null, ['a@b']]
  for (const email of [...values, `${'x'.repeat(300)}@example.com`]) {
    const reply = await anonymous.post('/auth/password/forgot', { email })
    assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_request'], String(email))
    assert.equal(reply.body.errors[0].pointer, '/email')
  }
  assert.deepEqual(await inbox.receive(), [])
})

eachMailService('a token ends after an hour, or when the credential changes', async (rig) => {
  const { operator, clock, createPerson } = rig
  const { id } = await createPerson('ada')
  const expired = await resetToken(rig)
  clock.set(clock.now() + 3_600_000)
  assert.equal(await reset(rig, expired), '401 invalid_grant')
  const first = await resetToken(rig)
  const second = await resetToken(rig)
  await operator.put(`/admin/users/${id}/password`, { password: PASSWORD })
  assert.equal(await reset(rig, first), '401 invalid_grant')
  assert.equal(await reset(rig, second), '401 invalid_grant')
})

eachMailService('a weak password is 422, and the token stays valid', async (rig) => {
  const { anonymous, createPerson } = rig
  await createPerson('ada')
  const token = await resetToken(rig)
  for (const password of ['short', 'password123', 'ada@example.com']) {
    const reply = await anonymous.post('/auth/password/reset', { token, password })
    assert.deepEqual([reply.status, reply.body.errors[0].pointer], [422, '/password'])
  }
  assert.equal(await reset(rig, token), '204 undefined')
})

eachMailService('of two requests with one token, one sets the password', async (rig) => {
  await rig.createPerson('ada')
  const token = await resetToken(rig)
  const replies = await Promise.all([reset(rig, token), reset(rig, token)])
  assert.deepEqual(replies.toSorted(), ['204 undefined', '401 invalid_grant'])
})

eachMailService('the token of a sign-up resets no password', async (rig) => {
  const { anonymous, inbox } = rig
  await anonymous.post('/auth/signup', { name: 'Ada', email: ADA })
  const token = tokenOf((await inbox.receive())[0])
  assert.equal(await reset(rig, token), '401 invalid_grant')
})

eachMailService(
  'the team’s page and texts replace those of the engine',
  async (rig) => {
    const { anonymous, inbox, createPerson } = rig
    await createPerson('ada')
    await anonymous.post('/auth/password/forgot', { email: ADA })
    const [{ subject, text, html } = assert.fail('no mail')] = await inbox.receive()
    assert.equal(subject, 'Neues Passwort')
    assert.match(text, /^https:\/\/app\.example\.com\/reset#token=[\w-]{43} 60$/)
    assert.equal(html, `<p>${ADA}</p>`)
  },
  {
    service: api,
    options: {
      links: { resetPassword: 'https://app.example.com/reset#token={token}' },
      texts: {
        resetPassword: ({ link, email, validMinutes }) => ({
          subject: 'Neues Passwort',
          text: `${link} ${validMinutes}`,
          html: `<p>${email}</p>`,
        }),
      },
    },
  },
)
