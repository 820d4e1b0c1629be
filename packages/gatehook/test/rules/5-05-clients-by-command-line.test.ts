/** §5.5: the token endpoint applies `gatehook clients …` within 2 s. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { GRANT_TYPES, JWT_BEARER_GRANT } from '../../src/identity/oauth/client.ts'
import { EXAMPLE_KEY } from '../../src/identity/oauth/client-members.ts'
import { gatehook, installed, jsonOf } from '../cli/command.ts'
import { serving } from '../cli/process.ts'

test('a client is created, authenticates, rotates its secret and is deleted', async (t) => {
  const installation = { cwd: emptyFolder(t) }
  const { url } = await serving(t, installation, '--no-seed')
  const client = await jsonOf(
    installation,
    ...['clients', 'create', '--name', 'Shop', '--scope', 'events:read', 'orders:read'],
    ...['--redirect-uri', 'https://shop.example/a', '--redirect-uri', 'https://shop.example/b'],
    ...['--grant-type', 'authorization_code', 'client_credentials'],
  )
  assert.match(client.client_secret, /^gs_/)
  assert.deepEqual(client.redirect_uris, ['https://shop.example/a', 'https://shop.example/b'])
  const token = async (secret: string) => {
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client.client_id,
      client_secret: secret,
    })
    return (await fetch(`${url}/oauth/token`, { method: 'POST', body })).status
  }
  assert.equal(await token(client.client_secret), 200)
  const rotated = await jsonOf(
    installation,
    'clients',
    'rotate-secret',
    client.client_id,
    '--overlap',
    '0s',
  )
  await eventually(
    () => token(client.client_secret),
    (status) => status !== 200,
  )
  assert.equal(await token(rotated.client_secret), 200)
  const { data } = await jsonOf(installation, 'clients', 'list')
  assert.deepEqual(
    data.map((client: { client_id: string }) => client.client_id),
    [client.client_id],
  )
  assert(!('client_secret' in data[0]) && !('id' in data[0]))
  await jsonOf(installation, 'clients', 'delete', client.client_id)
  await eventually(
    () => token(rotated.client_secret),
    (status) => status !== 200,
  )
  const missing = await gatehook(installation, 'clients', 'delete', client.client_id)
  assert.equal(missing.exit, 1)
  assert.match(missing.stderr, /There is no client client_/)
})

test('a client has the keys of a file; --scopes and --scope are one option', async (t) => {
  const installation = await installed(t)
  const file = join(emptyFolder(t), 'jwks.json')
  writeFileSync(file, JSON.stringify({ keys: [EXAMPLE_KEY] }))
  const create = ['clients', 'create', '--name', 'Keyed', '--scopes', 'events:read']
  const client = await jsonOf(installation, ...create, '--jwks', file)
  assert.deepEqual(
    [client.jwks.keys[0].x, client.client_secret, client.scopes],
    [EXAMPLE_KEY.x, undefined, ['events:read']],
  )
  const key = await jsonOf(installation, 'keys', 'create', '--name', 'k', '--scope', 'events:read')
  assert.deepEqual(key.scopes, ['events:read'])
  const missing = await gatehook(installation, ...create, '--jwks', '/no/such/file')
  assert.equal(missing.exit, 2)
  assert.match(missing.stderr, /--jwks \/no\/such\/file is no file with JSON/)
  const { stdout } = await gatehook(installation, 'clients', 'create', '--help')
  for (const grant of GRANT_TYPES) assert.ok(stdout.replace(/\s+/g, '').includes(grant), grant)
})

test('a public client has no secret; invalid options exit with 2', async (t) => {
  const installation = await installed(t)
  const uri = 'http://127.0.0.1/callback'
  const scope = ['--scope', 'events:read']
  const options = ['--name', 'Desk', ...scope, '--redirect-uri', uri]
  const client = await jsonOf(installation, 'clients', 'create', ...options, '--public')
  assert.deepEqual([client.public, client.client_secret], [true, undefined])
  const wrong: [args: string[], sentence: RegExp][] = [
    [['--name', 'x'], /Missing: --scopes, of admin /],
    [scope, /Missing: --name <NAME>\./],
    [['--name', 'x', '--scope', 'event:read'], /did you mean events:read/],
    [['--name', 'x', ...scope, '--redirect-uri', 'http://x.example'], /--redirect-uris .*https/],
  ]
  for (const [args, sentence] of wrong) {
    const { exit, stderr } = await gatehook(installation, 'clients', 'create', ...args)
    assert.match(stderr, sentence)
    assert.equal(exit, 2)
  }
})

test('the command prints what a client may do with and without a person', async (t) => {
  const installation = await installed(t)
  const create = async (...args: string[]) => {
    const base = ['clients', 'create', '--name', 'Shop', '--scope', 'orders:read']
    return (await gatehook(installation, ...base, ...args)).stdout
  }
  const app = await create('--redirect-uri', 'https://shop.example/a')
  assert.match(app, /With a person: +acts for each person who consents, within orders:read, and/)
  assert.match(app, /Without a person: nothing\./)
  const program = await create()
  assert.match(program, /With a person: +nothing\./)
  assert.match(program, /Without a person: acts for the whole customer cus_default, within orders/)
  const agent = await create('--grant-type', JWT_BEARER_GRANT)
  assert.match(agent, /With a person: +acts for each person whom a trusted issuer names, within or/)
})
