/**
 * §3.9: every path that sets a password rejects a common one and one that contains the sign-in
 * name, and the old password stays valid. The minimum length is 8 for people, 12 for operators.
 */
import assert from 'node:assert/strict'
import { eachService, type Reply } from '../../../../test/rig/service.ts'
import {
  createOperator,
  operatorCreation,
  setOperatorPassword,
} from '../../src/identity/people/operators.ts'
import { readMembers } from '../../src/protocol/fields/body.ts'
import { basicOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const actor = { kind: 'system', id: 'test' } as const
const REJECTED_PASSWORDS = ['password123', 'Qwertyuiop', 'I am grace']

const assertRejected = (reply: Reply, pointer: string) => {
  const errors = reply.body?.errors?.map((error: Record<string, string>) => [
    error.pointer,
    error.code,
  ])
  assert.deepEqual([reply.status, errors], [422, [[pointer, 'password_too_common']]], reply.text)
}

eachService(
  'a common password is rejected at creation, by an operator and by the person',
  async (service) => {
    const { createPerson, login, operator, anonymous } = await openPeople(service)
    const fields = { name: 'Grace', email: emailOf('grace'), mode: 'test' }
    for (const password of REJECTED_PASSWORDS) {
      assertRejected(await operator.post('/admin/users', { ...fields, password }), '/password')
    }
    assert.equal((await operator.get('/admin/users')).body.data.length, 0, 'no row was created')
    const grace = await createPerson('grace')
    for (const password of REJECTED_PASSWORDS) {
      const path = `/admin/users/${grace.id}/password`
      assertRejected(await operator.put(path, { password }), '/password')
      const change = { current: PASSWORD, new: password }
      const reply = await anonymous.post('/auth/password', change, basicOf(emailOf('grace')))
      assertRejected(reply, '/new')
    }
    assert.equal((await login(emailOf('grace'))).status, 200, 'the old password stays valid')
    const unknown = await operator.put('/admin/users/999/password', { password: 'password123' })
    assert.equal(unknown.status, 404)
  },
)

eachService(
  'an operator’s password has 12 characters, is not common and lacks the name',
  async ({ app }) => {
    const { administration: admin, hasher } = app
    const create = async (email: string, password: string) =>
      createOperator(admin, hasher, readMembers({ email, password }, operatorCreation), actor)
    const pointer = '/password'
    const hasError =
      (code: string) => (error: { errors?: { pointer: string; code: string }[] }) => {
        assert.deepEqual(
          error.errors?.map(({ pointer, code }) => [pointer, code]),
          [[pointer, code]],
        )
        return true
      }
    await assert.rejects(create('root@example.com', 'elevenchars'), hasError('invalid_value'))
    const tooCommon = hasError('password_too_common')
    await assert.rejects(create('root@example.com', 'the root of all'), tooCommon)
    await assert.rejects(create('op@example.com', 'qwertyuiop123'), tooCommon)
    await create('root@example.com', PASSWORD)
    const change = { password: 'to the root of it' }
    const update = setOperatorPassword(admin, hasher, 'root@example.com', change, actor)
    await assert.rejects(update, tooCommon)
  },
)
