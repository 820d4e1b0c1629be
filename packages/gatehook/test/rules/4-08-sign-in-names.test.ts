/** §4.8: a sign-in name is unique in the installation among rows that have a password. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { basicOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'

eachService(
  'no other mode or customer has the same name; rows without a password may',
  async (s) => {
    const { createPerson, operator, anonymous } = await openPeople(s)
    const ada = await createPerson('ada')
    const acme = (await operator.post('/admin/customers', { name: 'Acme' })).body.id
    const body = { name: 'x', email: 'ADA@example.com', password: PASSWORD }
    for (const more of [{ mode: 'live' }, { customer: acme }, { mode: 'test', customer: acme }]) {
      const taken = await operator.post('/admin/users', { ...body, ...more })
      assert.deepEqual([taken.status, taken.body.error], [409, 'conflict'])
      assert.equal(taken.body.errors[0].pointer, '/email')
    }
    const live = s.as(await s.key({ mode: 'live' }))
    const row = await live.post('/api/v2/users', { name: 'x', email: emailOf('ada') })
    assert.equal(row.status, 201, 'a row without a password has no sign-in name')
    const late = await operator.put(`/admin/users/${row.body.id}/password`, { password: PASSWORD })
    assert.equal(late.status, 409)
    const who = await anonymous.get('/api/v2/protected', basicOf(emailOf('ada')))
    assert.equal(who.body.user, String(ada.id))
  },
)

eachService('a rejected name stores no row and no event', async (service) => {
  const { createPerson, operator } = await openPeople(service)
  await createPerson('ada')
  const before = (await service.get('/events?pagination=offset')).body.total
  const body = { name: 'x', email: 'x@example.com', password: PASSWORD, mode: 'live' }
  assert.equal((await operator.post('/admin/users', body)).status, 201)
  assert.equal((await operator.post('/admin/users', { ...body, mode: 'test' })).status, 409)
  assert.equal((await service.get('/api/v2/users?pagination=offset')).body.total, 1)
  assert.equal((await service.get('/events?pagination=offset')).body.total, before)
})

eachService('a name changes with its row, and is free when the row is deleted', async (service) => {
  const { createPerson, login, operator } = await openPeople(service)
  const ada = await createPerson('ada')
  const bob = await createPerson('bob', { mode: 'live' })
  const rename = (email: string) =>
    operator.patch(`/admin/as/default/test/api/v2/users/${ada.id}`, { email })
  const taken = await rename(emailOf('Bob'))
  assert.deepEqual([taken.status, taken.body.error], [409, 'conflict'])
  assert.equal(taken.body.errors[0].pointer, '/email')
  assert.equal((await login(emailOf('ada'))).status, 200, 'the name is unchanged')
  assert.equal((await rename('Ada.New@example.com')).status, 200)
  assert.equal((await login(emailOf('ada'))).status, 401)
  assert.equal((await login('ada.new@example.com')).status, 200)
  await createPerson('ada')
  assert.equal((await login(bob.email)).status, 200)
  assert.equal((await service.delete(`/api/v2/users/${ada.id}`)).status, 204)
  await createPerson('again', { email: 'ada.new@example.com' })
})
