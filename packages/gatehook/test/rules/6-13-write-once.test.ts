/** §6.13: a client sets a write-once field when it creates the row, and never again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource } from '../../src/gatehook.ts'
import { depot } from '../fixtures/depot.ts'

const address = { city: 'Berlin' }

eachService(
  'a patch of a write-once field is 422 in every version, and changes nothing',
  async ({ app, get, post, patch }) => {
    const created = await post('/api/v2/parcels', { address, serial: 'A-1' })
    assert.deepEqual([created.status, created.body.serial], [201, 'A-1'])
    const old = await post('/api/v1/parcels', { place: { town: 'Ulm', zip: null }, no: 'A-2' })
    assert.deepEqual([old.status, old.body.no], [201, 'A-2'])
    for (const [path, name] of [
      ['/api/v2/parcels/1', 'serial'],
      ['/api/v1/parcels/1', 'no'],
    ] as const) {
      const more = path.includes('v2') ? { address: { city: 'Ulm' } } : { place: { town: 'Ulm' } }
      const reply = await patch(path, { [name]: 'B', ...more })
      assert.equal(reply.status, 422, reply.text)
      const [error] = reply.body.errors
      assert.deepEqual([error.pointer, error.code], [`/${name}`, 'read_only'])
    }
    assert.deepEqual((await get('/api/v2/parcels/1')).body, created.body)
    assert.equal((await get('/events')).body.data.length, 2)
    const { schemas } = JSON.parse((await app.inject('/openapi/v2.json')).body).components
    assert.ok('serial' in schemas.ParcelCreate.properties)
    assert.ok(!('serial' in schemas.ParcelPatch.properties))
  },
  { service: depot },
)

test('a field that clients never write is not write-once', () => {
  const declare = () =>
    resource('things', {
      fields: { id: f.id(), name: f.string().default('').readonly().writeOnce() },
      list: { filter: [], sort: [] },
      access: { read: 'r', create: 'w', update: 'w', delete: false },
      events: [],
    })
  assert.throws(declare, /field name: clients never write it, not once/)
})
