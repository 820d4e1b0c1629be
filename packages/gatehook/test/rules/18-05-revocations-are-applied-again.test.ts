/** §18.5: an export of the audit trail revokes again in restored data. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { ApiError } from '../../src/cli/api.ts'
import { applications, endings, replacements } from '../../src/cli/revocation-actions.ts'
import { applyRows } from '../../src/cli/revocations.ts'
import { auditActions } from '../../src/history/audit/actions.ts'
import type { AuditRow } from '../../src/history/audit/chain.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { gatehook, installed, jsonOf } from '../cli/command.ts'
import { serving } from '../cli/process.ts'
import { backedUp, exportTo } from '../cli/restored.ts'
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
  const restore = await backedUp(t, place)
  await jsonOf(place, 'keys', 'revoke', revoked.id!)
  await jsonOf(place, 'keys', 'roll', rolled.id!, '--overlap', '0s')
  await jsonOf(place, 'users', 'disable', people[1]!)
  await jsonOf({ ...place, input: 'a different horse' }, 'users', 'password', people[2]!)
  const later = await key('orders:read')
  await jsonOf(place, 'keys', 'revoke', later.id!)
  run.kill('SIGTERM')
  await run.ended
  const restored = await restore()
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
  assert.equal(result.complete, true)
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

/** Why an action takes nothing that restored data still has. */
const HARMLESS: Readonly<Record<string, string>> = {
  'It changes no credential and no receiver.':
    'attention.delay audit.purge audit.set_back audit.start clock.set customer.export ' +
    'customer.request database.promoted ' +
    'installation.move installation.moved installation.move_undo job.cancel job.retry ' +
    'login.throttled person.export token.refresh_race restore.recognize restore.release ' +
    'restore.confirm restore.revocations version.notice version.update webhook.lost_events ' +
    'webhook.recover ' +
    'webhook.replay webhook.resend webhook.stop_replay',
  'It gives a permission, or an object that the backup lacks.':
    'client.create client.register consent.grant customer.create key.create ' +
    'operator.create ' +
    'operator.passkey_create passkey.create person.create person.sign_up session.create ' +
    'webhook.create',
  'It is a step: what follows from it has an action of its own.':
    'customer.deleted operator.invite operator.second_factor_enrol person.erased ' +
    'person.request_rename',
  'Links, codes and sessions of console and portal end in restored data.':
    'operator.break_glass operator.link operator.recovery_code operator.session_end ' +
    'operator.sign_in ' +
    'operator.sign_out person.login person.logout portal.sign_in portal.sign_out ' +
    'portal_link.create portal_link.revoke',
  'Receivers reject signatures of the former secret.': 'webhook.rotate_secret',
  'A backup needs the master secret of its time; the operator rotates it again.':
    'master_secret.reset master_secret.rotate master_secret.rotated',
}

test('each action of the audit trail is applied, or has a reason why it is not', () => {
  const harmless = Object.values(HARMLESS).flatMap((actions) => actions.split(' '))
  const applied = [...Object.keys(applications), ...Object.keys(replacements)]
  const actions = new Set([...applied, ...harmless])
  assert.deepEqual([...actions].sort(), Object.keys(auditActions).sort())
  const both = applied.filter((action) => harmless.includes(action))
  assert.deepEqual(both, [])
})

/** The API of the command line, over an app of the test. */
async function installationOf({ app, as, key }: TestApp) {
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const request = async (method: string, path: string, body?: unknown) => {
    const reply = await admin.send(method as 'GET', path, body)
    if (reply.status < 400) return reply.body
    throw new ApiError(reply.text, 1, reply)
  }
  const installation = { app, api: { request }, accessTokenTtlS: 900, issuerRules: new Map() }
  return { admin, installation: installation as unknown as Parameters<Revocation>[0] }
}

eachService('an action on an object that the backup lacks is no failure', async (service) => {
  const { installation } = await installationOf(service)
  const details = {
    subject: '99',
    suspended: true,
    role: 'support',
    host: 'h',
    scopes: [],
    rules: [],
  }
  const all = [...Object.entries(applications), ...Object.entries(endings)]
  for (const [, { apply }] of Object.entries(replacements)) all.push(['replacement', apply])
  for (const [action, apply] of all) {
    const entry = { at: Date.now(), target: '99', detail: details }
    const error = await apply(installation, entry).then(
      () => undefined,
      (reason) => reason,
    )
    const code = error?.response?.body.error ?? error?.code
    assert.ok(error === undefined || code === 'not_found', `${action}: ${error?.message}`)
  }
})

eachService('a narrowed key has no more than the trail says, also after its expiry', async (s) => {
  const { admin, installation } = await installationOf(s)
  const create = async () => {
    const body = { name: 'k', scopes: ['orders:read', 'orders:write'], mode: 'test' }
    return (await admin.post('/admin/keys', body)).body as Record<string, string>
  }
  const past = new Date(Date.now() - 1000).toISOString()
  const update = (key: Record<string, string>, detail: object) =>
    applications['key.update']!(installation, {
      at: Date.now(),
      target: key.id!,
      detail: { ...detail, widened: false },
    })
  const statusOf = async ({ key }: Record<string, string>, method = 'GET') =>
    (await s.as(key).send(method as 'GET', '/api/v2/orders', method === 'GET' ? undefined : {}))
      .status
  const [expired, narrowed] = [await create(), await create()]
  assert.deepEqual([await statusOf(expired), await statusOf(narrowed, 'POST')], [200, 422])
  await update(expired, { scopes: ['orders:read'], expires_at: past })
  await update(expired, { name: 'renamed' })
  // The declaration no longer has the second scope.
  await update(narrowed, { scopes: ['orders:read', 'gone:read'] })
  assert.deepEqual([await statusOf(expired), await statusOf(narrowed, 'POST')], [403, 403])
  assert.equal(await statusOf(narrowed), 200)
})

eachService('a narrowed client and person keep what the trail says', async (s) => {
  const { admin, installation } = await installationOf(s)
  const client = { name: 'c', scopes: ['orders:read'], mode: 'test' }
  const { client_id: id } = (await admin.post('/admin/clients', client)).body
  const apply = (action: string, target: string, detail: object) =>
    applications[action]!(installation, { at: Date.now(), target, detail })
  // No client may have these today: persons return to no redirect URI.
  const detail = { scopes: ['gone:read'], grant_types: ['authorization_code'], redirect_uris: [] }
  await apply('client.update', id, detail)
  assert.deepEqual((await admin.get(`/admin/clients/${id}`)).body.scopes, ['gone:read'])
  const person = { name: 'A', email: 'a@example.com', password: PASSWORD, mode: 'test' }
  const { id: personId } = (await admin.post('/admin/users', person)).body
  await apply('person.update', String(personId), { scopes: ['gone:read'] })
  assert.deepEqual((await admin.get(`/admin/users/${personId}`)).body.scopes, ['gone:read'])
})

eachService('a person who was erased is erased again in restored data', async (s) => {
  const { admin, installation } = await installationOf(s)
  const person = { name: 'Kanary', email: 'kanary@example.com', password: PASSWORD, mode: 'test' }
  const { id } = (await admin.post('/admin/users', person)).body
  await applications['person.erase']!(installation, { at: 1, target: String(id), detail: {} })
  await s.app.erasure.runDue()
  const row = (await s.get(`/api/v2/users/${id}`)).text
  assert.doesNotMatch(row, /kanary/i)
})

eachService('a customer that was deleted is deleted again', async (s) => {
  const { admin, installation } = await installationOf(s)
  const { id } = (await admin.post('/admin/customers', { name: 'C' })).body
  const line = { at: 1, position: 1, actor_kind: 'cli', actor_id: 'x', actor_name: null }
  const rest = {
    scope: null,
    address: null,
    request_id: null,
    node: null,
    tag: null,
    hash: '',
    digest: '',
  }
  async function* lines(): AsyncGenerator<AuditRow> {
    const row = { ...line, ...rest, previous_hash: '', detail: '{}', cleared: null }
    yield { ...row, action: 'customer.delete', target: id, salt: 'x', id: 'aud_2', seq: 3 }
  }
  const result = await applyRows(installation, lines(), 1)
  assert.deepEqual([result.applied, result.failures], [1, []])
  assert.ok((await admin.get(`/admin/customers/${id}`)).body.deleting_since)
})

eachService('an object that an action cannot be applied to is disabled at the end', async (s) => {
  const { admin, installation } = await installationOf(s)
  const operator = { email: 'op@example.com', password: 'a long operator phrase' }
  const { id } = (await admin.post('/admin/operators', operator)).body
  async function* lines() {
    const row = { at: Date.now(), target: id as string }
    yield { ...row, seq: 1, action: 'operator.disable', detail: '{}' }
    yield { ...row, seq: 2, action: 'operator.role', detail: '{"role":"gone"}' }
    yield { ...row, seq: 3, action: 'operator.enable', detail: '{}' }
  }
  const result = await applyRows(installation, lines() as AsyncIterable<never>, 1)
  assert.deepEqual([result.applied, result.failures], [2, []])
  assert.match(result.follow_up[0]!, /^operator op_\S+ is disabled, because operator.role cannot/)
  assert.equal((await admin.get('/admin/operators')).body.data[0].disabled, true)
})

eachService('a repeated role leaves an operator of a provider enabled', async (s) => {
  const { admin, installation } = await installationOf(s)
  const operator = { email: 'op@example.com', password: 'a long operator phrase' }
  const { id } = (await admin.post('/admin/operators', operator)).body
  const provider = sql`UPDATE gh_operators SET issuer = 'https://idp.example', subject = 'u1'`
  await s.app.db.write((tx) => tx.run(provider))
  async function* lines() {
    const detail = '{"role":"support"}'
    yield { at: Date.now(), target: id as string, seq: 2, action: 'operator.role', detail }
  }
  const result = await applyRows(installation, lines() as AsyncIterable<never>, 1)
  assert.deepEqual([result.applied, result.failures, result.follow_up], [1, [], []])
  const { disabled, role } = (await admin.get('/admin/operators')).body.data[0]
  assert.deepEqual([disabled, role], [false, 'administrator'], 'its provider decides')
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
  onEnd(t, () => receiver.close())
  const { port } = receiver.address() as AddressInfo
  const env = { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' }
  const place = { ...(await installed(t)), env }
  const names = ['keeps', 'renamed', 'deleted', 'disabled', 'moved']
  const ids: Record<string, string> = {}
  for (const name of names) {
    const url = `http://127.0.0.1:${port}/${name}`
    ids[name] = (await jsonOf(place, 'webhooks', 'create', url, '--events', 'order.*')).id
  }
  const run = await serving(t, place, '--no-seed')
  const restore = await backedUp(t, place)
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
  const restored = await restore()
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
    [lines.slice(-2, -1), /does not continue the audit trail/],
    [otherLines, /broken at row aud_/],
    [[...lines, '{'], /line \d+ is no JSON/],
    [[...lines, lines[0]!], /follows the end of the export/],
    [[...lines.slice(0, -2), lines.at(-1)!], /has \d+ rows; its end says \d+/],
    [[...lines.slice(0, -1), lines.at(-1)!.replace('"rows":', '"rows":1')], /end .* was changed/],
    [['1'], /Line 1 is no audit row/],
    [['null'], /Line 1 is no audit row/],
    [lines.slice(-1), /Line 1 is no audit row/],
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
