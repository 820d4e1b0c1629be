/**
 * §16.11: from the bare URL, links, metadata and schemas lead a program to its first call, within
 * 12 requests and 32,000 bytes. The catalog, `/llms.txt`, the metadata and the docs agree.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import type { Caller, Reply } from '../../../../test/rig/service.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { message, modernMessage } from '../mcp/rig.ts'
import { openOauthFixture } from '../oauth/rig.ts'

const ROOT = 'https://api.example.com'
const env = { GATEHOOK_PUBLIC_URL: ROOT }
const REQUESTS_MAX = 12
const BYTES_MAX = 32_000

/** A program that knows an address and its credentials, and counts what it reads. */
function createProgram(caller: Caller) {
  const requests: string[] = []
  let bytes = 0
  const send = async (
    method: string,
    url: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply> => {
    assert.ok(url.startsWith(ROOT), url)
    const reply = await caller.send(method, url.slice(ROOT.length) || '/', body, headers)
    requests.push(`${method} ${url}`)
    bytes += Buffer.byteLength(reply.text) + JSON.stringify(reply.headers).length
    return reply
  }
  return { send, requests, bytes: () => bytes }
}

const metadataOf = (challenge: string) => /resource_metadata="([^"]+)"/.exec(challenge)![1]!

for (const { name } of databases) {
  test(`a program follows links to its first call [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const client = await fixture.createClient({
      redirect_uris: [],
      grant_types: ['client_credentials'],
      scopes: ['orders:read', 'orders:write'],
    })
    const { send, requests, bytes } = createProgram(fixture.anonymous)
    const home = await send('GET', ROOT)
    const [, catalogPath] = /<([^>]+)>; rel="api-catalog"/.exec(home.headers.link!)!
    const catalog = await send('GET', ROOT + catalogPath)
    const entry = catalog.body.linkset.find(({ anchor }: { anchor: string }) =>
      anchor.endsWith('/mcp'),
    )
    const refused = await send('POST', entry.anchor, message('tools/list'))
    assert.equal(refused.status, 401)
    const address = metadataOf(refused.headers['www-authenticate']!)
    assert.equal(entry['service-meta'][0].href, address)
    const resource = await send('GET', address)
    assert.equal(resource.body.resource, entry.anchor)
    const [issuer] = resource.body.authorization_servers
    const server = await send('GET', `${issuer}/.well-known/oauth-authorization-server`)
    assert.ok(server.body.protected_resources.includes(resource.body.resource))
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client.client_id,
      client_secret: client.client_secret,
      scope: 'orders:read',
      resource: resource.body.resource,
    })
    const token = await send('POST', server.body.token_endpoint, form.toString(), {
      'content-type': 'application/x-www-form-urlencoded',
    })
    assert.equal(token.status, 200, token.text)
    const authorization = `Bearer ${token.body.access_token}`
    const call = async (method: string, params: object = {}) => {
      const { body, headers } = modernMessage(method, params)
      const reply = await send('POST', entry.anchor, body, { ...headers, authorization })
      assert.equal(reply.status, 200, reply.text)
      return reply.body.result
    }
    const tool = async (name: string, input: object) => {
      const { content } = await call('tools/call', { name, arguments: input })
      return JSON.parse(content[0].text)
    }
    const { capabilities } = await call('server/discover')
    assert.ok(capabilities.tools)
    const { tools } = await call('tools/list')
    const find = tools.find(({ name }: { name: string }) => name.startsWith('search'))
    const results = await tool(find.name, { query: 'list orders' })
    const [{ operation }] = results.operations
    const about = await tool('describe_operation', { operation })
    const page = await tool(about.tool, { operation, parameters: { limit: 1 } })
    assert.equal(page.status, 200)
    t.diagnostic(`${requests.length} requests, ${bytes()} bytes`)
    assert.ok(requests.length <= REQUESTS_MAX, requests.join('\n'))
    assert.ok(bytes() <= BYTES_MAX, `${bytes()} bytes`)
  })
}

eachService(
  'catalog, llms.txt, metadata and docs agree',
  async (service) => {
    const { get } = service.as(undefined)
    const { body: home } = await get('/')
    const { body: catalog } = await get(home.links.api_catalog)
    const [list, agents, ...versions] = catalog.linkset
    assert.deepEqual(
      list.item.map(({ href }: { href: string }) => href),
      [agents, ...versions].map(({ anchor }) => anchor),
    )
    assert.equal(agents.anchor, ROOT + home.links.mcp)
    const { text: llms } = await get('/llms.txt')
    assert.ok(llms.includes(agents.anchor))
    for (const { href, type } of [agents, ...versions].flatMap((entry) => [
      ...entry['service-doc'],
      ...entry['service-meta'],
      ...(entry['service-desc'] ?? []),
    ])) {
      const reply = await get(href.slice(ROOT.length))
      assert.equal(reply.status, 200, href)
      if (!type.includes('openapi')) assert.ok(reply.headers['content-type']!.startsWith(type))
    }
    const markdown = agents['service-doc'].find(({ type }: { type: string }) =>
      /markdown/.test(type),
    )
    assert.ok(llms.includes(`(${markdown.href})`), llms)
    const { text: page } = await get(markdown.href.slice(ROOT.length))
    const { body: server } = await get('/.well-known/oauth-authorization-server')
    for (const address of [
      `${ROOT}${home.links.api_catalog}`,
      agents.anchor,
      agents['service-meta'][0].href,
      server.authorization_endpoint,
      server.token_endpoint,
      `${server.issuer}/.well-known/oauth-authorization-server`,
    ]) {
      assert.ok(page.includes(address), address)
    }
    assert.deepEqual(page.match(/^## .*?\d\. /gm)?.length, 7)
  },
  { env },
)
