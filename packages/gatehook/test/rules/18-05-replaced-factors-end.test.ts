/** §18.5, §6.9: a second factor or sign-in name that was replaced since the backup ends. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { gatehook, installed, jsonOf, type Place } from '../cli/command.ts'
import { serving } from '../cli/process.ts'
import { backedUp, exportTo } from '../cli/restored.ts'
import { PASSWORD } from '../people/rig.ts'

const OPERATOR = 'op@example.com'
const OPERATOR_PASSWORD = 'a long operator phrase'
const [FORMER, NEW] = ['former@example.com', 'new@example.com']
const codeOf = (secret: string, step = 0) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({
    timestamp: Date.now() + step * 30_000,
  })

async function send(url: string, method: string, body: object, cookie = '') {
  const headers = { 'content-type': 'application/json', 'x-gatehook-console': '1', cookie }
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) })
  const text = await response.text()
  const cookies = response.headers.getSetCookie().map((line) => line.split(';')[0])
  return {
    status: response.status,
    body: text === '' ? {} : JSON.parse(text),
    cookie: cookies.join('; '),
  }
}

/** Opens the console by a link, and enrols a second factor; returns its secret. */
async function enrol(place: Place, url: string): Promise<string> {
  const link = await jsonOf(place, 'operators', 'link', OPERATOR)
  const token = String(link.url).split('#token=')[1]
  const session = await send(`${url}/console/session`, 'POST', { token })
  assert.equal(session.status, 201)
  const path = `${url}/console/session/second-factor`
  const { body } = await send(path, 'POST', {}, session.cookie)
  const confirmed = await send(path, 'PUT', { code: codeOf(body.secret) }, session.cookie)
  assert.equal(confirmed.status, 200)
  return body.secret
}

test('factors that were replaced since the backup work no more', async (t) => {
  const place = await installed(t)
  const operator = { ...place, input: OPERATOR_PASSWORD }
  await jsonOf(operator, 'operators', 'create', OPERATOR)
  const fields = ['name=A', `email=${FORMER}`]
  const person = await jsonOf({ ...place, input: PASSWORD }, 'users', 'create', ...fields)
  const other = await jsonOf(
    { ...place, input: PASSWORD },
    ...['users', 'create', 'name=B', 'email=other@example.com'],
  )
  const { key } = await jsonOf(place, 'keys', 'create', '--name', 'a', '--scopes', 'admin')
  const run = await serving(t, place, '--no-seed')
  const lost = await enrol(place, run.url)
  const restore = await backedUp(t, place)
  await enrol(place, run.url)
  const patch = async (base: string, path: string, body: object) => {
    const headers = { 'content-type': 'application/json', 'x-api-key': key }
    const response = await fetch(base + path, {
      method: 'PATCH',
      headers,
      body: JSON.stringify(body),
    })
    assert.equal(response.status, 200, await response.text())
  }
  const rowPath = (id: number) => `/admin/as/cus_default/${person.mode}/api/v2/users/${id}`
  await patch(run.url, rowPath(person.id), { email: NEW })
  await patch(run.url, rowPath(other.id), { name: 'C' })
  // Enabled after the rename: the trail must not revive the former name.
  await patch(run.url, `/admin/users/${person.id}`, { disabled: false })
  const file = join(place.cwd, 'audit.ndjson')
  await exportTo(place, file)
  const restored = await restore()
  const { url } = await serving(t, restored, '--no-seed')
  const signIn = async (secret: string) => {
    // The enrolment has used the code of a step before the next one.
    const body = { email: OPERATOR, password: OPERATOR_PASSWORD, code: codeOf(secret, 1) }
    return (await send(`${url}/console/session`, 'POST', body)).status
  }
  const login = async (username: string) =>
    (await send(`${url}/auth/login`, 'POST', { username, password: PASSWORD })).status
  assert.equal(await login(FORMER), 200, 'revived')

  const result = await jsonOf(restored, 'restore', '--revocations', file)
  assert.deepEqual(result.failures, [])
  assert.equal(result.follow_up.length, 2)
  assert.match(result.follow_up.join('\n'), /operator op_\S+ has another second factor/)
  assert.match(result.follow_up.join('\n'), new RegExp(`person ${person.id} has another sign-in`))
  assert.equal(await signIn(lost), 401)
  const password = { email: OPERATOR, password: OPERATOR_PASSWORD }
  const byPassword = await send(`${url}/console/session`, 'POST', password)
  assert.equal(byPassword.status, 401, 'the password alone is no sign-in either')
  assert.equal(await login(FORMER), 401)
  assert.equal(await login('other@example.com'), 200)
  const trail = await gatehook(restored, 'audit', 'list', '--json')
  for (const action of ['operator.second_factor_reset', 'operator.password', 'person.update']) {
    assert.match(trail.stdout, new RegExp(`"${action}"`))
  }

  await enrol(restored, url)
  await patch(url, rowPath(person.id), { email: NEW })
  await patch(url, `/admin/users/${person.id}`, { disabled: false })
  assert.deepEqual([await login(FORMER), await login(NEW)], [401, 200])
})
