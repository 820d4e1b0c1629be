/** §6.8: own code may return a whole row; its id and its times are those of the service. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const WAYS = ['act', 'rule', 'update'] as const
/** Members that own code adds to the row that it returns. */
const added = f.object({
  id: f.int().nullable().default(null),
  created_at: f.bool().default(false),
})
type Added = { readonly id: number | null; readonly created_at: boolean }
const merged = <Values extends object>(values: Values, more: Added): Values => ({
  ...values,
  ...(more.id !== null && { id: more.id }),
  ...(more.created_at && { created_at: 5, updated_at: 5 }),
})

const cars = resource('cars', {
  fields: {
    id: f.id(),
    name: f.string().max(9).default(''),
    more: added.nullable().default(null),
    created_at: f.createdAt(),
    updated_at: f.updatedAt(),
  },
  list: { filter: [], sort: ['id'] },
  access: { read: 'c:read', create: 'c:write', update: 'c:write', delete: 'c:write' },
  events: ['car.updated'],
})
  .action('pick', {
    scope: 'c:write',
    input: { more: added },
    run: ({ row, input }) => ({ ...merged(row, input.more), name: 'act' }),
  })
  .rule('update', ({ after }) =>
    after.more === null ? undefined : { ...merged(after, after.more), name: 'rule' },
  )
const shop = service({
  name: 'Shop',
  versions: { v1: { released: '2026-01-01' } },
  resources: [cars],
}).route({
  method: 'POST',
  path: '/updates',
  scope: 'c:write',
  summary: 'Updates a car',
  input: { car: f.int(), more: added },
  output: cars,
  async handle({ input, write }) {
    const body = await write(async (tx) => {
      const row = await tx.get(cars, input.car)
      return tx.update(cars, input.car, { ...merged(row, input.more), name: 'update' })
    })
    return { body }
  },
})

eachService(
  'actions, rules and tx.update() change neither the id of a row nor its times',
  async (app) => {
    const car = (await app.post('/api/v1/cars', {})).body
    const send = (way: (typeof WAYS)[number], more: Partial<Added>) => {
      if (way === 'act') return app.post(`/api/v1/cars/${car.id}/pick`, { more })
      if (way === 'rule') return app.patch(`/api/v1/cars/${car.id}`, { more })
      return app.post('/api/v1/updates', { car: car.id, more })
    }
    for (const way of WAYS) {
      const id = car.id + 7
      for (const more of [{ id }, { id, created_at: true }, { created_at: true }]) {
        assert.equal((await send(way, more)).status, 500, way)
      }
      for (const more of [{}, { id: car.id }]) {
        const { status, body, text } = await send(way, more)
        assert.equal(status, 200, `${way}: ${text}`)
        assert.deepEqual([body.id, body.created_at, body.name], [car.id, car.created_at, way])
        assert.ok(body.updated_at >= car.updated_at, way)
      }
      await app.patch(`/api/v1/cars/${car.id}`, { more: null })
    }
    assert.equal((await app.get('/api/v1/cars')).body.data.length, 1)
  },
  { service: shop },
)
