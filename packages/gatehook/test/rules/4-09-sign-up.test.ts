/** §4.9: a stranger signs up by mail; a response never tells whether an address has an account. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { service as declare, f, resource } from '../../src/gatehook.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { eachMailService, type Inbox, tokenOf } from '../people/mail-rig.ts'
import { basicOf, bearerOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const ADA = { name: 'Ada', email: emailOf('ada') }

const eventTypes = async (service: TestApp): Promise<string[]> => {
  const key = await service.key({ mode: 'live' })
  const { data } = (await service.as(key).get('/events')).body
  return data.map(({ type }: { type: string }) => type)
}

/** Signs up and returns the token of the mail. */
async function signUpToken({ anonymous, inbox }: Inbox, body: unknown = ADA): Promise<string> {
  const reply = await anonymous.post('/auth/signup', body)
  assert.deepEqual([reply.status, reply.text], [202, ''])
  return tokenOf((await inbox.receive()).at(-1))
}

eachMailService('the token of the mail and a password create the account', async (rig) => {
  const { anonymous, service, operator, login } = rig
  const token = await signUpToken(rig)
  assert.equal((await login(ADA.email)).status, 401)
  assert.deepEqual(await eventTypes(service), [])
  const verified = await anonymous.post('/auth/email/verify', { token, password: PASSWORD })
  assert.deepEqual([verified.status, verified.text], [204, ''])
  const session = await login(ADA.email)
  assert.equal(session.status, 200)
  assert.equal(session.body.scope, 'users:read orders:read orders:write')
  const own = await anonymous.get('/api/v2/users', bearerOf(session.body.access_token))
  const { id, created_at: _, ...row } = own.body.data[0]
  assert.deepEqual([row, own.body.data.length], [ADA, 1])
  assert.deepEqual(await eventTypes(service), ['user.created'])
  const person = (await operator.get(`/admin/users/${id}`)).body
  assert.deepEqual([person.customer, person.mode, person.role], ['cus_default', 'live', null])
  const audit = (await operator.get('/admin/audit?action=person.sign_up')).body.data
  assert.deepEqual([audit.length, audit[0].target], [1, String(id)])
  assert.equal(
    (await anonymous.post('/auth/email/verify', { token, password: PASSWORD })).status,
    401,
  )
})

eachMailService('a known address gets another mail and the same response', async (rig) => {
  const { anonymous, inbox, createPerson } = rig
  await createPerson('ada')
  for (const email of [ADA.email, ADA.email.toUpperCase()]) {
    const reply = await anonymous.post('/auth/signup', { name: 'Eve', email })
    const stranger = await anonymous.post('/auth/signup', { name: 'Eve', email: `new-${email}` })
    const shapeOf = ({ status, text, headers }: typeof reply) => {
      const { 'x-request-id': _, date: __, ...rest } = headers
      return { status, text, headers: rest }
    }
    assert.deepEqual(shapeOf(reply), shapeOf(stranger))
  }
  const mails = (await inbox.receive()).filter(({ to }) => to === ADA.email)
  assert.deepEqual(
    mails.map(({ subject, text }) => [subject, /code/.test(text)]),
    [1, 2].map(() => ['You have an account of Gatehook reference service', false]),
  )
})

eachMailService('a stranger sets the declared fields only', async ({ anonymous, inbox }) => {
  const table: [body: unknown, pointers: string[]][] = [
    [{ ...ADA, id: 7 }, ['/id']],
    [{ ...ADA, password: PASSWORD }, ['/password']],
    [{ ...ADA, scopes: ['admin'], role: 'x' }, ['/scopes', '/role']],
    [{ name: 'Ada' }, ['/email']],
    [{ name: '', email: 'ada' }, ['/name', '/email']],
    [{ name: 'Ada', email: 'ada@example.com, eve@example.com' }, ['/email']],
    [{ name: 'Ada', email: 'ada@example.com\r\nBcc: eve@example.com' }, ['/email']],
    [{ name: 'Ada', email: '<ada@example.com>' }, ['/email']],
    [[], ['']],
  ]
  for (const [body, pointers] of table) {
    const reply = await anonymous.post('/auth/signup', body)
    assert.deepEqual([reply.status, reply.body.error], [422, 'validation_failed'], reply.text)
    const reported = reply.body.errors.map(({ pointer }: { pointer: string }) => pointer)
    assert.deepEqual(reported.toSorted(), pointers.toSorted(), JSON.stringify(body))
  }
  assert.deepEqual(await inbox.receive(), [])
})

eachMailService('the password of a sign-up obeys the rules, and wastes no token', async (rig) => {
  const { anonymous } = rig
  const token = await signUpToken(rig)
  const verify = async (body: unknown) => {
    const reply = await anonymous.post('/auth/email/verify', body)
    return `${reply.status} ${reply.body?.error} ${reply.body?.errors?.[0]?.code}`
  }
  assert.equal(await verify({ token, password: 'short' }), '422 validation_failed invalid_value')
  const common = { token, password: 'password123' }
  assert.equal(await verify(common), '422 validation_failed password_too_common')
  assert.equal(await verify({ token }), '400 invalid_request required')
  assert.equal(await verify({ token: 'x', password: PASSWORD }), '401 invalid_grant undefined')
  assert.equal(await verify({ token, password: PASSWORD }), '204 undefined undefined')
})

eachMailService('two requests with one token create one account', async (rig) => {
  const { anonymous, service } = rig
  const token = await signUpToken(rig)
  const replies = await Promise.all(
    [1, 2, 3].map(() => anonymous.post('/auth/email/verify', { token, password: PASSWORD })),
  )
  assert.deepEqual(replies.map(({ status }) => status).toSorted(), [204, 401, 401])
  assert.deepEqual(await eventTypes(service), ['user.created'])
})

eachMailService('two sign-ups of one address create one account', async (rig) => {
  const { anonymous } = rig
  const first = await signUpToken(rig, { ...ADA, name: 'First' })
  const second = await signUpToken(rig, { ...ADA, name: 'Second' })
  const verify = async (token: string) =>
    (await anonymous.post('/auth/email/verify', { token, password: PASSWORD })).status
  assert.deepEqual([await verify(first), await verify(second)], [204, 401])
})

eachMailService('a sign-up is confirmed within an hour, and mailed again', async (rig) => {
  const { anonymous, inbox, clock } = rig
  const old = await signUpToken(rig)
  clock.set(clock.now() + 3_600_001)
  const verify = async (token: string) =>
    (await anonymous.post('/auth/email/verify', { token, password: PASSWORD })).status
  assert.equal(await verify(old), 401)
  const resend = () => anonymous.post('/auth/email/resend', { email: 'ADA@example.com' })
  assert.equal((await resend()).status, 202)
  assert.deepEqual(await inbox.receive(), [])
  const token = await signUpToken(rig)
  clock.set(clock.now() + 1_800_000)
  assert.equal((await resend()).status, 202)
  const again = tokenOf((await inbox.receive()).at(-1))
  assert.notEqual(again, token)
  clock.set(clock.now() + 1_800_001)
  assert.deepEqual([await verify(token), await verify(again)], [401, 204])
})

eachMailService('strangers cause 5 mails per e-mail address in an hour', async (rig) => {
  const { anonymous, clock, inbox } = rig
  const send = async () => {
    const { status, text } = await anonymous.post('/auth/signup', ADA)
    assert.deepEqual([status, text], [202, ''])
    return (await inbox.receive()).length
  }
  for (let n = 0; n < 5; n++) assert.equal(await send(), 1)
  // 429 would let a stranger block the person, and name addresses that others use.
  assert.equal(await send(), 0)
  const again = await anonymous.post('/auth/email/resend', { email: ADA.email })
  assert.deepEqual([again.status, again.text, await inbox.receive()], [202, '', []])
  const other = await anonymous.post('/auth/signup', { ...ADA, email: emailOf('bo') })
  assert.deepEqual([other.status, (await inbox.receive()).length], [202, 1])
  clock.set(clock.now() + 3_600_000)
  assert.equal(await send(), 1)
})

eachMailService(
  'no purpose and no client uses up the mail of another, and an address gets 30 mails at most',
  async ({ anonymous, inbox, createPerson }) => {
    await createPerson('ada')
    await createPerson('eve')
    const { email } = ADA
    const from = (address: string) => ({
      'x-forwarded-for': address,
      'x-forwarded-proto': 'https',
    })
    const byEve = basicOf(emailOf('eve'))
    const purposes: readonly (readonly [path: string, body: object, credential?: object])[] = [
      ['/auth/signup', ADA],
      ['/auth/username', { username: email, password: PASSWORD }, byEve],
      ['/auth/password/forgot', { email }],
    ]
    for (const [path, body, credential] of purposes) {
      const mailsOf = async (address: string) => {
        for (let n = 0; n < 6; n++) {
          const headers = { ...from(address), ...credential }
          assert.equal((await anonymous.post(path, body, headers)).status, 202)
        }
        const mails = await inbox.receive()
        return mails.filter(({ to }) => to === email).length
      }
      assert.equal(await mailsOf('192.0.2.1'), 5, path)
      assert.equal(await mailsOf('198.51.100.1'), 5, path)
      assert.equal(await mailsOf('203.0.113.1'), 0, path)
    }
  },
  {
    env: { GATEHOOK_TRUST_PROXY: '127.0.0.1', GATEHOOK_BASIC_ALLOWED_CIDRS: '0.0.0.0/0' },
  },
)

eachMailService(
  'requests beyond the limit of an e-mail address count for the client',
  async (rig) => {
    const { anonymous } = rig
    const send = () => anonymous.post('/auth/password/forgot', { email: ADA.email })
    for (let n = 0; n < 30; n++) assert.equal((await send()).status, 202)
    const limited = await send()
    assert.deepEqual([limited.status, limited.body.error], [429, 'rate_limited'])
    assert.equal(limited.headers['retry-after'], '3600')
  },
)

eachMailService('a client causes 30 mails in an hour', async ({ anonymous }) => {
  for (let n = 0; n < 30; n++) {
    const reply = await anonymous.post('/auth/signup', { ...ADA, email: emailOf(`p${n}`) })
    assert.equal(reply.status, 202)
  }
  const email = emailOf('last')
  assert.equal((await anonymous.post('/auth/signup', { ...ADA, email })).status, 429)
  assert.equal((await anonymous.post('/auth/password/forgot', { email })).status, 429)
})

eachMailService('neither the database nor the log has a token', async (rig) => {
  const { service, log } = rig
  const token = await signUpToken(rig)
  const { db } = service.app
  const tables = [sql`SELECT * FROM gh_jobs`, sql`SELECT * FROM gh_mail_tokens`]
  const rows = await Promise.all(tables.map((statement) => db.all(statement)))
  assert.deepEqual(
    rows.map(({ length }) => length),
    [0, 1],
  )
  assert.ok(!JSON.stringify(rows).includes(token))
  assert.ok(!log().includes(token) && !log().includes(ADA.email))
})

const notes = () =>
  resource('people', {
    fields: { id: f.id(), mail: f.email(), name: f.string() },
    list: { filter: [], sort: ['id'] },
    access: { read: 'people:read', create: false, update: false, delete: false },
    events: [],
  })

test('a service without `signUp` has no such paths', async (t) => {
  const versions = { v1: { released: '2026-01-01' } }
  const resources = [notes().signsIn({ username: 'mail' })]
  const service = await openService(t, 'sqlite', {
    service: declare({ name: 'Closed', versions, resources }),
  })
  const { anonymous } = await openPeople(service)
  for (const path of ['signup', 'email/verify', 'email/resend', 'password/forgot']) {
    assert.equal((await anonymous.post(`/auth/${path}`, {})).status, 404, path)
  }
  const { paths } = (await anonymous.get('/openapi/platform.json')).body
  assert.ok(paths['/auth/login'] && !paths['/auth/signup'])
})

test('mistakes in the declaration are found at the start', () => {
  const versions = { v1: { released: '2026-01-01' } }
  const open = (options: object) =>
    declare({ name: 'x', versions, resources: [notes().signsIn(options as never)] })
  const table: [options: object, message: RegExp][] = [
    [{ username: 'mail', signUp: {} }, /a row needs name, and signUp\.fields lacks it/],
    [{ username: 'name', signUp: { fields: ['mail'] } }, /name must be an f\.email\(\)/],
    [{ username: 'name', passwordReset: true }, /passwordReset sends mail/],
    [{ username: 'mail', signUp: { fields: ['nick', 'name'] } }, /there is no field nick/],
    [{ username: 'mail', signUp: { fields: ['id', 'name'] } }, /clients never write id/],
    [{ username: 'mail', signUp: { fields: ['name'], scopes: ['admin'] } }, /account scope/],
    [{ username: 'mail', signUp: true }, /signUp is an object/],
    [{ username: 'mail', passwordReset: 1 }, /passwordReset is true or false/],
  ]
  for (const [options, message] of table) assert.throws(() => open(options), message)
  open({ username: 'mail', signUp: { fields: ['name'], scopes: ['people:read'] } })
})
