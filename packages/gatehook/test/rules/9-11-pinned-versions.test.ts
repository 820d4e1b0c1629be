/** §9.11: payloads are in the registration's pinned version; after its sunset, in its successor. */
import assert from 'node:assert/strict'
import { eachFrozen } from '../../../../test/rig/frozen-service.ts'
import { club } from '../fixtures/club.ts'
import { LOCAL, openHook, register, replayed, settled } from '../webhooks/hook.ts'

const OPTIONS = { env: LOCAL.env, service: club }
const person = { first: 'Ada', last: 'Byron', height_mm: 1650, points: 12 }

eachFrozen(
  'each registration gets its own shape of the same event, also when it is replayed',
  async (service, t) => {
    const { post, patch } = service
    const hooks = await Promise.all(
      ['v1', 'v2', undefined].map(async (api_version) => {
        const hook = await openHook(t)
        const made = await register(service, hook, api_version === undefined ? {} : { api_version })
        return { hook, ...made.body }
      }),
    )
    assert.deepEqual(
      hooks.map((one) => one.api_version),
      ['v1', 'v2', 'v3'],
    )
    await service.app.work()
    const made = await post('/api/v3/people', { ...person, email: 'a@example.com' })
    assert.equal(made.status, 201, made.text)
    const objects = async () => {
      for (const { id } of hooks) await settled(service, id)
      return hooks.map(({ hook }) => hook.calls.at(-1)!.event.data.object)
    }
    const shapes = (await objects()) as Record<string, unknown>[]
    assert.deepEqual([shapes[0]!.mail, shapes[0]!.full_name], ['a@example.com', 'Ada Byron'])
    assert.deepEqual([shapes[1]!.email, shapes[1]!.full_name], ['a@example.com', 'Ada Byron'])
    assert.deepEqual(shapes[2], made.body)
    const tested = await post(`/webhooks/${hooks[0].id}/test`, { event_type: 'person.created' })
    assert.equal(tested.body.delivered, true)
    assert.equal(hooks[0].hook.calls.at(-1)!.event.data.object.full_name, 'First0')

    // The newest one asks for the oldest shape now, of what was sent in another before.
    await patch(`/webhooks/${hooks[1].id}`, { api_version: 'v1' })
    const since = '2026-11-30T00:00:00Z'
    for (const { id } of hooks) {
      assert.deepEqual((await post(`/webhooks/${id}/replay`, { since })).body, { count: 1 })
      assert.equal((await replayed(service, id)).replay.done, 1)
    }
    const again = await objects()
    assert.deepEqual(again, [shapes[0], shapes[0], shapes[2]])
  },
  OPTIONS,
)

eachFrozen(
  'a retired version is not given out any more, and its registrations get the successor’s',
  async (service, t) => {
    const { post, announce, at } = service
    const hook = await openHook(t)
    const { id } = (await register(service, hook, { api_version: 'v1' })).body
    const announced = await announce('v1', {
      deprecated_at: '2026-12-01',
      sunset_at: '2027-07-01',
      successor: 'v2',
    })
    assert.equal(announced.status, 200, announced.text)
    await at('2027-07-02T00:00:00Z')
    const refused = await register(service, hook, { api_version: 'v1' })
    assert.equal(refused.body.errors[0].pointer, '/api_version')
    await service.app.work()
    await post('/api/v3/people', { ...person, email: 'b@example.com' })
    await settled(service, id)
    const sent = hook.calls.filter(({ event }) => event.type === 'person.created')
    assert.deepEqual(
      sent.map(({ event }) => event.data.object.full_name),
      ['Ada Byron'],
    )
    assert.equal(sent[0]!.event.data.object.email, 'b@example.com')
  },
  OPTIONS,
)
