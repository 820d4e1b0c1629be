/** §3.10: the command line manages people, and reads passwords from standard input only. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { gatehook, installed, jsonOf } from '../cli/command.ts'
import { serving } from '../cli/process.ts'
import { basicOf } from '../people/rig.ts'

test('a person is created, signs in, gets a new password and is disabled', async (t) => {
  const place = await installed(t)
  const withInput = (input: string) => ({ ...place, input })
  const fields = ['name=Ada', 'email=ada@example.com']
  const options = ['--role', 'owner', '--scopes', 'events:read', '--mode', 'test']
  const created = await jsonOf(
    withInput('correct horse\n'),
    'users',
    'create',
    ...fields,
    ...options,
  )
  assert.deepEqual(
    [created.name, created.email, created.role, created.scopes, created.mode],
    ['Ada', 'ada@example.com', 'owner', ['events:read'], 'test'],
  )
  const { url } = await serving(t, place, '--no-seed')
  const requestStatus = async (password: string) => {
    const headers = basicOf('ada@example.com', password)
    return (await fetch(`${url}/api/v2/protected`, { headers })).status
  }
  assert.equal(await requestStatus('correct horse'), 200)
  await jsonOf(withInput('another horse'), 'users', 'password', 'ADA@example.com')
  await eventually(
    () => requestStatus('correct horse'),
    (status) => status === 401,
  )
  assert.equal(await requestStatus('another horse'), 200)
  await jsonOf(place, 'users', 'update', String(created.id), '--role', 'none')
  const disabled = await jsonOf(place, 'users', 'disable', 'ada@example.com')
  assert.deepEqual([disabled.disabled, disabled.role], [true, null])
  const elsewhere = await gatehook(place, 'users', 'enable', 'ada@example.com', '--mode', 'live')
  assert.match(elsewhere.stderr, /ada@example\.com signs in to test data, not to live\./)
  const { data } = await jsonOf(place, 'users', 'list', '--mode', 'test')
  assert.deepEqual(
    data.map((person: Record<string, unknown>) => [person.id, person.username, person.disabled]),
    [[created.id, 'ada@example.com', true]],
  )
})

test('invalid input is rejected with its reason, and no person is created', async (t) => {
  const place = { ...(await installed(t)), input: 'correct horse' }
  const fields = ['name=Ada', 'email=ada@example.com']
  const invalid: [input: string, args: string[], exit: number, sentence: RegExp][] = [
    ['', ['create', ...fields], 2, /Give the password on standard input/],
    ['short', ['create', ...fields], 2, /password must have at least 8 characters/],
    ['correct horse', ['create', 'name=Ada'], 2, /email is required/],
    ['correct horse', ['create', 'Ada'], 2, /"Ada" is no field; write name=value/],
    ['correct horse', ['create', ...fields, '--scopes', 'x:y'], 2, /scopes/],
    [
      'correct horse',
      ['password', 'unknown@example.com'],
      1,
      /No person signs in as unknown@\S+ Name a row without a password/,
    ],
    ['correct horse', ['password', '77'], 1, /There is no person 77/],
    ['', ['disable', '77', '--mode', 'sandbox'], 2, /expected live or test/],
    ['', ['update', '1'], 2, /Name what changes: --role, --scopes/],
  ]
  for (const [input, args, exit, sentence] of invalid) {
    const result = await gatehook({ ...place, input }, 'users', ...args)
    assert.match(result.stderr, sentence)
    assert.equal(result.exit, exit)
  }
  assert.deepEqual(await jsonOf(place, 'users', 'list'), { data: [] })
})

test('§4.8 a name that several people have needs the customer, or the id', async (t) => {
  const cwd = emptyFolder(t)
  writeFileSync(join(cwd, 'service.ts'), clubs)
  await gatehook({ cwd }, 'migrate')
  const acme = await jsonOf({ cwd }, 'customers', 'create', 'Acme')
  const create = ['users', 'create', 'email=ada@example.com']
  const place = { cwd, input: 'correct horse' }
  const own = await jsonOf(place, ...create)
  const other = await jsonOf(place, ...create, '--customer', acme.id)
  const several = await gatehook({ cwd }, 'users', 'disable', 'ADA@example.com')
  assert.equal(several.exit, 1)
  assert.match(
    several.stderr,
    /ADA@example\.com signs in for more than .* Add --customer and --mode/,
  )
  const disable = ['users', 'disable', 'ADA@example.com', '--customer']
  assert.equal((await jsonOf({ cwd }, ...disable, acme.id)).id, other.id)
  assert.equal((await jsonOf({ cwd }, ...disable, 'default', '--mode', 'live')).id, own.id)
  const elsewhere = await gatehook({ cwd }, ...disable, acme.id, '--mode', 'test')
  assert.match(elsewhere.stderr, /signs in to live data, not to test/)
  const list = await jsonOf({ cwd }, 'users', 'list', '--customer', acme.id)
  assert.deepEqual(
    list.data.map(({ id }: { id: number }) => id),
    [other.id],
  )
})

const clubs = `import { f, resource, service } from 'gatehook'
export const api = service({
  name: 'clubs',
  versions: { v1: { released: '2026-01-01' } },
  resources: [
    resource('members', {
      fields: { id: f.id(), email: f.email() },
      list: { filter: [], sort: [] },
      access: { read: 'm:read', create: 'm:write', update: 'm:write', delete: 'm:write' },
      events: [],
    }).signsIn({ username: 'email', names: 'customer' }),
  ],
})
`
