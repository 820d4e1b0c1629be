/** §16.12: each way to a new password deletes the passkeys, and a mail reports a change. */
import assert from 'node:assert/strict'
import { eachMailService, type Inbox } from '../people/mail-rig.ts'
import { resetTokenOf } from '../people/mail-token-rig.ts'
import { bearerOf, emailOf, PASSWORD } from '../people/rig.ts'
import { createAuthenticator } from '../people/software-authenticator.ts'

const NEW = 'an even better horse'
const EMAIL = emailOf('ada')
const ORIGIN = 'http://localhost:8787'
const options = { env: { GATEHOOK_PUBLIC_URL: ORIGIN } }

/** Adds a passkey with the password; returns whether it signs in. */
async function addPasskey({ anonymous, login }: Inbox) {
  const session = bearerOf((await login(EMAIL)).body.access_token)
  const authenticator = createAuthenticator(ORIGIN)
  const { body } = await anonymous.post('/auth/passkeys/options', undefined, session)
  const created = authenticator.create(body)
  assert.equal((await anonymous.post('/auth/passkeys', created, session)).status, 201)
  return async () => {
    const start = await anonymous.post('/auth/login/passkey/options')
    const reply = await anonymous.post('/auth/login/passkey', authenticator.get(start.body))
    return reply.status === 200
  }
}

/** Changes the password in a session of its own; returns whether that session stays. */
async function change({ anonymous, login }: Inbox, more: object) {
  const session = bearerOf((await login(EMAIL)).body.access_token)
  const body = { current: PASSWORD, new: NEW, ...more }
  const reply = await anonymous.post('/auth/password', body, session)
  assert.deepEqual([reply.status, reply.text], [204, ''])
  return (await anonymous.get('/auth/passkeys', session)).body.data.length as number
}

const WAYS: Readonly<Record<string, (rig: Inbox, id: number) => Promise<unknown>>> = {
  'POST /auth/password': async (rig) => assert.equal(await change(rig, {}), 0),
  'POST /auth/password, false': async (rig) =>
    assert.equal(await change(rig, { keep_passkeys: false }), 0),
  'POST /auth/password/reset': async ({ service, anonymous }, id) => {
    const token = await resetTokenOf(service.app, id, EMAIL)
    const reply = await anonymous.post('/auth/password/reset', { token, password: NEW })
    assert.equal(reply.status, 204)
  },
  'PUT /admin/users/{id}/password': async ({ operator }, id) => {
    const reply = await operator.put(`/admin/users/${id}/password`, { password: NEW })
    assert.equal(reply.status, 204)
  },
}

for (const [way, replace] of Object.entries(WAYS)) {
  eachMailService(
    `a passkey ends with the old password: ${way}`,
    async (rig) => {
      const { id } = await rig.createPerson('ada')
      const signsIn = await addPasskey(rig)
      assert.equal(await signsIn(), true)
      await rig.inbox.receive()
      await replace(rig, id)
      assert.equal(await signsIn(), false)
      assert.equal((await rig.login(EMAIL, NEW)).status, 200)
      const mails = await rig.inbox.receive()
      // An administrator tells the person in another way.
      assert.equal(mails.length, way.startsWith('PUT') ? 0 : 1)
      for (const { to, subject, text } of mails) {
        assert.equal(to, EMAIL)
        assert.match(subject, /^Your password for .* was changed$/)
        assert.match(text, /No passkey signs in/)
      }
    },
    options,
  )
}

eachMailService(
  'a person keeps the passkeys, and the mail has their number',
  async (rig) => {
    await rig.createPerson('ada')
    const passkeys = [await addPasskey(rig), await addPasskey(rig)]
    await rig.inbox.receive()
    assert.equal(await change(rig, { keep_passkeys: true }), 2)
    for (const signsIn of passkeys) assert.equal(await signsIn(), true)
    const [{ text } = { text: '' }] = await rig.inbox.receive()
    assert.match(text, /Passkeys still sign in to the account: 2\./)
    const [row] = (await rig.operator.get('/admin/audit?action=person.password')).body.data
    assert.deepEqual(row.detail, { kept_passkeys: true })
    for (const keep_passkeys of ['yes', 1]) {
      const session = bearerOf((await rig.login(EMAIL, NEW)).body.access_token)
      const body = { current: NEW, new: PASSWORD, keep_passkeys }
      assert.equal((await rig.anonymous.post('/auth/password', body, session)).status, 400)
    }
  },
  options,
)

for (const way of ['POST /auth/password', 'POST /auth/password/reset']) {
  eachMailService(`the mail to a person without passkeys names none: ${way}`, async (rig) => {
    const { id } = await rig.createPerson('ada')
    await WAYS[way]!(rig, id)
    const [mail, ...others] = await rig.inbox.receive()
    assert.match(mail!.subject, /^Your password for .* was changed$/)
    assert.doesNotMatch(mail!.text, /passkey/i)
    assert.equal(others.length, 0)
  })
}
