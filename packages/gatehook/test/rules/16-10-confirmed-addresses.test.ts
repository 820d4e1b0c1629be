/** §16.10: `email_verified` is true for addresses that `admin` set, or their person confirmed. */
import assert from 'node:assert/strict'
import { identityClaims } from '../../src/identity/tokens/id-token.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { eachMailService, tokenOf } from '../people/mail-rig.ts'
import { bearerOf, emailOf, PASSWORD } from '../people/rig.ts'

eachMailService('each way to a sign-in name confirms it, or does not', async (rig) => {
  const { anonymous, inbox, service, operator, createPerson, token } = rig
  const unconfirm = () =>
    service.app.db.write((tx) => tx.run(sql`UPDATE gh_people SET confirmed = 0`))
  const confirmed = async (id: number) => {
    const row = await service.app.db.get(sql`SELECT confirmed FROM gh_people WHERE id = ${id}`)
    return row?.confirmed
  }
  const mailed = async (path: string, body: object, headers = {}) => {
    assert.equal((await anonymous.post(path, body, headers)).status, 202, path)
    return tokenOf((await inbox.receive()).at(-1))
  }
  const ada = await createPerson('ada')
  assert.equal(await confirmed(ada.id), 1, 'an administrator sets it')
  const row = { name: 'Carl', email: emailOf('carl') }
  const carl = (await operator.post('/admin/as/default/test/api/v2/users', row)).body
  assert.equal(
    (await operator.put(`/admin/users/${carl.id}/password`, { password: PASSWORD })).status,
    204,
  )
  assert.equal(await confirmed(carl.id), 0, 'a row that gets a credential')

  const reset = await mailed('/auth/password/forgot', { email: emailOf('ada') })
  await unconfirm()
  const choice = { token: reset, password: PASSWORD }
  assert.equal((await anonymous.post('/auth/password/reset', choice)).status, 204)
  assert.equal(await confirmed(ada.id), 1, 'the token of a reset')

  const path = `/admin/as/default/test/api/v2/users/${ada.id}`
  assert.equal((await operator.patch(path, { email: emailOf('eve') })).status, 200)
  assert.equal(await confirmed(ada.id), 1, 'an administrator changes it')
  await inbox.receive()

  const headers = bearerOf(await token(emailOf('eve')))
  const change = { username: emailOf('new'), password: PASSWORD }
  const renaming = await mailed('/auth/username', change, headers)
  await unconfirm()
  assert.equal((await anonymous.post('/auth/username/confirm', { token: renaming })).status, 204)
  assert.equal(await confirmed(ada.id), 1, 'the token of a change')

  const email = emailOf('bob')
  const signUp = await mailed('/auth/signup', { name: 'Bob', email })
  const verified = await anonymous.post('/auth/email/verify', { token: signUp, password: PASSWORD })
  assert.equal(verified.status, 204)
  const bob = await service.app.db.get(
    sql`SELECT confirmed FROM gh_people WHERE username = ${email}`,
  )
  assert.equal(bob?.confirmed, 1, 'the token of a sign-up')

  for (const isConfirmed of [true, false]) {
    const claims = identityClaims({ email, isConfirmed }, ['email'])
    assert.deepEqual(claims, { email, email_verified: isConfirmed })
  }
})
