/**
 * §9.14: events that an earlier declaration recorded are read by the declaration of today: a key
 * with all of its scopes reads none of a type that it does not know, and none has a field that it
 * hides.
 */
import assert from 'node:assert/strict'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const list = { filter: [], sort: [] } as const
const access = (name: string) => ({
  read: `${name}:read` as const,
  ...({ create: 'all:write', update: 'all:write', delete: 'all:write' } as const),
})
const versions = { v1: { released: '2026-06-01' } }
const notes = (salary: ReturnType<typeof f.int>) =>
  resource('notes', {
    fields: { id: f.id(), text: f.string(), salary: salary as ReturnType<typeof f.int> },
    ...{ list, access: access('notes') },
    events: ['note.created'],
  })
const bonuses = resource('bonuses', {
  fields: { id: f.id(), amount: f.int() },
  ...{ list, access: access('bonuses') },
  events: ['bonus.created'],
})
const earlier = service({
  name: 'Pay',
  versions,
  resources: [notes(f.int()), bonuses],
  externalEvents: [{ type: 'payroll.paid', scope: 'payroll:read' }],
})
const later = {
  'visible to a scope': f.int().visible('pay:read'),
  'write-only': f.int().writeOnly(),
}
const NARROW = ['notes:read', 'events:read', 'webhooks:read', 'webhooks:write']

const typesOf = async (app: TestApp, key: string) => {
  const reply = await app.as(key).get('/events?limit=100')
  assert.equal(reply.status, 200, reply.text)
  const events = reply.body.data as { type: string; data: { object: object } }[]
  const own = events.filter(({ type }) => /^(note|bonus|payroll)\./.test(type))
  return { text: reply.text, types: own.map(({ type }) => type).sort() }
}

for (const [name, salary] of Object.entries(later)) {
  eachService(
    `a key reads no events of former types, and none has a field that is ${name} today`,
    async (before, t) => {
      const narrow = await before.key({ mode: 'live', scopes: NARROW })
      const admin = await before.key({ mode: 'live', scopes: ['admin'] })
      const { post } = before.as(admin)
      await post('/api/v1/notes', { text: 'a', salary: 424_242 })
      await post('/api/v1/bonuses', { amount: 515_151 })
      await post('/events', { type: 'payroll.paid', object: { iban: 'SECRET' } })
      assert.deepEqual((await typesOf(before, narrow)).types, ['note.created'])
      await before.app.close()
      const after = await openService(t, before.app.db.name, {
        service: service({ name: 'Pay', versions, resources: [notes(salary as never)] }),
        ...{ url: before.url, key: admin },
      })
      const read = await typesOf(after, narrow)
      assert.deepEqual(read.types, ['note.created'])
      for (const value of ['424242', '515151', 'SECRET']) {
        assert.ok(!read.text.includes(value), read.text)
      }
    },
    { service: earlier },
  )
}
