/** The forms of the pages follow from the bodies of operations: fields, and the JSON they send. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'

/** Types of pages need those of a browser, which this program does not have. */
const load = (path: string) => import(`../../packages/pages/${path}`)
const { readBodies, membersOf } = await load('operation-bodies.ts')
const { bodyOf, draftOf, instantOf, instantText, mistakeIn } = await load('src/forms/draft.ts')
const { fieldsOf } = await load('src/forms/field-words.ts')

interface Named {
  readonly name: string
}

const bodies = readBodies()

test('a new member of a body is a field below the others, with its words', () => {
  const schema = {
    type: 'object',
    required: ['name'],
    properties: {
      billing_code: { type: ['string', 'null'], maxLength: 9, description: 'A `code` (§7.6).' },
      name: { type: 'string' },
      tiers: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
    },
  }
  const fields = fieldsOf(membersOf(schema), {}, { name: { label: 'Own' } })
  assert.deepEqual(
    fields.map(({ name, label, kind, required }: Record<string, unknown>) => [
      name,
      label,
      kind,
      required,
    ]),
    [
      ['name', 'Own', 'text', true],
      ['billing_code', 'Billing code', 'text', false],
      ['tiers', 'Tiers', 'set', false],
    ],
  )
  assert.equal(fields[1].hint, 'A code.')
  assert.equal(fields[1].max, 9)
})

test('forms name operations and members that exist', () => {
  const names = globSync('packages/pages/src/**/*.tsx').flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/\boperation(?:=|: )["'](\w+)["']/g)].map(
      ([, name]) => name!,
    ),
  )
  assert.ok(names.length >= 12, `${names.length} forms`)
  for (const name of names) assert.ok(bodies[name], name)
})

test('bodies have no values that a service declares', () => {
  assert.doesNotMatch(JSON.stringify(bodies), /"(users|orders)[:.]|"user\.created"|"v[12]"/)
})

/** Returns the fields of an operation without words. */
const fieldsNamed = (operation: string) => fieldsOf(bodies[operation].members, {}, {})

test('an unchanged form sends nothing, and a new one its filled members', () => {
  const fields = fieldsNamed('update_key')
  const row = {
    name: 'Till',
    scopes: ['a:read'],
    cidrs: ['203.0.113.0/24'],
    expires_at: '2099-06-30T00:00:00.000Z',
    api_version: null,
  }
  const start = draftOf(fields, row)
  assert.deepEqual(bodyOf(fields, start, start, false), {})
  const draft = { ...start, cidrs: '', expires_at: '', name: 'Shop' }
  const changes = { name: 'Shop', cidrs: [], expires_at: null }
  assert.deepEqual(bodyOf(fields, draft, start, false), changes)
  const creation = fieldsNamed('create_key')
  const empty = draftOf(creation, {})
  assert.deepEqual(bodyOf(creation, empty, empty, true), { scopes: [] })
  const filled = { ...empty, name: 'Till', cidrs: '::1, 10.0.0.0/8' }
  const body = { name: 'Till', scopes: [], cidrs: ['::1', '10.0.0.0/8'] }
  assert.deepEqual(bodyOf(creation, filled, empty, true), body)
})

test('the objects of a list are sent whole, with null or an empty value for empty fields', () => {
  const items = { noun: 'rule', words: {}, values: () => ({}) }
  const fields = fieldsOf(bodies.update_issuer.members, {}, { rules: { items } })
  const rule = { customer: 'cus_1', mode: 'live', scopes: ['a:read'], person: 'sub' }
  const start = draftOf(fields, { rules: [] })
  const { rules } = draftOf(fields, { rules: [{ ...rule, match: { sub: 'x' } }] })
  assert.deepEqual(bodyOf(fields, { ...start, rules }, start, false), {
    rules: [{ ...rule, match: { sub: 'x' }, typ: null, domains: [] }],
  })
})

test('a limit is a number per seconds, and another text has a message', () => {
  const { members } = bodies.update_customer.members.find(({ name }: Named) => name === 'limits')
  const fields = fieldsOf(members, {}, {})
  const start = draftOf(fields, { rate_limit: { limit: 600, window_s: 60 } })
  assert.equal(start.rate_limit, '600/60')
  const changed = { ...start, rate_limit: '', delivery_rate: '9 / 1' }
  assert.deepEqual(bodyOf(fields, changed, start, false), {
    rate_limit: null,
    delivery_rate: { limit: 9, window_s: 1 },
  })
  const mistakes = ['many', '600', '', '1/1'].map(
    (rate_limit) => mistakeIn(fields[0], { ...start, rate_limit }) !== undefined,
  )
  assert.deepEqual(mistakes, [true, true, false, false])
})

test('the text of an instant is that instant, to the minute', () => {
  const minutes = fc.integer({ min: 0, max: 60_000_000 })
  const property = fc.property(minutes, (minute) => {
    const iso = new Date(minute * 60_000).toISOString()
    assert.equal(Date.parse(instantOf(instantText(iso))), Date.parse(iso))
  })
  fc.assert(property, { seed: 33 })
  assert.equal(instantOf('tomorrow'), 'tomorrow')
})
