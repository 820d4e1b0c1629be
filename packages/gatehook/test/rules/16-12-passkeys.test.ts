/**
 * §16.12: persons and operators sign in by passkeys. Enrolment needs a sign-in within 5 minutes, a
 * challenge works once on all nodes, and a reset of the password deletes the passkeys.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { openService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { createConsoleLink, createOperator } from '../../src/identity/people/operators.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { bearerOf, openPeople, PASSWORD } from '../people/rig.ts'
import { createAuthenticator, type Deviation } from '../people/software-authenticator.ts'

const ORIGIN = 'http://localhost:8787'
const HEADERS = { host: 'localhost:8787' }
const env = {
  GATEHOOK_PUBLIC_URL: ORIGIN,
  GATEHOOK_CORS_ORIGINS: 'http://app.localhost:8787',
}
const MINUTE_MS = 60_000
const EMAIL = 'op@example.com'
const OPERATOR_PASSWORD = 'correct horse battery'
const actor = { kind: 'system', id: 'test' } as const

const outcome = ({ status, body }: Reply) => `${status} ${body?.error ?? ''}`.trim()

type Send = (method: string, path: string, body?: unknown) => Promise<Reply>

/** The differences between persons and operators. */
interface Realm {
  readonly service: TestApp
  /** `/auth` or `/console`. */
  readonly base: string
  readonly anonymous: Send
  /** Signs in by the password, or a link; returns the session. */
  signIn(): Promise<Send>
  /** The status of a sign-in by a passkey. */
  readonly signedIn: number
  reset(): Promise<unknown>
  disable(): Promise<unknown>
  pass(minutes: number): void
  openNode(): Promise<Send>
  listActions(): Promise<readonly string[]>
}

const sendOf =
  (service: TestApp, headers: Record<string, string> = {}): Send =>
  (method, path, body) =>
    service.as(undefined).send(method, path, body, { ...HEADERS, ...headers })

async function openRealm(
  t: TestContext,
  kind: 'sqlite' | 'postgres',
  base: string,
): Promise<Realm> {
  let offsetMs = 0
  const clock = { now: () => wallClock.now() + offsetMs, elapsedMs: wallClock.elapsedMs }
  const service = await openService(t, kind, { env, clock })
  const key = await service.key({ scopes: ['admin'], mode: 'live' })
  const admin = (method: string, path: string, body?: unknown) =>
    service.as(key).send(method, path, body, HEADERS)
  const own = { 'x-gatehook-console': '1' }
  const anonymous = sendOf(service, base === '/console' ? own : {})
  const common = {
    service,
    base,
    anonymous,
    pass(minutes: number) {
      offsetMs += minutes * MINUTE_MS
    },
    openNode: async () => sendOf(await openService(t, kind, { env, clock, url: service.url })),
    async listActions() {
      const { body } = await admin('GET', '/admin/audit?limit=100')
      return body.data.map(({ action }: { action: string }) => action)
    },
  }
  if (base === '/auth') {
    const email = 'ada@example.com'
    const fields = { name: 'Ada', email, password: PASSWORD, mode: 'test' }
    const { id } = (await admin('POST', '/admin/users', fields)).body
    let password = PASSWORD
    return {
      ...common,
      signedIn: 200,
      async signIn() {
        const { body } = await anonymous('POST', '/auth/login', { username: email, password })
        return sendOf(service, bearerOf(body.access_token))
      },
      async reset() {
        password = `${PASSWORD} 2`
        const reply = await admin('PUT', `/admin/users/${id}/password`, { password })
        assert.equal(reply.status, 204, reply.text)
      },
      disable: () => admin('PATCH', `/admin/users/${id}`, { disabled: true }),
    }
  }
  const { administration, hasher } = service.app
  const input = { email: EMAIL, password: OPERATOR_PASSWORD }
  const { id } = await createOperator(administration, hasher, input, actor)
  return {
    ...common,
    signedIn: 201,
    async signIn() {
      const { path } = await createConsoleLink(administration, EMAIL, actor)
      const token = path.split('#token=')[1]
      const reply = await anonymous('POST', '/console/session', { token })
      const cookie = String([reply.headers['set-cookie']].flat()[0]).split(';')[0]!
      return sendOf(service, { ...own, cookie })
    },
    reset: () => admin('DELETE', `/admin/operators/${id}/second-factor`),
    disable: () => admin('PATCH', `/admin/operators/${id}`, { disabled: true }),
  }
}

function eachRealm(name: string, body: (realm: Realm) => Promise<void>): void {
  for (const base of ['/auth', '/console']) {
    for (const { name: kind } of databases) {
      test(`${name} (${base}) [${kind}]`, async (t) => body(await openRealm(t, kind, base)))
    }
  }
}

async function enrol(
  { base }: Realm,
  session: Send,
  authenticator = createAuthenticator(ORIGIN),
  deviation?: Deviation,
) {
  const options = await session('POST', `${base}/passkeys/options`)
  assert.equal(options.status, 200, options.text)
  const reply = await session(
    'POST',
    `${base}/passkeys`,
    authenticator.create(options.body, deviation),
  )
  assert.equal(reply.status, 201, reply.text)
  return { authenticator, id: reply.body.id as string, options: options.body }
}

type Authenticator = ReturnType<typeof createAuthenticator>

async function tryPasskey(
  { base, anonymous }: Pick<Realm, 'base' | 'anonymous'>,
  authenticator: Authenticator,
  deviation?: Deviation,
): Promise<Reply> {
  const options = await anonymous('POST', `${base}/login/passkey/options`)
  assert.equal(options.status, 200, options.text)
  return anonymous('POST', `${base}/login/passkey`, authenticator.get(options.body, deviation))
}

eachRealm('a passkey is enrolled, signs in, is listed and deleted', async (realm) => {
  const session = await realm.signIn()
  const { authenticator, id, options } = await enrol(realm, session)
  assert.deepEqual(options.rp.id, 'localhost')
  assert.ok(options.user.displayName.length > 0 && options.user.name.includes('@'))
  if (realm.base === '/auth') assert.doesNotMatch(options.user.displayName, /@/)
  assert.equal(options.authenticatorSelection.userVerification, 'required')
  const again = await session('POST', `${realm.base}/passkeys/options`)
  assert.equal(again.body.excludeCredentials.length, 1)
  assert.equal((await tryPasskey(realm, authenticator)).status, realm.signedIn)
  // Pages of other origins use passkeys of persons only.
  const elsewhere = await tryPasskey(realm, authenticator, { origin: 'http://app.localhost:8787' })
  assert.equal(elsewhere.status, realm.base === '/auth' ? 200 : 401, elsewhere.text)
  if (elsewhere.status === 401) assert.match(elsewhere.body.message, /^The passkey is unknown/)
  const list = await session('GET', `${realm.base}/passkeys`)
  assert.equal(list.body.data.length, 1, list.text)
  assert.deepEqual([list.body.data[0].id, typeof list.body.data[0].last_used_at], [id, 'string'])
  assert.equal((await session('DELETE', `${realm.base}/passkeys/psk_other`)).status, 404)
  assert.equal((await session('DELETE', `${realm.base}/passkeys/${id}`)).status, 204)
  assert.equal(outcome(await tryPasskey(realm, authenticator)), '401 invalid_credentials')
  const actions = await realm.listActions()
  const expected =
    realm.base === '/auth'
      ? ['passkey.create', 'passkey.delete']
      : ['operator.passkey_create', 'operator.passkey_delete']
  for (const action of expected) assert.ok(actions.includes(action), action)
  assert.equal(await realm.service.app.mail.sendDue(), 1, 'the mail about the enrolment')
})

eachRealm('a session that a passkey opened enrols another one', async (realm) => {
  const { authenticator } = await enrol(realm, await realm.signIn())
  const reply = await tryPasskey(realm, authenticator)
  const session =
    realm.base === '/auth'
      ? sendOf(realm.service, bearerOf(reply.body.access_token))
      : sendOf(realm.service, {
          'x-gatehook-console': '1',
          cookie: String([reply.headers['set-cookie']].flat()[0]).split(';')[0]!,
        })
  await enrol(realm, session)
  const { body } = await session('GET', `${realm.base}/passkeys`)
  assert.equal(body.data.length, 2)
})

eachRealm('enrolment needs a sign-in within 5 minutes', async (realm) => {
  const session = await realm.signIn()
  const options = await session('POST', `${realm.base}/passkeys/options`)
  realm.pass(6)
  const late = await session('POST', `${realm.base}/passkeys/options`)
  assert.equal(outcome(late), '403 recent_sign_in_required')
  const created = createAuthenticator(ORIGIN).create(options.body)
  const stored = await session('POST', `${realm.base}/passkeys`, created)
  assert.equal(outcome(stored), '403 recent_sign_in_required')
  const without = await realm.anonymous('POST', `${realm.base}/passkeys/options`)
  assert.equal(without.status, 401)
})

const DEVIATIONS: Readonly<Record<string, Deviation>> = {
  'another origin': { origin: 'https://evil.example' },
  'another relying party': { rpId: 'evil.example' },
  'no user verification': { isVerified: false },
  'another challenge': { challenge: Buffer.from('a'.repeat(60)).toString('base64url') },
}

eachRealm('a response that deviates creates nothing, and opens no session', async (realm) => {
  const session = await realm.signIn()
  const { authenticator } = await enrol(realm, session)
  for (const [name, deviation] of Object.entries(DEVIATIONS)) {
    const { body } = await session('POST', `${realm.base}/passkeys/options`)
    const created = createAuthenticator(ORIGIN).create(body, deviation)
    const reply = await session('POST', `${realm.base}/passkeys`, created)
    assert.equal(outcome(reply), '400 invalid_request', name)
    assert.equal(
      outcome(await tryPasskey(realm, authenticator, deviation)),
      '401 invalid_credentials',
    )
  }
  assert.equal((await tryPasskey(realm, authenticator, { counter: 50 })).status, realm.signedIn)
  const cloned = await tryPasskey(realm, authenticator, { counter: 50 })
  assert.equal(outcome(cloned), '401 invalid_credentials', 'the counter of a copy')
  const other = createAuthenticator(ORIGIN)
  assert.equal(outcome(await tryPasskey(realm, other)), '401 invalid_credentials', 'unknown')
  const broken = { ...other.get({ challenge: 'AA', rpId: 'x' }), response: {} }
  assert.equal((await realm.anonymous('POST', `${realm.base}/login/passkey`, broken)).status, 400)
})

const FORMATS = ['packed', 'tpm', 'android-key', 'android-safetynet', 'apple', 'fido-u2f', 'later']

eachRealm('no statement of an attestation is read', async (realm) => {
  const session = await realm.signIn()
  for (const format of FORMATS) {
    const statement = new Map([['x5c', [Buffer.from('certificate'), Buffer.from('root')]]])
    const attestation = [format, statement] as const
    const { authenticator } = await enrol(realm, session, undefined, { attestation })
    assert.equal((await tryPasskey(realm, authenticator)).status, realm.signedIn, format)
  }
})

eachRealm('a challenge works once, on all nodes, for its own ceremony', async (realm) => {
  const session = await realm.signIn()
  // A counter that stays 0, as that of synchronized passkeys: the challenge alone decides.
  const still = { counter: 0 }
  const { authenticator } = await enrol(realm, session, createAuthenticator(ORIGIN), still)
  const node = await realm.openNode()
  const path = `${realm.base}/login/passkey`
  const { body } = await realm.anonymous('POST', `${path}/options`)
  const signedIn = authenticator.get(body, still)
  const replies = await Promise.all([
    realm.anonymous('POST', path, signedIn),
    node('POST', path, signedIn),
    realm.anonymous('POST', path, authenticator.get(body, still)),
  ])
  const statuses = replies.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [realm.signedIn, 401, 401])
  assert.equal(outcome(await node('POST', path, signedIn)), '401 invalid_credentials')
  const options = (await session('POST', `${realm.base}/passkeys/options`)).body
  const crossed = authenticator.get({ ...body, challenge: options.challenge }, still)
  assert.equal(outcome(await realm.anonymous('POST', path, crossed)), '401 invalid_credentials')
  const late = (await realm.anonymous('POST', `${path}/options`)).body
  realm.pass(6)
  const expired = await realm.anonymous('POST', path, authenticator.get(late, still))
  assert.equal(outcome(expired), '401 invalid_credentials')
})

eachRealm('a reset deletes the passkeys, and a disabled account has none', async (realm) => {
  const { authenticator } = await enrol(realm, await realm.signIn())
  await realm.reset()
  assert.equal(outcome(await tryPasskey(realm, authenticator)), '401 invalid_credentials')
  const next = await enrol(realm, await realm.signIn())
  await realm.disable()
  assert.equal(outcome(await tryPasskey(realm, next.authenticator)), '401 invalid_credentials')
})

eachRealm('a ceremony that began before a reset stores nothing', async (realm) => {
  const before = await realm.signIn()
  const options = (await before('POST', `${realm.base}/passkeys/options`)).body
  const created = createAuthenticator(ORIGIN).create(options)
  await realm.reset()
  const after = await realm.signIn()
  const reply = await after('POST', `${realm.base}/passkeys`, created)
  assert.equal(outcome(reply), '400 invalid_request')
  const list = await after('GET', `${realm.base}/passkeys`)
  assert.deepEqual(list.body.data, [])
})

for (const [publicUrl, rpId, page] of [
  ['http://127.0.0.1:8787', 'localhost', 'http://localhost:8787/console'],
  ['http://[::1]:8787', 'localhost', 'http://localhost:8787/console'],
  ['https://192.0.2.1', '192.0.2.1', null],
  ['https://api.example.com', 'api.example.com', 'https://api.example.com/console'],
] as const) {
  test(`the console of ${publicUrl} names the page with passkeys`, async (t) => {
    const service = await openService(t, 'sqlite', { env: { GATEHOOK_PUBLIC_URL: publicUrl } })
    const { createPerson, login } = await openPeople(service)
    const send = sendOf(service, { host: new URL(publicUrl).host })
    assert.equal((await send('GET', '/console/sign-in')).body.passkeys, page)
    const { body } = await login((await createPerson('ada')).email)
    const { host } = new URL(page ?? publicUrl)
    const session = sendOf(service, { host, ...bearerOf(body.access_token) })
    const options = (await session('POST', '/auth/passkeys/options')).body
    assert.equal(options.rp.id, rpId)
    if (page === null) return
    const authenticator = createAuthenticator(new URL(page).origin)
    const elsewhere = authenticator.create(options, { origin: 'http://localhost:1' })
    assert.equal((await session('POST', '/auth/passkeys', elsewhere)).status, 400)
    const again = (await session('POST', '/auth/passkeys/options')).body
    const created = await session('POST', '/auth/passkeys', authenticator.create(again))
    assert.equal(created.status, 201, created.text)
    const signedIn = await tryPasskey({ base: '/auth', anonymous: session }, authenticator)
    assert.equal(signedIn.status, 200, signedIn.text)
  })
}

for (const { name } of databases) {
  test(`passkeys of a deleted person end with the row [${name}]`, async (t) => {
    const service = await openService(t, name)
    const { createPerson, login, operator } = await openPeople(service)
    const person = await createPerson('ada')
    const { body } = await login(person.email)
    const session = sendOf(service, { host: 'localhost', ...bearerOf(body.access_token) })
    const options = (await session('POST', '/auth/passkeys/options')).body
    const { origin } = new URL(service.app.publicUrl())
    const created = createAuthenticator(origin).create(options)
    assert.equal((await session('POST', '/auth/passkeys', created)).status, 201)
    const path = `/admin/as/default/test/api/v2/users/${person.id}`
    assert.equal((await operator.delete(path)).status, 204)
    const rows = await service.app.db.all(sql`SELECT id FROM gh_passkeys`)
    assert.deepEqual(rows, [])
  })
}
