/** §6.5: a row and its events commit in one transaction; a failure anywhere rolls back all. */
import assert from 'node:assert/strict'
import { failAt } from '../../../../test/rig/faults.ts'
import { type Caller, eachService } from '../../../../test/rig/service.ts'

/** Reads the state that clients can observe. */
async function state({ get }: Caller) {
  const paths = ['/api/v2/users?pagination=page', '/api/v2/orders?pagination=page', '/events']
  const bodies = []
  for (const path of paths) bodies.push((await get(path)).body)
  return bodies
}

eachService('a failure of any statement of any change rolls it back', async (service) => {
  const { app, post } = service
  const user = (await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })).body
  const idle = (await post('/api/v2/users', { name: 'Bob', email: 'bob@example.com' })).body
  const lone = (await post('/api/v2/users', { name: 'Cy', email: 'cy@example.com' })).body
  const order = (await post('/api/v2/orders', { user_id: user.id, amount: 5 })).body
  const changes: [string, string, unknown?][] = [
    ['POST', '/api/v2/orders', { user_id: user.id, amount: 6 }],
    ['PATCH', `/api/v2/orders/${order.id}`, { amount: 7, user_id: idle.id }],
    ['POST', `/api/v2/orders/${order.id}/pay`],
    ['DELETE', `/api/v2/users/${lone.id}`],
  ]
  for (const [at, [method, path, body]] of changes.entries()) {
    const keyed = method === 'DELETE' ? {} : { 'idempotency-key': `change-${at}` }
    const before = await state(service)
    for (let nth = 1; ; nth++) {
      const fault = failAt(app.db, nth)
      const reply = await service.send(method, path, body, keyed)
      fault.restore()
      if (fault.statementCount() < nth) {
        assert.ok(reply.status < 300, `${method} ${path}: ${reply.text}`)
        assert.equal(reply.headers['idempotent-replayed'], undefined)
        assert.ok(nth > 2, `${method} ${path} took ${nth - 1} statements`)
        break
      }
      assert.equal(reply.status, 500, `${method} ${path}, statement ${nth}`)
      assert.deepEqual(await state(service), before, `${method} ${path}, statement ${nth}`)
    }
  }
  const types = (await service.get('/events')).body.data.map(
    (event: { type: string }) => event.type,
  )
  const expectedTypes = [
    'order.created',
    'order.created',
    'order.updated',
    'order.paid',
    'user.deleted',
  ]
  assert.deepEqual(types.slice(3), expectedTypes)
})
