/**
 * §3.6, §6.7, §12.2: a reader of stored data needs the scopes that its first reader needed. The
 * test reads every path of the portal and the request log, as callers with and without a scope.
 */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { createConsoleLink, createOperator } from '../../src/identity/people/operators.ts'
import { ROLES } from '../../src/kernel/principal.ts'
import { authorizePath, grantConsent, openBrowser, PASSWORD } from '../oauth/rig.ts'
import { openPortal } from '../portal/rig.ts'
import { openHook } from '../webhooks/hook.ts'

const people = resource('people', {
  fields: {
    id: f.id(),
    name: f.string().max(100),
    email: f.email(),
    salary: f.int().default(0).visible('salaries:read'),
  },
  list: { filter: ['email', 'salary'], sort: [] },
  access: {
    read: 'people:read',
    create: 'people:write',
    update: 'people:write',
    delete: 'people:write',
  },
  events: ['person.created'],
})
  .action('pay', { scope: 'payments:write', input: { iban: f.string().max(40) }, run: () => ({}) })
  .signsIn({ username: 'email' })
  .before('v2', {
    why: 'A wage is now a salary.',
    had: { wage: f.int().default(0).visible('salaries:read') },
    hadNot: ['salary'],
    up: (old) => ({ salary: old.wage }),
    down: (row) => ({ wage: row.salary }),
    renamed: { wage: 'salary' },
  })

const declaration = service({
  name: 'rights',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: [people],
})

/** Each canary, and the scopes with which a session of the portal reads it. */
const CANARIES = {
  76543210: ['people:read', 'salaries:read'],
  65432101: ['people:read', 'salaries:read'],
  54321012: ['people:read', 'salaries:read'],
  'name-of-a-row': ['people:read'],
  'filter-of-a-list': ['people:read'],
  'header-of-a-request': ['people:read', 'keys:read'],
  'iban-of-an-action': ['people:read', 'payments:write'],
  'name-of-a-key': ['keys:read'],
  'person@canary.example': ['people:read'],
  '/path-of-a-webhook': ['webhooks:read'],
} as const

const SCOPES = [...new Set(Object.values(CANARIES).flat()), 'events:read']

const ENV = { env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1', GATEHOOK_TEST_CLOCK: '1' } }

/** Leaves every canary in what the service stores about the default customer. */
async function leaveCanaries(app: TestApp, hookUrl: string): Promise<string[]> {
  const admin = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
  const scopes = ['people:read', 'people:write', 'payments:write', 'salaries:read']
  const live = {
    scopes: [...scopes, 'webhooks:write'],
    mode: 'live',
    name: 'name-of-a-key',
  } as const
  const key = app.as(await app.key(live))
  const ids: string[] = []
  const fail = async (method: string, path: string, body?: unknown) => {
    const headers = path.startsWith('/api/') ? { 'x-trace': 'header-of-a-request' } : {}
    const reply = await key.send(method, path, body, headers)
    assert.ok(reply.status >= 400, `${method} ${path} is ${reply.status}`)
    ids.push(reply.headers['x-request-id']!)
  }
  const email = 'person@canary.example'
  const person = { name: 'name-of-a-row', email, password: PASSWORD }
  assert.equal((await admin.post('/admin/users', person)).status, 201)
  await fail('POST', '/api/v2/people', { name: 'name-of-a-row', email: 'no', salary: 76543210 })
  await fail('POST', '/api/v1/people', { name: 'name-of-a-row', email: 'no', wage: 65432101 })
  await fail('PATCH', '/api/v2/people/1', { salary: 76543210, unknown: 'name-of-a-row' })
  await fail('GET', '/api/v2/people?salary[gt]=54321012&email=filter-of-a-list&limit=x')
  await fail('POST', '/api/v2/people/1/pay', { iban: 'iban-of-an-action', more: 1 })
  const input = { operation: 'pay_person', body: { iban: 'iban-of-an-action' } }
  const params = { name: 'call_operation', arguments: { ...input, name: 'name-of-a-row' } }
  await fail('POST', '/mcp', { jsonrpc: '1.0', id: 1, method: 'tools/call', params })
  await fail('POST', '/webhooks', { url: `${hookUrl}/path-of-a-webhook`, events: ['no'] })
  await fail('GET', '/api/v2/peopel/value-of-an-unknown-path?name=filter-of-a-list')
  await fail('GET', '/value/value-of-an-unknown-path')
  await key.get('/api/v1/people')
  const registration = { url: `${hookUrl}/path-of-a-webhook`, events: ['person.created'] }
  assert.equal((await key.post('/webhooks', registration)).status, 201)
  const client = await admin.post('/admin/clients', {
    name: 'App',
    redirect_uris: ['https://app.example/callback'],
    scopes: ['people:read'],
  })
  await grantConsent(openBrowser(app.app), authorizePath(client.body), { id: 1, email })
  await app.app.versioning.flush()
  return ids
}

eachService(
  'the portal returns stored values to sessions with their scopes only',
  async (app, t) => {
    const { session } = await openPortal(app)
    const hook = await openHook(t)
    const requests = await leaveCanaries(app, hook.url)
    const paths = app.app.permissions
      .filter(({ method, callers, path }) => method === 'GET' && callers === 'portal' && path)
      .map(({ path }) => path)
      .filter((path) => !path.endsWith('/stream') && !path.endsWith('/*'))
    /** Reads every path with every id that the service has. */
    const readAll = async (can: readonly string[]): Promise<string> => {
      const portal = await session('default', { can })
      const texts: string[] = []
      const ids = new Set(requests)
      for (const path of [...paths, ...paths]) {
        const targets = path.includes(':id') ? [...ids] : ['']
        for (const target of targets) {
          const { text } = await portal.get(path.replace(':id', encodeURIComponent(target)))
          texts.push(text)
          for (const [, id] of text.matchAll(/"id":"([^"]+)"/g)) ids.add(id!)
        }
      }
      return texts.join('\n')
    }
    const all = await readAll(SCOPES)
    for (const canary of Object.keys(CANARIES)) assert.ok(all.includes(canary), `lacks ${canary}`)
    assert.ok(!all.includes('value-of-an-unknown-path'), 'no scope of a customer reads it')
    for (const start of ['/api/v2/peopel/…', '/value/…']) assert.ok(all.includes(`"${start}"`))
    for (const scope of SCOPES) {
      const text = await readAll(SCOPES.filter((name) => name !== scope))
      for (const [canary, needed] of Object.entries(CANARIES)) {
        const mayRead = !(needed as readonly string[]).includes(scope)
        assert.equal(text.includes(canary), mayRead, `${canary} without ${scope}`)
      }
    }
    const least = await readAll(['events:read'])
    for (const canary of Object.keys(CANARIES)) assert.ok(!least.includes(canary), canary)
    assert.ok(least.includes('"/api/people/:id/pay"'), 'the line of a request stays')
  },
  { ...ENV, service: declaration },
)

eachService(
  'the request log returns every value to the scope admin, which implies all others',
  async (app, t) => {
    const hook = await openHook(t)
    const admin = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
    const requests = await leaveCanaries(app, hook.url)
    const texts = await Promise.all(
      requests.map(async (id) => (await admin.get(`/admin/requests/${id}`)).text),
    )
    for (const canary of [76543210, 65432101, 54321012, 'iban-of-an-action', 'unknown-path']) {
      assert.ok(texts.join().includes(String(canary)), String(canary))
    }
  },
  { ...ENV, service: declaration },
)

eachService(
  'an operator of any role reads a field in the log as in the row (decision 0067)',
  async (app, t) => {
    const hook = await openHook(t)
    const [request] = await leaveCanaries(app, hook.url)
    const admin = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
    const people = '/admin/as/default/live/api/v2/people'
    const body = { name: 'Ada', email: 'ada@example.com', salary: 76543210 }
    const { id } = (await admin.post(people, body)).body
    const actor = { kind: 'cli', id: 'test' } as const
    for (const role of ROLES) {
      const email = `${role}@example.com`
      const { administration, hasher } = app.app
      await createOperator(administration, hasher, { email, password: PASSWORD, role }, actor)
      const { path } = await createConsoleLink(administration, email, actor)
      const token = path.split('#token=')[1]
      const session = await app.as(undefined).post('/console/session', { token })
      const cookie = String([session.headers['set-cookie']].flat()[0]).split(';')[0]!
      const read = (url: string) =>
        app.as(undefined).get(url, { cookie, 'x-gatehook-console': '1' })
      for (const url of [`${people}/${id}`, `/admin/requests/${request}`]) {
        const { status, text } = await read(url)
        assert.equal(status, 200, `${role} ${url}`)
        assert.ok(text.includes('76543210'), `${role} ${url}`)
      }
    }
  },
  { ...ENV, service: declaration },
)

eachService(
  'consents and a filter by key need keys:read',
  async (app) => {
    const { session } = await openPortal(app)
    const portal = await session('default', { can: ['people:read'] })
    for (const path of ['/portal/api/consents', '/portal/api/errors?key_id=key_x']) {
      const { status, body } = await portal.get(path)
      assert.deepEqual([status, body.error], [403, 'insufficient_scope'], path)
    }
  },
  { service: declaration },
)
