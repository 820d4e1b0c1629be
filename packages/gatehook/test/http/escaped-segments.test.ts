/** §16.2: a path begins as it was sent, for proxies, audiences and metadata. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'

test('an escaped first segment is no path, another one is', async (t) => {
  const service = await openService(t, 'sqlite')
  const { body } = await service.post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  const id = [...String(body.id)].map((digit) => `%3${digit}`).join('')
  assert.equal((await service.get(`/api/v2/users/${id}`)).status, 200)
  assert.equal((await service.get('/api/v2/%75sers')).status, 200)
  const escaped = ['/%61pi/v2/users', '/%61pi/users', '/%61dmin/keys', '/%6dcp', '/metric%73']
  for (const path of [...escaped, '/%63onsole', '/healt%68z']) {
    assert.equal((await service.get(path)).status, 404, path)
  }
})
