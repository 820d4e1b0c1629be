/**
 * §16.11: a message of another form, size, revision or origin is a clear error, and never a 500.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { eachService, openService, type Reply } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { message, modernMessage, toolsOf } from '../mcp/rig.ts'

const deep = '['.repeat(100_000)
const many = JSON.stringify(message('tools/list', { values: Array(60_000).fill(0) }))

const icons = { clientInfo: { name: 'a', version: '1', icons: Array(24_000).fill({ sizes: 1 }) } }
const rest = { protocolVersion: '2025-11-25', capabilities: {} }

/** Bodies with the status of their rejection. */
const BODIES: readonly (readonly [name: string, body: string, status: number])[] = [
  ['nothing', '', 400],
  ['no JSON', '{"jsonrpc":', 400],
  ['null', 'null', 400],
  ['a text', '"tools/list"', 400],
  ['an empty batch', '[]', 400],
  ['a batch', JSON.stringify([message('tools/list'), message('tools/list')]), 400],
  ['another protocol', '{"jsonrpc":"1.0","id":1,"method":"tools/list"}', 400],
  ['no method', '{"jsonrpc":"2.0","id":1}', 400],
  ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"tools/list"}', 400],
  ['deep nesting', deep, 413],
  ['too many values', many, 413],
  ['many mistakes', JSON.stringify(message('initialize', { ...rest, ...icons })), 413],
  ['many names', JSON.stringify({ ...message('ping'), more: Array(300).fill(0) }), 413],
  ['too large', `"${'x'.repeat(1_100_000)}"`, 413],
]

const isClear = ({ status, body, text }: Reply, at: string) => {
  assert.ok(status >= 400 && status < 500, `${at}: ${status} ${text}`)
  assert.ok(typeof (body?.message ?? body?.error?.message) === 'string', `${at}: ${text}`)
}

eachService('bodies of another form are rejected', async ({ post }) => {
  for (const [name, body, status] of BODIES) {
    const reply = await post('/mcp', body, { 'content-type': 'application/json' })
    assert.equal(reply.status, status, `${name}: ${reply.text}`)
    isClear(reply, name)
  }
  const type = await post('/mcp', '{}', { 'content-type': 'text/plain' })
  assert.equal(type.status, 415)
})

eachService('unknown methods, tools and revisions are named', async ({ post }) => {
  const unknown = await post('/mcp', message('tools/destroy'))
  assert.equal(unknown.body.error.code, -32601)
  const tool = await post('/mcp', message('tools/call', { name: 'nothing', arguments: {} }))
  assert.equal(tool.body.error.code, -32602)
  assert.match(tool.body.error.message, /nothing/)
  for (const revision of ['1999-01-01', '2024-11-05', '2025-03-26']) {
    const header = { 'mcp-protocol-version': revision }
    const reply = await post('/mcp', message('tools/list'), header)
    assert.equal(reply.status, 400, reply.text)
    assert.match(reply.text, /2025-11-25|2026-07-28/)
  }
  const future = { 'mcp-protocol-version': '2099-01-01' }
  isClear(await post('/mcp', message('tools/list'), future), 'a revision of the future')
  const listing = modernMessage('tools/list')
  const { 'mcp-method': _, ...without } = listing.headers
  isClear(await post('/mcp', listing.body, without), 'no Mcp-Method')
  const wrong = { ...listing.headers, 'mcp-method': 'tools/call' }
  isClear(await post('/mcp', listing.body, wrong), 'another Mcp-Method')
})

eachService('misspelt tools, operations and parameters get a suggestion', async ({ post }) => {
  const { body } = await post('/mcp', message('tools/call', { name: 'serch_operations' }))
  assert.match(body.error.message, /did you mean search_operations\?/)
  const tool = toolsOf((body, headers) => post('/mcp', body, headers))
  const { value } = await tool('describe_operation', { operation: 'create_ordr' })
  assert.equal(value.error, 'not_found')
  assert.match(value.message, /no operation create_ordr; did you mean create_order\?/)
  const unlike = await tool('describe_operation', { operation: 'nothing' })
  assert.equal(
    unlike.value.message,
    'There is no operation nothing. Find one by search_operations.',
  )
  const parameters = { limt: 5 }
  const list = await tool('read_operation', { operation: 'list_orders', parameters })
  assert.match(list.value.message, /limt is not a parameter; did you mean limit\?/)
})

eachService('parameters that do not fit a method are a short error', async ({ post }) => {
  const wrong = { ...rest, clientInfo: { name: 1, icons: Array(60).fill({ sizes: 1 }) } }
  const { body, text } = await post('/mcp', message('initialize', wrong))
  assert.deepEqual([body.id, body.error.code], [1, -32602])
  assert.ok(text.length < 200, text)
})

const faults = resource('faults', {
  fields: { id: f.id(), code: f.int() },
  list: { filter: [], sort: [] },
  access: { read: 'faults:read', create: 'faults:write', update: false, delete: false },
  events: [],
})
const versions = { v1: { released: '2026-01-01' } }

eachService(
  'a row that looks like an error of the protocol is a result',
  async ({ post }) => {
    const created = await post('/api/v1/faults', { code: -32603 })
    assert.equal(created.status, 201, created.text)
    const tool = toolsOf((body) => post('/mcp', body))
    const parameters = { id: String(created.body.id) }
    const { http, value } = await tool('read_operation', { operation: 'get_fault', parameters })
    assert.match(http.text, /"code":-32603/)
    assert.deepEqual([http.status, value.untrusted.code], [200, -32603], http.text)
  },
  { service: service({ name: 'Faults', versions, resources: [faults] }) },
)

eachService('arguments of a tool have the size of a body', async ({ post }) => {
  const tool = toolsOf((body) => post('/mcp', body))
  const body = { name: 'x', unknown: Array(20_000).fill(0) }
  const { isError, value } = await tool('call_operation', { operation: 'create_user', body })
  assert.deepEqual([isError, value.status], [true, 422])
})

eachService('a key of a former version has a clear error', async ({ app, as, key }) => {
  const pinned = await key({ scopes: ['users:read'] })
  await app.db.write((tx) => tx.run(sql`UPDATE gh_api_keys SET api_version = 'v9'`))
  const tool = toolsOf((body) => as(pinned).post('/mcp', body))
  const { http, isError, value } = await tool('search_operations')
  assert.deepEqual([http.status, isError, value.error], [200, true, 'unsupported_version'])
})

eachService('no stream stays open', async ({ send, post }) => {
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const reply = await send(method, '/mcp', undefined, { accept: 'text/event-stream' })
    assert.equal(reply.status, 405, method)
    assert.equal(reply.headers.allow, 'POST, OPTIONS')
  }
  const filter = { notifications: { toolsListChanged: true, resourceSubscriptions: ['x'] } }
  const listen = modernMessage('subscriptions/listen', filter)
  const ended = await post('/mcp', listen.body, listen.headers)
  assert.match(ended.text, /"resultType":"complete"/) // it has ended: nothing changes
})

eachService(
  'a message to the base of the URL is led to the path of agents',
  async ({ get, post }) => {
    const reply = await post('/', modernMessage('tools/list').body)
    assert.equal(reply.status, 405)
    assert.match(reply.body.message, /`GET \/` returns the paths .*`mcp`/)
    assert.equal((await get('/')).body.links.mcp, '/mcp')
  },
)

eachService('a request for a stream is no error of the customer', async (service) => {
  assert.equal((await service.get('/mcp')).status, 405)
  assert.equal((await service.send('PUT', '/mcp')).status, 405)
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const { body } = await admin.get('/admin/requests?route=/mcp')
  assert.deepEqual(
    body.data.map(({ method }: { method: string }) => method),
    ['PUT'],
  )
})

const origins = { env: { GATEHOOK_CORS_ORIGINS: 'https://agents.example' } }

eachService(
  'a foreign origin is 403, with any credential and without one',
  async ({ post, as }) => {
    const statusOf = async (origin: string, key?: string) => {
      const caller = key === 'none' ? as(undefined) : { post }
      return (await caller.post('/mcp', message('tools/list'), { origin })).status
    }
    for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example']) {
      assert.deepEqual([await statusOf(origin), await statusOf(origin, 'none')], [403, 403], origin)
    }
    assert.equal(await statusOf('http://localhost'), 200)
    assert.equal(await statusOf('https://agents.example'), 200)
  },
  origins,
)

const NAMES = ['search_operations', 'describe_operation', 'read_operation', 'call_operation']
const OPERATIONS = ['list_users', 'get_user', 'create_user', 'update_order', 'list_events']

test('any message is answered, and no tool breaks', async (t) => {
  const { post } = await openService(t, 'sqlite')
  const tool = toolsOf((body) => post('/mcp', body))
  const json = fc.jsonValue({ maxDepth: 3 })
  const messages = fc.record(
    { jsonrpc: fc.constant('2.0'), id: json, method: fc.string(), params: json },
    { requiredKeys: ['jsonrpc'] },
  )
  const anything = fc.asyncProperty(fc.oneof(json, messages), async (body) => {
    const { status, text } = await post('/mcp', JSON.stringify(body))
    assert.ok(status < 500, text)
  })
  await fc.assert(anything)
  const input = fc.record(
    {
      operation: fc.oneof(fc.constantFrom(...OPERATIONS), json),
      parameters: fc.oneof(json, fc.dictionary(fc.constantFrom('id', 'limit', 'sort'), json)),
      body: json,
      dry_run: json,
      idempotency_key: fc.oneof(json, fc.string({ unit: 'binary' })),
      query: fc.oneof(json, fc.string({ unit: 'binary' })),
    },
    { requiredKeys: [] },
  )
  const calls = fc.asyncProperty(fc.constantFrom(...NAMES), input, async (name, value) => {
    const { http, value: result } = await tool(name, value)
    if (http.body?.error === 'invalid_json') return // a text contains NUL
    assert.equal(http.status, 200, http.text)
    assert.ok(result !== undefined && !(result.status >= 500), http.text)
  })
  await fc.assert(calls)
})

eachService('a URL that would be too long is refused before it is written', async ({ post }) => {
  const tool = toolsOf((body, headers) => post('/mcp', body, headers))
  for (const filler of ['x', '[=', '€']) {
    const parameters = { status: filler.repeat(100_000) }
    const { value } = await tool('read_operation', { operation: 'list_orders', parameters })
    assert.equal(value.error, 'uri_too_long', JSON.stringify(value).slice(0, 200))
  }
})
