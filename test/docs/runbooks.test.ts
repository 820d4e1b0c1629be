/** Each runbook of `docs/guides/operations.md` is executed as it is written, on a machine. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createOperator, openLinkSession } from '../browser/operator-session.ts'
import { onEnd } from '../rig/cleanup.ts'
import { damageSqlite } from '../rig/damage.ts'
import { eventually } from '../rig/eventually.ts'
import { canMount, mountSmallDisk } from '../rig/small-disk.ts'
import { type CommandResult, commandsOf, type Machine, setUpMachine } from './machine.ts'

const noSqlite = spawnSync('sqlite3', ['--version']).status !== 0 && 'sqlite3 is not installed'

/** Returns the JSON that a command prints. */
async function jsonOf(machine: Machine, command: string) {
  const { exit, output } = await machine.run(`${command} --json`)
  assert.equal(exit, 0, output)
  return JSON.parse(output)
}

const createKey = (machine: Machine, scopes: string, mode = 'test') =>
  jsonOf(machine, `gatehook keys create --name k --mode ${mode} --scopes ${scopes}`)

async function send(machine: Machine, path: string, key: string, init: RequestInit = {}) {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const response = await fetch(machine.url + path, { ...init, headers })
  // biome-ignore lint/suspicious/noExplicitAny: tests read the members of each response
  return { status: response.status, body: (await response.json()) as any }
}

const statusOf = async (machine: Machine, path: string, key: string) =>
  (await send(machine, path, key)).status

const outputOf = (results: readonly CommandResult[], start: string): string =>
  results.find(({ command }) => command.startsWith(start))!.output

/** Starts the service with sample rows. */
async function startMachine(t: TestContext, lib?: string): Promise<Machine> {
  const machine = await setUpMachine(t, lib)
  const started = await machine.run('systemctl start gatehook')
  assert.equal(started.exit, 0, `${started.output}${readFileSync(join(machine.service, 'log'))}`)
  return machine
}

test('an operator leaves', async (t) => {
  const machine = await startMachine(t)
  const link = await machine.run('gatehook operators link')
  const first = await openLinkSession(machine.url, /http\S+token=\S+/.exec(link.output)![0])
  const ann = await createOperator(first, 'administrator')
  const { data } = await jsonOf(machine, 'gatehook operators list')
  const { email } = data[0]
  const asAnn = async (path: string, body: object) => {
    const cookie = `${ann.name}=${ann.value}`
    const headers = { cookie, 'x-gatehook-console': '1', 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(machine.url + path, init)
    return { status: response.status, body: JSON.parse((await response.text()) || '{}') }
  }
  const createAs = async (path: string, scopes: string[]) => {
    const { status, body } = await asAnn(path, { name: 'k', mode: 'test', scopes })
    assert.equal(status, 201, JSON.stringify(body))
    return body
  }
  const rolled = await createAs('/admin/keys', ['orders:read'])
  const revoked = await createAs('/admin/keys', ['orders:read'])
  const client = await createAs('/admin/clients', ['orders:read'])
  const results = await machine.follow('An operator leaves', {
    values: {
      'ann@example.com': email,
      'key_…': [rolled.id, revoked.id],
      CLIENT_ID: client.client_id,
    },
  })
  for (const id of [rolled.id, revoked.id, client.client_id]) {
    assert.ok(outputOf(results, 'gatehook operators disable').includes(id), id)
    assert.ok(outputOf(results, 'gatehook operators credentials').includes(id), id)
  }
  assert.match(outputOf(results, 'gatehook audit list'), /key\.create[\s\S]*key\.create/)
  assert.equal((await asAnn('/admin/keys', {})).status, 401)
  const ended = () => statusOf(machine, '/api/v2/orders', revoked.key)
  await eventually(ended, (status) => status === 403)
})

test('a key has leaked', async (t) => {
  const machine = await startMachine(t)
  const leaked = await createKey(machine, 'admin', 'live')
  const rolled = await createKey(machine, 'orders:read')
  const body = JSON.stringify({ name: 'of the thief', mode: 'test', scopes: ['orders:read'] })
  const later = await send(machine, '/admin/keys', leaked.key, { method: 'POST', body })
  assert.equal(later.status, 201)
  const person = 'gatehook users create name=Ann email=ann@example.com'
  const created = await machine.run(person, 'a long enough phrase')
  assert.equal(created.exit, 0, created.output)
  const stored = () => machine.run(`gatehook requests --key ${leaked.id}`)
  await eventually(stored, ({ output }) => output.includes('POST /admin/keys'))
  const results = await machine.follow('A key has leaked', {
    values: {
      'key_…': [leaked.id, rolled.id, leaked.id, leaked.id],
    },
  })
  assert.ok(outputOf(results, 'gatehook audit list').includes(later.body.id))
  assert.match(outputOf(results, 'gatehook requests --key'), /POST \/admin\/keys/)
  assert.ok(outputOf(results, 'gatehook keys list').includes(later.body.id))
  for (const [key, path] of [
    [leaked.key, '/admin/keys'],
    [rolled.key, '/api/v2/orders'],
  ]) {
    const ended = () => statusOf(machine, path, key)
    await eventually(ended, (status) => status === 403)
  }
})

test('a signing key has leaked', async (t) => {
  const machine = await startMachine(t)
  const client = await jsonOf(
    machine,
    'gatehook clients create --name c --mode test --scope orders:read',
  )
  const readWithToken = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${machine.url}/api/v2/orders`, { headers })).status
  }
  const issue = async () => {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client.client_id,
      client_secret: client.client_secret,
    })
    const response = await fetch(`${machine.url}/oauth/token`, { method: 'POST', body: form })
    return ((await response.json()) as { access_token: string }).access_token
  }
  const former = await issue()
  assert.equal(await readWithToken(former), 200)
  await machine.follow('A signing key has leaked')
  const ended = () => readWithToken(former)
  await eventually(ended, (status) => status === 401)
  assert.equal(await readWithToken(await issue()), 200)
})

test('the master secret is lost', async (t) => {
  const machine = await startMachine(t)
  const { key } = await createKey(machine, 'orders:read')
  const results = await machine.follow('The master secret is lost', {
    values: { PID: machine.pid() },
    before: {
      async 'gatehook secrets reset'() {
        await machine.run('systemctl stop gatehook')
        rmSync(join(machine.lib, 'secret.key'))
        const refused = await machine.run('gatehook start')
        assert.equal(refused.exit, 78, refused.output)
      },
    },
  })
  assert.match(outputOf(results, 'tr '), /GATEHOOK_DATABASE_URL=/)
  assert.equal((await machine.run('systemctl start gatehook')).exit, 0)
  assert.equal(await statusOf(machine, '/api/v2/orders', key), 200)
})

test('the database is damaged', { skip: noSqlite }, async (t) => {
  const machine = await startMachine(t)
  const { key } = await createKey(machine, 'orders:read')
  await machine.run('systemctl stop gatehook')
  damageSqlite(join(machine.lib, 'gatehook.db'), "name = 'orders' AND pagetype = 'leaf'")
  assert.equal((await machine.run('systemctl start gatehook')).exit, 0)
  const results = await machine.follow('The database is damaged', {
    mayFail: ['gatehook doctor', 'sqlite3 gatehook.db .dump', 'grep'],
  })
  const findings = results.filter(({ command }) => command.startsWith('gatehook doctor'))
  assert.match(findings[0]!.output, /pages +fail +damaged: orders/)
  assert.match(findings.at(-1)!.output, /pages +ok/)
  const after = await machine.run('gatehook doctor --deep')
  assert.match(after.output, /totals +ok/)
  const { status, body } = await send(machine, '/api/v2/orders?pagination=offset', key)
  assert.equal(status, 200)
  assert.ok(JSON.stringify(body).includes('"data"'))
})

test('the disk is full', { skip: !canMount() && 'mounting a disk needs root' }, async (t) => {
  const disk = await mountSmallDisk(64)
  onEnd(t, disk.unmount)
  const machine = await startMachine(t, disk.folder)
  const { key } = await createKey(machine, 'users:write,users:read')
  const create = (n: number) => {
    const body = JSON.stringify({ name: 'x'.repeat(90), email: `u${n}@example.com` })
    return send(machine, '/api/v2/users', key, { method: 'POST', body })
  }
  await disk.fill()
  let n = 0
  await eventually(
    () => create(n++),
    ({ status }) => status === 503,
  )
  const results = await machine.follow('The disk is full', { before: { 'curl -i': disk.free } })
  assert.match(outputOf(results, 'df'), / 100% /)
  const ready = () => machine.run(commandsOf('The disk is full').find((c) => c.startsWith('curl'))!)
  await eventually(ready, ({ output }) => /^HTTP\/1\.1 200/.test(output))
  assert.equal((await create(n)).status, 201)
})

const declaration = (
  fields: string,
  more: string,
) => `import { f, resource, service } from 'gatehook'

const notes = resource('notes', {
  fields: { id: f.id(), text: f.string()${fields}, created_at: f.createdAt() },
  list: { filter: ['id'], sort: ['id'] },
  access: { read: 'notes:read', create: 'notes:write', update: 'notes:write', delete: false },
  events: ['note.created'],
  ${more.includes('retired') ? more : ''}
})
export const api = service({
  name: 'notes',
  versions: { v1: { released: '2026-06-01' } },
  resources: [notes],
  ${more.includes('migrations') ? more : ''}
})
`

test('a field is removed', async (t) => {
  const machine = await setUpMachine(t)
  const release = async (fields: string, more: string) => {
    writeFileSync(join(machine.service, 'service.ts'), declaration(fields, more))
  }
  const restart = async () => {
    await machine.run('systemctl stop gatehook')
    assert.equal((await machine.run('systemctl start gatehook')).exit, 0)
  }
  await release(', note: f.string().nullable()', '')
  assert.equal((await machine.run('systemctl start gatehook')).exit, 0)
  const { key } = await createKey(machine, 'notes:write,notes:read')
  const body = JSON.stringify({ text: 'A', note: 'B' })
  const { status } = await send(machine, '/api/v1/notes', key, { method: 'POST', body })
  assert.equal(status, 201)
  await release('', "retired: ['note'],")
  await restart()
  const sql = 'ALTER TABLE notes DROP COLUMN note'
  await release('', `migrations: [{ number: 1, name: 'drop', table: 'notes', sql: '${sql}' }],`)
  const results = await machine.follow('A field is removed')
  assert.ok(outputOf(results, 'gatehook migrate --plan').includes('DROP COLUMN note'))
  await restart()
  const { body: list } = await send(machine, '/api/v1/notes', key)
  assert.deepEqual([list.data[0].text, list.data[0].note], ['A', undefined])
})

test('the database is on a network disk', { skip: noSqlite }, async (t) => {
  const machine = await startMachine(t)
  const { key } = await createKey(machine, 'orders:read')
  const results = await machine.follow('The database is on a network disk', {
    before: {
      'sqlite3 /local'() {
        machine.environment.GATEHOOK_DATABASE_URL = `sqlite:${join(machine.local, 'gatehook.db')}`
      },
    },
  })
  assert.equal(outputOf(results, 'sqlite3').trim(), 'ok')
  assert.equal(await statusOf(machine, '/api/v2/orders', key), 200)
  const { body } = await send(machine, '/readyz', key)
  assert.deepEqual(body.warnings ?? [], [], 'a folder that moved is no restored data')
})
