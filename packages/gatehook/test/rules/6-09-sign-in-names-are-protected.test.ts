/**
 * §6.9: the sign-in name of a row with a password is changed by its person and by `admin`. Every
 * other way to write the row is 403 `credential_protected`, also in a dry run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { service as declare, f, resource } from '../../src/gatehook.ts'
import { isInstallationScope } from '../../src/identity/access/administration.ts'
import { isAdministrator } from '../../src/identity/access/scopes.ts'
import { ROLES } from '../../src/kernel/principal.ts'
import { club, outcomes, RULED } from '../fixtures/members.ts'
import { exchange, obtainCode, openOauthFixture } from '../oauth/rig.ts'
import { basicOf, bearerOf, emailOf, openPeople } from '../people/rig.ts'

const CLUB = { service: club, env: { GATEHOOK_TEST_CLOCK: '1' } }
const TAKEN = emailOf('elsewhere')
const FREE = emailOf('free')

/** Opens the club with a member who signs in, and a person of another customer. */
async function openClub(service: TestApp) {
  const rig = await openPeople(service)
  const { operator, createPerson } = rig
  const other = (await operator.post('/admin/customers', { name: 'Other' })).body.id
  await createPerson('elsewhere', { customer: other })
  const ada = await createPerson('ada')
  const badge = await service.post('/api/v2/badges', { member_id: ada.id, address: null })
  assert.equal(badge.status, 201, badge.text)
  /** Asserts that neither the row nor its sign-in has changed, and that no event was recorded. */
  const requireUnchanged = async (message: string) => {
    const row = (await operator.get(`/admin/users/${ada.id}`)).body
    assert.deepEqual([row.email, row.name], [emailOf('ada'), 'ada'], message)
    assert.equal((await rig.login(emailOf('ada'))).status, 200, message)
    const events = (await service.get('/events?type=member.updated')).body.data
    assert.deepEqual(events, [], message)
  }
  return { ...rig, ada, badge: badge.body, requireUnchanged }
}

type Club = Awaited<ReturnType<typeof openClub>>
type Headers = Record<string, string>

/** Every request that writes a row, with the address `to`. */
const WRITES: Readonly<
  Record<string, (rig: Club, to: string) => [method: string, path: string, body: unknown]>
> = {
  'a patch': ({ ada }, email) => ['PATCH', `/api/v2/members/${ada.id}`, { email }],
  'a patch with other members': ({ ada }, email) => [
    'PATCH',
    `/api/v2/members/${ada.id}`,
    { name: 'x', email },
  ],
  'a patch of an old version': ({ ada }, login) => [
    'PATCH',
    `/api/v1/members/${ada.id}`,
    { login },
  ],
  'a rule of the same row': ({ ada }) => ['PATCH', `/api/v2/members/${ada.id}`, { name: RULED }],
  'a rule of another row': ({ badge }, address) => [
    'PATCH',
    `/api/v2/badges/${badge.id}`,
    { address },
  ],
  'an action': ({ ada }, to) => ['POST', `/api/v2/members/${ada.id}/readdress`, { address: to }],
  'an action of an old version': ({ ada }, to) => [
    'POST',
    `/api/v1/members/${ada.id}/readdress`,
    { address: to },
  ],
  'a route of the team': ({ ada }, to) => [
    'POST',
    `/api/v2/members/${ada.id}/move`,
    { address: to },
  ],
}

eachService(
  'each way to write the row is refused for keys, people, clients and tokens',
  async (service) => {
    const rig = await openClub(service)
    const { anonymous, operator, ada, requireUnchanged } = rig
    const machine = (
      await operator.post('/admin/clients', {
        name: 'Machine',
        scopes: ['members:write', 'badges:write'],
        mode: 'test',
      })
    ).body
    const form = new URLSearchParams({ grant_type: 'client_credentials' }).toString()
    const { access_token } = (
      await anonymous.post('/oauth/token', form, {
        ...basicOf(machine.client_id, machine.client_secret),
        'content-type': 'application/x-www-form-urlencoded',
      })
    ).body
    const callers: Readonly<Record<string, Headers>> = {
      key: { 'x-api-key': await service.key() },
      'person by Basic': basicOf(emailOf('ada')),
      'person by login': bearerOf(await rig.token(emailOf('ada'))),
      'client credentials': bearerOf(access_token),
    }
    for (const [caller, credential] of Object.entries(callers)) {
      for (const [way, request] of Object.entries(WRITES)) {
        for (const preference of [{ prefer: 'dry-run' }, {}]) {
          const answers: Reply[] = []
          for (const to of [FREE, TAKEN, emailOf('ADA')]) {
            const [method, path, body] = request(rig, to)
            const headers = { ...credential, ...(preference as Headers) }
            answers.push(await anonymous.send(method, path, body, headers))
          }
          for (const answer of answers) {
            const message = `${way}, ${caller}: ${answer.text}`
            assert.deepEqual(
              [answer.status, answer.body.error],
              [403, 'credential_protected'],
              message,
            )
            assert.deepEqual(answer.body.errors, answers[0]!.body.errors, message)
          }
        }
      }
    }
    await requireUnchanged('after all')
    const old = await service.patch(`/api/v1/members/${ada.id}`, { login: FREE })
    assert.equal(old.body.errors[0].pointer, '/login', 'the name of the caller’s version')
  },
  CLUB,
)

eachService(
  'own code changes no sign-in name, also when `admin` calls it',
  async (service) => {
    const rig = await openClub(service)
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    for (const [way, request] of Object.entries(WRITES)) {
      if (/patch/.test(way)) continue
      const [method, path, body] = request(rig, FREE)
      const refused = await admin.send(method, `/admin/as/default/test${path}`, body)
      assert.deepEqual([refused.status, refused.body.error], [403, 'credential_protected'], way)
    }
    await rig.requireUnchanged('after all')
  },
  CLUB,
)

eachService(
  'jobs, handlers of events and recurring jobs change no sign-in name',
  async (service) => {
    const { ada, operator, requireUnchanged } = await openClub(service)
    outcomes.clear()
    outcomes.set('target', String(ada.id))
    assert.ok((await service.post(`/api/v2/members/${ada.id}/later`)).status < 300)
    const event = { type: 'address.changed', object: { id: ada.id } }
    assert.equal((await service.post('/events', event)).status, 201)
    await service.app.work()
    const listRuns = async () =>
      (await operator.get('/admin/jobs?name=readdress_all')).body.data as unknown[]
    await eventually(listRuns, (rows) => rows.length > 0)
    await operator.post('/admin/clock', { advance_s: 7_200 })
    const kinds = ['job', 'on', 'every']
    const listCodes = () => Promise.resolve(kinds.map((kind) => outcomes.get(kind)))
    const codes = await eventually(listCodes, (all) => !all.includes(undefined))
    assert.deepEqual(new Set(codes), new Set(['credential_protected']))
    await requireUnchanged('after all')
  },
  CLUB,
)

eachService(
  'the unchanged name is no change, and rows without a password are data',
  async (service) => {
    const { ada } = await openClub(service)
    const path = `/api/v2/members/${ada.id}`
    assert.equal((await service.patch(path, { email: ada.email, name: 'Ada' })).status, 200)
    const body = { name: 'Bo', email: emailOf('bo') }
    const { id } = (await service.post('/api/v2/members', body)).body
    const other = `/api/v2/members/${id}`
    assert.equal((await service.patch(other, { email: TAKEN })).status, 200)
    assert.equal((await service.post(`${other}/readdress`, { address: FREE })).status, 200)
    assert.equal((await service.post(`${other}/move`, { address: TAKEN })).status, 204)
    assert.equal((await service.patch(other, { name: RULED })).body.email, 'ruled@example.com')
    const batch = await service.post('/api/v2/members/batch', { items: [{ ...body, email: FREE }] })
    assert.equal(batch.status, 200, 'a batch creates rows without a password')
  },
  CLUB,
)

eachService(
  '`admin` changes the name by a patch, in every version and for every customer',
  async (service) => {
    const { ada, operator, login } = await openClub(service)
    const patch = (version: string, body: object, headers: Headers = {}) =>
      operator.patch(`/admin/as/default/test/api/${version}/members/${ada.id}`, body, headers)
    const rehearsal = await patch('v2', { email: FREE }, { prefer: 'dry-run' })
    assert.equal(rehearsal.status, 200, rehearsal.text)
    assert.equal((await login(emailOf('ada'))).status, 200)
    assert.equal((await patch('v2', { email: TAKEN })).status, 409)
    assert.equal((await patch('v2', { email: FREE })).status, 200)
    assert.equal((await login(emailOf('ada'))).status, 401)
    assert.equal((await login(FREE)).status, 200)
    assert.equal((await patch('v1', { login: emailOf('ada') })).status, 200)
    assert.equal((await login(emailOf('ada'))).status, 200)
    const audit = await operator.get('/admin/audit?action=person.rename')
    assert.deepEqual(
      audit.body.data.map(({ target, detail }: { target: string; detail: object }) => [
        target,
        detail,
      ]),
      [1, 2].map(() => [String(ada.id), { fields: ['email', 'former'] }]),
    )
  },
  CLUB,
)

test('an operator of a lesser role is no administrator, also not under `/admin/as`', () => {
  const base = { customer: 'c', mode: 'live', scope: 3 as never, kind: 'operator', subject: 's' }
  const caller = (role: (typeof ROLES)[number]) =>
    ({ ...base, scopes: new Set(['admin']), role }) as const
  for (const role of ROLES) {
    const acting = { ...base, scopes: new Set(['admin', 'users:write']), caller: caller(role) }
    assert.equal(isAdministrator(acting as never), role === 'administrator', role)
    assert.equal(isAdministrator(caller(role) as never), role === 'administrator', role)
  }
  assert.ok(!isAdministrator({ ...base, scopes: new Set(['users:write']) } as never))
})

test('a third-party application cannot change the name of the person who consented', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { anonymous, person } = fixture
  const scopes = ['users:read', 'users:write']
  const client = await fixture.createClient({ scopes })
  const path = `/admin/users/${person.id}`
  assert.equal((await fixture.admin.patch(path, { scopes })).status, 200)
  const code = await obtainCode(fixture, { scope: scopes.join(' ') }, client)
  const { body } = await exchange(
    fixture,
    code,
    {},
    basicOf(client.client_id, client.client_secret),
  )
  const row = `/api/v2/users/${person.id}`
  const headers = bearerOf(body.access_token)
  assert.equal((await anonymous.patch(row, { name: 'Mallory' }, headers)).status, 200)
  const refused = await anonymous.patch(row, { email: emailOf('mallory') }, headers)
  assert.deepEqual([refused.status, refused.body.error], [403, 'credential_protected'])
})

const hidden = declare({
  name: 'Hidden',
  versions: { v1: { released: '2026-01-01' } },
  resources: [
    resource('users', {
      fields: {
        id: f.id(),
        name: f.string(),
        email: f.email().unique().visible('users:contact'),
      },
      list: { filter: [], sort: ['id'] },
      access: {
        read: 'users:read',
        create: 'users:write',
        update: 'users:write',
        delete: 'users:write',
      },
      events: ['user.updated'],
    }).signsIn({ username: 'email' }),
  ],
})

eachService(
  'a caller that does not see the name cannot guess it',
  async (service) => {
    const { createPerson } = await openPeople(service)
    const { id } = await createPerson('ada')
    const writer = service.as(await service.key({ scopes: ['users:read', 'users:write'] }))
    const texts: string[] = []
    for (const email of [emailOf('ada'), emailOf('bo')]) {
      const refused = await writer.patch(`/api/v1/users/${id}`, { email })
      const { request_id: _, ...body } = refused.body
      texts.push(JSON.stringify([refused.status, body]))
    }
    assert.equal(texts[0], texts[1])
    assert.match(texts[0]!, /403.*credential_protected/)
  },
  { service: hidden },
)

eachService(
  'a deletion that cascades obeys the rules of a deletion',
  async (service) => {
    const { createPerson, login } = await openPeople(service)
    const everything = [...service.app.administration.scopes].filter(
      (scope) => !isInstallationScope(scope),
    )
    const writer = service.as(await service.key({ scopes: everything }))
    for (const [name, scope, status] of [
      ['plain', 'members:read', 204],
      ['chief', 'webhooks:write', 403],
    ] as const) {
      const sponsor = (await service.post('/api/v2/sponsors', { name })).body.id
      const { id } = await createPerson(name, { scopes: [scope], sponsor_id: sponsor })
      const deleted = await writer.delete(`/api/v2/sponsors/${sponsor}`)
      assert.equal(deleted.status, status, deleted.text)
      const isGone = status === 204
      assert.equal((await login(emailOf(name))).status, isGone ? 401 : 200)
      assert.equal((await service.get(`/api/v2/members/${id}`)).status, isGone ? 404 : 200)
      if (!isGone) assert.match(deleted.body.message, /\badmin\b/)
    }
  },
  CLUB,
)

test('a sign-in name is no computed field', () => {
  const people = resource('people', {
    fields: { id: f.id(), name: f.string(), login: f.computed(f.string()).stored() },
    list: { filter: [], sort: ['id'] },
    access: { read: 'people:read', create: false, update: false, delete: false },
    events: [],
  }).compute('login', ({ name }) => name)
  const versions = { v1: { released: '2026-01-01' } }
  assert.throws(
    () => declare({ name: 'x', versions, resources: [people.signsIn({ username: 'login' })] }),
    /login is computed/,
  )
})
