/** §12.7: no log has the value of a parameter with the name of a secret, however it is written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { createLog } from '../../src/kernel/log.ts'
import { adminOf, requestIdOf } from '../monitoring/admin.ts'

const cards = resource('cards', {
  fields: { id: f.id(), name: f.string(), pin: f.string().writeOnly(), extra: f.metadata() },
  list: { filter: ['name', 'extra'], sort: [] },
  access: { read: 'cards:read', create: 'cards:write', update: 'cards:write', delete: false },
  events: [],
}).before('v2', {
  why: 'A PIN has a shorter name.',
  had: { door_code: f.string().writeOnly() },
  hadNot: ['pin'],
  up: ({ door_code }) => ({ pin: door_code }),
  down: ({ pin }) => ({ door_code: pin }),
})
// Here the same name is a filter.
const flags = resource('flags', {
  fields: { id: f.id(), pin: f.string().max(40) },
  list: { filter: ['pin'], sort: [] },
  access: { read: 'cards:read', create: 'cards:write', update: false, delete: false },
  events: [],
})
const versions = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }
const bank = service({ name: 'bank', versions, resources: [cards, flags] })

const DECLARED = ['pin', 'door_code']
const CREDENTIALS = [
  ...['password', 'client_secret', 'id_token', 'x-api-key', 'session_cookie'],
  ...['X-Amz-Signature', 'user_pin', 'pwd', 'Pass', 'old-passphrase'],
]
const spellings = [
  (name: string) => name,
  (name: string) => name.toUpperCase(),
  (name: string) => `${name}[in]`,
  (name: string) => `filter[${name}][eq]`,
  (name: string) => `${name}%5Bne%5D`,
  (name: string) => `extra[${name}]`,
  (name: string) => `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  (name: string) => `+${name}`,
]
const CANARY = 'canary-7f3a'
const PATHS = [
  '/api/v2/cards',
  '/api/v1/cards/1',
  '/api/v2/flags',
  '/api/none',
  '/auth/login',
  '/x',
]

for (const { name: kind } of databases) {
  test(`values of secret parameters are in no log line and no record [${kind}]`, async (t) => {
    const lines: string[] = []
    const destination = { write: (line: string) => void lines.push(line) }
    const log = createLog({ level: 'info', destination })
    const app = await openService(t, kind, { service: bank, log })
    const admin = await adminOf(app)
    const ids: string[] = []
    for (const name of [...DECLARED, ...CREDENTIALS]) {
      for (const spell of spellings) {
        const query = `limit=1&${spell(name)}=${CANARY}`
        const path = PATHS[ids.length % PATHS.length]!
        const referer = `https://shop.example/?${query}`
        ids.push(requestIdOf(await app.get(`${path}?${query}`, { referer })))
      }
    }
    assert.equal(lines.filter((line) => line.includes('"url"')).length, ids.length)
    const leaks = lines.filter((line) => line.includes(CANARY))
    assert.deepEqual(leaks, [])
    const listed = await admin.get('/admin/requests?limit=100')
    assert.equal(listed.body.data.length, ids.length)
    assert.ok(!listed.text.includes(CANARY))
    for (const id of ids) {
      const { status, text } = await admin.get(`/admin/requests/${id}`)
      assert.equal(status, 200)
      assert.ok(!text.includes(CANARY), text)
    }
  })

  test(`links of a recorded response have no secret values [${kind}]`, async (t) => {
    const app = await openService(t, kind, { service: bank })
    for (let count = 0; count < 2; count++) await app.post('/api/v2/flags', { pin: CANARY })
    const list = await app.get(`/api/v2/flags?pagination=offset&limit=1&pin=${CANARY}`)
    assert.ok(list.headers.link!.includes(CANARY), 'a link is a valid request')
    const admin = await adminOf(app)
    const { text } = await admin.get(`/admin/requests/${requestIdOf(list)}`)
    assert.ok(!text.includes(CANARY), text)
  })
}
