/**
 * §2.2: seeded rows take steps by their actions, which receive an input that a request could have.
 * An action that rejects it leaves the row in its state, and a mistake ends no first start.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { Failure, f, resource, service } from '../../src/gatehook.ts'

const depots = resource('depots', {
  fields: { id: f.id('dep'), name: f.string() },
  list: { filter: [], sort: ['id'] },
  access: { read: 's:read', create: 's:write', update: 's:write', delete: false },
  events: [],
}).sample((n) => ({ name: `Depot ${n}` }))

const declareParcels = (weight: (given: string) => unknown) =>
  resource('parcels', {
    fields: {
      id: f.id(),
      status: f.oneOf(['open', 'weighed', 'sent']).default('open'),
      weight: f.decimal(12, 3).default('0.000'),
      names: f.string().default(''),
      depot_id: f.ref('depots', 'dep').nullable().default(null),
    },
    list: { filter: ['status'], sort: ['id'] },
    access: { read: 's:read', create: 's:write', update: 's:write', delete: false },
    events: [],
  })
    .action('weigh', {
      scope: 's:write',
      from: ['open'],
      to: 'weighed',
      input: {
        weight: f.decimal(12, 3).min(0),
        parts: f.array(f.object({ name: f.string() }), { max: 3 }),
        seal: f.oneOf(['red', 'blue']),
        depot: f.ref('depots', 'dep'),
        note: f.string().nullable(),
      },
      run: ({ input }) => ({
        weight: weight(input.weight) as string,
        names: input.parts.map(({ name }) => name + input.seal.trim()).join(input.note ?? ''),
        depot_id: input.depot,
      }),
    })
    .action('send', {
      scope: 's:write',
      from: ['weighed'],
      to: 'sent',
      run: () => {
        throw new Failure('conflict', 'No lorry.')
      },
    })
    .sample(() => ({}))
const declare = (weight: (given: string) => unknown) =>
  service({
    name: 'post',
    versions: { v1: { released: '2025-01-01' } },
    resources: [depots, declareParcels(weight)],
  })

eachService(
  'a seeded row takes steps with inputs that its actions accept, until one rejects it',
  async ({ get }) => {
    const totalOf = async (state: string) =>
      (await get(`/api/v1/parcels?status=${state}&pagination=page`)).body.total
    assert.deepEqual(
      [await totalOf('open'), await totalOf('weighed'), await totalOf('sent')],
      [24, 96, 0],
    )
    const { body } = await get('/api/v1/parcels?status=weighed&limit=1')
    assert.match(body.data[0].depot_id, /^dep_/)
  },
  { service: declare((given) => given), seed: true },
)

test('a mistake of an action is one of the declaration, and ends no first start', async (t) => {
  const wrong = declare(() => null)
  const mistake = /resource parcels: action weigh of the row of \.sample\(1\)/
  await assert.rejects(openService(t, 'sqlite', { service: wrong, seed: true }), mistake)
  const { app } = await openService(t, 'sqlite', { service: wrong, seed: 'first' })
  assert.deepEqual(app.seeded, {})
})
