/** §13: operators list the sessions of a person, and end one or all of them. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { isoTime } from '../../src/kernel/time.ts'
import { bearerOf, emailOf, openPeople } from '../people/rig.ts'
import { cookieOf, OWN } from '../portal/rig.ts'

interface SessionRow {
  readonly id: string
  readonly client_id: string
}

async function openAda(service: TestApp) {
  const people = await openPeople(service)
  const { operator, anonymous, login } = people
  const { id } = await people.createPerson('ada')
  const path = `/admin/users/${id}/sessions`
  const signIn = async (name = 'ada') => {
    const { status, body, text } = await login(emailOf(name))
    assert.equal(status, 200, text)
    return body
  }
  return {
    ...people,
    id,
    path,
    signIn,
    list: async (): Promise<SessionRow[]> => (await operator.get(path)).body.data,
    isValid: async (token: string) =>
      (await anonymous.get('/auth/sessions', bearerOf(token))).status === 200,
    canRefresh: async (refresh_token: string) =>
      (await anonymous.post('/auth/refresh', { refresh_token })).status === 200,
    account: async () => (await operator.get(`/admin/users?id=${id}`)).body.data[0],
    actions: async (target: string) =>
      (await operator.get(`/admin/audit?target=${target}`)).body.data.map(
        ({ action, detail }: { action: string; detail: unknown }) => [action, detail],
      ),
  }
}

eachService('a session is listed and ended; the others stay', async (service) => {
  const ada = await openAda(service)
  assert.deepEqual(await ada.list(), [])
  const [first, second] = [await ada.signIn(), await ada.signIn()]
  const rows = await ada.list()
  assert.deepEqual(
    rows.map(({ client_id }) => client_id),
    ['gatehook', 'gatehook'],
  )
  const { body: own } = await ada.anonymous.get('/auth/sessions', bearerOf(first.access_token))
  assert.deepEqual(rows, own.data)
  const page = await ada.operator.get(`${ada.path}?limit=1&fields=id`)
  assert.deepEqual(page.body.data, [{ id: rows[0]!.id }])
  const { id } = rows.find((row) => row.id === JSON.parse(claimsOf(first.access_token)).sid)!
  assert.equal((await ada.operator.delete(`${ada.path}/${id}`)).status, 204)
  assert.equal(await ada.isValid(first.access_token), false)
  assert.equal(await ada.canRefresh(first.refresh_token), false)
  assert.equal(await ada.isValid(second.access_token), true)
  assert.equal((await ada.operator.delete(`${ada.path}/${id}`)).status, 404)
  const detail = { client_id: 'gatehook', person: String(ada.id) }
  assert.deepEqual(await ada.actions(id), [['session.end', detail]])
})

const claimsOf = (token: string): string =>
  Buffer.from(token.split('.')[1]!, 'base64url').toString()

eachService('all sessions end, also those of pages, and only of this person', async (service) => {
  const ada = await openAda(service)
  await ada.createPerson('bo')
  const tokens = [await ada.signIn(), await ada.signIn()]
  const other = await ada.signIn('bo')
  const credentials = { username: emailOf('ada'), password: 'correct horse' }
  const portal = await ada.anonymous.post('/portal/session', credentials)
  assert.equal(portal.status, 201, portal.text)
  const inPortal = { cookie: cookieOf(portal), ...OWN }
  assert.equal((await ada.anonymous.get('/portal/session', inPortal)).status, 200)
  assert.equal((await ada.operator.delete(ada.path)).status, 204)
  for (const { access_token, refresh_token } of tokens) {
    assert.equal(await ada.isValid(access_token), false)
    assert.equal(await ada.canRefresh(refresh_token), false)
  }
  assert.deepEqual(await ada.list(), [])
  assert.equal((await ada.anonymous.get('/portal/session', inPortal)).status, 401)
  assert.equal(await ada.isValid(other.access_token), true)
  assert.ok(
    (await ada.actions(String(ada.id))).some(
      ([action, detail]: [string, unknown]) =>
        action === 'session.end_all' && JSON.stringify(detail) === '{"sessions":2}',
    ),
  )
  await ada.signIn()
  assert.equal((await ada.list()).length, 1, 'the person can sign in again')
})

eachService('unknown people and sessions of others are 404', async (service) => {
  const ada = await openAda(service)
  const bo = await ada.createPerson('bo')
  await ada.signIn()
  const [{ id }] = (await ada.list()) as [SessionRow]
  const paths = ['/admin/users/99/sessions', '/admin/users/x/sessions']
  for (const path of paths) {
    assert.equal((await ada.operator.get(path)).status, 404, path)
    assert.equal((await ada.operator.delete(path)).status, 404, path)
  }
  assert.equal((await ada.operator.delete(`/admin/users/${bo.id}/sessions/${id}`)).status, 404)
  assert.equal((await ada.operator.get(`${ada.path}?sort=scope`)).status, 400)
  assert.equal((await ada.list()).length, 1)
  const row = await service.post('/api/v2/users', { name: 'Cy', email: emailOf('cy') })
  const withoutPassword = `/admin/users/${row.body.id}/sessions`
  assert.equal((await ada.operator.get(withoutPassword)).status, 404)
})

eachService('an account has the instant of its last sign-in', async (service) => {
  const ada = await openAda(service)
  assert.equal((await ada.account()).last_sign_in_at, null)
  const before = await ada.operator.get(`/admin/users/${ada.id}`)
  const { clock } = service.app.administration
  const earliest = isoTime(clock.now())
  await ada.signIn()
  const { last_sign_in_at: at } = await ada.account()
  assert.ok(earliest <= at && at <= isoTime(clock.now()), at)
  const after = await ada.operator.get(`/admin/users/${ada.id}`)
  assert.equal(after.headers.etag, before.headers.etag, 'a sign-in changes no entity tag')
})
