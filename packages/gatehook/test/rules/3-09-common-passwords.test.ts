/**
 * §3.9: wherever a password is set, a common one or one that contains the sign-in name is refused,
 * and the old one stays valid. Persons have at least 8 characters, operators 12.
 */
import assert from 'node:assert/strict'
import { eachService, type Reply } from '../../../../test/rig/service.ts'
import { createOperator, setOperatorPassword } from '../../src/people/operators.ts'
import { basicOf, mailOf, PASSWORD, signing } from '../people/rig.ts'

const actor = { kind: 'system', id: 'test' } as const
const REFUSED = ['password123', 'Qwertyuiop', 'I am grace']

const assertRefused = (reply: Reply, pointer: string) => {
  const errors = reply.body?.errors?.map((one: Record<string, string>) => [one.pointer, one.code])
  assert.deepEqual([reply.status, errors], [422, [[pointer, 'password_too_common']]], reply.text)
}

eachService('at creation, by the administrator, by the person', async (service) => {
  const { make, login, operator, anybody } = await signing(service)
  const fields = { name: 'Grace', email: mailOf('grace'), mode: 'test' }
  for (const password of REFUSED) {
    assertRefused(await operator.post('/admin/users', { ...fields, password }), '/password')
  }
  assert.equal((await operator.get('/admin/users')).body.data.length, 0, 'no row was created')
  const grace = await make('grace')
  for (const password of REFUSED) {
    const path = `/admin/users/${grace.id}/password`
    assertRefused(await operator.put(path, { password }), '/password')
    const change = { current: PASSWORD, new: password }
    const own = await anybody.post('/auth/password', change, basicOf(mailOf('grace')))
    assertRefused(own, '/new')
  }
  assert.equal((await login(mailOf('grace'))).status, 200, 'the old password stays valid')
  const unknown = await operator.put('/admin/users/999/password', { password: 'password123' })
  assert.equal(unknown.status, 404)
})

eachService('operators: 12 characters, not common, without their name', async ({ app }) => {
  const { administration: admin, hasher } = app
  const create = (email: string, password: string) =>
    createOperator(admin, hasher, { email, password }, actor)
  const pointer = '/password'
  const refusal = (code: string) => (error: { errors?: { pointer: string; code: string }[] }) => {
    assert.deepEqual(
      error.errors?.map((one) => [one.pointer, one.code]),
      [[pointer, code]],
    )
    return true
  }
  await assert.rejects(create('root@example.com', 'elevenchars'), refusal('invalid_value'))
  const tooCommon = refusal('password_too_common')
  await assert.rejects(create('root@example.com', 'the root of all'), tooCommon)
  await assert.rejects(create('op@example.com', 'qwertyuiop123'), tooCommon)
  await create('root@example.com', PASSWORD)
  const change = { password: 'to the root of it' }
  const changed = setOperatorPassword(admin, hasher, 'root@example.com', change, actor)
  await assert.rejects(changed, tooCommon)
})
