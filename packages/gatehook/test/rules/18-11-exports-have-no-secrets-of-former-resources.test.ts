/** §18.11: exports hold no secret, in no table, also of resources that are declared no more. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import {
  service as declare,
  event,
  f,
  fields as fieldsOf,
  job,
  resource,
} from '../../src/gatehook.ts'

const access = { read: 'r', create: 'w', update: false, delete: false } as const
const list = { filter: [], sort: [] } as const
const fields = { id: f.id(), label: f.string() }
const secrets = {
  pin: f.string().nullable().writeOnly(),
  token: f.string().nullable().secret(),
  card: f.object({ owner: f.string(), code: f.string().secret() }).nullable().default(null),
  codes: f.array(f.string().secret(), { max: 3 }).default([]),
  cards: f.array(f.object({ code: f.string().secret() }), { max: 3 }).default([]),
}
const secretValues = {
  ...{ pin: 'PIN-4711', token: 'TOKEN-4711', card: { owner: 'A', code: 'CARD-4711' } },
  ...{ codes: ['CODE-4711'], cards: [{ code: 'CARDS-4711' }] },
}
const other = resource('others', { fields, list, access, events: [] })
const vaults = resource('vaults', {
  fields: { ...fields, ...secrets },
  list,
  access,
  events: ['vault.created'],
})
const PASSWORD = 'correct horse battery'
const members = resource('members', {
  fields: { id: f.id(), email: f.email().unique(), ...secrets },
  list,
  access,
  events: ['member.created'],
}).signsIn({ username: 'email' })
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
    const row = { label: 'LABEL-1', ...secretValues }
    assert.equal((await first.post('/api/v1/vaults', row)).status, 201)
    const { url } = first
    const key = await first.key({ scopes: ['admin'], mode: 'live' })
    await first.app.close()
    for (const [title, service] of Object.entries(declarations)) {
      const { app, as } = await openService(t, name, { service, url })
      const { text } = await as(key).get('/admin/customers/cus_default/export')
      assert.match(text, /LABEL-1/, title)
      assert.match(text, /"gh_events".*vault.created.*LABEL-1/, title)
      assert.doesNotMatch(text, /4711/, title)
      await app.close()
    }
  })
}

for (const { name } of databases) {
  test(`an export of a person has no value of a secret field [${name}]`, async (t) => {
    const app = await openService(t, name, { service: serviceOf([members, other]) })
    const admin = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
    const person = { email: 'ann@members.example', password: PASSWORD, ...secretValues }
    const { status, body, text: problem } = await admin.post('/admin/users', person)
    assert.equal(status, 201, problem)
    const { text } = await admin.get(`/admin/users/${body.id}/export`)
    assert.match(text, /"gh_events".*member.created.*ann@members.example/)
    assert.doesNotMatch(text, /4711/)
  })
}

test('events and inputs of jobs have no secret inside an object or a list', () => {
  const inside = { card: f.object({ code: f.string().secret() }) }
  assert.throws(() => event('card.read', fieldsOf(inside)), /card is a field that is not secret/)
  assert.throws(() => serviceOf([other]).job(job('check', inside), async () => {}), /is secret/)
})
