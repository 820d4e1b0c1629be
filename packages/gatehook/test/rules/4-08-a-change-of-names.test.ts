/** §4.8: another `names` of `.signsIn()` applies to the accounts that exist. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { service as declare, f, resource } from '../../src/gatehook.ts'
import { personPatch } from '../../src/identity/people/person-administration.ts'
import { clubs, oneClub } from '../fixtures/clubs.ts'
import { openPeople, PASSWORD } from '../people/rig.ts'

for (const { name } of databases) {
  test(`accounts follow the declaration, unless two would be equal [${name}]`, async (t) => {
    const single = await openService(t, name, { service: oneClub })
    const rig = await openPeople(single)
    await rig.createPerson('ada', { mode: 'live' })
    const { url } = single
    await single.app.close()

    const several = await openService(t, name, { service: clubs, url })
    const { operator, anonymous } = await openPeople(several)
    const input = { username: 'ada@example.com', password: PASSWORD }
    const place = { customer: 'cus_default', mode: 'live' }
    assert.equal((await anonymous.post('/auth/login', { ...input, ...place })).status, 200)
    const fields = { name: 'x', email: 'ADA@example.com', password: PASSWORD }
    const second = await operator.post('/admin/users', { ...fields, mode: 'test' })
    assert.equal(second.status, 201)
    await several.app.close()

    const refused = openService(t, name, { service: oneClub, url })
    await assert.rejects(
      refused,
      /members: two customers or modes have an account of the same name/,
    )
    const again = await openService(t, name, { service: clubs, url })
    const api = await openPeople(again)
    assert.equal((await again.delete(`/api/v1/members/${second.body.id}`)).status, 204)
    assert.equal((await api.anonymous.post('/auth/login', { ...input, ...place })).status, 200)
    await again.app.close()
    const last = await openPeople(await openService(t, name, { service: oneClub, url }))
    assert.equal((await last.login(input.username)).status, 200)
  })
}

test('a mistake in names is reported at start', () => {
  const fields = { id: f.id(), email: f.email() }
  const access = {
    read: 'm:read',
    create: 'm:write',
    update: 'm:write',
    delete: 'm:write',
  } as const
  const open = (options: object, more: object = {}) => {
    const all = { ...fields, ...more }
    const people = resource('m', {
      fields: all,
      list: { filter: [], sort: [] },
      access,
      events: [],
    })
    return declare({
      name: 'x',
      versions: { v1: { released: '2026-01-01' } },
      resources: [people.signsIn({ username: 'email', ...options } as never)],
    })
  }
  assert.throws(() => open({ names: 'tenant' }), /names is 'installation' or 'customer'/)
  open({})
  const ofAccount = [...Object.keys(personPatch({ scopes: new Set() })), 'customer', 'mode']
  for (const name of ofAccount) {
    const mistake = new RegExp(`${name} is a member of accounts; choose another name`)
    assert.throws(() => open({}, { [name]: f.string().default('a') }), mistake)
  }
})
