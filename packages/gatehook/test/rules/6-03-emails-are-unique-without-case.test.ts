/** §6.3, §6.8: an e-mail is unique per customer and mode, without case; a 409 names the field. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService('a duplicate is rejected, on create and on change', async ({ post, patch, get }) => {
  const first = await post('/api/v2/users', { name: 'Ada', email: 'Ada@Example.com' })
  assert.equal(first.body.email, 'Ada@Example.com')
  const refused = await post('/api/v2/users', { name: 'Eve', email: 'aDA@example.COM' })
  assert.equal(refused.status, 409)
  assert.equal(refused.body.error, 'conflict')
  assert.deepEqual(refused.body.errors, [
    { pointer: '/email', code: 'conflict', message: 'is taken already' },
  ])
  const other = await post('/api/v2/users', { name: 'Eve', email: 'eve@example.com' })
  const moved = await patch(other.headers.location!, { email: 'ADA@example.com' })
  assert.deepEqual([moved.status, moved.body.error], [409, 'conflict'])
  const own = await patch(first.headers.location!, { email: 'ada@example.com' })
  assert.equal(own.body.email, 'ada@example.com')
  assert.equal((await get('/api/v2/users?email=ADA@EXAMPLE.COM')).body.data.length, 1)
})

eachService('one of many concurrent requests succeeds', async ({ post, get }) => {
  const tries = Array.from({ length: 10 }, (_, n) =>
    post('/api/v2/users', { name: `N${n}`, email: n % 2 ? 'X@example.com' : 'x@example.com' }),
  )
  const statuses = (await Promise.all(tries)).map((reply) => reply.status).sort()
  assert.deepEqual(statuses, [201, ...Array(9).fill(409)])
  assert.equal((await get('/api/v2/users?pagination=page')).body.total, 1)
})
