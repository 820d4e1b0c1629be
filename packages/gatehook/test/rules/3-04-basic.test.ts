/**
 * §3.4: Basic with e-mail and password, from allowed networks; cached until the account changes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { basicOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const PATH = '/api/v2/protected'

eachService('the first colon separates name and password, and both are UTF-8', async (service) => {
  const { createPerson, anonymous } = await openPeople(service)
  const password = 'pa:ss:wörd 🔑'
  const ada = await createPerson('ada', { password })
  const { status, body } = await anonymous.get(PATH, basicOf(emailOf('ada'), password))
  assert.deepEqual([status, body], [200, { status: 'ok', user: String(ada.id) }])
  const upperCase = await anonymous.get(PATH, basicOf('ADA@Example.com', password))
  assert.equal(upperCase.status, 200, 'names compare without case (§6.8)')
  const prefix = password.split(':')[0]!
  assert.equal((await anonymous.get(PATH, basicOf(emailOf('ada'), prefix))).status, 401)
})

eachService('every invalid pair is the same 401, with a challenge', async (service) => {
  const { createPerson, anonymous, operator } = await openPeople(service)
  await createPerson('ada')
  const disabled = await createPerson('disabled')
  await operator.patch(`/admin/users/${disabled.id}`, { disabled: true })
  const raw = (text: string) => ({ authorization: `Basic ${text}` })
  const latin1 = Buffer.from('ada@example.com:grüße', 'latin1').toString('base64')
  const validValue = basicOf(emailOf('ada')).authorization.slice('Basic '.length)
  const invalid = [
    basicOf(emailOf('ada'), 'wrong password'),
    basicOf(emailOf('unknown')),
    basicOf(emailOf('disabled')),
    basicOf('', ''),
    raw(''),
    raw('%%%'),
    raw(latin1),
    raw(Buffer.from('no colon').toString('base64')),
    raw(Buffer.from(`${emailOf('ada')}:${PASSWORD}\0`).toString('base64')),
    raw(`${validValue}=`),
    raw(validValue.replace(/=*$/, '')),
    raw(`${validValue.slice(0, 4)} ${validValue.slice(4)}`),
  ]
  const bodies = new Set<string>()
  for (const headers of invalid) {
    const reply = await anonymous.get(PATH, headers)
    assert.equal(reply.status, 401, JSON.stringify(headers))
    assert.ok(
      reply.headers['www-authenticate']!.endsWith(', Basic realm="gatehook", charset="UTF-8"'),
    )
    bodies.add(JSON.stringify({ ...reply.body, request_id: '' }))
  }
  assert.equal(bodies.size, 1, [...bodies].join('\n'))
  assert.equal(JSON.parse([...bodies][0]!).error, 'invalid_credentials')
  assert.equal((await anonymous.get(PATH, basicOf(emailOf('ada')))).status, 200)
})

test('a key in place of the user name is a 401 that says how keys are sent', async (t) => {
  const service = await openService(t, 'sqlite')
  const keys = [await service.key(), `gk_live_${'x'.repeat(38)}`, 'gk_test_']
  const bodies = new Set<string>()
  for (const [name, password] of keys.flatMap((key) => [
    [key, ''],
    [key, 'x'],
  ])) {
    const reply = await service.as(undefined).get(PATH, basicOf(name!, password))
    assert.equal(reply.status, 401)
    assert.match(reply.body.message, /looks like an API key\. .* header X-API-Key/)
    bodies.add(JSON.stringify({ ...reply.body, request_id: '' }))
  }
  assert.equal(bodies.size, 1, [...bodies].join('\n'))
  for (const name of ['ada@example.com', 'gk', 'xgk_test_1']) {
    const { body } = await service.as(undefined).get(PATH, basicOf(name, 'wrong password'))
    assert.doesNotMatch(body.message, /API key/)
  }
})

test('Basic is accepted from allowed networks only, also behind a trusted proxy', async (t) => {
  const env = { GATEHOOK_TRUST_PROXY: '127.0.0.1', GATEHOOK_BASIC_ALLOWED_CIDRS: '198.51.100.0/24' }
  const service = await openService(t, 'sqlite', { env })
  const { createPerson, anonymous } = await openPeople(service)
  await createPerson('ada')
  const from = (address: string) => ({
    ...basicOf(emailOf('ada')),
    'x-forwarded-for': address,
    'x-forwarded-proto': 'https',
  })
  assert.equal((await anonymous.get(PATH, from('198.51.100.7'))).status, 200)
  const outside = await anonymous.get(PATH, from('203.0.113.9'))
  assert.deepEqual([outside.status, outside.body.error], [401, 'invalid_credentials'])
  assert.equal(
    (await anonymous.get(PATH, basicOf(emailOf('ada')))).status,
    401,
    'loopback is not allowed',
  )
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`every node applies a change within two seconds [${kind}]`, async (t) => {
    const url = await freshUrl(t, kind)
    const node = await openService(t, kind, { url })
    const otherNode = await openService(t, kind, { url })
    const { createPerson, operator } = await openPeople(node)
    const ada = await createPerson('ada')
    const bob = await createPerson('bob')
    const eve = await createPerson('eve')
    const getProtected = (name: string, password = PASSWORD) =>
      otherNode.as(undefined).get(PATH, basicOf(emailOf(name), password))
    for (const name of ['ada', 'bob', 'eve']) assert.equal((await getProtected(name)).status, 200)

    await operator.put(`/admin/users/${ada.id}/password`, { password: 'another horse' })
    await operator.patch(`/admin/users/${bob.id}`, { disabled: true })
    await node.delete(`/api/v2/users/${eve.id}`)
    for (const name of ['ada', 'bob', 'eve']) {
      await eventually(
        () => getProtected(name),
        ({ status }) => status === 401,
      )
    }
    assert.equal((await getProtected('ada', 'another horse')).status, 200)
    await operator.patch(`/admin/users/${bob.id}`, { disabled: false })
    await eventually(
      () => getProtected('bob'),
      ({ status }) => status === 200,
    )
  })
}
