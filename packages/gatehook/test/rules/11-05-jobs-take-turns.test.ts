/** §11.5: the jobs that a caller causes take its turns, also those that its jobs enqueue. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { orders } from '../../service/resources/orders.ts'
import { api } from '../../service/service.ts'
import { f, job } from '../../src/gatehook.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { bearerOf, emailOf, openPeople } from '../people/rig.ts'

const first = job('first')
const second = job('second', { order_id: f.int() })
const working = api
  .route({
    method: 'POST',
    path: '/work',
    scope: 'orders:write',
    summary: 'Enqueue a job',
    handle: ({ write }) => write(async (tx) => void (await tx.enqueue(first, {}))),
  })
  .job(first, () => {})
  .job(second, () => {})
  .on(orders, 'order.created', ({ event, write }) =>
    write(
      async (tx) => void (await tx.enqueue(second, { order_id: event.data.object.id as number })),
    ),
  )

eachService(
  'a person and a key, each by a request, an event, and a job of the event',
  async (service) => {
    const { createPerson, token, anonymous } = await openPeople(service)
    const ada = await createPerson('ada', { scopes: ['orders:write', 'users:read'] })
    const person = bearerOf(await token(emailOf('ada')))
    const order = { user_id: ada.id, amount: 5 }
    for (const headers of [person, {}]) {
      const caller = headers === person ? anonymous : service
      assert.equal((await caller.post('/api/v2/work', {}, headers)).status, 204)
      assert.equal((await caller.post('/api/v2/orders', order, headers)).status, 201)
      await service.app.jobs.runDue()
    }
    const rows = await service.app.db.all(
      sql`SELECT name, scope, caller_group, caller FROM gh_jobs
        WHERE kind <> 'schedule' ORDER BY no`,
    )
    const ofPerson = rows.slice(0, 3)
    const ofKey = rows.slice(3)
    for (const list of [ofPerson, ofKey]) {
      assert.deepEqual(
        list.map(({ name }) => name),
        ['first', 'order.created', 'second'],
      )
      assert.equal(new Set(list.map(({ caller }) => caller)).size, 1, JSON.stringify(list))
      const parity = list === ofPerson ? 1 : 0
      for (const { caller_group, scope } of list)
        assert.equal(caller_group, Number(scope) * 2 + parity)
    }
    assert.match(String(ofPerson[0]!.caller), /"person"/)
    assert.match(String(ofKey[0]!.caller), /"key"/)
  },
  { service: working },
)
