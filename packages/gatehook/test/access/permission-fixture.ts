/**
 * A customer with one object of each type, and callers of every kind: its own, and those of another
 * customer, of the other mode and of another person. For `permissions.test.ts`.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { SignJWT } from 'jose'
import type { Kind } from '../../../../test/rig/databases.ts'
import type { Caller, Reply } from '../../../../test/rig/service.ts'
import { isInstallationScope } from '../../src/identity/access/administration.ts'
import { createConsoleLink, createOperator } from '../../src/identity/people/operators.ts'
import type { Role } from '../../src/kernel/principal.ts'
import { ACTING_PATH, type Permission } from '../../src/route-table.ts'
import { bearer, createIssuerKey, GRANT } from '../oauth/issuer-rig.ts'
import {
  basicOf,
  type Client,
  exchange,
  form,
  obtainCode,
  openOauthFixture,
  PASSWORD,
  type Person,
} from '../oauth/rig.ts'
import { createAuthenticator } from '../people/software-authenticator.ts'
import { openHook } from '../webhooks/hook.ts'

const ENV = { GATEHOOK_TEST_CLOCK: '1', GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' }

/** Sends a request with the caller's credential. */
export type Send = (method: string, path: string, body?: unknown) => Promise<Reply>

let issuers = 0

export type Fixture = Awaited<ReturnType<typeof openFixture>>

/** Opens a service with the customers `shop` and `other`, and functions that create callers. */
export async function openFixture(t: TestContext, kind: Kind) {
  const fixture = await openOauthFixture(t, kind, { env: ENV })
  const { app, admin, anonymous, createClient, createPerson } = fixture
  const scopes = [...app.administration.scopes].filter((scope) => !isInstallationScope(scope))
  const sendWith =
    (caller: Caller, headers: Record<string, string> = {}): Send =>
    (method, path, body) =>
      caller.send(method, path, body, headers)
  const create = async (path: string, body: unknown) => {
    const reply = await admin.post(path, body)
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  const key = async (customer: string, keyScopes = scopes, mode = 'live') => {
    const newKey = await create('/admin/keys', { name: 'key', scopes: keyScopes, customer, mode })
    return { id: newKey.id as string, send: sendWith(anonymous, { 'x-api-key': newKey.key }) }
  }
  const clientToken = async (client: Client, scope?: readonly string[]) => {
    const grant = { grant_type: 'client_credentials', ...(scope && { scope: scope.join(' ') }) }
    const reply = await form(anonymous, '/oauth/token', grant, basicOf(client))
    assert.equal(reply.status, 200, reply.text)
    return sendWith(anonymous, bearer(reply.body.access_token))
  }
  /** Returns a workload of an issuer with a rule for a customer. */
  const workload = async (customer: string, ruleScopes = scopes, mode = 'live') => {
    const signer = await createIssuerKey('ES256')
    const name = `https://ci${++issuers}.example`
    const rule = { match: { sub: 'job' }, customer, mode, scopes: ruleScopes }
    await create('/admin/issuers', { issuer: name, jwks: { keys: [signer.jwk] }, rules: [rule] })
    const now = Math.floor(Date.parse((await admin.get('/admin/clock')).body.now) / 1000)
    const claims = { iss: name, sub: 'job', aud: app.publicUrl(), exp: now + 600, jti: 'one' }
    const assertion = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .sign(signer.privateKey)
    const reply = await form(anonymous, '/oauth/token', { grant_type: GRANT, assertion })
    assert.equal(reply.status, 200, reply.text)
    return sendWith(anonymous, bearer(reply.body.access_token))
  }
  const login = async ({ email }: Person) => {
    const reply = await anonymous.post('/auth/login', { username: email, password: PASSWORD })
    assert.equal(reply.status, 200, reply.text)
    return sendWith(anonymous, bearer(reply.body.access_token))
  }
  const application = async (client: Client, person: Person) => {
    const from = { ...fixture, client, person }
    const reply = await exchange(from, await obtainCode(from))
    assert.equal(reply.status, 200, reply.text)
    return sendWith(anonymous, bearer(reply.body.access_token))
  }
  const operator = async (role: Role): Promise<Send> => {
    const actor = { kind: 'cli', id: 'test' } as const
    const email = `${role}@example.com`
    await createOperator(app.administration, app.hasher, { email, password: PASSWORD, role }, actor)
    const { path } = await createConsoleLink(app.administration, email, actor)
    const reply = await anonymous.post('/console/session', { token: path.split('#token=')[1] })
    assert.equal(reply.status, 201, reply.text)
    const cookie = String([reply.headers['set-cookie']].flat()[0]).split(';')[0]!
    return sendWith(anonymous, { cookie, 'x-gatehook-console': '1' })
  }
  const shop: string = (await create('/admin/customers', { name: 'Shop' })).id
  const other: string = (await create('/admin/customers', { name: 'Other' })).id
  return {
    app,
    admin,
    anonymous,
    scopes,
    shop,
    other,
    key,
    clientToken,
    workload,
    login,
    application,
    operator,
    createClient,
    createPerson,
    sendWith,
    /** Creates one object of each type in live mode of the customer `shop`. */
    async fill() {
      const own = await key(shop)
      const person = await createPerson({ customer: shop })
      const client = await createClient({ customer: shop, scopes: ['orders:read', 'users:read'] })
      const owner = await login(person)
      await application(client, person)
      const hook = await openHook(t)
      const webhook = await own.send('POST', '/webhooks', { url: hook.url, events: ['*'] })
      assert.equal(webhook.status, 201, webhook.text)
      const fields = { user_id: person.id, amount: 500, currency: 'EUR' }
      const order = await own.send('POST', '/api/v2/orders', fields)
      assert.equal(order.status, 201, order.text)
      const log = await own.send('GET', `/webhooks/${webhook.body.id}/deliveries`)
      const { id: delivery, event_id: event } = log.body.data.at(-1)
      const sessions = await owner('GET', '/auth/sessions')
      const options = await owner('POST', '/auth/passkeys/options')
      const { origin } = new URL(app.publicUrl())
      const created = createAuthenticator(origin).create(options.body)
      const passkey = await owner('POST', '/auth/passkeys', created)
      assert.equal(passkey.status, 201, passkey.text)
      const can = ['orders:read']
      const link = await create('/admin/portal-links', { customer: shop, mode: 'live', can })
      const issuer = await create('/admin/issuers', { issuer: 'https://idp.example', rules: [] })
      const ids: Readonly<Record<string, string>> = {
        '/webhooks': webhook.body.id,
        '/deliveries': delivery,
        '/events': event,
        '/auth/sessions': sessions.body.data[0].id,
        '/auth/consents': client.client_id,
        '/auth/passkeys': passkey.body.id,
        '/api/users': String(person.id),
        '/api/orders': String(order.body.id),
        '/admin/customers': shop,
        '/admin/keys': own.id,
        '/admin/clients': client.client_id,
        '/admin/issuers': issuer.id,
        '/admin/users': String(person.id),
        '/admin/users/:id/sessions': sessions.body.data[0].id,
        '/admin/portal-links': link.id,
        '/admin/versions': 'v1',
        '/admin/as': shop,
        '/admin/attention': 'queue_old.node',
        '/admin/jobs': 'job_none',
      }
      return { own, person, client, owner, ids }
    },
  }
}

/** Bodies that the operations accept: a rejection has no other cause. */
const BODIES: Readonly<Record<string, unknown>> = {
  'PATCH /webhooks/:id': { description: 'changed' },
  'POST /webhooks/:id/test': { event_type: 'order.created' },
  'POST /webhooks/:id/recover': { since: '2026-01-01T00:00:00Z' },
  'POST /webhooks/:id/replay': { since: '2026-01-01T00:00:00Z' },
  'PATCH /api/users/:id': { name: 'changed' },
  'PATCH /api/orders/:id': { note: 'changed' },
  'PATCH /admin/keys/:id': { scopes: [] },
  'PUT /admin/attention/:id': { until: '2100-01-01T00:00:00Z' },
}

export const bodyFor = ({ method, path }: Permission): unknown => BODIES[`${method} ${path}`]

/** Returns the path of a row with an id for its parameter; `ids` are by the path before it. */
export function pathOf(
  { path }: Pick<Permission, 'path'>,
  ids: Readonly<Record<string, string>>,
): string {
  if (path.startsWith(`${ACTING_PATH}/`)) {
    const publicPath = path.slice(ACTING_PATH.length)
    return `/admin/as/${ids['/admin/as']}/live${pathOf({ path: publicPath }, ids)}`
  }
  const versioned = (text: string) => text.replace(/^\/api\//, '/api/v2/')
  const withIds = path.replace(/\/:\w+/g, (_, at: number) => {
    const id = ids[path.slice(0, at)]
    assert.ok(id, `permission-fixture.ts has no id for ${path}`)
    return `/${id}`
  })
  return versioned(withIds)
}
