/**
 * §10.6: every response has `nosniff` and a `Content-Security-Policy`; responses to authenticated
 * requests are private; those with a secret are `no-store`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, type Reply } from '../../../../test/rig/service.ts'
import { service } from '../../src/gatehook.ts'
import { shop } from '../fixtures/shop.ts'
import { start, talk } from '../http/rig.ts'
import { basicOf, bearerOf, emailOf, openPeople } from '../people/rig.ts'

const varyOf = ({ headers }: Reply) => (headers.vary ?? '').split(', ')
/** The directives of a page and of every other response. */
const PAGE_DIRECTIVES = ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"]
const DIRECTIVES = [
  'sandbox',
  "default-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
]
const CREDENTIALS = ['Authorization', 'X-API-Key']

eachService(
  'every response has nosniff and a policy that loads and frames nothing',
  async (service) => {
    const anonymous = service.as(undefined)
    const replies = [
      await service.get('/api/v2/users'),
      await service.post('/api/v2/users', {}),
      await service.send('OPTIONS', '/api/v2/users'),
      await anonymous.get('/api/v2/users'),
      await anonymous.get('/nowhere'),
      await anonymous.get('/'),
      await anonymous.get('/healthz'),
      await anonymous.get('/metrics'),
      await anonymous.get('/.well-known/jwks.json'),
      await anonymous.get('/oauth/authorize'),
      await anonymous.get('/api/v2/users?a=%zz'),
      await anonymous.get('/nowhere', { host: 'elsewhere.example' }),
    ]
    for (const { status, headers } of replies) {
      assert.equal(headers['x-content-type-options'], 'nosniff', String(status))
      const policy = String(headers['content-security-policy']).split('; ')
      const isPage = String(headers['content-type']).startsWith('text/html')
      const directives = isPage ? PAGE_DIRECTIVES : DIRECTIVES
      for (const directive of directives) assert.ok(policy.includes(directive), String(status))
    }
  },
)

const MARKUP = '<form action="https://evil.example"><script>alert(1)</script></form>'
const MARKUP_TYPES: readonly `${string}/${string}`[] = [
  'text/html',
  'image/svg+xml',
  'application/xml',
  'text/plain',
]
const markup = {
  service: MARKUP_TYPES.reduce(
    (built, media, at) =>
      built.route({
        method: 'GET',
        path: `/markup/media${at}`,
        scope: 'markup:read',
        summary: 'Return stored text',
        output: { media },
        handle: () => ({ body: MARKUP }),
      }),
    service({ name: 'markup', versions: { v1: { released: '2026-01-01' } }, resources: [] }),
  ),
}

eachService(
  'stored text that an own route returns runs, sends and shares nothing as a page',
  async (app) => {
    const caller = app.as(await app.key({ scopes: ['markup:read'] }))
    for (const [at, media] of MARKUP_TYPES.entries()) {
      const { status, text, headers } = await caller.get(`/api/v1/markup/media${at}`)
      assert.deepEqual([status, text], [200, MARKUP])
      assert.ok(headers['content-type']?.startsWith(media))
      assert.equal(headers['content-security-policy'], DIRECTIVES.join('; '), media)
    }
  },
  markup,
)

test('responses of the parser and the bare 500 have these headers', async (t) => {
  const { port } = await start(t)
  const heads = [
    'nonsense\r\n\r\n',
    `GET / HTTP/1.1\r\nHost: localhost\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`,
    'CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'POST /bug HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  ]
  for (const head of heads) {
    const [answer] = await talk(port, head)
    assert.equal(answer!.headers['x-content-type-options'], 'nosniff', head.slice(0, 20))
    assert.equal(answer!.headers['content-security-policy'], DIRECTIVES.join('; '))
  }
})

eachService(
  'an authenticated response is private, and varies by the credential',
  async (service) => {
    const { createPerson, token, anonymous, operator } = await openPeople(service)
    await createPerson('ada')
    const bearer = bearerOf(await token(emailOf('ada')))
    const reads = [
      await service.get('/api/v2/users'),
      await service.get('/api/v2/users/1'),
      await anonymous.get('/api/v2/protected', bearer),
      await anonymous.get('/api/v2/protected', basicOf(emailOf('ada'))),
      await anonymous.get('/auth/sessions', bearer),
      await anonymous.get('/api/v2/users'),
      await service.post('/api/v2/users', { name: 'n', email: 'n@example.com' }),
    ]
    for (const reply of reads) {
      assert.equal(reply.headers['cache-control'], 'private, no-cache', String(reply.status))
      for (const name of CREDENTIALS)
        assert.ok(varyOf(reply).includes(name), reply.headers.vary ?? 'no Vary')
      assert.equal(new Set(varyOf(reply)).size, varyOf(reply).length, 'each name once')
    }
    const first = await service.get('/api/v2/users')
    const again = await service.get('/api/v2/users', { 'if-none-match': first.headers.etag ?? '' })
    assert.deepEqual([again.status, again.headers['cache-control']], [304, 'private, no-cache'])
    const admin = await operator.get('/admin/keys')
    assert.ok(varyOf(admin).includes('Cookie'), 'a session of the console is a cookie')
    assert.equal((await anonymous.get('/.well-known/jwks.json')).headers.vary, undefined)
  },
)

eachService('a response with a secret is no-store', async (service) => {
  const { createPerson, login, operator, anonymous } = await openPeople(service)
  await createPerson('ada')
  const signedIn = await login(emailOf('ada'))
  const { refresh_token } = signedIn.body
  const key = { name: 'k', scopes: [], mode: 'test' }
  const repeat = { 'idempotency-key': 'once' }
  const secrets = [
    signedIn,
    await anonymous.post('/auth/refresh', { refresh_token }),
    await operator.post('/admin/keys', key, repeat),
    await operator.post('/admin/keys', key, repeat),
  ]
  for (const { status, headers } of secrets) {
    assert.ok(status < 300)
    assert.equal(headers['cache-control'], 'no-store')
  }
  const { key: secret } = secrets[2]!.body
  const inUrl = await anonymous.get(`/api/v2/protected?api_key=${secret}`)
  assert.equal(inUrl.headers['cache-control'], 'private, no-store')
})

eachService(
  'an anonymous read of a public resource is not private, and varies by the credential',
  async (service) => {
    const anonymous = await service.as(undefined).get('/api/v2/news')
    assert.deepEqual([anonymous.status, anonymous.headers['cache-control']], [200, undefined])
    for (const name of CREDENTIALS) assert.ok(varyOf(anonymous).includes(name))
    const authenticated = await service.get('/api/v2/news')
    assert.equal(authenticated.headers['cache-control'], 'private, no-cache')
  },
  { service: shop },
)
