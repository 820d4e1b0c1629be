/** §7.7: an unknown parameter is 400 on every operation of every method, and has no effect. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

/** Responses that are no JSON; a proxy or scraper may add parameters. */
const TOLERANT = new Set(['GET /metrics', 'GET /events/stream', 'GET /admin/stream'])

/** They find the object of the path first. */
const LISTS_OF_A_PARENT = new Set([
  'GET /webhooks/:id/deliveries',
  'GET /admin/users/:id/sessions',
  'GET /admin/versions/:version/usage',
])

eachService('an operation has the parameters that it declares', async (service) => {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const refused = new Set<string>()
  for (const { method, path, callers } of service.app.permissions) {
    if (callers !== 'credential' && callers !== 'administration') continue
    const name = `${method} ${path}`
    const operation = name.replace('/admin/as/:customer/:mode', '')
    if (TOLERANT.has(operation)) continue
    const target = path
      .replace(':customer/:mode', 'default/live')
      .replace(/^((?:\/admin\/as\/default\/live)?\/api)\//, '$1/v2/')
      .replaceAll(/:\w+/g, '1')
    const body = method === 'GET' || method === 'DELETE' ? undefined : {}
    const { status, text } = await admin.send(method, `${target}?colour=1`, body)
    const hasNoParent = status === 404 && LISTS_OF_A_PARENT.has(operation)
    const isRefused = status === 400 && text.includes('unknown_parameter')
    assert.ok(isRefused || hasNoParent, `${name}: ${status} ${text}`)
    refused.add(method)
  }
  assert.deepEqual([...refused].sort(), ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'])
})

eachService('a change with an unknown parameter changes nothing', async (service) => {
  const users = '/api/v2/users'
  const user = { name: 'Ada', email: 'ada@example.com' }
  const { id } = (await service.post(users, user)).body
  const path = `${users}/${id}`
  const changes = [
    service.post(`${users}?colour=1`, { ...user, email: 'bo@example.com' }),
    service.patch(`${path}?name=Bo`, { name: 'Bo' }),
    service.delete(`${path}?force=true`),
  ]
  for (const { status, body } of await Promise.all(changes)) {
    assert.deepEqual([status, body.error], [400, 'unknown_parameter'])
  }
  assert.equal((await service.get(path)).body.name, 'Ada')
  assert.equal((await service.get(users)).body.data.length, 1)
})

eachService('documented parameters are accepted by every method', async (service) => {
  const users = '/api/users'
  const user = { name: 'Ada', email: 'ada@example.com' }
  const created = await service.post(`${users}?version=v2`, user)
  assert.equal(created.status, 201)
  const path = `${users}/${created.body.id}`
  assert.equal((await service.get(`${path}?v=2`)).status, 200)
  assert.equal((await service.patch(`${path}?api-version=v2`, { name: 'Bo' })).status, 200)
  assert.equal((await service.delete(`${path}?dry_run=true`)).status, 200)
  const key = await service.key({ scopes: ['users:write'] })
  const anonymous = service.as(undefined)
  assert.equal((await anonymous.delete(`${path}?version=v2&api_key=${key}`)).status, 204)
})
