/** §3.6: what lacks a scope is 403 and told which; admin implies every scope. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

const NEEDED: readonly [method: string, path: string, scope: string, body?: object][] = [
  ['GET', '/api/v2/users', 'users:read'],
  ['GET', '/api/v2/users/1', 'users:read'],
  ['POST', '/api/v2/users', 'users:write', {}],
  ['PATCH', '/api/v2/users/1', 'users:write', {}],
  ['DELETE', '/api/v2/users/1', 'users:write'],
  ['POST', '/api/v1/orders', 'orders:write', {}],
  ['GET', '/events', 'events:read'],
  ['GET', '/events/stream', 'events:read'],
  ['POST', '/events', 'events:write', {}],
  ['GET', '/webhooks', 'webhooks:read'],
  ['POST', '/webhooks', 'webhooks:write', {}],
  ['GET', '/deliveries/dlv_1', 'webhooks:read'],
  ['GET', '/admin/keys', 'admin'],
  ['GET', '/admin/versions', 'admin'],
  ['POST', '/admin/clients', 'admin', {}],
]

eachService(
  '§3.6 the missing scope is named, before the body is read',
  async ({ app, as, key }) => {
    const scopes = [...app.administration.scopes].filter((scope) => scope !== 'admin')
    for (const [method, path, scope, body] of NEEDED) {
      const others = scopes.filter((one) => one !== scope)
      const reply = await as(await key({ scopes: others })).send(method, path, body)
      assert.deepEqual([reply.status, reply.body?.error], [403, 'insufficient_scope'], path)
      assert.match(reply.body.message, new RegExp(scope))
    }
  },
)

eachService('§3.6 admin implies every scope', async ({ as, key }) => {
  const { send } = as(await key({ scopes: ['admin'], mode: 'live' }))
  for (const [method, path, , body] of NEEDED) {
    if (path === '/events/stream') continue // it has no end
    const { status } = await send(method, path, body)
    assert.ok(status !== 401 && status !== 403, `${method} ${path} ${status}`)
  }
})
