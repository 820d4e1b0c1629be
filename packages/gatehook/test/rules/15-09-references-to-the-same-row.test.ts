/** §15.9: a row whose values refer to itself: when it is new, deleted and restored. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const access = (name: string) =>
  ({
    read: `${name}:read`,
    create: `${name}:write`,
    update: `${name}:write`,
    delete: `${name}:write`,
  }) as const
const list = { filter: [], sort: ['id'] } as const

const nodes = resource('nodes', {
  fields: { id: f.id(), next: f.array(f.ref('nodes'), { max: 3 }).default([]) },
  list,
  access: access('nodes'),
  batch: true,
  events: [],
})
const graph = { name: 'Graph', versions: { v1: { released: '2026-01-01' } }, resources: [nodes] }

eachService(
  'a new row does not refer to itself: it is not there when its values are verified',
  async (app) => {
    const refusals = [
      await app.post('/api/v1/nodes', { next: [1] }),
      await app.post('/api/v1/nodes/batch', { items: [{ next: [2] }] }),
    ]
    assert.deepEqual(
      refusals.map(({ status }) => status),
      [422, 422],
    )
  },
  { service: service(graph) },
)

const twins = resource('twins', {
  fields: {
    id: f.id(),
    twin_id: f.ref('twins').nullable().default(null),
    next: f.array(f.ref('twins'), { max: 3 }).default([]),
  },
  list,
  access: access('twins'),
  softDelete: { scope: 'twins:deleted', purgeAfterDays: 1 },
  events: [],
})

eachService(
  'a row that refers to itself is deleted; the references of others restrict it',
  async ({ post, patch, delete: remove }) => {
    for (const name of ['nodes', 'twins']) {
      for (let n = 0; n < 3; n++) await post(`/api/v1/${name}`, {})
      await patch(`/api/v1/${name}/1`, { next: [1, 2], ...(name === 'twins' && { twin_id: 1 }) })
      await patch(`/api/v1/${name}/3`, { next: [1] })
      assert.equal((await remove(`/api/v1/${name}/1`)).status, 409)
      await patch(`/api/v1/${name}/3`, { next: [] })
      assert.equal((await remove(`/api/v1/${name}/1`)).status, 204)
      if (name === 'twins') assert.equal((await post('/api/v1/twins/1/restore')).status, 200)
    }
  },
  { service: service({ ...graph, resources: [nodes, twins] }) },
)
