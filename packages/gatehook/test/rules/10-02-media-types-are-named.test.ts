/** §10.2: 415 and OPTIONS name the types and codings that a path supports (RFC 5789, RFC 9110). */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

const PATCH_TYPES = 'application/json, application/merge-patch+json'

eachService('every path with PATCH names its types, and no other path does', async (service) => {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const paths = new Map<string, boolean>()
  for (const { method, path } of service.app.permissions) {
    paths.set(path, paths.get(path) === true || method === 'PATCH')
  }
  assert.ok([...paths.values()].filter(Boolean).length > 5)
  for (const [path, hasPatch] of paths) {
    const url = path.replace(/:customer\/:mode/, 'default/live').replace(/:\w+/g, '1')
    if (url.endsWith('/*')) continue
    const expected = hasPatch ? PATCH_TYPES : undefined
    const options = await admin.send('OPTIONS', url)
    assert.equal(options.headers['accept-patch'], expected, url)
    if (!hasPatch || url.startsWith('/portal/')) continue // it accepts sessions only
    const body = await admin.patch(url, 'a=1', { 'content-type': 'text/plain' })
    assert.equal(body.status, 415, url)
    assert.equal(body.headers['accept-patch'], expected, url)
    assert.equal(body.headers['accept-encoding'], undefined, url)
  }
})

eachService('a compressed body is 415 with the coding that is supported', async ({ post }) => {
  const reply = await post('/api/v2/users', {}, { 'content-encoding': 'gzip' })
  assert.equal(reply.status, 415)
  assert.equal(reply.headers['accept-encoding'], 'identity')
  assert.equal(reply.headers.accept, 'application/json')
})
