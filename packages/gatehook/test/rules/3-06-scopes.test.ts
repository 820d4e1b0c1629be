/** §3.6: a missing scope is 403 and named in the message; admin implies every scope. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { isInstallationScope } from '../../src/identity/access/administration.ts'

const REQUIRED_SCOPES: readonly [method: string, path: string, scope: string, body?: object][] = [
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
  '§3.6 the error names the missing scope, before the body is read',
  async ({ app, as, key }) => {
    const scopes = [...app.administration.scopes].filter((scope) => !isInstallationScope(scope))
    for (const [method, path, scope, body] of REQUIRED_SCOPES) {
      const others = scopes.filter((name) => name !== scope)
      const reply = await as(await key({ scopes: others })).send(method, path, body)
      assert.deepEqual([reply.status, reply.body?.error], [403, 'insufficient_scope'], path)
      assert.match(reply.body.message, new RegExp(scope))
    }
  },
)

eachService('§3.6 admin implies every scope', async ({ as, key }) => {
  const { send } = as(await key({ scopes: ['admin'], mode: 'live' }))
  for (const [method, path, , body] of REQUIRED_SCOPES) {
    if (path === '/events/stream') continue // it does not end
    const { status } = await send(method, path, body)
    assert.ok(status !== 401 && status !== 403, `${method} ${path} ${status}`)
  }
})
