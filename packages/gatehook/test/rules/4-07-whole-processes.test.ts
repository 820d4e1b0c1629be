/** §4.6, §4.7 with real processes and time: a node applies changes of the command line. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { installed, jsonOf } from '../cli/command.ts'
import { serving } from '../cli/process.ts'
import { bearerOf, PASSWORD } from '../people/rig.ts'

test('a running process rejects a disabled person’s token, and publishes a new key', async (t) => {
  const options = await installed(t)
  const fields = ['name=Ada', 'email=ada@example.com', '--mode', 'test']
  await jsonOf({ ...options, input: PASSWORD }, 'users', 'create', ...fields)
  const { url } = await serving(t, options, '--no-seed')
  const post = (path: string, body: unknown) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const login = await post('/auth/login', { username: 'ada@example.com', password: PASSWORD })
  const tokens = (await login.json()) as { access_token: string; refresh_token: string }
  const headers = bearerOf(tokens.access_token)
  const status = async () => (await fetch(`${url}/api/v2/protected`, { headers })).status
  const kids = async () => {
    const set = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as {
      keys: { kid: string; alg: string }[]
    }
    return set.keys.filter(({ alg }) => alg === 'ES256').map(({ kid }) => kid)
  }
  assert.equal(await status(), 200)
  const [first] = await kids()

  const rotation = await jsonOf(options, 'keys', 'rotate-signing')
  await eventually(kids, ({ length }) => length > 1)
  assert.deepEqual(await kids(), [first, rotation.kid])
  assert.ok(Date.parse(rotation.signs_from) > Date.now(), 'published before it signs')
  assert.equal(await status(), 200)

  await jsonOf(options, 'users', 'disable', 'ada@example.com')
  await eventually(status, (now) => now === 401)
  const { refresh_token } = tokens
  assert.equal((await post('/auth/refresh', { refresh_token })).status, 401)
})
