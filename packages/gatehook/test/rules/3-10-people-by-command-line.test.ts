/** §3.10: the command line manages people; passwords come on standard input, never as arguments. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { emptyFolder, gatehook, jsonOf, serving } from '../cli/process.ts'
import { basicOf } from '../people/rig.ts'

test('a person is made, signs in, gets another password, is disabled', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const typed = (input: string) => ({ ...place, input })
  const fields = ['name=Ada', 'email=ada@example.com']
  const more = ['--role', 'owner', '--scopes', 'events:read', '--mode', 'test']
  const made = await jsonOf(typed('correct horse\n'), 'users', 'create', ...fields, ...more)
  assert.deepEqual(
    [made.name, made.email, made.role, made.scopes, made.mode],
    ['Ada', 'ada@example.com', 'owner', ['events:read'], 'test'],
  )
  const { url } = await serving(t, place, '--no-seed')
  const ask = async (password: string) => {
    const headers = basicOf('ada@example.com', password)
    return (await fetch(`${url}/api/v2/protected`, { headers })).status
  }
  assert.equal(await ask('correct horse'), 200)
  await jsonOf(typed('another horse'), 'users', 'password', 'ADA@example.com')
  await eventually(
    () => ask('correct horse'),
    (status) => status === 401,
  )
  assert.equal(await ask('another horse'), 200)
  await jsonOf(place, 'users', 'update', String(made.id), '--role', 'none')
  const disabled = await jsonOf(place, 'users', 'disable', 'ada@example.com')
  assert.deepEqual([disabled.disabled, disabled.role], [true, null])
  const elsewhere = await gatehook(place, 'users', 'enable', 'ada@example.com', '--mode', 'live')
  assert.match(elsewhere.stderr, /ada@example\.com signs in to test data, not to live\./)
  const { data } = await jsonOf(place, 'users', 'list', '--mode', 'test')
  assert.deepEqual(
    data.map((one: Record<string, unknown>) => [one.id, one.username, one.disabled]),
    [[made.id, 'ada@example.com', true]],
  )
})

test('what is wrong is said, and nothing is made', async (t) => {
  const place = { cwd: emptyFolder(t), input: 'correct horse' }
  const fields = ['name=Ada', 'email=ada@example.com']
  const wrong: [input: string, args: string[], exit: number, sentence: RegExp][] = [
    ['', ['create', ...fields], 2, /Give the password on standard input/],
    ['short', ['create', ...fields], 2, /password must have at least 8 characters/],
    ['correct horse', ['create', 'name=Ada'], 2, /email is required/],
    ['correct horse', ['create', 'Ada'], 2, /"Ada" is no field; write name=value/],
    ['correct horse', ['create', ...fields, '--scopes', 'x:y'], 2, /scopes.*not a known scope/],
    ['correct horse', ['password', 'nobody@example.com'], 1, /No person signs in as nobody@/],
    ['correct horse', ['password', '77'], 1, /There is no person 77/],
    ['', ['disable', '77', '--mode', 'sandbox'], 2, /expected live or test/],
    ['', ['update', '1'], 2, /--role or --scopes/],
  ]
  for (const [input, args, exit, sentence] of wrong) {
    const ended = await gatehook({ ...place, input }, 'users', ...args)
    assert.match(ended.stderr, sentence)
    assert.equal(ended.exit, exit)
  }
  assert.deepEqual(await jsonOf(place, 'users', 'list'), { data: [] })
})
