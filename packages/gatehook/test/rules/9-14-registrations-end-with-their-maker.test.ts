/** §9.14: a registration becomes inactive when its maker loses its authority. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openForTest } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { bearerOf, emailOf, openPeople } from '../people/rig.ts'
import { LOCAL, openHook, register } from '../webhooks/hook.ts'

const SCOPES = ['webhooks:read', 'webhooks:write', 'orders:all', 'users:all']

async function maker(service: TestApp, name: string, mode: 'live' | 'test' = 'test') {
  const { operator, createPerson, token, anonymous } = await openPeople(service)
  const { id } = await createPerson(name, { scopes: SCOPES, mode })
  const sent = bearerOf(await token(emailOf(name)))
  return {
    id: id as number,
    operator,
    post: (path: string, body?: unknown) => anonymous.post(path, body, sent),
    patch: (path: string, body: unknown) => anonymous.patch(path, body, sent),
  }
}

const endings: Readonly<Record<string, (service: TestApp, id: number) => Promise<unknown>>> = {
  disabled: async (service, id) => {
    const { operator } = await openPeople(service)
    return operator.patch(`/admin/users/${id}`, { disabled: true })
  },
  'without webhooks:write': async (service, id) => {
    const { operator } = await openPeople(service)
    return operator.patch(`/admin/users/${id}`, { scopes: ['webhooks:read', 'orders:all'] })
  },
  // Only `admin` deletes a person with account scopes (§6.9).
  deleted: async (service, id) => {
    const { operator } = await openPeople(service)
    return operator.delete(`/api/v2/users/${id}`)
  },
}

for (const [ending, end] of Object.entries(endings)) {
  eachService(
    `the registration of a person that is ${ending} is inactive until a key takes it over`,
    async (service, t) => {
      const hook = await openHook(t)
      const live = service.as(await service.key({ mode: 'live' }))
      const ada = await maker(service, 'ada', 'live')
      const response = await register(ada, hook, { events: ['order.*', 'user.*'] })
      assert.deepEqual(
        response.body.scopes,
        ['orders:all', 'users:all', 'webhooks:read'],
        response.text,
      )
      const other = (await register(live, hook, { events: ['webhook.disabled'] })).body
      await end(service, ada.id)
      const { id } = response.body
      const inactive = (await live.get(`/webhooks/${id}`)).body
      assert.deepEqual([inactive.active, inactive.disabled_reason], [false, 'creator_removed'])
      const [delivery] = (await live.get(`/webhooks/${other.id}/deliveries`)).body.data
      const event = (await live.get(`/events/${delivery.event_id}`)).body
      assert.deepEqual(event.data.object, {
        id,
        status: 'disabled',
        url: hook.url,
        disabled_reason: 'creator_removed',
      })

      const bob = await maker(service, 'bob', 'live')
      const person = await bob.patch(`/webhooks/${id}`, { active: true })
      assert.deepEqual([person.status, person.body.error], [403, 'forbidden'])
      const scopes = ['webhooks:write', 'orders:read']
      const narrow = service.as(await service.key({ scopes, mode: 'live' }))
      const family = await narrow.patch(`/webhooks/${id}`, { active: true })
      assert.deepEqual([family.status, family.body.error], [403, 'insufficient_scope'])
      await live.patch(`/webhooks/${id}`, { events: ['order.*', '*'] })
      const activated = await narrow.patch(`/webhooks/${id}`, { active: true })
      assert.deepEqual(
        [
          activated.status,
          activated.body.active,
          activated.body.disabled_reason,
          activated.body.scopes,
        ],
        [200, true, null, ['orders:read']],
      )
      assert.equal(activated.body._warnings[0].type, 'unreadable_events')
      const trail = await bob.operator.get(`/admin/audit?target=${id}`)
      assert.deepEqual(
        trail.body.data.map(({ action }: { action: string }) => action),
        ['webhook.create', 'webhook.disable', 'webhook.update', 'webhook.update'],
      )
    },
    LOCAL,
  )
}

eachService(
  'a caller that chooses another receiver is the maker from then on',
  async (service, t) => {
    const [hook, own] = [await openHook(t), await openHook(t)]
    const ada = await maker(service, 'ada')
    const { id } = (await register(service, hook, { events: ['order.*'] })).body
    const same = await ada.patch(`/webhooks/${id}`, { url: hook.url, description: 'the same' })
    assert.equal(same.status, 200, same.text)
    const moved = await ada.patch(`/webhooks/${id}`, { url: own.url })
    assert.deepEqual(
      [moved.status, moved.body.scopes],
      [200, ['orders:all', 'users:all', 'webhooks:read']],
    )
    await endings.disabled!(service, ada.id)
    const inactive = (await service.get(`/webhooks/${id}`)).body
    assert.deepEqual([inactive.active, inactive.disabled_reason], [false, 'creator_removed'])
  },
  LOCAL,
)

eachService(
  'a person that loses a scope narrows its registration permanently',
  async (service, t) => {
    const hook = await openHook(t)
    const ada = await maker(service, 'ada')
    const { id } = (await register(ada, hook)).body
    const patch = (scopes: readonly string[]) =>
      ada.operator.patch(`/admin/users/${ada.id}`, { scopes })
    await patch(['webhooks:read', 'webhooks:write', 'orders:all'])
    const scopes = async () => (await service.get(`/webhooks/${id}`)).body.scopes
    assert.deepEqual(await scopes(), ['orders:all', 'webhooks:read'])
    await patch(SCOPES)
    assert.deepEqual(await scopes(), ['orders:all', 'webhooks:read'])
    assert.equal((await service.get(`/webhooks/${id}`)).body.active, true)
    await service.post('/api/v2/users', { name: 'Eve', email: 'eve@example.com' })
    assert.deepEqual((await service.get(`/webhooks/${id}/deliveries`)).body.data, [])
  },
  LOCAL,
)

eachService(
  'disabling a person during the verification of its receiver rejects the registration',
  async (service, t) => {
    const hook = await openHook(t)
    const ada = await maker(service, 'ada')
    let respond = () => {}
    hook.holds = new Promise<void>((resolve) => void (respond = resolve))
    const registering = register(ada, hook, { events: ['order.*'] })
    await hook.until(1)
    await ada.operator.patch(`/admin/users/${ada.id}`, { disabled: true })
    respond()
    const refused = await registering
    assert.deepEqual([refused.status, refused.body.error], [403, 'insufficient_scope'])
    assert.equal((await service.get('/webhooks?pagination=page')).body.total, 0)
  },
  LOCAL,
)

eachService(
  'narrowing a client narrows its registration; deleting it disables the registration',
  async (service, t) => {
    const hook = await openHook(t)
    const { operator, anonymous } = await openPeople(service)
    const scopes = ['webhooks:write', 'orders:read', 'users:read']
    const app = (await operator.post('/admin/clients', { name: 'App', scopes, mode: 'test' })).body
    const basic = Buffer.from(`${app.client_id}:${app.client_secret}`).toString('base64')
    const granted = await anonymous.post('/oauth/token', 'grant_type=client_credentials', {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${basic}`,
    })
    const sent = bearerOf(granted.body.access_token)
    const post = (path: string, body?: unknown) => anonymous.post(path, body, sent)
    const response = await register({ post }, hook)
    assert.deepEqual(response.body.scopes, ['orders:read', 'users:read'], response.text)
    const path = `/admin/clients/${app.client_id}`
    await operator.patch(path, { scopes: ['webhooks:write', 'orders:read'] })
    const now = async () => (await service.get(`/webhooks/${response.body.id}`)).body
    assert.deepEqual((await now()).scopes, ['orders:read'])
    await operator.delete(path)
    const { active, disabled_reason } = await now()
    assert.deepEqual([active, disabled_reason], [false, 'creator_removed'])
  },
  LOCAL,
)

test('the end or narrowing of a maker undoes no change that others make meanwhile', async (t) => {
  const service = await openService(t, 'postgres', { env: LOCAL.env })
  const hook = await openHook(t)
  const ada = await maker(service, 'ada')
  const { id } = (await register(ada, hook, { events: ['order.*', 'user.*'] })).body
  const { operator } = await openPeople(service)
  const { db } = service.app
  const other = await openForTest(t, service.url)
  const isWaiting = async () =>
    (
      await other.arrays(sql`SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`)
    ).length > 0
  const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const change = db.write(async (tx) => {
    await tx.run(sql`UPDATE gh_webhooks SET active = 0, description = 'off' WHERE id = ${id}`)
    locked.resolve()
    await released.promise
  })
  await locked.promise
  const scopes = SCOPES.filter((scope) => scope !== 'orders:all')
  const narrowed = operator.patch(`/admin/users/${ada.id}`, { scopes })
  await Promise.race([narrowed, eventually(isWaiting, Boolean)])
  released.resolve()
  await change
  const reply = await narrowed
  assert.equal(reply.status, 200, reply.text)
  const row = await db.get<{ active: number; description: string; scopes: string }>(
    sql`SELECT active, description, scopes FROM gh_webhooks WHERE id = ${id}`,
  )
  assert.deepEqual([row!.active, row!.description], [0, 'off'])
  assert.ok(!row!.scopes.includes('orders:all'), row!.scopes)
})
