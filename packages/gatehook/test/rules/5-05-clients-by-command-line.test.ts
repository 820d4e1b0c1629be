/** §5.5: `gatehook clients …` makes what the token endpoint knows within two seconds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { emptyFolder, gatehook, jsonOf, serving } from '../cli/process.ts'

test('a client is made, used, rotated and deleted', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const { url } = await serving(t, place, '--no-seed')
  const made = await jsonOf(
    place,
    ...['clients', 'create', '--name', 'Shop', '--scope', 'events:read', 'orders:read'],
    ...['--redirect-uri', 'https://shop.example/a', '--redirect-uri', 'https://shop.example/b'],
  )
  assert.match(made.client_secret, /^gs_/)
  assert.deepEqual(made.redirect_uris, ['https://shop.example/a', 'https://shop.example/b'])
  const token = async (secret: string) => {
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: made.client_id,
      client_secret: secret,
    })
    return (await fetch(`${url}/oauth/token`, { method: 'POST', body })).status
  }
  assert.equal(await token(made.client_secret), 200)
  const rotated = await jsonOf(place, 'clients', 'rotate-secret', made.client_id, '--overlap', '0s')
  await eventually(
    () => token(made.client_secret),
    (status) => status !== 200,
  )
  assert.equal(await token(rotated.client_secret), 200)
  const { data } = await jsonOf(place, 'clients', 'list')
  assert.deepEqual(
    data.map((client: { client_id: string }) => client.client_id),
    [made.client_id],
  )
  assert(!('client_secret' in data[0]) && !('id' in data[0]))
  await jsonOf(place, 'clients', 'delete', made.client_id)
  await eventually(
    () => token(rotated.client_secret),
    (status) => status !== 200,
  )
  const gone = await gatehook(place, 'clients', 'delete', made.client_id)
  assert.equal(gone.exit, 1)
  assert.match(gone.stderr, /There is no client client_/)
})

test('a public client has no secret; what a client cannot be is said', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const uri = 'http://127.0.0.1/callback'
  const scope = ['--scope', 'events:read']
  const named = ['--name', 'Desk', ...scope, '--redirect-uri', uri]
  const made = await jsonOf(place, 'clients', 'create', ...named, '--public')
  assert.deepEqual([made.public, made.client_secret], [true, undefined])
  const wrong: [args: string[], sentence: RegExp][] = [
    [['--name', 'x'], /Say what the client may do: --scope, of/],
    [scope, /Give the client a name/],
    [['--name', 'x', '--scope', 'event:read'], /Did you mean events:read/],
    [['--name', 'x', ...scope, '--redirect-uri', 'http://x.example'], /must be https/],
  ]
  for (const [args, sentence] of wrong) {
    const { exit, stderr } = await gatehook(place, 'clients', 'create', ...args)
    assert.match(stderr, sentence)
    assert.equal(exit, 2)
  }
})
