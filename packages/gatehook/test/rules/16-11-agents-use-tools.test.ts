/**
 * §16.11: `/mcp` has four tools whatever the size of the API, in two revisions, without sessions.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { message, modernMessage, toolsOf } from '../mcp/rig.ts'

const TOOLS = ['search_operations', 'describe_operation', 'read_operation', 'call_operation']

const WRITE = 'things:write'

/** Returns a service with five operations for each collection. */
const apiOf = (collections: number) =>
  service({
    name: 'Sized',
    versions: { v1: { released: '2026-01-01' } },
    resources: Array.from({ length: collections }, (_, n) =>
      resource(`things${n}`, {
        fields: { id: f.id(), name: f.string() },
        list: { filter: ['name'], sort: ['id'] },
        access: { read: 'things:read', create: WRITE, update: WRITE, delete: WRITE },
        events: [],
      }),
    ),
  })

test('the list of tools has at most 6,000 bytes for 5 and for 500 operations', async (t) => {
  const texts: string[] = []
  for (const collections of [1, 100]) {
    // A key cannot hold the scopes of 100 collections.
    const options = { service: apiOf(collections), key: 'none' }
    const { as, key } = await openService(t, 'sqlite', options)
    const { post } = as(await key({ scopes: ['things:read', WRITE] }))
    const { status, text, body } = await post('/mcp', message('tools/list'))
    assert.equal(status, 200, text)
    assert.ok(Buffer.byteLength(text) <= 6000, `${text.length} bytes`)
    assert.deepEqual(
      body.result.tools.map(({ name }: { name: string }) => name),
      TOOLS,
    )
    texts.push(text)
    const tool = toolsOf((message) => post('/mcp', message))
    const results = await tool('search_operations', { query: `create things${collections - 1}` })
    assert.equal(results.value.operations[0].path, `/api/v1/things${collections - 1}`)
    assert.ok(Buffer.byteLength(results.http.text) <= 6000)
  }
  assert.equal(texts[0], texts[1])
})

eachService('tools say what they do', async ({ post }) => {
  const { body } = await post('/mcp', message('tools/list'))
  for (const { name, annotations, inputSchema, description } of body.result.tools) {
    assert.equal(annotations.readOnlyHint, name !== 'call_operation', name)
    assert.equal(annotations.destructiveHint, name === 'call_operation', name)
    assert.equal(inputSchema.additionalProperties, false)
    assert.ok(description.length > 20)
  }
})

eachService('both revisions have the same tools, without a session', async ({ post, as }) => {
  const discover = modernMessage('server/discover')
  const discovered = await post('/mcp', discover.body, discover.headers)
  assert.equal(discovered.status, 200, discovered.text)
  assert.deepEqual(discovered.body.result.supportedVersions, ['2026-07-28'])
  const initialize = message('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  })
  const initialized = await post('/mcp', initialize)
  assert.equal(initialized.body.result.protocolVersion, '2025-11-25')
  assert.match(initialized.body.result.instructions, /untrusted/)
  const older = { ...initialize, params: { ...initialize.params, protocolVersion: '2025-06-18' } }
  const answer = await post('/mcp', older)
  assert.equal(answer.body.result.protocolVersion, '2025-11-25')
  const header = { 'mcp-protocol-version': '2025-06-18' }
  assert.equal((await post('/mcp', message('tools/list'), header)).status, 400)
  assert.equal(initialized.headers['mcp-session-id'], undefined)
  const notice = { jsonrpc: '2.0', method: 'notifications/initialized' }
  assert.equal((await post('/mcp', notice)).status, 202)
  const listing = modernMessage('tools/list')
  const [modern, legacy] = [
    await post('/mcp', listing.body, listing.headers),
    await post('/mcp', message('tools/list'), { 'mcp-protocol-version': '2025-11-25' }),
  ]
  assert.deepEqual(modern.body.result.tools, legacy.body.result.tools)
  assert.equal(modern.headers['content-type'], 'application/json')
  const of = { name: 'read_operation', arguments: { operation: 'list_users' } }
  const call = modernMessage('tools/call', of)
  const read = await post('/mcp', call.body, call.headers)
  assert.equal(JSON.parse(read.body.result.content[0].text).status, 200, read.text)
  // A session of another client names nothing, and changes nothing.
  const foreign = await post('/mcp', message('tools/list'), { 'mcp-session-id': 'of-another' })
  assert.equal(foreign.status, 200)
  assert.equal(foreign.headers['mcp-session-id'], undefined)
  const none = await as(undefined).post('/mcp', message('tools/list'))
  assert.equal(none.status, 401)
  assert.match(none.headers['www-authenticate']!, /oauth-protected-resource\/mcp"/)
})

eachService('an operation is found, described and run', async ({ post }) => {
  const tool = toolsOf((body) => post('/mcp', body))
  const results = await tool('search_operations', { query: 'create order' })
  assert.deepEqual(results.value.operations[0], {
    operation: 'create_order',
    method: 'POST',
    path: '/api/v2/orders',
    summary: 'Create an order',
    scope: 'orders:write',
  })
  const { value: about } = await tool('describe_operation', { operation: 'create_order' })
  assert.equal(about.tool, 'call_operation')
  assert.deepEqual(about.body.schema.required, ['user_id', 'amount'])
  const { value: list } = await tool('describe_operation', { operation: 'list_orders' })
  const names = list.parameters.map(({ name }: { name: string }) => name)
  assert.ok(names.includes('limit') && names.includes('status'), String(names))
  const user = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  const body = { user_id: user.body.id, amount: 5 }
  const created = await tool('call_operation', { operation: 'create_order', body })
  assert.equal(created.value.status, 201, created.http.text)
  assert.deepEqual(created.http.body.result.structuredContent, created.value)
  const parameters = { limit: 1, 'amount[gte]': 5, sort: ['-id'] }
  const read = await tool('read_operation', { operation: 'list_orders', parameters })
  assert.deepEqual(
    read.value.untrusted.data.map(({ id }: { id: number }) => id),
    [created.value.untrusted.id],
  )
})

const off = { env: { GATEHOOK_MCP: 'off' } }
const CLOSED = 'the option removes the path, its resource and its links'

eachService(
  CLOSED,
  async (caller) => {
    assert.equal((await caller.post('/mcp', message('tools/list'))).status, 404)
    const metadata = '/.well-known/oauth-protected-resource/mcp'
    assert.equal((await caller.get(metadata)).status, 404)
    const { body } = await caller.get('/.well-known/oauth-authorization-server')
    assert.deepEqual(body.protected_resources, [body.issuer, `${body.issuer}/api`])
    assert.doesNotMatch((await caller.get('/')).text, /mcp/)
    assert.doesNotMatch((await caller.get('/.well-known/api-catalog')).text, /mcp/)
    assert.doesNotMatch((await caller.get('/llms.txt')).text, /mcp/)
    assert.equal((await caller.get('/docs/v2/agents')).status, 404)
  },
  off,
)
