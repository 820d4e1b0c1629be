/** §9.11: bodies have the registration's pinned version, and its successor after sunset. */
import assert from 'node:assert/strict'
import { eachFrozen } from '../../../../test/rig/frozen-service.ts'
import { club } from '../fixtures/club.ts'
import { finishedLog, LOCAL, openHook, register, replayed } from '../webhooks/hook.ts'

const OPTIONS = { env: LOCAL.env, service: club }
const person = { first: 'Ada', last: 'Byron', height_mm: 1650, points: 12 }

eachFrozen(
  'each registration gets the event in its own version, also by replay',
  async (service, t) => {
    const { post, patch } = service
    const hooks = await Promise.all(
      ['v1', 'v2', undefined].map(async (api_version) => {
        const hook = await openHook(t)
        const { body } = await register(service, hook, api_version ? { api_version } : {})
        return { hook, ...body }
      }),
    )
    assert.deepEqual(
      hooks.map(({ api_version }) => api_version),
      ['v1', 'v2', 'v3'],
    )
    await service.app.work()
    const response = await post('/api/v3/people', { ...person, email: 'a@example.com' })
    assert.equal(response.status, 201, response.text)
    const objects = async () => {
      for (const { id } of hooks) await finishedLog(service, id)
      return hooks.map(({ hook }) => hook.calls.at(-1)!.event.data.object)
    }
    const shapes = (await objects()) as Record<string, unknown>[]
    assert.deepEqual([shapes[0]!.mail, shapes[0]!.full_name], ['a@example.com', 'Ada Byron'])
    assert.deepEqual([shapes[1]!.email, shapes[1]!.full_name], ['a@example.com', 'Ada Byron'])
    assert.deepEqual(shapes[2], response.body)
    const tested = await post(`/webhooks/${hooks[0].id}/test`, { event_type: 'person.created' })
    assert.equal(tested.body.delivered, true)
    assert.equal(hooks[0].hook.calls.at(-1)!.event.data.object.full_name, 'First0')

    // After a change of its pin, the replay has the other version.
    await patch(`/webhooks/${hooks[1].id}`, { api_version: 'v1' })
    const since = '2026-11-30T00:00:00Z'
    for (const { id } of hooks) {
      assert.deepEqual((await post(`/webhooks/${id}/replay`, { since })).body, { count: 1 })
      assert.equal((await replayed(service, id)).replay.done, 1)
    }
    assert.deepEqual(await objects(), [shapes[0], shapes[0], shapes[2]])
  },
  OPTIONS,
)

eachFrozen(
  'no registration can pin a retired version; pinned ones get the successor',
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
    await finishedLog(service, id)
    const sent = hook.calls.filter(({ event }) => event.type === 'person.created')
    assert.deepEqual(
      sent.map(({ event }) => event.data.object.full_name),
      ['Ada Byron'],
    )
    assert.equal(sent[0]!.event.data.object.email, 'b@example.com')
  },
  OPTIONS,
)
