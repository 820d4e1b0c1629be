/**
 * §16.9: operators sign in with OpenID Connect. The groups of a certified provider give the role,
 * and a session ends within 15 minutes once they do not, or once the provider does not answer.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { createConsoleLink, createOperator } from '../../src/identity/people/operators.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import {
  type IdentityProvider,
  openIdentityProvider,
  openOperatorBrowser,
} from '../people/identity-provider.ts'
import { cookieOf, OWN, tokenOf } from '../portal/rig.ts'

const MINUTE_MS = 60_000
const EMAIL = 'root@example.com'
const PASSWORD = 'correct horse battery'
const actor = { kind: 'system', id: 'test' } as const

interface Stage {
  readonly service: TestApp
  readonly provider: IdentityProvider
  readonly browser: ReturnType<typeof openOperatorBrowser>
  readonly url: string
  pass(minutes: number): void
  /** Opens the same database in another node. */
  openNode(): Promise<TestApp>
  listActions(): Promise<readonly string[]>
}

interface StageOptions {
  readonly provider?: Parameters<typeof openIdentityProvider>[1]
  readonly env?: Readonly<Record<string, string>>
}

function eachStage(
  name: string,
  body: (stage: Stage, t: TestContext) => Promise<void>,
  options: StageOptions = {},
): void {
  for (const { name: kind } of databases) {
    test(`${name} [${kind}]`, async (t) => {
      const provider = await openIdentityProvider(t, options.provider)
      let offsetMs = 0
      const clock = {
        now: () => wallClock.now() + offsetMs,
        elapsedMs: wallClock.elapsedMs,
      }
      const env = { ...provider.env, ...options.env }
      const service = await openService(t, kind, { env, clock })
      const { url } = service
      const stage: Stage = {
        service,
        provider,
        url,
        browser: openOperatorBrowser(service.as(undefined)),
        pass(minutes) {
          offsetMs += minutes * MINUTE_MS
        },
        openNode: () => openService(t, kind, { env, clock, url }),
        async listActions() {
          const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
          const { body } = await admin.get('/admin/audit?limit=100')
          return body.data.map(({ action }: { action: string }) => action)
        },
      }
      await body(stage, t)
    })
  }
}

const statusOf = async (stage: Pick<Stage, 'browser'>, path = '/admin/audit') =>
  (await stage.browser.get(path)).status

eachStage(
  'the highest role of the groups counts, and the identity is issuer and subject',
  async (stage) => {
    const { browser, provider, service } = stage
    const { groups } = provider.account
    const { administration, hasher } = service.app
    const address = 'u-1@example.com'
    // The same address with a password: another operator.
    const own = { email: address, password: PASSWORD }
    const { id } = await createOperator(administration, hasher, own, actor)
    const { passwords, issuer } = (await browser.get('/console/sign-in')).body
    assert.deepEqual([passwords, issuer], ['on', provider.issuer])
    const signedIn = await browser.signIn()
    assert.deepEqual([signedIn.status, signedIn.headers.location], [303, '/console'])
    const first = (await browser.get('/console/session')).body
    assert.deepEqual([first.role, first.email], ['administrator', address])
    assert.notEqual(first.operator, id)
    const anonymous = service.as(undefined)
    const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
    const headers = { host: 'localhost:8787', 'x-gatehook-console': '1', cookie }
    const grant = { customer: 'default', mode: 'live', can: ['orders:read'] }
    const link = await anonymous.post('/admin/portal-links', grant, headers)
    const opened = await anonymous.post('/portal/session', { token: tokenOf(link) }, headers)
    assert.equal(opened.status, 201, opened.text)
    const readPortal = () =>
      anonymous.get('/portal/session', { ...OWN, host: headers.host, cookie: cookieOf(opened) })
    assert.equal((await readPortal()).status, 200)
    provider.account.groups = ['staff', 'help']
    const again = openOperatorBrowser(service.as(undefined))
    await again.signIn()
    const second = (await again.get('/console/session')).body
    assert.deepEqual([second.role, second.operator], ['support', first.operator])
    assert.equal((await readPortal()).status, 401, 'it was opened with a higher role')
    const { body } = await browser.get('/admin/operators')
    assert.deepEqual(
      body.data.map((row: { issuer: string | null }) => row.issuer).sort(),
      [provider.issuer, null].sort(),
    )
    assert.ok((await stage.listActions()).includes('operator.role'))

    provider.account.groups = groups
    await again.signIn()
    headers.cookie = [...again.cookies].map((pair) => pair.join('=')).join('; ')
    const links = [grant, grant].map((body) => anonymous.post('/admin/portal-links', body, headers))
    const [used, unused] = (await Promise.all(links)).map((reply) => ({ token: tokenOf(reply) }))
    const last = cookieOf(await anonymous.post('/portal/session', used, headers))
    const readLast = () =>
      anonymous.get('/portal/session', { ...OWN, host: headers.host, cookie: last })
    assert.equal((await readLast()).status, 200)
    const ofOther = await anonymous.post(`/admin/operators/${id}/link`, {}, headers)
    assert.equal(ofOther.status, 201, ofOther.text)
    provider.account.groups = ['others']
    const refused = openOperatorBrowser(service.as(undefined))
    assert.equal((await refused.signIn()).status, 403)
    assert.equal((await again.get('/console/session')).status, 401, 'its groups ended')
    assert.equal((await readLast()).status, 401)
    assert.equal((await anonymous.post('/portal/session', unused, headers)).status, 401)
    const ofLink = { token: tokenOf(ofOther) }
    assert.equal((await anonymous.post('/console/session', ofLink, headers)).status, 401)
    for (let count = 0; count < 3; count++) assert.equal((await refused.signIn()).status, 403)
    const ends = (await stage.listActions()).filter((name) => name === 'operator.session_end')
    assert.equal(ends.length, 1, 'a sign-in that ends nothing adds no row')
  },
)

eachStage('without a matching group, or disabled, no operator gets in', async (stage) => {
  const { browser, provider, service } = stage
  provider.account.groups = ['others', '']
  const rejected = await browser.signIn()
  assert.equal(rejected.status, 403)
  assert.match(rejected.text, /no role/)
  assert.match(rejected.text, /<style>/)
  assert.equal(await statusOf(stage), 401)
  provider.account.groups = ['staff']
  assert.equal((await browser.signIn()).status, 303)
  const { operator } = (await browser.get('/console/session')).body
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const role = await admin.patch(`/admin/operators/${operator}`, { role: 'administrator' })
  assert.deepEqual([role.status, role.body.error], [409, 'invalid_state'], 'the provider decides')
  const link = await admin.post(`/admin/operators/${operator}/link`)
  assert.deepEqual([link.status, link.body.error], [409, 'invalid_state'])
  assert.equal((await admin.patch(`/admin/operators/${operator}`, { disabled: true })).status, 200)
  assert.equal(await statusOf(stage), 401)
  assert.equal((await browser.signIn()).status, 403)
})

eachStage(
  'a response of the provider with too many values, or bytes, is not read',
  async (stage) => {
    const { browser, provider } = stage
    const { groups } = provider.account
    for (const more of [Array<string>(50_000).fill('a'), ['a'.repeat(256 * 1024)]]) {
      provider.account.groups = [...groups, ...more]
      assert.equal((await browser.signIn()).status, 403)
      assert.equal(await statusOf(stage), 401)
    }
    provider.account.groups = groups
    assert.equal((await browser.signIn()).status, 303)
  },
)

eachStage('a redirect that does not match the request opens no session', async (stage) => {
  const { browser } = stage
  const cases: Readonly<Record<string, (request: URL) => void>> = {
    nonce: (request) => request.searchParams.set('nonce', 'of-another-request'),
    state: (request) => request.searchParams.set('state', 'of-another-request'),
    challenge: (request) => request.searchParams.set('code_challenge', 'A'.repeat(43)),
  }
  for (const [name, change] of Object.entries(cases)) {
    const request = await browser.begin()
    change(request)
    const reply = await browser.finish(await browser.follow(request))
    assert.equal(reply.status, 403, name)
  }
  const redirects: Readonly<Record<string, (redirect: URL) => void>> = {
    state: ({ searchParams }) => searchParams.set('state', 'x'),
    'no state': ({ searchParams }) => searchParams.delete('state'),
    'another issuer': ({ searchParams }) => searchParams.set('iss', 'https://evil.example'),
    'no issuer': ({ searchParams }) => searchParams.delete('iss'),
    'another code': ({ searchParams }) => searchParams.set('code', 'x'),
    'two codes': ({ searchParams }) => searchParams.append('code', 'x'),
    'an error': ({ searchParams }) => {
      searchParams.delete('code')
      searchParams.set('error', 'access_denied')
    },
  }
  for (const [name, change] of Object.entries(redirects)) {
    const redirect = await browser.follow(await browser.begin())
    change(redirect)
    assert.equal((await browser.finish(redirect)).status, 403, name)
  }
  const redirect = await browser.follow(await browser.begin())
  const other = openOperatorBrowser(stage.service.as(undefined))
  assert.equal((await other.finish(redirect)).status, 403, 'another browser')
  assert.equal(await statusOf(stage), 401)
  stage.pass(11)
  assert.equal((await browser.finish(redirect)).status, 403, 'older than 10 minutes')
  assert.ok(!(await stage.listActions()).includes('operator.create'))
})

for (const provider of [
  { hasRefreshTokens: true, hasGroupsInTokens: true },
  { hasRefreshTokens: true, hasGroupsInTokens: false },
  { hasRefreshTokens: false, hasGroupsInTokens: false },
]) {
  eachStage(
    `the groups are read again while a session lives: ${JSON.stringify(provider)}`,
    async (stage) => {
      const { browser } = stage
      await browser.signIn()
      const node = await stage.openNode()
      for (let n = 0; n < 3; n++) {
        stage.pass(14)
        assert.equal(await statusOf(stage), 200)
      }
      stage.provider.account.groups = ['staff']
      stage.pass(15)
      const { body } = await browser.get('/console/session')
      assert.equal(body.role, 'viewer', 'the request itself has the new role')
      stage.provider.account.groups = ['others']
      stage.pass(15)
      const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
      const headers = { cookie, host: 'localhost:8787', 'x-gatehook-console': '1' }
      const replies = await Promise.all([
        browser.get('/admin/audit'),
        node.as(undefined).get('/admin/audit', headers),
        browser.get('/admin/keys'),
      ])
      assert.deepEqual(
        replies.map(({ status }) => status),
        [401, 401, 401],
      )
      const actions = await stage.listActions()
      assert.equal(actions.filter((action) => action === 'operator.session_end').length, 1)
    },
    { provider },
  )
}

eachStage(
  'a provider that does not answer ends the session, and the service starts without it',
  async (stage) => {
    const { browser, provider } = stage
    await browser.signIn()
    await provider.stop()
    stage.pass(6)
    assert.equal(await statusOf(stage), 200, 'asked again until 15 minutes have passed')
    stage.pass(9)
    assert.equal(await statusOf(stage), 401)
    const node = await stage.openNode()
    assert.equal((await node.as(undefined).get('/healthz')).status, 200)
    const other = openOperatorBrowser(node.as(undefined))
    assert.equal((await other.get('/console/oidc')).status, 403)
  },
)

eachStage('prompt=none displays no page, and tokens at rest are encrypted', async (stage) => {
  const { browser } = stage
  const silent = await browser.begin('?prompt=none&return=%2Fconsole%2Faudit%3Fmode%3Dtest')
  assert.equal(silent.searchParams.get('prompt'), 'none')
  const redirect = await browser.follow(silent)
  assert.equal(redirect.searchParams.get('error'), 'login_required')
  const loud = await browser.finish(redirect)
  assert.equal(loud.status, 303)
  const address = new URL(loud.headers.location!)
  assert.equal(address.searchParams.get('prompt'), null)
  const signedIn = await browser.finish(await browser.follow(address))
  assert.equal(signedIn.headers.location, '/console/audit?mode=test')
  for (const path of ['//evil.example/console/', '/console/../x', '/portal', 'https://x.y/', '']) {
    const request = await browser.begin(`?prompt=none&return=${encodeURIComponent(path)}`)
    const { headers } = await browser.finish(await browser.follow(request))
    assert.equal(headers.location, '/console', path)
  }
  const { db } = stage.service.app
  const rows = await db.all(sql`SELECT provider_tokens FROM gh_console_sessions`)
  for (const row of rows) {
    assert.doesNotMatch(
      Buffer.from(row.provider_tokens as Uint8Array).toString(),
      /"access"|"refresh"/,
    )
  }
})

const openByPassword = async ({ service }: Stage) => {
  const { administration, hasher } = service.app
  const anonymous = service.as(undefined)
  await createOperator(administration, hasher, { email: EMAIL, password: PASSWORD }, actor)
  const { path } = await createConsoleLink(administration, EMAIL, actor)
  return [
    await anonymous.post('/console/session', { email: EMAIL, password: PASSWORD }),
    await anonymous.post('/console/session', { token: path.split('#token=')[1] }),
  ]
}

eachStage(
  'break-glass: each use of a password or a link is audited and an attention item',
  async (stage) => {
    const replies = await openByPassword(stage)
    assert.deepEqual(
      replies.map(({ status }) => status),
      [201, 201],
    )
    await stage.browser.signIn()
    const actions = await stage.listActions()
    assert.equal(actions.filter((action) => action === 'operator.break_glass').length, 2)
    const items = (await stage.browser.get('/admin/attention')).body.data
    const kinds = items.map(({ kind }: { kind: string }) => kind)
    assert.equal(kinds.filter((kind: string) => kind === 'operator_break_glass').length, 2)
  },
  { env: { GATEHOOK_OPERATORS_PASSWORDS: 'break-glass' } },
)

eachStage(
  'off: neither a password nor a link opens a session',
  async (stage) => {
    const replies = await openByPassword(stage)
    assert.deepEqual(
      replies.map(({ status, body }) => [status, body.error]),
      [
        [403, 'forbidden'],
        [403, 'forbidden'],
      ],
    )
    assert.equal((await stage.browser.signIn()).status, 303)
  },
  { env: { GATEHOOK_OPERATORS_PASSWORDS: 'off' } },
)
