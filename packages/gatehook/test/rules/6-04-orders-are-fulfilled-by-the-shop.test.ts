/** §6.7, reference service: `orders:fulfil`, and the fields that are fixed after payment. */
import assert from 'node:assert/strict'
import { type Caller, eachService } from '../../../../test/rig/service.ts'
import { bearerOf, emailOf, openPeople } from '../people/rig.ts'

const orderOf = async ({ post }: Caller): Promise<string> => {
  const email = `u${Math.trunc(performance.now() * 1000)}@example.com`
  const user = (await post('/api/v2/users', { name: 'Ada', email })).body
  const body = { user_id: user.id, amount: 5, currency: 'EUR' }
  return (await post('/api/v2/orders', body)).headers.location!
}

eachService('a person pays its own order, and cannot ship or deliver it', async (service) => {
  const { createPerson, token, anonymous } = await openPeople(service)
  const { id } = await createPerson('ada')
  const ada = bearerOf(await token(emailOf('ada')))
  const order = await anonymous.post('/api/v2/orders', { user_id: id, amount: 5 }, ada)
  const path = order.headers.location!
  assert.equal((await anonymous.post(`${path}/pay`, undefined, ada)).status, 200)
  for (const action of ['ship', 'deliver']) {
    const refused = await anonymous.post(`${path}/${action}`, undefined, ada)
    assert.deepEqual([refused.status, refused.body.error], [403, 'insufficient_scope'])
    assert.match(refused.body.message, /orders:fulfil/)
  }
  assert.equal((await service.get(path)).body.status, 'paid')
  const shop = service.as(await service.key({ scopes: ['orders:fulfil'] }))
  assert.equal((await shop.post(`${path}/ship`)).body.status, 'shipped')
})

eachService('amount and currency are fixed once the order is not pending', async (service) => {
  const { patch, post, get } = service
  for (const version of ['v1', 'v2']) {
    const path = (await orderOf(service)).replace('v2', version)
    assert.equal((await patch(path, { amount: 6, currency: 'USD' })).status, 200)
    assert.equal((await post(`${path}/pay`)).status, 200)
    const before = (await get('/events?pagination=offset')).body.total
    const refused = await patch(path, { amount: 1, currency: 'EUR', note: 'x' })
    assert.deepEqual([refused.status, refused.body.error], [422, 'validation_failed'])
    assert.deepEqual(
      refused.body.errors.map(({ pointer, code }: Record<string, string>) => [pointer, code]),
      [
        ['/amount', 'read_only'],
        ['/currency', 'read_only'],
      ],
    )
    const { body } = await get(path)
    assert.deepEqual([body.amount, body.currency, body.note], [6, 'USD', null])
    assert.equal((await get('/events?pagination=offset')).body.total, before)
    // A client can send the unchanged fields back, with a new note.
    const back = await patch(path, { amount: 6, currency: 'USD', note: 'x' })
    assert.deepEqual([back.status, back.body.note], [200, 'x'])
  }
})
