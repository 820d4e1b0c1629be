/**
 * §16.11: a call of a tool is a request of its caller: scopes, limits, versions, idempotency, the
 * request log and the use of versions are those of HTTP.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { type Caller, eachService } from '../../../../test/rig/service.ts'
import { payments, probe } from '../fixtures/payments.ts'
import { message, toolsOf } from '../mcp/rig.ts'
import { basicOf, form, openOauthFixture } from '../oauth/rig.ts'

const toolOf = ({ post }: Caller) => toolsOf((body) => post('/mcp', body))

const person = { name: 'Ada', email: 'ada@example.com' }

eachService('a call is in the request log and in the use of its version', async (service) => {
  const tool = toolOf(service)
  const created = await tool('call_operation', { operation: 'create_user', body: person })
  assert.equal(created.value.status, 201)
  const rejected = await tool('call_operation', { operation: 'create_user', body: {} })
  assert.deepEqual([rejected.isError, rejected.value.status], [true, 422])
  assert.equal(rejected.http.status, 200)
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const log = await admin.get('/admin/requests?limit=100')
  const rows = log.body.data.filter(({ route }: { route: string }) => route === '/api/users')
  assert.deepEqual(
    rows.map(({ method, status }: Record<string, unknown>) => [method, status]).toSorted(),
    [
      ['POST', 201],
      ['POST', 422],
    ],
  )
  const inner = log.body.data.find(
    ({ id }: { id: string }) => id === rejected.value.untrusted.request_id,
  )
  const outer = log.body.data.find(({ route }: { route: string }) => route === '/mcp')
  assert.deepEqual([inner.caller, inner.key_id], [outer.caller, outer.key_id])
  await service.app.versioning.flush()
  const { body: usage } = await admin.get('/admin/versions/v2/usage')
  assert.ok(usage.data.length > 0, JSON.stringify(usage))
})

eachService('a call has the version of the request, of the key, or the newest', async (service) => {
  const { post, key, as } = service
  const tool = toolOf(service)
  const created = await tool('call_operation', { operation: 'create_user', body: person })
  const parameters = { id: created.value.untrusted.id }
  const input = { operation: 'get_user', parameters }
  const expected = new Map<string, unknown>()
  for (const version of ['v1', 'v2']) {
    const { body } = await service.get(`/api/${version}/users/${parameters.id}`)
    expected.set(version, { ...body, _warnings: undefined })
  }
  const bodyOf = async (read: ReturnType<typeof toolsOf>) => {
    const { value } = await read('read_operation', input)
    return { ...value.untrusted, _warnings: undefined }
  }
  assert.deepEqual(await bodyOf(tool), expected.get('v2'))
  const header = { 'x-api-version': 'v1' }
  const named = toolsOf((body, headers) => post('/mcp', body, headers), header)
  assert.deepEqual(await bodyOf(named), expected.get('v1'))
  const pinned = as(await key({ api_version: 'v1' }))
  assert.deepEqual(await bodyOf(toolOf(pinned)), expected.get('v1'))
  const { value } = await toolOf(pinned)('describe_operation', { operation: 'get_user' })
  assert.equal(value.path, '/api/v1/users/{id}')
  const unknown = await post('/mcp', message('tools/list'), { 'x-api-version': 'v9' })
  assert.deepEqual([unknown.status, unknown.body.error], [400, 'unsupported_version'])
})

eachService('a key repeats a call without a second effect, a dry run has none', async (service) => {
  const tool = toolOf(service)
  const input = { operation: 'create_user', body: person, idempotency_key: 'k1' }
  const first = await tool('call_operation', input)
  const second = await tool('call_operation', input)
  assert.deepEqual(second.value, first.value)
  const other = { ...input, body: { ...person, name: 'Bo' } }
  assert.equal((await tool('call_operation', other)).value.status, 422)
  const dry = { operation: 'delete_user', parameters: { id: first.value.untrusted.id } }
  assert.equal((await tool('call_operation', { ...dry, dry_run: true })).isError, false)
  const { body } = await service.get('/api/v2/users')
  assert.deepEqual(
    body.data.map(({ id }: { id: number }) => id),
    [first.value.untrusted.id],
  )
})

eachService(
  'a tool runs a route with steps once for its key',
  async (service) => {
    const tool = toolOf(service)
    let runs = 0
    probe.run = async ({ step }) => await step('count', () => ++runs)
    const offered = await tool('search_operations', { query: 'run code of a test for 5000 ms' })
    assert.match(JSON.stringify(offered.value), /"patch_probe"/)
    const input = { operation: 'patch_probe', body: {} }
    const describe = async (operation: string) => {
      const { value } = await tool('describe_operation', { operation })
      return [value.idempotency_key, value.dry_run]
    }
    assert.deepEqual(await describe('patch_probe'), ['required', 'not possible'])
    assert.deepEqual(await describe('create_order'), [undefined, undefined])
    assert.deepEqual(await describe('list_orders'), [undefined, undefined])
    const keyless = await tool('call_operation', input)
    assert.deepEqual([keyless.isError, keyless.value.status], [true, 400])
    for (let call = 0; call < 2; call++) {
      const result = await tool('call_operation', { ...input, idempotency_key: 'k1' })
      assert.equal(result.value.untrusted, 1, JSON.stringify(result.value))
    }
  },
  { service: payments },
)

eachService('a rejected message is an error of JSON-RPC for clients of the protocol', async (s) => {
  const accept = 'application/json, text/event-stream'
  const batch = [message('tools/list')]
  const spoken = await s.post('/mcp', batch, { accept })
  const { jsonrpc, id, error } = spoken.body
  assert.deepEqual([spoken.status, jsonrpc, id, error.code], [400, '2.0', null, 400])
  assert.deepEqual([error.data.error, error.data.status], ['invalid_request', 400])
  assert.equal(error.data.request_id, spoken.headers['x-request-id'])
  // Other callers, and what the server rejects before it reads the message, have the envelope.
  assert.equal((await s.post('/mcp', batch)).body.error, 'invalid_request')
  const anonymous = await s.as(undefined).post('/mcp', message('tools/list'), { accept })
  assert.deepEqual([anonymous.status, anonymous.body.error], [401, 'unauthorized'])
})

const limited = { env: { GATEHOOK_RATE_LIMIT: '3/60' } }

eachService(
  'a call counts once against the limit',
  async (service) => {
    const tool = toolOf(service)
    for (let count = 0; count < 3; count++) {
      assert.equal((await tool('read_operation', { operation: 'list_users' })).isError, false)
    }
    const { http } = await tool('read_operation', { operation: 'list_users' })
    assert.deepEqual([http.status, http.body.error], [429, 'rate_limited'])
    assert.ok(http.headers['retry-after'])
    assert.equal((await service.get('/api/v2/users')).status, 429)
  },
  limited,
)

const requestable = ['users:read', 'orders:read', 'orders:write']

eachService('a search offers what the caller has, or its client may request', async (service) => {
  const { as, key, post } = service
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const members = { name: 'Agent', redirect_uris: [], grant_types: ['client_credentials'] }
  const { body: client } = await admin.post('/admin/clients', { ...members, scopes: requestable })
  const grant = { grant_type: 'client_credentials', scope: 'orders:read' }
  const reply = await form(as(undefined), '/oauth/token', grant, basicOf(client))
  const authorization = `Bearer ${reply.body.access_token}`
  const listFor = async (tool: ReturnType<typeof toolsOf>) => {
    const operations = new Map<string, boolean>()
    for (const query of ['', 'orders', 'users', 'webhooks', 'events']) {
      const { value } = await tool('search_operations', { query })
      for (const { operation, granted = true } of value.operations) {
        operations.set(operation, granted)
      }
    }
    return operations
  }
  const offered = await listFor(
    toolsOf((body) => as(undefined).post('/mcp', body, { authorization })),
  )
  assert.deepEqual([offered.get('list_orders'), offered.get('create_order')], [true, false])
  assert.equal(offered.get('list_users'), false)
  for (const name of ['list_webhooks', 'list_events', 'ship_order', 'create_user']) {
    assert.equal(offered.get(name), undefined, name)
  }
  // A key requests nothing: the search says what it lacks.
  const limited = as(await key({ scopes: ['orders:read'] }))
  const ofKey = await listFor(toolOf(limited))
  assert.deepEqual([ofKey.get('list_orders'), ofKey.get('list_webhooks')], [true, false])
  const all = await listFor(toolsOf((body) => post('/mcp', body)))
  assert.equal(all.get('list_webhooks'), true)
})

for (const { name } of databases) {
  test(`a missing scope is 403 with the challenge of the resource [${name}]`, async (t) => {
    const root = 'https://api.example.com'
    const env = { GATEHOOK_PUBLIC_URL: root }
    const fixture = await openOauthFixture(t, name, { env })
    const client = await fixture.createClient({
      redirect_uris: [],
      grant_types: ['client_credentials'],
      scopes: ['orders:read', 'users:read'],
    })
    const tokenFor = async (resource: string, scope: string) => {
      const grant = { grant_type: 'client_credentials', scope, resource }
      const reply = await form(fixture.anonymous, '/oauth/token', grant, basicOf(client))
      assert.equal(reply.status, 200, reply.text)
      return { authorization: `Bearer ${reply.body.access_token}` }
    }
    const send = (headers: Record<string, string>) =>
      toolsOf((body) => fixture.anonymous.post('/mcp', body, headers))
    const own = await tokenFor(`${root}/mcp`, 'orders:read')
    const listing = await send(own)('read_operation', { operation: 'list_orders' })
    assert.equal(listing.value?.status, 200, listing.http.text)
    const { http } = await send(own)('read_operation', { operation: 'list_users' })
    assert.deepEqual([http.status, http.body.error], [403, 'insufficient_scope'])
    const metadata = `${root}/.well-known/oauth-protected-resource/mcp`
    assert.equal(
      http.headers['www-authenticate'],
      `Bearer error="insufficient_scope", scope="users:read", resource_metadata="${metadata}"`,
    )
    // Clients of the protocol read errors of JSON-RPC alone.
    const accept = 'application/json, text/event-stream'
    const spoken = await send({ ...own, accept })('read_operation', { operation: 'list_users' })
    const { jsonrpc, id, error } = spoken.http.body
    assert.deepEqual([spoken.http.status, jsonrpc, id, error.code], [403, '2.0', 1, 403])
    assert.match(error.message, /lacks the scope users:read/)
    assert.deepEqual([error.data.error, error.data.scope], ['insufficient_scope', 'users:read'])
    assert.equal(spoken.http.headers['www-authenticate'], http.headers['www-authenticate'])
    assert.equal(spoken.http.headers['content-type'], 'application/json')
    // A token for tools opens no other path, and a token for the API no tools.
    const direct = await fixture.anonymous.get('/api/v2/orders', own)
    assert.deepEqual([direct.status, direct.body.error], [401, 'invalid_token'])
    const ofApi = await tokenFor(`${root}/api`, 'orders:read')
    assert.equal((await fixture.anonymous.post('/mcp', message('tools/list'), ofApi)).status, 401)
    const { body } = await fixture.anonymous.get('/.well-known/oauth-protected-resource/mcp')
    assert.equal(body.resource, `${root}/mcp`)
    // Clients of agents request all of them: strangers may have each.
    assert.ok(body.scopes_supported.includes('orders:read'))
    for (const scope of ['admin', 'webhooks:write', 'orders:fulfil']) {
      assert.ok(!body.scopes_supported.includes(scope), scope)
    }
  })
}
