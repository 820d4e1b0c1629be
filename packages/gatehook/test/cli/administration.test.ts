/**
 * keys, customers, clock, migrate, doctor and openapi, each against a database of its own folder.
 */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder, gatehook, type Place, serving } from './process.ts'

/** Runs with `--json` and gives what was printed. */
async function json(place: Place, ...args: string[]) {
  const { exit, stdout, stderr } = await gatehook(place, ...args, '--json')
  assert.equal(exit, 0, stderr)
  return JSON.parse(stdout)
}

test('a key is made, used, rolled and revoked', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const made = await json(place, 'keys', 'create', '--name', 'CI', '--scopes', 'admin,events:read')
  assert.match(made.key, /^gk_live_/)
  assert.deepEqual(made.scopes, ['admin', 'events:read'])
  const rolled = await json(place, 'keys', 'roll', made.id, '--overlap', '0s')
  assert.equal(rolled.id, made.id)
  const loan = ['--mode', 'test', '--expires', '30d', '--cidrs', '127.0.0.0/8', '--pin', 'v1']
  const test = await json(
    place,
    'keys',
    'create',
    '--name',
    'loan',
    '--scopes',
    'events:read',
    ...loan,
  )
  assert.deepEqual([test.mode, test.api_version, test.cidrs], ['test', 'v1', ['127.0.0.0/8']])
  const days = (Date.parse(test.expires_at) - Date.parse(test.created_at)) / 86_400_000
  assert.ok(Math.abs(days - 30) < 0.01)
  const { data } = await json(place, 'keys', 'list', '--mode', 'live')
  assert.deepEqual(
    data.map((key: { id: string }) => key.id),
    [made.id],
  )

  const { url } = await serving(t, place, '--no-seed')
  const audit = (key: string) => fetch(`${url}/admin/audit`, { headers: { 'x-api-key': key } })
  assert.equal((await audit(made.key)).status, 403)
  const trail = await audit(rolled.key)
  assert.equal(trail.status, 200)
  const { data: acts } = (await trail.json()) as { data: Record<string, string>[] }
  const byCli = acts.filter((act) => act.actor_kind === 'cli').map((act) => act.action)
  assert.deepEqual(byCli.sort(), ['key.create', 'key.create', 'key.roll'])
  await json(place, 'keys', 'revoke', test.id)
  const gone = await gatehook(place, 'keys', 'revoke', test.id)
  assert.equal(gone.exit, 1)
  assert.match(gone.stderr, /There is no key key_/)
})

test('what a key cannot be is said before anything is written', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const wrong: [args: string[], sentence: RegExp][] = [
    [['--scopes', 'admin'], /Give the key a name/],
    [['--name', 'x'], /Say what the key may do: --scopes, of .*admin/],
    [
      ['--name', 'x', '--scopes', 'event:read'],
      /no scope "event:read"\. Did you mean events:read\?/,
    ],
    [['--name', 'x', '--scopes', 'admin', '--mode', 'test'], /scopes\/0 is only for live keys/],
    [['--name', 'x', '--scopes', 'admin', '--expires', 'soon'], /expires_at must be an ISO 8601/],
  ]
  for (const [args, sentence] of wrong) {
    const { exit, stderr } = await gatehook(place, 'keys', 'create', ...args)
    assert.match(stderr, sentence)
    assert.equal(exit, 2)
  }
  assert.deepEqual(await json(place, 'keys', 'list'), { data: [] })
})

test('customers are made, suspended and resumed', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const acme = await json(place, 'customers', 'create', 'Acme Ltd')
  assert.equal((await json(place, 'customers', 'suspend', acme.id)).suspended, true)
  const shown = await gatehook(place, 'customers', 'list')
  assert.match(shown.stdout, new RegExp(`${acme.id} +Acme Ltd +suspended`))
  assert.equal((await json(place, 'customers', 'resume', acme.id)).suspended, false)
  const unknown = await gatehook(place, 'customers', 'suspend', 'cus_none')
  assert.match(unknown.stderr, /There is no customer cus_none\./)
  const own = await gatehook(place, 'customers', 'suspend', 'default')
  assert.equal(own.exit, 2)
})

test('the test clock goes forward only, and only where it may', async (t) => {
  const cwd = emptyFolder(t)
  const place = { cwd, env: { GATEHOOK_TEST_CLOCK: '1' } }
  const before = await json(place, 'clock')
  const after = await json(place, 'clock', 'advance', '30d', '--freeze')
  assert.equal(after.frozen, true)
  assert.ok(Date.parse(after.now) - Date.parse(before.now) >= 30 * 86_400_000)
  assert.equal((await json(place, 'clock')).now, after.now)
  const back = await gatehook(place, 'clock', 'set', '2026-01-01')
  assert.equal(back.exit, 1)
  assert.match(back.stderr, /already/)
  const off = await gatehook({ cwd }, 'clock')
  assert.equal(off.exit, 78)
  assert.match(off.stderr, /GATEHOOK_TEST_CLOCK is not 1/)
})

const otherService = `import { f, resource, service } from 'gatehook'

const notes = resource('notes', {
  fields: { id: f.id(), text: f.string(), created_at: f.createdAt() },
  list: { filter: ['id'], sort: ['id'] },
  access: { read: 'notes:read', create: 'notes:write', update: 'notes:write', delete: false },
  events: ['note.created'],
})
export const api = service({
  name: 'notes',
  versions: { v1: { released: '2026-06-01' } },
  resources: [notes],
})
`

test('a command in the wrong folder adds no tables to another service’s database', async (t) => {
  const cwd = emptyFolder(t)
  const place = { cwd }
  assert.match((await gatehook(place, 'migrate')).stderr, /migration/)
  assert.match((await gatehook(place, 'migrate')).stdout, /is up to date\.\n$/)
  writeFileSync(join(cwd, 'service.ts'), otherService)
  const { exit, stderr } = await gatehook(place, 'keys', 'list')
  assert.equal(exit, 1)
  assert.match(stderr, /The database lacks notes\. .*--dir DIR.*gatehook migrate/)
  assert.equal((await gatehook(place, 'migrate')).exit, 0)
  assert.equal((await gatehook(place, 'keys', 'list')).exit, 0)
})

test('doctor finds what is wrong and changes nothing', async (t) => {
  const cwd = emptyFolder(t)
  const place = { cwd, env: { GATEHOOK_PORT: '0' } }
  const fresh = await json(place, 'doctor')
  assert.deepEqual(
    fresh.checks.filter((one: { state: string }) => one.state !== 'ok'),
    [],
  )
  assert.equal(existsSync(join(cwd, 'data')), false)
  await gatehook(place, 'migrate')
  chmodSync(join(cwd, 'data', 'secret.key'), 0o644)
  writeFileSync(join(cwd, 'service.ts'), otherService)
  const { exit, stdout } = await gatehook(place, 'doctor')
  assert.equal(exit, 1)
  assert.match(stdout, /secret key +fail +.* has mode 644: others can read it\n +→ chmod 600/)
  assert.match(stdout, /migrations +warn +pending: table notes\n/)
  const broken = await gatehook({ cwd, env: { GATEHOOK_PORT: 'x' } }, 'doctor')
  assert.equal(broken.exit, 1)
  assert.match(broken.stdout, /configuration +fail +GATEHOOK_PORT is "x"/)
})

test('openapi is what the service serves, without a database', async (t) => {
  const cwd = emptyFolder(t)
  const base = 'https://api.example.com'
  const args = ['--version', 'v1', '--out', 'v1.json', '--public-url', base]
  assert.equal((await gatehook({ cwd }, 'openapi', ...args)).exit, 0)
  assert.equal(existsSync(join(cwd, 'data')), false)
  const written = JSON.parse(readFileSync(join(cwd, 'v1.json'), 'utf8'))
  const { url } = await serving(t, { cwd, env: { GATEHOOK_PUBLIC_URL: base } }, '--no-seed')
  const served = await fetch(`${url}/openapi/v1.json`, { headers: { host: 'api.example.com' } })
  assert.deepEqual(written, await served.json())
})
