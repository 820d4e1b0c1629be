/** `customers`, `migrate`, `doctor` and `openapi`, each in its own folder. */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { gatehook, installed, jsonOf } from './command.ts'
import { serving } from './process.ts'

test('customers are created, suspended and resumed', async (t) => {
  const place = await installed(t)
  const acme = await jsonOf(place, 'customers', 'create', 'Acme Ltd')
  assert.equal((await jsonOf(place, 'customers', 'suspend', acme.id)).suspended, true)
  const list = await gatehook(place, 'customers', 'list')
  assert.match(list.stdout, new RegExp(`${acme.id} +Acme Ltd +- +suspended`))
  assert.equal((await jsonOf(place, 'customers', 'resume', acme.id)).suspended, false)
  const unknown = await gatehook(place, 'customers', 'suspend', 'cus_none')
  assert.match(unknown.stderr, /There is no customer cus_none\./)
  const own = await gatehook(place, 'customers', 'suspend', 'default')
  assert.equal(own.exit, 2)
})

test('a link to the portal of a customer opens one session', async (t) => {
  const place = await installed(t)
  const acme = await jsonOf(place, 'customers', 'create', 'Acme Ltd')
  const flags = ['--public-url', 'https://api.example.com', '--mode', 'test']
  const link = await jsonOf(place, 'portal-link', acme.id, ...flags, '--email', 'ada@example.com')
  assert.match(link.url, /^https:\/\/api\.example\.com\/portal#token=[\w-]{43}$/)
  assert.deepEqual([link.customer, link.mode, link.email], [acme.id, 'test', 'ada@example.com'])
  const scopes = ['webhooks:write', 'events:read', 'orders:read', 'users:read']
  assert.deepEqual(new Set(scopes).difference(new Set(link.can)), new Set())
  assert.ok(!link.can.includes('admin') && !link.can.includes('keys:write'))
  const narrow = await gatehook(place, 'portal-link', acme.id, '--can', 'events:read')
  assert.match(narrow.stdout, /once, until .* with events:read:\n\n {2}http:.*\/portal#token=/)
  const unknown = await gatehook(place, 'portal-link', acme.id, '--can', 'event:read')
  assert.deepEqual([unknown.exit, /did you mean events:read/.test(unknown.stderr)], [2, true])
  const missing = await gatehook(place, 'portal-link', 'cus_none')
  assert.equal(missing.exit, 2)
  const admin = await gatehook(place, 'portal-link', acme.id, '--can', 'admin')
  assert.equal(admin.exit, 2)

  const run = await serving(t, place, '--no-seed')
  const { hash } = new URL(link.url)
  const open = () =>
    fetch(`${run.url}/portal/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: hash.slice('#token='.length) }),
    })
  const opened = await open()
  assert.equal(opened.status, 201)
  assert.equal(((await opened.json()) as { customer: { id: string } }).customer.id, acme.id)
  assert.equal((await open()).status, 401)
})

test('links have the address of the node that runs, unless flags name another', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const run = await serving(t, place, '--no-seed')
  const baseOf = async (...args: string[]) => {
    const { url } = await jsonOf(place, ...args)
    return url.split('/').slice(0, 3).join('/')
  }
  assert.equal(await baseOf('portal-link', 'default'), run.url)
  assert.equal(await baseOf('operators', 'link'), run.url)
  assert.equal(await baseOf('operators', 'link', '--port', '4000'), 'http://127.0.0.1:4000')
  run.kill('SIGTERM')
  await run.ended
  assert.equal(await baseOf('operators', 'link'), 'http://127.0.0.1:8787')
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
  assert.match((await gatehook(place, 'migrate')).stderr, /engine migrated to/)
  assert.match((await gatehook(place, 'migrate')).stdout, /is up to date\.\n$/)
  writeFileSync(join(cwd, 'service.ts'), otherService)
  const { exit, stderr } = await gatehook(place, 'keys', 'list')
  assert.equal(exit, 1)
  assert.match(stderr, /The database lacks table notes\. .*--dir DIR.*gatehook migrate/)
  assert.equal((await gatehook(place, 'migrate')).exit, 0)
  assert.equal((await gatehook(place, 'keys', 'list')).exit, 0)
})

test('a pending migration of the service is named, not the existing table', async (t) => {
  const cwd = emptyFolder(t)
  writeFileSync(join(cwd, 'service.ts'), otherService)
  await gatehook({ cwd }, 'migrate')
  const sql = 'UPDATE notes SET text = trim(text)'
  const migration = `{ number: 1, name: 'trim texts', table: 'notes', sql: '${sql}' }`
  const more = otherService.replace('[notes],', `[notes],\n  migrations: [${migration}],`)
  writeFileSync(join(cwd, 'service.ts'), more)
  const refused = await gatehook({ cwd }, 'customers', 'list')
  assert.match(refused.stderr, /The database lacks migration 1 trim texts of table notes\. /)
})

test('commands do not create a missing database', async (t) => {
  const cwd = emptyFolder(t)
  for (const args of [
    ['keys', 'list'],
    ['webhooks', 'create', 'https://x.example/', '--events', '*'],
    ['listen', '--forward-to', '127.0.0.1:9/hook'],
    ['trigger', 'order.paid'],
  ]) {
    const { exit, stdout, stderr } = await gatehook({ cwd }, ...args)
    assert.deepEqual([exit, stdout], [1, ''])
    assert.match(stderr, /There is no database at \/.*\/data\/gatehook\.db\. Start the service/)
  }
  assert.equal(existsSync(join(cwd, 'data')), false)
})

test('doctor reports problems and changes nothing', async (t) => {
  const cwd = emptyFolder(t)
  const place = { cwd, env: { GATEHOOK_PORT: '0' } }
  const fresh = await jsonOf(place, 'doctor')
  assert.deepEqual(
    fresh.checks.filter(({ state }: { state: string }) => state !== 'ok'),
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

test('openapi prints the served document, without a database', async (t) => {
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

test('client types writes the types of a version, without a database', async (t) => {
  const place = { cwd: emptyFolder(t) }
  assert.equal((await gatehook(place, 'client', 'types', '--out', 'api.ts')).exit, 0)
  assert.equal(existsSync(join(place.cwd, 'data')), false)
  assert.match(readFileSync(join(place.cwd, 'api.ts'), 'utf8'), /readonly version: 'v2'\n/)
  const older = await gatehook(place, 'client', 'types', '--version', 'v1')
  assert.match(older.stdout, /^\/\*\* Types of .* v1\..*readonly version: 'v1'\n/s)
  const unknown = await gatehook(place, 'client', 'types', '--version', 'v7')
  assert.equal(unknown.exit, 2)
  assert.match(unknown.stderr, /There is no version v7; there are v1, v2/)
})

const SCOPES = ['--scopes', 'users:read'] as const

test('with --url, administration goes to a running node', async (t) => {
  const place = await installed(t)
  const { url } = await serving(t, place, '--no-seed')
  const { key } = await jsonOf(place, 'keys', 'create', '--name', 'admin', '--scopes', 'admin')
  const remote = { cwd: emptyFolder(t), env: { GATEHOOK_API_KEY: key } }
  const created = await jsonOf(remote, 'customers', 'create', 'Remote Ltd', '--url', url)
  const { data } = await jsonOf(place, 'customers', 'list')
  assert.deepEqual(
    data.filter((row: { id: string }) => row.id === created.id),
    [created],
  )
  const versions = await jsonOf(remote, 'versions', 'list', '--url', url)
  assert.deepEqual(versions, await jsonOf(place, 'versions', 'list'))
  const till = await jsonOf(remote, 'keys', 'create', '--name', 'Till', '--url', url, ...SCOPES)
  assert.equal((await gatehook(remote, 'keys', 'revoke', till.id, '--url', url)).exit, 0)
  const revoked = await jsonOf(remote, 'keys', 'list', '--revoked', '--url', url)
  assert.deepEqual(
    revoked.data.map((row: { id: string; revoked_at: string }) => [
      row.id,
      row.revoked_at !== null,
    ]),
    [[till.id, true]],
  )
  const resources = await fetch(`${url}/admin/resources`, { headers: { 'x-api-key': key } })
  assert.match(await resources.text(), /"is_reference":true/, 'the folder declares no service')
  const invalid = await gatehook(remote, 'customers', 'suspend', 'default', '--url', url)
  assert.equal(invalid.exit, 2)
  const keyless = await gatehook(place, 'keys', 'list', '--url', url)
  assert.deepEqual([keyless.exit, /GATEHOOK_API_KEY/.test(keyless.stderr)], [1, true])
  assert.equal(existsSync(join(remote.cwd, 'data')), false)
})

test('a local command adds one audit row and no key, at any request limit', async (t) => {
  const place = { cwd: emptyFolder(t), env: { GATEHOOK_RATE_LIMIT: '1/60' } }
  await gatehook(place, 'migrate')
  const { id } = await jsonOf(place, 'customers', 'create', 'Acme Ltd')
  for (let n = 0; n < 2; n++) assert.equal((await gatehook(place, 'keys', 'list')).exit, 0)
  const { data } = await jsonOf(place, 'audit', 'list')
  const [row] = data.filter((entry: { action: string }) => entry.action.startsWith('customer.'))
  assert.deepEqual([row.target, row.principal.kind, row.address], [id, 'cli', null])
  assert.equal(data.filter(({ action }: { action: string }) => action.startsWith('key.')).length, 0)
})

test('migrate --plan prints what the next start changes, and changes nothing', async (t) => {
  const cwd = emptyFolder(t)
  const missing = await gatehook({ cwd }, 'migrate', '--plan')
  assert.deepEqual(
    [missing.exit, missing.stdout],
    [0, 'There is no database yet: a start creates it.\n'],
  )
  assert.ok(!existsSync(join(cwd, 'data')))
  writeFileSync(join(cwd, 'service.ts'), otherService)
  await gatehook({ cwd }, 'migrate')
  const upToDate = await gatehook({ cwd }, 'migrate', '--plan')
  assert.equal(upToDate.stdout, 'The database is up to date.\n')
  const more = otherService.replace("filter: ['id']", "filter: ['id', 'text']")
  writeFileSync(join(cwd, 'service.ts'), more)
  const { exit, stdout } = await gatehook({ cwd }, 'migrate', '--plan')
  assert.equal(exit, 0)
  assert.match(stdout, /^CREATE INDEX notes_by_text ON notes .*;\n {2}declaration, at start · lock/)
  const derive = (sql: string) =>
    otherService
      .replace('created_at', `size: f.derived(f.int(), '${sql}'), created_at`)
      .replace("filter: ['id']", "filter: ['id', 'size']")
  writeFileSync(join(cwd, 'service.ts'), derive('length(text)'))
  await gatehook({ cwd }, 'migrate')
  writeFileSync(join(cwd, 'service.ts'), derive('2 * length(text)'))
  const unused = await gatehook({ cwd }, 'migrate', '--plan')
  assert.match(unused.stdout, /\nDROP INDEX notes_by_size_\w+;\n.* at start · table notes · lock/)
  writeFileSync(join(cwd, 'service.ts'), otherService.replace('text: f.string(), ', ''))
  const refused = await gatehook({ cwd }, 'migrate', '--plan', '--json')
  assert.equal(refused.exit, 1)
  assert.match(JSON.parse(refused.stdout).rejected[0], /^notes\.text holds data/)
})
