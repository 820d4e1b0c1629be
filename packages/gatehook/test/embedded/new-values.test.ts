/** Rows of own code and samples get the defaults of members of objects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { openApp } from '../../src/embedded.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const places = resource('places', {
  fields: {
    id: f.id(),
    home: f.object({ city: f.string(), country: f.string().default('DE') }),
    others: f
      .array(f.object({ city: f.string(), since: f.time().nullable().default(null) }), { max: 5 })
      .default([]),
  },
  list: { filter: [], sort: [] },
  access: { read: 'p:read', create: 'p:write', update: 'p:write', delete: false },
  events: [],
}).sample(() => ({ home: { city: 'Ulm' }, others: [{ city: 'Linz' }] }))

const api = service({
  name: 'Places',
  versions: { v1: { released: '2026-01-01' } },
  resources: [places],
}).route({
  method: 'POST',
  path: '/move',
  scope: 'p:write',
  summary: 'Create a place',
  output: places,
  async handle({ write }) {
    const values = { home: { city: 'Bonn' }, others: [{ city: 'Graz' }] }
    return { body: await write((tx) => tx.create(places, values)) }
  },
})

test('members with defaults are added to rows of own code and to samples', async (t) => {
  const app = await openApp({ service: api, seed: true })
  onEnd(t, () => app.close())
  const key = await app.createKey({ scopes: ['p:read', 'p:write'], mode: 'test' })
  const headers = { 'x-api-key': key }
  const seeded = await (await app.request('/api/v1/places?limit=1', { headers })).json()
  const created = await app.request('/api/v1/move', { method: 'POST', headers })
  const rows = [(seeded as { data: object[] }).data[0], await created.json()]
  assert.deepEqual(
    rows.map((row) => ({ ...(row as object), id: 0 })),
    [
      ['Ulm', 'Linz'],
      ['Bonn', 'Graz'],
    ].map(([home, other]) => ({
      id: 0,
      home: { city: home, country: 'DE' },
      others: [{ city: other, since: null }],
    })),
  )
})
