/** §18.5: an export of the audit trail revokes again in restored data. */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { applications } from '../../src/cli/revocations.ts'
import { auditActions } from '../../src/history/audit/actions.ts'
import { gatehook, installed, jsonOf, type Place, serving } from '../cli/process.ts'
import { PASSWORD } from '../people/rig.ts'

const KEY = ['keys', 'create', '--name', 'k', '--scopes']
const people = ['keeps', 'disabled', 'changed'].map((name) => `${name}@example.com`)

const withKey = (key: string) => ({ headers: { 'x-api-key': key } })
const statusOf = async (url: string, key: string) =>
  (await fetch(`${url}/api/v2/orders`, withKey(key))).status

async function revocationsAt(url: string, key: string): Promise<string> {
  const response = await fetch(`${url}/admin/system`, withKey(key))
  return ((await response.json()) as { restore: { revocations: string } }).restore.revocations
}

const loginStatus = async (url: string, username: string) => {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ username, password: PASSWORD })
  return (await fetch(`${url}/auth/login`, { method: 'POST', headers, body })).status
}

async function exportTo(place: Place, file: string): Promise<string> {
  const { exit, stdout, stderr } = await gatehook(place, 'audit', 'export')
  assert.equal(exit, 0, stderr)
  writeFileSync(file, stdout)
  return stdout
}

/** An installation with revocations after its backup, and the restored backup. */
async function revokedAfterBackup(t: TestContext) {
  const place = await installed(t)
  const key = async (scopes: string) =>
    (await jsonOf(place, ...KEY, scopes)) as Record<string, string>
  const [validKey, revoked, rolled] = [
    await key('orders:read'),
    await key('orders:read'),
    await key('orders:read'),
  ]
  const admin = await key('admin')
  for (const email of people) {
    const fields = ['name=A', `email=${email}`]
    await jsonOf({ ...place, input: PASSWORD }, 'users', 'create', ...fields)
  }
  const run = await serving(t, place, '--no-seed')
  const jwks = await (await fetch(`${run.url}/.well-known/jwks.json`)).text()
  const backup = join(place.cwd, 'b.gatehook')
  await jsonOf(place, 'backup', backup)
  await jsonOf(place, 'keys', 'revoke', revoked.id!)
  await jsonOf(place, 'keys', 'roll', rolled.id!, '--overlap', '0s')
  await jsonOf(place, 'users', 'disable', people[1]!)
  await jsonOf({ ...place, input: 'a different horse' }, 'users', 'password', people[2]!)
  const later = await key('orders:read')
  await jsonOf(place, 'keys', 'revoke', later.id!)
  run.kill('SIGTERM')
  await run.ended
  const restored = { cwd: emptyFolder(t) }
  mkdirSync(join(restored.cwd, 'data'))
  cpSync(join(place.cwd, 'data', 'secret.key'), join(restored.cwd, 'data', 'secret.key'))
  await jsonOf(restored, 'restore', backup)
  return { place, restored, validKey, revoked, rolled, admin, jwks }
}

test('an export revokes again beside a running node', async (t) => {
  const { place, restored, validKey, revoked, rolled, admin } = await revokedAfterBackup(t)
  const { url } = await serving(t, restored, '--no-seed')
  for (const { key } of [revoked, rolled]) assert.equal(await statusOf(url, key!), 200, 'revived')
  for (const email of people) assert.equal(await loginStatus(url, email), 200, email)
  const file = join(restored.cwd, 'audit.ndjson')
  await exportTo(place, file)
  const result = await jsonOf(restored, 'restore', '--revocations', file)
  assert.deepEqual([result.applied, result.missing, result.failures], [4, 1, []])
  for (const { key } of [revoked, rolled]) {
    await eventually(
      () => statusOf(url, key!),
      (status) => status === 403,
    )
  }
  assert.equal(await statusOf(url, validKey.key!), 200)
  assert.deepEqual(
    await Promise.all(people.map((email) => loginStatus(url, email))),
    [200, 401, 401],
  )
  assert.equal(await revocationsAt(url, admin.key!), 'applied')
  const trail = await jsonOf(restored, 'audit', 'list', '--action', 'restore.revocations')
  assert.equal(trail.data[0].action, 'restore.revocations')
  const again = await jsonOf(restored, 'restore', '--revocations', file)
  assert.deepEqual(again.failures, [])
})

/** Actions that take no permission from a credential, or of which a restore leaves nothing. */
const UNRELATED = new Set(
  [
    'attention audit clock database installation job master_secret portal portal_link restore',
    'version',
  ].flatMap((line) => line.split(' ')),
)
const HARMLESS = new Set(
  [
    'create grant invite link login logout recovery_code refresh_race rename request',
    'request_rename second_factor_confirm second_factor_enrol session_end sign_in sign_out sign_up',
    'throttled lost_events recover replay resend stop_replay',
  ].flatMap((line) => line.split(' ')),
)
/** A receiver accepts no signature of the former secret. */
const REJECTED_BY_RECEIVERS = 'webhook.rotate_secret'
const WITHOUT_EFFECT = Object.keys(auditActions).filter(
  (action) =>
    action === REJECTED_BY_RECEIVERS ||
    UNRELATED.has(action.split('.')[0]!) ||
    HARMLESS.has(action.split('.')[1]!),
)

test('each action of the audit trail is applied, or takes nothing from a credential', () => {
  const actions = [...Object.keys(applications), ...WITHOUT_EFFECT]
  assert.deepEqual(actions.sort(), Object.keys(auditActions).sort())
})

eachService('replaced signing keys verify no token any more', async ({ app, as, key }) => {
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const person = { name: 'A', email: 'a@example.com', password: PASSWORD, mode: 'test' }
  assert.equal((await admin.post('/admin/users', person)).status, 201)
  const login = async () =>
    (await as(undefined).post('/auth/login', { username: person.email, password: PASSWORD })).body
      .access_token as string
  const read = async (token: string) =>
    (await as(undefined).get('/api/v2/protected', { authorization: `Bearer ${token}` })).status
  const former = await login()
  await app.tokens.replaceSigningKeys({ kind: 'cli', id: 'test' })
  assert.equal(await read(former), 401)
  assert.equal(await read(await login()), 200)
})

eachService('a revoked access token stays revoked', async ({ app, as, key }) => {
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const person = { name: 'A', email: 'a@example.com', password: PASSWORD, mode: 'test' }
  assert.equal((await admin.post('/admin/users', person)).status, 201)
  const login = { username: person.email, password: PASSWORD }
  const { access_token: token } = (await as(undefined).post('/auth/login', login)).body
  const read = async () =>
    (await as(undefined).get('/api/v2/protected', { authorization: `Bearer ${token}` })).status
  assert.equal(await read(), 200)
  const { jti } = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString())
  const installation = { app, accessTokenTtlS: 900 } as Parameters<Revocation>[0]
  await applications['token.revoke']!(installation, { at: Date.now(), target: jti, detail: {} })
  assert.equal(await read(), 401)
})

type Revocation = (typeof applications)[string]

test('receivers that were deleted, disabled or replaced since get no event', async (t) => {
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.end())
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  t.after(() => receiver.close())
  const { port } = receiver.address() as AddressInfo
  const env = { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' }
  const place = { ...(await installed(t)), env }
  const names = ['keeps', 'renamed', 'deleted', 'disabled', 'moved']
  const ids: Record<string, string> = {}
  for (const name of names) {
    const url = `http://127.0.0.1:${port}/${name}`
    ids[name] = (await jsonOf(place, 'webhooks', 'create', url, '--events', 'order.*')).id
  }
  const backup = join(place.cwd, 'b.gatehook')
  const run = await serving(t, place, '--no-seed')
  await jsonOf(place, 'backup', backup)
  const { key } = await jsonOf(place, ...KEY, WEBHOOKS, '--mode', 'test')
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const patch = async (name: string, change: object) => {
    const request = { method: 'PATCH', headers, body: JSON.stringify(change) }
    const response = await fetch(`${run.url}/webhooks/${ids[name]}`, request)
    assert.equal(response.status, 200, await response.text())
  }
  await patch('renamed', { description: 'another' })
  await jsonOf(place, 'webhooks', 'delete', ids.deleted!)
  await patch('disabled', { active: false })
  await patch('moved', { url: `http://127.0.0.1:${port}/new` })
  run.kill('SIGTERM')
  await run.ended
  const restored = { cwd: emptyFolder(t), env }
  mkdirSync(join(restored.cwd, 'data'))
  cpSync(join(place.cwd, 'data', 'secret.key'), join(restored.cwd, 'data', 'secret.key'))
  await jsonOf(restored, 'restore', backup)
  const file = join(restored.cwd, 'audit.ndjson')
  await exportTo(place, file)
  const result = await jsonOf(restored, 'restore', '--revocations', file)
  assert.deepEqual(result.failures, [])
  const { data } = await jsonOf(restored, 'webhooks', 'list')
  const active = data.filter((webhook: { active: boolean }) => webhook.active)
  assert.deepEqual(
    active.map(({ id }: { id: string }) => id).sort(),
    [ids.keeps, ids.renamed].sort(),
  )
  assert.equal(data.length, names.length - 1)
})

const WEBHOOKS = 'webhooks:write,orders:read,users:read,events:read'

test('revocations may be applied before the first start', async (t) => {
  const { place, restored, revoked, admin } = await revokedAfterBackup(t)
  const file = join(restored.cwd, 'audit.ndjson')
  await exportTo(place, file)
  await jsonOf(restored, 'restore', '--revocations', file)
  const { url } = await serving(t, restored, '--no-seed')
  assert.equal(await statusOf(url, revoked.key!), 403)
  assert.equal(await revocationsAt(url, admin.key!), 'applied')
})

test('an export that was changed, cut or is of another installation applies nothing', async (t) => {
  const { place, restored, revoked } = await revokedAfterBackup(t)
  const file = join(restored.cwd, 'audit.ndjson')
  const lines = (await exportTo(place, file)).trim().split('\n')
  const other = await installed(t)
  const otherLines = (await exportTo(other, join(other.cwd, 'o'))).trim().split('\n')
  const cases: [lines: string[], sentence: RegExp][] = [
    [lines.map((line) => line.replace('key.revoke', 'key.create')), /broken at row aud_/],
    [lines.filter((_, at) => at !== 3), /broken at row aud_/],
    [lines.slice(-1), /does not continue the audit trail/],
    [otherLines, /broken at row aud_/],
    [[...lines, '{'], /line \d+ is no JSON/],
    [['1'], /Line 1 is no audit row/],
  ]
  for (const [content, sentence] of cases) {
    writeFileSync(file, `${content.join('\n')}\n`)
    const { exit, stderr } = await gatehook(restored, 'restore', '--revocations', file)
    assert.equal(exit, 1, stderr)
    assert.match(stderr, sentence)
  }
  const { data } = await jsonOf(restored, 'keys', 'list')
  const key = data.find(({ id }: { id: string }) => id === revoked.id)
  assert.equal(key.revoked_at ?? null, null, readFileSync(file, 'utf8').slice(0, 80))
})
