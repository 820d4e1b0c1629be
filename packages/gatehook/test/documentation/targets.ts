/**
 * A service whose objects are the targets of the examples in documents and docs, and the values
 * that replace those of the examples: a receiver, tokens, a client.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { type Caller, openService, type TestApp } from '../../../../test/rig/service.ts'
import { GRANT_TYPES } from '../../src/identity/oauth/client.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { insertJob } from '../../src/platform/jobs/store.ts'
import { authorizePath, grantConsent, openBrowser } from '../oauth/rig.ts'
import { resetTokenOf, signUpTokenOf, usernameTokenOf } from '../people/mail-token-rig.ts'
import { bearerOf } from '../people/rig.ts'
import { CAN, openPortal } from '../portal/rig.ts'
import { openHook } from '../webhooks/hook.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document has many shapes
export type Json = any

/** The actions after which a new order is in the state that the operation needs. */
const PREPARATIONS: Readonly<Record<string, readonly string[]>> = {
  ship_order: ['pay'],
  deliver_order: ['pay', 'ship'],
}

interface Client {
  readonly client_id: string
  readonly client_secret: string
}

export interface Targets {
  readonly app: TestApp
  readonly admin: Caller
  readonly hookUrl: string
  readonly client: Client
  /** Creates the person of the examples in live mode, once; returns its id. */
  person(): Promise<string>
  /** Creates the person who resets the password, once; returns its id. */
  forgetful(): Promise<string>
}

const PERSON = { email: 'ada@example.com', password: 'correct horse battery staple' }
const FORGETFUL = 'bo@example.com'
/** A scope that every person of the service has. */
const CONSENT_SCOPE = 'orders:read'
const REDIRECT = 'https://app.example/callback'

export async function openTargets(t: TestContext): Promise<Targets> {
  const env = {
    GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
    GATEHOOK_RATE_LIMIT: '0',
    GATEHOOK_CLIENT_REGISTRATION: 'open',
  }
  const app = await openService(t, 'sqlite', { seed: true, env })
  const hook = await openHook(t)
  await app.app.work() // the deliveries of registrations
  const admin = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
  const { body: client } = await admin.post('/admin/clients', {
    name: 'Example',
    scopes: [...scopes, CONSENT_SCOPE],
    redirect_uris: [REDIRECT],
    grant_types: GRANT_TYPES,
  })
  let created: Promise<string> | undefined
  const person = () => (created ??= createdBy(admin, '/admin/users', { name: 'Ada', ...PERSON }))
  let other: Promise<string> | undefined
  const forgetful = () =>
    (other ??= createdBy(admin, '/admin/users', { ...PERSON, name: 'Bo', email: FORGETFUL }))
  return { app, admin, hookUrl: hook.url, client, person, forgetful }
}

/** Returns new tokens of the person, or of the one with another e-mail address. */
async function tokensOf(
  { app, person }: Targets,
  username?: string,
): Promise<{ access: string; refresh: string }> {
  if (username === undefined) await person()
  const { email, password } = PERSON
  const { body, text } = await app.as(undefined).post('/auth/login', {
    username: username ?? email,
    password,
  })
  assert.ok(body.access_token, text)
  return { access: body.access_token, refresh: body.refresh_token }
}

/** The values of the examples that a test replaces. */
const CLIENT_TOKEN = 'grt_Yq3sK8rT1uWzB4cD7eH9j6fQx0N2mV'
const REFRESH_TOKEN = 'grt_6fQx0N2mVYq3sK8rT1uWzB4cD7eH9j'
const LINK_TOKEN = '6fQx0N2mVYq3sK8rT1uWzB4cD7eH9jLp5aG2xYz01AB'
const RECEIVER = 'https://shop.example.com/hooks'

const RESET_TOKEN = 'mT7cR2vX9pLq4sN1bK8wZ5yG3hJ6dF0aQeUiOtYrWxE'
const USERNAME_TOKEN = '8wZ5yG3hJ6dF0aQeUiOtYrWxEmT7cR2vX9pLq4sN1bK'
const SIGN_UP_TOKEN = 'aQeUiOtYrWxE3hJ6dF0mT7cR2vX9pLq4sN1bK8wZ5yG'

/** Stores the tokens that mail carries, and returns them with the examples that they replace. */
async function mailTokens({ app, forgetful }: Targets) {
  const person = Number(await forgetful())
  return [
    [RESET_TOKEN, await resetTokenOf(app.app, person, FORGETFUL)],
    [USERNAME_TOKEN, await usernameTokenOf(app.app, person, 'bo.new@example.com')],
    [SIGN_UP_TOKEN, await signUpTokenOf(app.app, 'Eve', 'eve@example.com')],
  ] as const
}

/** Returns a token that was issued to the client. */
async function clientToken({ app, client }: Targets): Promise<string> {
  const { client_id, client_secret } = client
  const fields = { grant_type: 'client_credentials', client_id, client_secret }
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const body = new URLSearchParams(fields).toString()
  return (await app.as(undefined).post('/oauth/token', body, headers)).body.access_token
}

/** Returns an access token, and values of this service for those of the examples. */
export async function exampleValues(targets: Targets) {
  const { admin, hookUrl, client } = targets
  const { access, refresh } = await tokensOf(targets)
  const link = { customer: 'default', mode: 'test', can: scopes }
  const url = await createdBy(admin, '/admin/portal-links', link, 'url')
  const values: readonly (readonly [example: string, value: string])[] = [
    [REFRESH_TOKEN, refresh],
    [CLIENT_TOKEN, await clientToken(targets)],
    [LINK_TOKEN, url.split('#token=')[1]!],
    ...(await mailTokens(targets)),
    [RECEIVER, hookUrl],
    ['https://api.example.com', targets.app.app.publicUrl()],
    ['cli_6Vb1Np', client.client_id],
    ['gcs_Zk3WdV7bN1pQ8mX2cR5t', client.client_secret],
  ]
  return { access, values }
}

export const withValues = (
  text: string,
  { values }: Awaited<ReturnType<typeof exampleValues>>,
): string => values.reduce((all, [example, value]) => all.replaceAll(example, value), text)

/** Lets the person consent to the client; returns its id. */
async function consented(targets: Targets): Promise<string> {
  const { app, client } = targets
  await targets.person()
  const browser = openBrowser(app.app)
  const path = authorizePath(client, { redirect_uri: REDIRECT, scope: CONSENT_SCOPE })
  const person = { id: 0, email: PERSON.email }
  const { location } = await grantConsent(browser, path, person, PERSON.password)
  assert.ok(location?.searchParams.has('code'), String(location))
  return client.client_id
}

let count = 0

/** Creates an object and returns the member of the response that its path contains. */
async function createdBy(
  caller: Caller,
  path: string,
  body: unknown,
  member = 'id',
): Promise<string> {
  const reply = await caller.post(path, body)
  assert.ok(reply.status < 300, `${path}: ${reply.text}`)
  return String(reply.body[member])
}

const EXTERNAL = 'payment.succeeded'

const registered = ({ app, hookUrl }: Targets): Promise<string> =>
  createdBy(app, '/webhooks', { url: hookUrl, events: [EXTERNAL] })

const recorded = ({ app }: Targets): Promise<string> =>
  createdBy(app, '/events', { type: EXTERNAL, object: { id: 'pay_1' } })

/** Returns a delivery of an event that the receiver has accepted. */
async function delivered(rig: Targets): Promise<string> {
  const id = await registered(rig)
  await recorded(rig)
  const read = async () => (await rig.app.get(`/webhooks/${id}/deliveries`)).body.data
  const deliveries = await eventually<Json[]>(read, ([delivery]) => delivery?.state === 'delivered')
  return deliveries[0].id
}

/** Stores a job, as own code would; the service of the targets has none. */
async function enqueued({ app }: Targets): Promise<string> {
  const id = `job_target_${++count}`
  const job = { name: 'send_receipt', scope: 2 as Scope, input: '{"order_id":7}' }
  await app.app.db.write((tx) => insertJob(tx, { ...job, kind: 'job', id, runAt: 0, createdAt: 0 }))
  return id
}

const scopes = ['webhooks:read']

/** Creates the target of a path by the beginning of the path. */
const targets: readonly [path: RegExp, create: (rig: Targets, path: string) => Promise<string>][] =
  [
    [
      /^\/api\/v\d\/(users|orders)/,
      ({ app }, path) => {
        const [, collection, name] = /^(\/api\/v\d\/(\w+))/.exec(path)!
        const body =
          name === 'orders'
            ? { user_id: 1, amount: 700 }
            : { name: 'Ada', email: `target.${++count}@example.com` }
        return createdBy(app, collection!, body)
      },
    ],
    [
      /^\/auth\/sessions\//,
      async (rig) => {
        const { access } = await tokensOf(rig)
        const { body } = await rig.app.as(undefined).get('/auth/sessions', bearerOf(access))
        return body.data[0].id
      },
    ],
    [/^\/auth\/consents\//, consented],
    [/^\/openapi\//, async () => 'v2.json'],
    [
      /^\/portal\/api\/keys/,
      ({ admin }) => createdBy(admin, '/admin/keys', { name: 'target', scopes }),
    ],
    [
      /^\/portal\/api\/requests/,
      async ({ app }) => {
        const failed = await app.as(await app.key({ mode: 'live' })).get('/events/evt_none')
        return String(failed.headers['x-request-id'])
      },
    ],
    [/^\/portal\/api\/consents/, async (rig) => `${await rig.person()}.${await consented(rig)}`],
    [/^(\/admin)?\/webhooks\//, registered],
    [/^(\/admin)?\/deliveries\//, delivered],
    [/^(\/admin)?\/events\//, recorded],
    [
      /^\/admin\/customers/,
      ({ admin }) => createdBy(admin, '/admin/customers', { name: 'Target' }),
    ],
    [/^\/admin\/jobs/, enqueued],
    [/^\/admin\/versions/, async () => 'v1'],
    [/^\/admin\/attention/, async () => 'key_expiring.key_1'],
    [/^\/admin\/requests/, async ({ app }) => (await app.get('/api/v2/orders/0')).body.request_id],
    [/^\/admin\/keys/, ({ admin }) => createdBy(admin, '/admin/keys', { name: 'target', scopes })],
    [
      /^\/admin\/clients/,
      ({ admin }) => {
        const redirect_uris = ['https://app.example/callback']
        const body = { name: 'target', scopes, redirect_uris }
        return createdBy(admin, '/admin/clients', body, 'client_id')
      },
    ],
    [
      /^\/admin\/issuers/,
      ({ admin }) => {
        const issuer = `https://ci${++count}.example`
        return createdBy(admin, '/admin/issuers', { issuer, rules: [] })
      },
    ],
    [
      /^\/admin\/users\/\{id\}\/sessions\/./,
      async (rig) => {
        const email = `session.${++count}@example.com`
        const id = await createdBy(rig.admin, '/admin/users', { ...PERSON, name: 'Ada', email })
        await tokensOf(rig, email)
        const { body } = await rig.admin.get(`/admin/users/${id}/sessions`)
        return `${id}/sessions/${body.data[0].id}`
      },
    ],
    [
      /^\/admin\/users/,
      ({ admin }) => {
        const email = `person.${++count}@example.com`
        const body = { name: 'Ada', email, password: 'correct horse battery staple' }
        return createdBy(admin, '/admin/users', body)
      },
    ],
    [
      /^\/admin\/operators/,
      ({ admin }) => {
        const email = `operator.${++count}@example.com`
        const password = 'correct horse battery staple'
        return createdBy(admin, '/admin/operators', { email, password })
      },
    ],
    [
      /^\/admin\/portal-links/,
      async ({ admin }) => {
        const customer = await createdBy(admin, '/admin/customers', { name: 'Target' })
        return createdBy(admin, '/admin/portal-links', { customer, mode: 'test', can: scopes })
      },
    ],
  ]

/** Returns the path of an operation with the id of a new object. */
export async function targetOf(rig: Targets, path: string, operationId: string): Promise<string> {
  if (!path.includes('{')) return path
  const [, create] = targets.find(([pattern]) => pattern.test(path)) ?? []
  assert.ok(create, `no target for ${path}`)
  const id = await create(rig, path)
  for (const action of PREPARATIONS[operationId] ?? []) {
    const item = path.replace(/\{id\}.*/, id)
    assert.equal((await rig.app.post(`${item}/${action}`)).status, 200)
  }
  return path.replace(/\{.*\}/, id)
}

/** Replaces the values and the customer of an example by those of the test. */
export async function bodyOf(
  { admin, hookUrl }: Targets,
  text: string | undefined,
  values: Awaited<ReturnType<typeof exampleValues>>,
): Promise<Json> {
  if (text === undefined) return undefined
  const example = JSON.parse(withValues(text, values))
  const url = typeof example.url === 'string' ? { url: hookUrl } : {}
  const isOfCustomer = /^cus_/.test(String(example.customer))
  const customer = isOfCustomer
    ? { customer: await createdBy(admin, '/admin/customers', { name: 'Example' }) }
    : {}
  return { ...example, ...url, ...customer }
}

const bearerCaller = (app: TestApp, token: string): Pick<Caller, 'send'> => ({
  send: (method, path, body) => app.as(undefined).send(method, path, body, bearerOf(token)),
})

/** Returns the caller of an operation: key, administrator, person, or session of the portal. */
export async function callerOf(
  { app, admin }: Targets,
  path: string,
  token: string,
  security: readonly Json[],
): Promise<Pick<Caller, 'send'>> {
  if (path.startsWith('/admin') || path === '/metrics') return admin
  const isAnonymous = security.length === 0 && /^\/(auth|oauth|portal)\//.test(path)
  if (isAnonymous) return app.as(undefined)
  if (path.startsWith('/portal/')) return (await openPortal(app)).session('default', { can: CAN })
  return path.startsWith('/auth/') ? bearerCaller(app, token) : app
}
