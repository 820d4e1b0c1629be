/**
 * §17.4: an application mounts the engine in its own server, whole or below a prefix that its
 * framework strips. Every URL that it writes contains the path of the public URL.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { api } from '../../service/service.ts'
import { mount, type Sender } from '../../src/mounted.ts'
import {
  ADMIN_KEY,
  BASE,
  each,
  keyOf,
  mounted,
  raw,
  sendTo,
  serverOf,
  strip,
} from '../fixtures/mounted.ts'

test('nothing is opened before the first request, and a process has one instance', async (t) => {
  const folder = emptyFolder(t)
  const file = join(folder, 'data', 'gatehook.db')
  const signals = process.listenerCount('SIGTERM') + process.listenerCount('SIGINT')
  const options = {
    service: api,
    env: { GATEHOOK_DATABASE_URL: `sqlite:${file}`, GATEHOOK_LOG_LEVEL: 'silent' },
  }
  const gatehook = mount(options)
  onEnd(t, () => gatehook.close())
  assert.equal(mount({ ...options, env: { GATEHOOK_PORT: 'not a port' } }), gatehook)
  await immediate()
  assert.ok(!existsSync(file))
  await gatehook.fetch(new Request('http://127.0.0.1:8787/healthz'))
  assert.ok(existsSync(file))
  await gatehook.ready()
  const reply = await gatehook.fetch(new Request('http://127.0.0.1:8787/healthz'))
  assert.equal(reply.status, 200)
  assert.equal(process.listenerCount('SIGTERM') + process.listenerCount('SIGINT'), signals)
  await gatehook.close()
  assert.equal((await gatehook.fetch(new Request('http://127.0.0.1:8787/healthz'))).status, 503)
  assert.notEqual(mount(options), gatehook)
  await mount(options).close()
})

test('a wrong setting rejects `ready`, and a request learns no cause', async () => {
  for (const env of [{ GATEHOOK_PORT: 'x' }, { GATEHOOK_INTERNAL: '127.0.0.1:0' }]) {
    const gatehook = mount({ service: api, env: { GATEHOOK_LOG_LEVEL: 'silent', ...env } })
    const message = /\nmount\(\) reads variables from its option env only\.$/
    await assert.rejects(gatehook.ready(), { name: 'ConfigError', message })
    const reply = await gatehook.fetch(new Request('http://localhost/healthz'))
    assert.equal(reply.status, 500)
    assert.doesNotMatch(await reply.text(), /GATEHOOK/)
    await gatehook.close()
  }
})

each(
  'fetch and node serve whole URLs, and those of which a prefix is stripped',
  async (t, kind) => {
    const gatehook = await mounted(t, kind, { GATEHOOK_PUBLIC_URL: 'http://127.0.0.1/gatehook' })
    const send = sendTo(gatehook)
    const plain: Sender = { address: '127.0.0.1' }
    const host = { host: '127.0.0.1' }
    const key = await (async () => {
      const json = { name: 'test', scopes: ['users:read', 'users:write'] }
      const init = { method: 'POST', key: ADMIN_KEY, json, sender: plain, headers: host }
      return ((await (await send('/gatehook/admin/keys', init)).json()) as { key: string }).key
    })()
    const user = { email: 'ada@example.com', name: 'Ada' }
    const init = { method: 'POST', key, json: user, sender: plain, headers: host }
    const created = await send('/gatehook/api/v2/users', init)
    assert.equal(created.status, 201, await created.clone().text())
    const location = created.headers.get('location')!
    assert.match(location, /^\/gatehook\/api\/v2\/users\//)
    const { id } = (await created.json()) as { id: number }
    for (const prefix of ['/gatehook', '']) {
      const path = `${prefix}/api/v2/users/${id}`
      const reply = await send(path, { key, sender: plain, headers: host })
      assert.equal(((await reply.json()) as { id: number }).id, id, path)
    }
    const stripped = await serverOf(t, (incoming, outgoing) => {
      void gatehook.node(strip(incoming, '/other'), outgoing)
    })
    const whole = await serverOf(t, (incoming, outgoing) => void gatehook.node(incoming, outgoing))
    const below = await serverOf(t, (incoming, outgoing) => {
      void gatehook.node(strip(incoming, '/gatehook'), outgoing)
    })
    for (const url of [`${stripped}/other`, `${whole}/gatehook`, whole, `${below}/gatehook`]) {
      const reply = await fetch(`${url}/api/v2/users/${id}`, { headers: { 'x-api-key': key } })
      assert.equal(reply.status, 200, url)
      assert.equal(((await reply.json()) as { id: number }).id, id)
      assert.equal((await fetch(url)).status, 200)
      assert.equal((await fetch(`${url}?x=1`)).status, 200)
      assert.equal((await fetch(`${url}/gatehookx`)).status, 404)
    }
  },
)

/** The paths of this server in a text: attributes of HTML, and values of JSON. */
const pathsIn = (text: string): string[] => [
  ...[...text.matchAll(/(?:href|src|action|data-index|data-path)="(\/[^"]*)"/g)].map(([, p]) => p!),
  ...[...text.matchAll(/"(?:self|next|first|last|prev|href|\w+Url)":"(\/[^"]*)"/g)].map(
    ([, p]) => p!,
  ),
]

each('every URL that it writes contains the path', async (t, kind) => {
  const gatehook = await mounted(t, kind)
  const send = sendTo(gatehook)
  const key = await keyOf(send)
  const user = { email: 'ada@example.com', name: 'Ada' }
  for (const email of ['a@example.com', 'b@example.com']) {
    await send('/gatehook/api/v2/users', { method: 'POST', key, json: { ...user, email } })
  }
  const page = await send('/gatehook/api/v2/users?limit=1', { key })
  assert.match(page.headers.get('link')!, /<https:\/\/mount\.example\/gatehook\/api\/v2\/users\?/)
  const linked = await send('/gatehook/api/v2/users?per_page=1&pagination=hypermedia', { key })
  assert.equal(linked.status, 200)
  const pages: Response[] = [linked]
  const read = [
    '/gatehook',
    '/gatehook/docs',
    '/gatehook/docs/v2',
    '/gatehook/docs/v2/users',
    '/gatehook/docs/nothing',
    '/gatehook/docs/v2/search.json',
    '/gatehook/openapi/v2.json',
    '/gatehook/oauth/device',
    '/gatehook/.well-known/api-catalog',
    '/gatehook/.well-known/oauth-authorization-server',
    '/gatehook/llms.txt',
  ]
  for (const path of read) pages.push(await send(path, { headers: { accept: '*/*, text/html' } }))
  for (const reply of pages) {
    const location = reply.headers.get('location')
    if (location !== null) assert.match(location, /^\/gatehook\//)
    for (const [, target] of (reply.headers.get('link') ?? '').matchAll(/<([^>]*)>/g)) {
      assert.match(target!, /^(https:\/\/mount\.example)?\/gatehook\//)
    }
    const text = await reply.text()
    for (const path of pathsIn(text)) assert.match(path, /^\/gatehook(\/|$)/, path)
    for (const match of text.matchAll(/https:\/\/mount\.example[^\s"'<)\\]*/g)) {
      const around = text.slice(match.index - 60, match.index + 60)
      assert.match(match[0], /^https:\/\/mount\.example(\/\.well-known\/[\w-]+)?\/gatehook/, around)
    }
  }
  const metadata = await send('/gatehook/.well-known/oauth-authorization-server')
  const { issuer, token_endpoint } = (await metadata.json()) as Record<string, string>
  assert.deepEqual([issuer, token_endpoint], [BASE, `${BASE}/oauth/token`])
  const refused = await send('/gatehook/api/v2/users')
  const metadataUrl = `${new URL(BASE).origin}/.well-known/oauth-protected-resource/gatehook/api`
  const challenge = refused.headers.get('www-authenticate')!
  assert.ok(challenge.includes(`resource_metadata="${metadataUrl}"`), challenge)
  const { documentation } = (await refused.json()) as { documentation: string }
  const accept = 'application/problem+json'
  const problem = await send('/gatehook/api/v2/users', { headers: { accept } })
  assert.equal(((await problem.json()) as { instance: string }).instance, '/gatehook/api/v2/users')
  assert.match(documentation, /^https:\/\/mount\.example\/gatehook\/docs\//)
})

each('the root of the host has the documents that belong there, and no others', async (t, kind) => {
  const gatehook = await mounted(t, kind)
  const root = sendTo(gatehook.wellKnown)
  const served: Record<string, [string, string]> = {
    '/.well-known/oauth-authorization-server/gatehook': ['issuer', BASE],
    '/.well-known/openid-configuration/gatehook': ['issuer', BASE],
    '/.well-known/oauth-protected-resource/gatehook': ['resource', BASE],
    '/.well-known/oauth-protected-resource/gatehook/api': ['resource', `${BASE}/api`],
    '/.well-known/oauth-protected-resource/gatehook/mcp': ['resource', `${BASE}/mcp`],
  }
  const url = await serverOf(t, (incoming, outgoing) => {
    void gatehook.wellKnown.node(strip(incoming, '/.well-known'), outgoing, { secure: true })
  })
  for (const [path, [name, value]] of Object.entries(served)) {
    const reply = await root(path)
    assert.equal(((await reply.json()) as Record<string, string>)[name], value, path)
    const { status, text } = await raw(url, path, { host: 'mount.example' })
    assert.deepEqual([status, JSON.parse(text)[name]], [200, value], path)
  }
  assert.equal((await root('/.well-known/api-catalog')).status, 200)
  const others = [
    '/.well-known/jwks.json',
    '/.well-known/security.txt',
    '/.well-known/',
    '/healthz',
  ]
  for (const path of [
    ...others,
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-authorization-server/other',
    '/.well-known/oauth-protected-resource/gatehookx',
    '/.well-known/oauth-authorization-server/../admin/keys',
  ]) {
    assert.equal((await root(path, { key: ADMIN_KEY })).status, 404, path)
  }
})
