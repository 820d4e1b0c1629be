/** §16.4: which documents are valid, and how the server fetches them. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { createLog } from '../../src/kernel/log.ts'
import {
  codeOf,
  type DocumentHost,
  documentEnv,
  exchangeAs,
  open,
  openDocumentHost,
  signIn,
} from '../oauth/document-host.ts'
import { authorizePath, CALLBACK, form, openBrowser, openOauthFixture } from '../oauth/rig.ts'

const { publicKey } = generateKeyPairSync('ed25519')
const KEYS = {
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: [publicKey.export({ format: 'jwk' })] },
}
const keysAt = (jwks_uri: unknown) => ({ ...KEYS, jwks: undefined, jwks_uri })

/** Each document fails one check alone. */
const INVALID: Record<string, (host: DocumentHost) => void> = {
  'another client id': (host) => host.document({ client_id: host.id('/other') }),
  'no client id': (host) => host.document({ client_id: undefined }),
  'no name': (host) => host.document({ client_name: undefined }),
  'an empty name': (host) => host.document({ client_name: ' ' }),
  'a name of two lines': (host) => host.document({ client_name: 'A\nB' }),
  'a name with a line separator': (host) => host.document({ client_name: 'A\u2028B' }),
  'a name with an override of direction': (host) => host.document({ client_name: 'A\u202EB' }),
  'a name with an invisible character': (host) => host.document({ client_name: 'A\u00ADB' }),
  'a name of 61 characters': (host) => host.document({ client_name: 'a'.repeat(61) }),
  'a name that is no text': (host) => host.document({ client_name: 1 }),
  'no redirect URIs': (host) => host.document({ redirect_uris: undefined }),
  'an empty list': (host) => host.document({ redirect_uris: [] }),
  'a redirect URI that runs code': (host) => host.document({ redirect_uris: ['javascript:x'] }),
  'too many redirect URIs': (host) =>
    host.document({
      redirect_uris: [CALLBACK, ...Array.from({ length: 50 }, (_, n) => `https://a.example/${n}`)],
    }),
  'a list that is a text': (host) => host.document({ redirect_uris: CALLBACK }),
  'a secret': (host) => host.document({ client_secret: 'x' }),
  'an expiry of a secret': (host) => host.document({ client_secret_expires_at: 0 }),
  'a method with a secret': (host) =>
    host.document({ token_endpoint_auth_method: 'client_secret_basic' }),
  'a method that is no text': (host) => host.document({ token_endpoint_auth_method: 7 }),
  'keys nowhere': (host) => host.document({ token_endpoint_auth_method: 'private_key_jwt' }),
  'keys in two places': (host) => host.document({ ...KEYS, jwks_uri: host.id('/jwks.json') }),
  'a key set without keys': (host) => host.document({ ...KEYS, jwks: { keys: [] } }),
  'keys without TLS': (host) => host.document(keysAt(host.id().replace('https', 'http'))),
  'keys on another host': (host) => host.document(keysAt('https://a.example/jwks.json')),
  'keys at a number': (host) => host.document(keysAt(7)),
  'an unknown algorithm of ID tokens': (host) =>
    host.document({ id_token_signed_response_alg: 'none' }),
  'grants without a person': (host) => host.document({ grant_types: ['client_credentials'] }),
  'no response type': (host) => host.document({ response_types: ['token'] }),
  'a text': (host) =>
    host.serve('/client.json', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('"x"')
    }),
  'a broken text': (host) =>
    host.serve('/client.json', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"client_id":')
    }),
  'a repeated member': (host) =>
    host.serve('/client.json', (_, response) => {
      const body = JSON.stringify({ client_name: 'A', redirect_uris: [CALLBACK] })
      const text = `{"client_id":"x","client_id":${JSON.stringify(host.id())},${body.slice(1)}`
      response.writeHead(200, { 'content-type': 'application/json' }).end(text)
    }),
  'another media type': (host) => host.document({}, undefined, { 'content-type': 'text/plain' }),
  'more than 10 KiB': (host) => host.document({ more: 'a'.repeat(10 * 1024) }),
  'more than 16 KiB': (host) => host.document({ more: 'a'.repeat(70 * 1024) }),
  'a redirect': (host) => {
    host.serve('/client.json', (_, response) => {
      response.writeHead(302, { location: host.document({}, '/other') }).end()
    })
  },
  'another status': (host) =>
    host.serve('/client.json', (_, response) => {
      response.writeHead(203, { 'content-type': 'application/json' }).end('{}')
    }),
  'an end before the whole body': (host) =>
    host.serve('/client.json', (_, response) => {
      const text = JSON.stringify({
        client_id: host.id(),
        client_name: 'A',
        redirect_uris: [CALLBACK],
      })
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 9_000 })
      response.write(text, () => response.destroy())
    }),
  'bytes that are not UTF-8': (host) =>
    host.serve('/client.json', (_, response) => {
      const text = JSON.stringify({
        client_id: host.id(),
        client_name: 'A?',
        redirect_uris: [CALLBACK],
      })
      const bytes = Buffer.from(text)
      bytes[bytes.indexOf('?')] = 0xff
      response.writeHead(200, { 'content-type': 'application/json' }).end(bytes)
    }),
  'a closed connection': (host) =>
    host.serve('/client.json', (request) => {
      request.socket.destroy()
    }),
}

test('every invalid document reads the same outside, and the log has its cause', async (t) => {
  const causes: string[] = []
  const destination = {
    write(line: string) {
      const { cause } = JSON.parse(line)
      if (cause !== undefined) causes.push(cause)
    },
  }
  const host = await openDocumentHost(t)
  const env = { ...documentEnv, GATEHOOK_TEST_CLOCK: '1' }
  const log = createLog({ level: 'warn', destination })
  const fixture = await openOauthFixture(t, 'sqlite', { env, log })
  const browser = openBrowser(fixture.app)
  await signIn(browser, authorizePath(fixture.client), fixture)
  const pages = new Set<string>()
  let count = 0
  for (const [mistake, serve] of Object.entries(INVALID)) {
    serve(host)
    // Fetches are limited per minute.
    if (count++ % 9 === 8) await fixture.admin.post('/admin/clock', { advance_s: 61 })
    const page = await browser.get(authorizePath({ client_id: host.id() }))
    assert.equal(page.status, 400, `${mistake}: ${page.text}`)
    assert.equal(page.location, undefined)
    pages.add(page.text.replace(/Reference: [^<]*/, ''))
    assert.equal(causes.length, count, mistake)
  }
  assert.equal(pages.size, 1)
  assert.match([...pages][0]!, /invalid_client/)
  assert.ok(new Set(causes).size > 10, 'causes differ')
  host.document(KEYS)
  await fixture.admin.post('/admin/clock', { advance_s: 61 })
  const page = await browser.get(authorizePath({ client_id: host.id() }))
  assert.equal(page.status, 200, 'failures are not cached')
})

test('only the normal spelling of an https URL with a path is the id of a document', async (t) => {
  const host = await openDocumentHost(t)
  const fixture = await openOauthFixture(t, 'sqlite', { env: documentEnv })
  const browser = openBrowser(fixture.app)
  await signIn(browser, authorizePath(fixture.client), fixture)
  const origin = `https://127.0.0.1:${host.port}`
  const ids = [
    `http://127.0.0.1:${host.port}/client.json`,
    origin,
    `${origin}/`,
    `${origin}/client.json#x`,
    `${origin}/client.json#`,
    `${origin}/a/../client.json`,
    `${origin}/a/%2e%2e/client.json`,
    `${origin}/./client.json`,
    `https://user@127.0.0.1:${host.port}/client.json`,
    `https://@127.0.0.1:${host.port}/client.json`,
    `https://0x7f.1:${host.port}/client.json`,
    `https://localhost.:${host.port}/client.json`,
    `HTTPS://127.0.0.1:${host.port}/client.json`,
    `${origin}\\client.json`,
    `${origin}/client .json`,
    `${origin}/${'a'.repeat(2_000)}`,
  ]
  for (const id of ids) {
    host.document({ client_id: id })
    const page = await browser.get(authorizePath({ client_id: id }))
    assert.equal(page.status, 400, id)
  }
  assert.deepEqual(host.requests, [])
  const withQuery = host.document({}, '/c?v=1')
  assert.equal((await browser.get(authorizePath({ client_id: withQuery }))).status, 200)
})

test('fetches of one document are shared, and limited for a person and a host', async (t) => {
  const { host, fixture } = await open(t, 'sqlite')
  const browser = openBrowser(fixture.app)
  await signIn(browser, authorizePath(fixture.client), fixture)
  const get = (path: string, visitor = browser) =>
    visitor.get(authorizePath({ client_id: host.id(path) }))
  let answer = () => {}
  const isAnswered = new Promise<void>((resolve) => {
    answer = resolve
  })
  host.serve('/slow', async (_, response) => {
    await isAnswered
    response.writeHead(404).end()
  })
  const pages = Array.from({ length: 5 }, () => get('/slow'))
  while (host.requests.length === 0) await new Promise(setImmediate)
  answer()
  for (const page of await Promise.all(pages)) assert.equal(page.status, 400)
  assert.deepEqual(host.requests, ['/slow'])
  for (let n = 1; n < 10; n++) assert.equal((await get(`/${n}`)).status, 400)
  const limited = await get('/last')
  assert.deepEqual([limited.status, Number(limited.headers['retry-after']) > 0], [429, true])
  assert.equal(host.requests.length, 10)
  // Other persons, until the host has had its share.
  for (let n = 0; n < 2; n++) {
    const person = await fixture.createPerson()
    const another = openBrowser(fixture.app)
    await signIn(another, authorizePath(fixture.client), { ...fixture, person })
    for (let m = 0; m < 10; m++) assert.equal((await get(`/${n}-${m}`, another)).status, 400)
  }
  const person = await fixture.createPerson()
  const last = openBrowser(fixture.app)
  await signIn(last, authorizePath(fixture.client), { ...fixture, person })
  assert.equal((await get('/full', last)).status, 429)
})

test('the token endpoint reads the document of a stored grant only', async (t) => {
  const host = await openDocumentHost(t)
  const env = { ...documentEnv, GATEHOOK_TEST_CLOCK: '1' }
  const fixture = await openOauthFixture(t, 'sqlite', { env })
  const id = host.document()
  const { anonymous, admin } = fixture
  const { body } = await exchangeAs(fixture, id, await codeOf(fixture, id))
  await admin.post('/admin/clock', { advance_s: 86_401 })
  host.requests.length = 0
  const send = (fields: Record<string, string>) =>
    form(anonymous, '/oauth/token', { client_id: id, ...fields })
  const stranger = [
    { grant_type: 'refresh_token', refresh_token: 'x' },
    { grant_type: 'authorization_code', code: 'x', redirect_uri: CALLBACK },
    { grant_type: 'client_credentials' },
  ]
  for (const fields of stranger) {
    const { status, body } = await send(fields)
    assert.deepEqual([status, body.error], [401, 'invalid_client'], fields.grant_type)
  }
  assert.deepEqual(host.requests, [])
  const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token }
  host.serve('/client.json', (_, response) => response.writeHead(500).end())
  const failed = await send(refresh)
  assert.deepEqual([failed.status, failed.body.error], [401, 'invalid_client'])
  host.document()
  assert.equal((await send(refresh)).status, 200, 'the failed request rotated nothing')
  assert.equal(host.requests.length, 2)
})

test('fetches for strangers and for a broken client refuse no client in use', async (t) => {
  const host = await openDocumentHost(t)
  const env = { ...documentEnv, GATEHOOK_TEST_CLOCK: '1' }
  const fixture = await openOauthFixture(t, 'sqlite', { env })
  const { admin, anonymous } = fixture
  const use = async (path: string) => {
    const id = host.document({}, path)
    const { body } = await exchangeAs(fixture, id, await codeOf(fixture, id))
    let token = body.refresh_token
    return async () => {
      const fields = { grant_type: 'refresh_token', refresh_token: token, client_id: id }
      const answer = await form(anonymous, '/oauth/token', fields)
      token = answer.body.refresh_token ?? token
      return answer.status
    }
  }
  const refresh = await use('/used.json')
  const refreshBroken = await use('/broken.json')
  await admin.post('/admin/clock', { advance_s: 86_401, freeze: true })
  /** Three persons use up the fetches of the host. */
  const lookUp = async (path: (n: number) => string) => {
    for (let n = 0; n < 3; n++) {
      const visitor = openBrowser(fixture.app)
      const person = await fixture.createPerson()
      await signIn(visitor, authorizePath(fixture.client), { ...fixture, person })
      for (let m = 0; m < 10; m++) {
        const page = await visitor.get(authorizePath({ client_id: host.id(path(n * 10 + m)) }))
        assert.equal(page.status, 400)
      }
    }
    host.requests.length = 0
  }
  await lookUp((n) => `/${n}`)
  assert.equal(await refresh(), 200, 'strangers used up the fetches of the host')
  assert.deepEqual(host.requests, ['/used.json'])
  await admin.post('/admin/clock', { advance_s: 86_401 })
  host.serve('/broken.json', (_, response) => response.writeHead(404).end())
  await lookUp(() => '/broken.json')
  assert.equal(await refreshBroken(), 429, 'a document that failed serves nobody')
  assert.equal(await refresh(), 200, 'the last valid document serves')
  assert.deepEqual(host.requests, [])
})

test('the cache obeys HTTP between 5 minutes and 24 hours', async (t) => {
  const host = await openDocumentHost(t)
  const env = { ...documentEnv, GATEHOOK_TEST_CLOCK: '1' }
  const fixture = await openOauthFixture(t, 'sqlite', { env })
  for (const [control, lifetimeS] of [
    ['no-store', 300],
    ['max-age=10', 300],
    ['max-age=900', 900],
    ['max-age=10, s-maxage=600', 600],
    ['max-age=999999', 86_400],
  ] as const) {
    const path = `/${lifetimeS}-${control.length}`
    const id = host.document({}, path, { 'cache-control': control })
    /** A new session each time: sessions of the pages last 10 minutes. */
    const visit = () =>
      signIn(
        openBrowser(fixture.app),
        authorizePath({ client_id: id }, { scope: 'orders:read' }),
        fixture,
      )
    await fixture.admin.post('/admin/clock', { advance_s: 61, freeze: true })
    await visit()
    await fixture.admin.post('/admin/clock', { advance_s: lifetimeS - 1 })
    await visit()
    assert.equal(host.requests.filter((url) => url === path).length, 1, control)
    await fixture.admin.post('/admin/clock', { advance_s: 1 })
    await visit()
    assert.equal(host.requests.filter((url) => url === path).length, 2, control)
  }
})

test('the guard of receivers holds, and the operator names the hosts', async (t) => {
  const host = await openDocumentHost(t)
  for (const env of [
    { GATEHOOK_WEBHOOK_CA: documentEnv.GATEHOOK_WEBHOOK_CA },
    { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' },
    { ...documentEnv, GATEHOOK_CLIENT_DOCUMENTS: 'off' },
    { ...documentEnv, GATEHOOK_CLIENT_DOCUMENTS: 'example.com,*.127.0.0.1' },
    { ...documentEnv, GATEHOOK_PUBLIC_URL: 'https://api.example.com' },
  ]) {
    const fixture = await openOauthFixture(t, 'sqlite', { env })
    const browser = openBrowser(fixture.app)
    await signIn(browser, authorizePath(fixture.client), fixture)
    const page = await browser.get(authorizePath({ client_id: host.document() }))
    assert.equal(page.status, 400, JSON.stringify(env))
  }
  assert.deepEqual(host.requests, [])
  const env = { ...documentEnv, GATEHOOK_CLIENT_DOCUMENTS: 'example.com, 127.0.0.1' }
  const fixture = await openOauthFixture(t, 'sqlite', { env })
  const metadata = await fixture.anonymous.get('/.well-known/oauth-authorization-server')
  assert.equal(metadata.body.client_id_metadata_document_supported, true)
  assert.ok(await codeOf(fixture, host.document()))
})
