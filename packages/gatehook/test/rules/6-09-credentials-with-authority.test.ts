/** §6.9: only `admin` renames or deletes a person with an account scope; both are audited. */
import assert from 'node:assert/strict'
import { type Caller, eachService } from '../../../../test/rig/service.ts'
import { isInstallationScope } from '../../src/identity/access/administration.ts'
import { emailOf, openPeople } from '../people/rig.ts'

type Row = { action: string; target: string; actor: object; detail: { fields?: string[] } }

const audited = async (operator: Caller, id: number): Promise<Row[]> => {
  const { body } = await operator.get('/admin/audit?limit=100')
  return body.data.filter(
    ({ target, action }: Row) => target === String(id) && /rename|remove/.test(action),
  )
}

eachService('`users:write` renames and deletes people without account scopes', async (service) => {
  const { createPerson, operator } = await openPeople(service)
  const writer = service.as(await service.key({ scopes: ['users:write'] }))
  const bob = await createPerson('bob', { scopes: ['users:read', 'orders:all'] })
  const path = `/api/v2/users/${bob.id}`
  assert.equal((await writer.patch(path, { name: 'Robert' })).status, 200)
  assert.equal((await writer.patch(path, { name: 'Robert' })).status, 200)
  assert.equal((await writer.delete(path)).status, 204)
  const rows = await audited(operator, bob.id)
  assert.deepEqual(rows.map(({ action, detail }) => [action, detail.fields]).sort(), [
    ['person.remove', undefined],
    ['person.rename', ['name']],
  ])
})

eachService('people with `admin` or an account scope require `admin`', async (service) => {
  const { createPerson, login, operator } = await openPeople(service)
  const everything = [...service.app.administration.scopes].filter(
    (scope) => !isInstallationScope(scope),
  )
  for (const mode of ['test', 'live'] as const) {
    const writer = service.as(await service.key({ scopes: everything, mode }))
    const granted = mode === 'live' ? ['admin'] : ['webhooks:read', 'keys:write', 'events:write']
    for (const scope of granted) {
      const name = `${mode}-${scope.replace(':', '-')}`
      const chief = await createPerson(name, { scopes: ['users:read', scope], mode })
      const path = `/api/v1/users/${chief.id}`
      for (const attempt of [() => writer.patch(path, { name: 'x' }), () => writer.delete(path)]) {
        const refused = await attempt()
        assert.deepEqual([refused.status, refused.body.error], [403, 'insufficient_scope'])
        assert.match(refused.body.message, /\badmin\b/)
      }
      assert.equal((await writer.patch(path, { name })).status, 200, 'nothing changes')
      assert.equal((await login(emailOf(name))).status, 200)
      assert.deepEqual(await audited(operator, chief.id), [])
    }
  }
})

eachService('`admin` renames and deletes, and the audit trail names the key', async (service) => {
  const { createPerson, operator } = await openPeople(service)
  const chief = await createPerson('chief', { scopes: ['admin'], mode: 'live' })
  const path = `/api/v2/users/${chief.id}`
  assert.equal((await operator.patch(path, { name: 'Chief' })).status, 200)
  assert.equal((await operator.delete(path)).status, 204)
  const rows = await audited(operator, chief.id)
  assert.deepEqual(rows.map(({ action }) => action).sort(), ['person.remove', 'person.rename'])
  assert.match(JSON.stringify(rows), /key_/)
})

eachService('a row without a credential needs no `admin`', async (service) => {
  const { operator } = await openPeople(service)
  const { body } = await service.post('/api/v2/users', { name: 'a', email: emailOf('a') })
  assert.equal((await service.patch(`/api/v2/users/${body.id}`, { name: 'b' })).status, 200)
  assert.equal((await service.delete(`/api/v2/users/${body.id}`)).status, 204)
  assert.deepEqual(await audited(operator, body.id), [])
})
