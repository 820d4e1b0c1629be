/** §11.2: `If-None-Match` on any method but GET and HEAD is 412, before the work. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService('every change with If-None-Match is 412 and has no effect', async (service) => {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const user = await admin.post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  const row = await admin.get('/api/v2/users/1')
  const before = [(await admin.get('/events')).text, (await admin.get('/admin/audit')).text]
  assert.equal(user.status, 201)
  const changes = service.app.permissions.filter(
    ({ method, callers }) => method !== 'GET' && callers !== 'portal' && callers !== 'console',
  )
  assert.ok(changes.length > 60)
  const bodies: Readonly<Record<string, unknown>> = {
    '/api/users/:id': { name: 'Changed' },
    '/api/users': { name: 'B', email: 'b@example.com' },
  }
  for (const { method, path, callers } of changes) {
    if (callers === 'account') continue // a key is 403 there
    const url = path
      .replace('/api/', '/api/v2/')
      .replace(':customer/:mode', 'default/live')
      .replace(/:\w+/g, '1')
    for (const tag of ['*', row.headers.etag!, '"other"']) {
      const body = bodies[path] ?? {}
      const { status, body: failure } = await admin.send(method, url, body, {
        'if-none-match': tag,
      })
      assert.equal(status, 412, `${method} ${url} ${tag}: ${JSON.stringify(failure)}`)
    }
  }
  assert.equal((await admin.get('/api/v2/users/1')).text, row.text)
  const after = [(await admin.get('/events')).text, (await admin.get('/admin/audit')).text]
  assert.deepEqual(after, before)
  assert.equal((await admin.get('/api/v2/users/1', { 'if-none-match': '*' })).status, 304)
})
