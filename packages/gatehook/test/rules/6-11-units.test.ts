/** §6.11: a number has a unit, which documents and the console name; it changes no value. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { service as declareService, f, resource } from '../../src/gatehook.ts'

const parcels = (unit: string) =>
  resource('parcels', {
    fields: {
      id: f.id(),
      weight: f.int().min(1).unit(unit).describe('With the box.'),
      price: f.decimal(8, 2).nullable().default(null).unit('EUR'),
    },
    list: { filter: ['id', 'weight'], sort: ['id', 'weight'] },
    access: { read: 'parcels:read', create: 'parcels:write', update: false, delete: false },
    events: [],
  })

const declared = (unit: string) =>
  declareService({
    name: 'Parcels',
    versions: { v1: { released: '2026-01-01' } },
    resources: [parcels(unit)],
  })

eachService(
  'the unit is in the document and the overview, and the value is as before',
  async (service) => {
    const document = (await service.get('/openapi/v1.json')).body
    const { weight, price } = document.components.schemas.Parcel.properties
    assert.deepEqual([weight['x-unit'], weight.description], ['gram', 'With the box. Unit: gram.'])
    assert.equal(price['x-unit'], 'EUR')
    assert.match(price.description, /\. Unit: EUR\.$/)
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const [{ fields }] = (await admin.get('/admin/resources')).body.resources
    const units = fields.map(({ unit }: { unit: string | null }) => unit)
    assert.deepEqual(units, [null, 'gram', 'EUR'])
    const created = await service.post('/api/v1/parcels', { weight: 250, price: '4.50' })
    assert.equal(created.status, 201, created.text)
    const { id } = created.body
    assert.deepEqual(created.body, { id, weight: 250, price: '4.50' })
    assert.equal((await service.get('/api/v1/parcels?weight=250')).body.data.length, 1)
  },
  { service: declared('gram') },
)

test('a unit goes with a number, and is a short text', () => {
  const declare = (field: object) =>
    resource('things', {
      fields: { id: f.id(), value: field as never },
      list: { filter: [], sort: [] },
      access: { read: 'r', create: 'w', update: false, delete: false },
      events: [],
    })
  assert.throws(() => declare(f.string().unit('kg')), /value: \.unit\(\) goes with a number/)
  for (const unit of ['', ' kg', 'k'.repeat(31), 7 as never]) {
    assert.throws(() => declare(f.int().unit(unit)), /a text of 1 to 30 characters/)
  }
  declare(f.number().unit('km/h'))
})
