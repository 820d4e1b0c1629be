/** §6.5: times are stored in epoch milliseconds; JSON has ISO 8601 with three decimals and `Z`. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { sql } from '../../src/storage/sql.ts'

eachService(
  'created_at stays, updated_at changes',
  async ({ app, post, patch }) => {
    const set = (now: string) =>
      app.clock!.set({ now: Date.parse(now), freeze: true }, { kind: 'test', id: 't' } as never)
    await set('2030-01-02T03:04:05.006Z')
    const user = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
    assert.equal(user.body.created_at, '2030-01-02T03:04:05.006Z')
    const order = await post('/api/v2/orders', { user_id: user.body.id, amount: 1 })
    await set('2030-01-02T03:04:06.000Z')
    const { body } = await patch(order.headers.location!, { amount: 2 })
    assert.equal(body.created_at, '2030-01-02T03:04:05.006Z')
    assert.equal(body.updated_at, '2030-01-02T03:04:06.000Z')
    const row = await app.db.get(sql`SELECT created_at FROM orders WHERE id = ${body.id}`)
    assert.equal(row?.created_at, Date.parse('2030-01-02T03:04:05.006Z'))
  },
  { env: { GATEHOOK_TEST_CLOCK: '1' } },
)
