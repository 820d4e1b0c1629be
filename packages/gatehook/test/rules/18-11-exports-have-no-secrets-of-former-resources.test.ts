/** §18.11: exports hold no secret, also of resources that are declared no more. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { service as declare, f, resource } from '../../src/gatehook.ts'

const access = { read: 'r', create: 'w', update: false, delete: false } as const
const list = { filter: [], sort: [] } as const
const fields = { id: f.id(), label: f.string() }
const secrets = { pin: f.string().nullable().writeOnly(), token: f.string().nullable().secret() }
const other = resource('others', { fields, list, access, events: [] })
const vaults = resource('vaults', { fields: { ...fields, ...secrets }, list, access, events: [] })
const versions = { v1: { released: '2026-01-01' } }
const serviceOf = (resources: Parameters<typeof declare>[0]['resources']) =>
  declare({ name: 'bank', versions, resources })

const declarations = {
  'the same': serviceOf([vaults, other]),
  'without the resource': serviceOf([other]),
}

for (const { name } of databases) {
  test(`an export has no value that was a secret [${name}]`, async (t) => {
    const first = await openService(t, name, { service: declarations['the same'] })
    const row = { label: 'LABEL-1', pin: 'PIN-4711', token: 'TOKEN-4711' }
    assert.equal((await first.post('/api/v1/vaults', row)).status, 201)
    const { url } = first
    const key = await first.key({ scopes: ['admin'], mode: 'live' })
    await first.app.close()
    for (const [title, service] of Object.entries(declarations)) {
      const { app, as } = await openService(t, name, { service, url })
      const { text } = await as(key).get('/admin/customers/cus_default/export')
      assert.match(text, /LABEL-1/, title)
      assert.doesNotMatch(text, /4711/, title)
      await app.close()
    }
  })
}
