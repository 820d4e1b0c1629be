/** §9.11: `GET /events` and `/events/{id}` return events in order, as webhooks deliver them. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService('the body has the members of the reference', async ({ post, get, as, key }) => {
  const live = as(await key({ mode: 'live' }))
  const before = Math.floor(Date.now() / 1000)
  for (const [caller, livemode] of [
    [{ post, get }, false],
    [live, true],
  ] as const) {
    const response = await caller.post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
    const [event] = (await caller.get('/events')).body.data
    assert.deepEqual(Object.keys(event), ['id', 'type', 'created', 'livemode', 'data'])
    assert.match(event.id, /^evt_[0-9A-Za-z]{22}$/)
    assert.deepEqual(
      [event.type, event.livemode, event.data],
      ['user.created', livemode, { object: response.body }],
    )
    assert.ok(Number.isInteger(event.created) && event.created >= before)
    assert.deepEqual((await caller.get(`/events/${event.id}`)).body, event)
  }
  assert.equal((await get('/events/evt_unknown')).status, 404)
})

eachService(
  'lists have the order in which events were recorded',
  async ({ post, patch, get, ...all }) => {
    const expected: string[] = []
    for (let n = 0; n < 8; n++) {
      const { headers } = await post('/api/v2/users', { name: 'Ada', email: `u${n}@example.com` })
      await patch(headers.location!, { name: `B${n}` })
      await all.delete(headers.location!)
      expected.push('user.created', 'user.updated', 'user.deleted')
    }
    const types: string[] = []
    let path = '/events?limit=5'
    for (;;) {
      const page = (await get(path)).body
      types.push(...page.data.map((event: { type: string }) => event.type))
      if (!page.has_more) break
      path = `/events?limit=5&cursor=${page.next_cursor}`
    }
    assert.deepEqual(types, expected)
    assert.equal((await get('/events?type=user.deleted&pagination=page')).body.total, 8)
    assert.equal((await get('/events?after_id=0')).body.error, 'invalid_parameter')
    const [{ data, ...rest }] = (await get('/events?fields=type,data&limit=1')).body.data
    assert.deepEqual([rest, data.object.name], [{ type: 'user.created' }, 'Ada'])
  },
)

eachService('the event of a deleted row contains the row', async ({ post, get, ...all }) => {
  const response = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  await all.delete(response.headers.location!)
  const events = (await get('/events?type=user.deleted')).body.data
  assert.deepEqual(events[0].data.object, response.body)
})

eachService('reading events requires events:read', async ({ as, key }) => {
  const narrow = as(await key({ scopes: ['users:read'] }))
  for (const path of ['/events', '/events/evt_x']) {
    assert.equal((await narrow.get(path)).body.error, 'insufficient_scope')
  }
})
