/**
 * §18.11: an erasure leaves no value that follows from a personal field, and none of a field that a
 * later release split, renamed or removed: each kind of field, in each version and by each reader.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, type Kind, migratedUrl } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import type { AnyField, Fields } from '../../src/protocol/fields/fields.ts'
import { kinds, nameOfKind } from '../fixtures/every-kind.ts'
import { assertNotInFiles, readAll, rowsWith } from '../storage/canaries.ts'
import { createReceiver, response } from '../transport/receivers.ts'

const WORD = 'kanary'

/** A value for a word, by kind, and the text of its cell if that is not the JSON. */
const VALUES: Readonly<Record<string, (word: string) => unknown>> = {
  string: (word) => `${word} Text`,
  email: (word) => `${word}.e@example.com`,
  url: (word) => `https://example.com/${word}`,
  pattern: (word) => word,
  object: (word) => ({ city: `${word} City`, since: '2020-01-01T00:00:00.000Z' }),
  json: (word) => ({ deep: [`${word} json`] }),
  metadata: (word) => ({ who: `${word} meta` }),
  int: () => 40_954_696_475,
  number: () => 40_954.696_475,
  decimal: () => '4095469647.51',
  time: () => '1987-03-04T05:06:07.890Z',
  duration: () => 'PT13H47M29S',
  uuid: () => '5ca1ab1e-8c1a-7b52-9d3e-2f5a6c7d8e9f',
}
/** Texts that only the person has. */
const NEEDLES = [
  ...[WORD, '40954696475', '40954.696475', '4095469647.51', '1987-03-04', '541832767890'],
  ...['pt13h47m29s', '49649000', '5ca1ab1e'],
]

type Form = 'plain' | 'moved' | 'dropped' | 'gone'
const columnsOf = (form: Form, change = (field: AnyField): AnyField => field.personal()) =>
  Object.fromEntries(
    Object.keys(VALUES).map((kind) => [
      `${form}_${nameOfKind(kind)}`,
      change(kinds[kind]!.nullable().default(null as never)),
    ]),
  )
/** Texts that filters compare have a second column. */
const folded = (column: string) => (column.endsWith('email') ? [`gh_folded_${column}`] : [])
const names = (form: Form) => Object.keys(columnsOf(form))
const valuesOf = (form: Form, word: string) =>
  Object.fromEntries(
    Object.entries(VALUES).map(([kind, value]) => [`${form}_${nameOfKind(kind)}`, value(word)]),
  )

/** The fields that have the value of another one: derived, computed, and marked or not. */
const following = Object.fromEntries(
  names('plain').flatMap((name) => {
    const text = () => f.computed(f.string().max(400))
    return [
      [`read_${name}`, text()],
      [`marked_${name}`, text().personal()],
      [`stored_${name}`, text().stored()],
    ] as [string, AnyField][]
  }),
)
const derived = {
  title: f.derived(f.string().min(1).max(200), "'Dear ' || first_name || ' ' || last_name"),
  marked_title: f.derived(f.string().max(200), "first_name || '!'").personal(),
  open_title: f.derived(f.string().max(200).nullable(), 'upper(plain_a_string)'),
  twice: f.derived(f.int(), 'coalesce(plain_a_int, 0) * 1'),
  of_stored: f.derived(f.string().max(400), 'stored_plain_a_string'),
}
const whole = { name_v1: f.derived(f.string().min(1).max(200), "first_name || ' ' || last_name") }
const parts = {
  first_name: f.string().max(200).default('').personal(),
  last_name: f.string().max(200).default('').personal(),
}

const declare = (fields: Fields) => {
  const rows = resource('people', {
    singular: 'human',
    fields: { id: f.id(), email: f.email().unique(), plan: f.string().default('free'), ...fields },
    list: { filter: [], sort: ['id'] },
    access: { read: 'p:read', create: 'p:write', update: 'p:write', delete: false },
    events: ['human.created', 'human.updated'],
  })
  return names('plain').reduce((all, name) => {
    const value = (row: Record<string, unknown>) => `of ${JSON.stringify(row[name])}`
    return ['read', 'marked', 'stored'].reduce(
      (with_, how) => with_.compute(`${how}_${name}` as never, value as never),
      all,
    )
  }, rows)
}
const petsWith = (fields: Fields) =>
  resource('pets', {
    fields: { id: f.id(), human_id: f.ref('people').owner(), ...fields },
    list: { filter: [], sort: ['id'] },
    access: { read: 'p:read', create: 'p:write', update: 'p:write', delete: false },
    events: ['pet.created'],
  })
const signsIn = { username: 'email', scopes: ['p:read'] } as const
const before = service({
  name: 'People',
  versions: { v1: { released: '2026-01-01' } },
  resources: [
    declare({
      ...{ ...columnsOf('plain'), ...following, ...columnsOf('moved') },
      ...{ ...columnsOf('dropped'), ...columnsOf('gone') },
      name: f.string().max(200).personal(),
      extra: f.string().nullable().default(null).personal(),
    }).signsIn(signsIn as never) as never,
    petsWith({ called: f.string().personal() }),
  ],
})

const dropOf = (columns: readonly string[], table: string) => ({
  table,
  sql: columns
    .flatMap((column) => [column, ...folded(column)])
    .map((column) => `ALTER TABLE ${table} DROP COLUMN ${column}`)
    .join(';\n'),
})
const unmarked = (field: AnyField): AnyField => field
const renamed = Object.fromEntries(names('moved').map((old) => [old, old.replace('moved', 'now')]))
const renamedRow = (row: Record<string, unknown>, from: number) =>
  Object.fromEntries(
    Object.entries(renamed).map((pair) => [pair[1 - from], row[pair[from]!] ?? null]),
  )
const after = service({
  name: 'People',
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } },
  resources: [
    declare({
      ...{ ...columnsOf('plain'), ...following, ...parts, ...whole, ...derived },
      ...Object.fromEntries(
        Object.entries(columnsOf('moved')).map(([old, field]) => [renamed[old]!, field]),
      ),
    })
      .before('v2', {
        why: 'Names have two parts, fields other names, and some fields are gone.',
        had: {
          name: f.string().min(1).max(200),
          ...{ ...columnsOf('moved'), ...columnsOf('dropped', unmarked) },
        },
        hadNot: ['first_name', 'last_name', 'name_v1', ...Object.values(renamed)] as never,
        up: ((old: Record<string, string>) => ({
          first_name: old.name!.split(' ')[0],
          last_name: old.name!.split(' ').slice(1).join(' '),
          name_v1: old.name,
          ...renamedRow(old, 0),
        })) as never,
        down: ((row: Record<string, unknown>) => ({
          name: row.name_v1,
          ...renamedRow(row, 1),
          ...Object.fromEntries(names('dropped').map((name) => [name, null])),
        })) as never,
        renamed: renamed as never,
      })
      .signsIn(signsIn as never) as never,
    petsWith({}),
  ],
  migrations: [
    {
      number: 1,
      name: 'names are split',
      table: 'people',
      sql: `ALTER TABLE people ADD COLUMN first_name {text} NOT NULL DEFAULT '';
        ALTER TABLE people ADD COLUMN last_name {text} NOT NULL DEFAULT '';
        UPDATE people SET first_name = name`,
    },
    {
      number: 2,
      name: 'fields have other names',
      table: 'people',
      sql: Object.entries(renamed)
        .flatMap(([old, now]) => [
          [old, now] as const,
          ...folded(old).map((column, at) => [column, folded(now)[at]!] as const),
        ])
        .map(([old, now]) => `ALTER TABLE people RENAME COLUMN ${old} TO ${now}`)
        .join(';\n'),
    },
    {
      number: 3,
      name: 'fields are dropped',
      ...dropOf([...names('dropped'), ...names('gone'), 'name', 'extra'], 'people'),
    },
    { number: 4, name: 'pets have no name', ...dropOf(['called'], 'pets') },
  ],
})

interface Stage {
  readonly service: TestApp
  readonly own: string
  readonly person: number
  readonly other: number
}

const env = { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' }

const KEY = 'idempotency-key'
const bodyOf = (word: string) => ({
  ...{ ...valuesOf('plain', word), ...valuesOf('moved', word) },
  ...{ ...valuesOf('dropped', word), ...valuesOf('gone', word) },
  ...{ email: `${word}@example.com`, name: `${word} Q ${word}`, extra: `${word} extra` },
})

/** Creates two people in the old release, and changes them in the new one. */
async function openStage(t: Parameters<typeof openService>[0], kind: Kind): Promise<Stage> {
  const url = await migratedUrl(t, kind)
  const old = await openService(t, kind, { url, service: before, env })
  const own = await old.key({ mode: 'live' })
  const caller = old.as(own)
  const receiver = await createReceiver(t, (socket) => socket.write(response('ok')))
  const hook = { url: receiver.url, events: ['*'], api_version: 'v1' }
  assert.equal((await caller.post('/webhooks', hook)).status, 201)
  const create = async (word: string) => {
    const reply = await caller.post('/api/v1/people', bodyOf(word), { [KEY]: word })
    assert.equal(reply.status, 201, reply.text)
    const pet = { human_id: reply.body.id, called: `${word} the pet` }
    assert.equal((await caller.post('/api/v1/pets', pet)).status, 201)
    return reply.body.id as number
  }
  const [person, other] = [await create(WORD), await create('someone')]
  await old.app.close()
  const service = await openService(t, kind, { url, service: after, env })
  const hooks = { url: receiver.url, events: ['*'], api_version: 'v2' }
  assert.equal((await service.as(own).post('/webhooks', hooks)).status, 201)
  for (const [id, word] of [
    [person, WORD],
    [other, 'someone'],
  ] as const) {
    const patch = { first_name: `${word} Anne`, last_name: `${word} Lee` }
    const changed = await service.as(own).patch(`/api/v2/people/${id}`, patch)
    assert.equal(changed.status, 200, changed.text)
    const { title } = changed.body
    assert.equal(title, `Dear ${word} Anne ${word} Lee`)
    // A request of another caller has a value that only follows from personal ones.
    await service.as(own).get(`/api/v2/people/${other}?fields=${encodeURIComponent(title)}`)
  }
  return { service, own, person, other }
}

/** Returns the texts that callers and operators read, by reader and version. */
async function readEverything({ service, own, person }: Stage): Promise<Map<string, string>> {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const texts = new Map<string, string>()
  for (const version of ['v1', 'v2']) {
    const pinned = service.as(await service.key({ mode: 'live', api_version: version }))
    texts.set(`row ${version}`, (await pinned.get(`/api/${version}/people/${person}`)).text)
    const events = await pinned.get('/events?limit=100')
    texts.set(`events ${version}`, events.text)
    for (const { id } of events.body.data)
      texts.set(`event ${id} ${version}`, (await pinned.get(`/events/${id}`)).text)
  }
  const caller = service.as(own)
  const deliveries: string[] = []
  for (const { id: hook } of (await caller.get('/webhooks')).body.data) {
    const page = await caller.get(`/webhooks/${hook}/deliveries?limit=100`)
    texts.set(`deliveries of ${hook}`, page.text)
    deliveries.push(...page.body.data.map(({ id }: { id: string }) => id))
  }
  assert.ok(deliveries.length >= 8, `${deliveries}`)
  for (const id of deliveries) {
    texts.set(`delivery ${id}`, (await caller.get(`/deliveries/${id}`)).text)
    texts.set(`request of ${id}`, (await caller.get(`/deliveries/${id}/request`)).text)
  }
  texts.set('export', (await admin.get(`/admin/users/${person}/export`)).text)
  texts.set('customer', (await admin.get('/admin/customers/cus_default/export')).text)
  texts.set('audit', (await admin.get('/admin/audit?limit=100')).text)
  texts.set('log', (await admin.get('/admin/requests?limit=100')).text)
  return texts
}

const textsWith = (texts: ReadonlyMap<string, string>, needle: string) =>
  [...texts].filter(([, text]) => text.toLowerCase().includes(needle))

for (const { name } of databases) {
  test(`no value of a former field, and none that follows, is left [${name}]`, async (t) => {
    const stage = await openStage(t, name)
    const { service, own, person, other } = stage
    const { app, url } = service
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const earlier = await readEverything(stage)
    for (const reader of [
      'row v1',
      'row v2',
      'events v1',
      'events v2',
      'export',
      'customer',
      'log',
    ])
      assert.match(earlier.get(reader)!.toLowerCase(), /kanary/, reader)
    const ofOthers = async () => (await service.as(own).get(`/api/v2/people/${other}`)).text
    const untouched = await ofOthers()
    assert.equal((await admin.delete(`/admin/users/${person}`)).status, 202)
    await app.erasure.runDue()

    const texts = await readEverything(stage)
    const tables = await readAll(app.db)
    const { plain_a_int, plain_a_number } = JSON.parse(untouched)
    assert.deepEqual([plain_a_int, plain_a_number], [40_954_696_475, 40_954.696_475])
    assert.ok(textsWith(texts, 'someone').length > 10)
    assert.equal(await ofOthers(), untouched)
    assert.deepEqual(rowsWith(tables, WORD), [])
    assert.deepEqual(textsWith(texts, WORD), [])
    const ofPerson = (text: string) =>
      JSON.parse(text).data.filter(
        ({ data: { object }, type }: { data: { object: Record<string, unknown> }; type: string }) =>
          type !== 'person.erased' && (object.id === person || object.human_id === person),
      )
    for (const version of ['v1', 'v2']) {
      const objects = ofPerson(texts.get(`events ${version}`)!)
      assert.ok(objects.length >= 2)
      for (const needle of NEEDLES)
        assert.ok(!JSON.stringify(objects).toLowerCase().includes(needle), `${version}: ${needle}`)
      for (const { data } of objects.filter(({ type }: { type: string }) => /human/.test(type))) {
        assert.equal(data.object.plan, 'free')
        const whole = version === 'v1' ? data.object.name : data.object.name_v1
        assert.ok(whole.length > 0, JSON.stringify(data.object))
      }
      const row = JSON.parse(texts.get(`row ${version}`)!)
      assert.ok((version === 'v1' ? row.name : row.name_v1).length > 0, 'it keeps its minimum')
      for (const needle of NEEDLES)
        assert.ok(!JSON.stringify(row).toLowerCase().includes(needle), `${version}: ${needle}`)
    }
    assert.equal((await admin.delete(`/admin/users/${person}`)).status, 202)
    await app.erasure.runDue()
    const again = await readEverything(stage)
    for (const reader of ['events v1', 'events v2'])
      assert.deepEqual(
        ofPerson(again.get(reader)!),
        ofPerson(texts.get(reader)!),
        'it stays erased',
      )
    if (name === 'postgres') {
      // The log of this request has the word again.
      const repeat = await service.as(own).post('/api/v1/people', bodyOf(WORD), { [KEY]: WORD })
      assert.ok(repeat.status >= 400 && !/kanary/i.test(repeat.text), repeat.text)
    }
    await app.close()
    if (name === 'sqlite') assertNotInFiles(url, WORD)
  })
}

for (const { name } of databases) {
  test(`events of a resource that is no longer declared lose its values [${name}]`, async (t) => {
    const url = await migratedUrl(t, name)
    const people = resource('people', {
      singular: 'human',
      fields: { id: f.id(), email: f.email().unique(), name: f.string().personal() },
      list: { filter: [], sort: ['id'] },
      access: { read: 'p:read', create: 'p:write', update: 'p:write', delete: false },
      events: [],
    }).signsIn(signsIn as never) as never
    const head = { name: 'People', versions: { v1: { released: '2026-01-01' } } }
    const pets = petsWith({ called: f.string().personal() })
    const old = await openService(t, name, {
      ...{ url, service: service({ ...head, resources: [people, pets] }) },
    })
    const own = await old.key({ mode: 'live' })
    const person = { email: `${WORD}@example.com`, name: `${WORD} Lee` }
    const { body } = await old.as(own).post('/api/people', person)
    const pet = { human_id: body.id, called: person.name }
    assert.equal((await old.as(own).post('/api/pets', pet)).status, 201)
    await old.app.close()
    const sql = 'DROP TABLE pets'
    const migrations = [{ number: 1, name: 'pets are dropped', table: 'pets', sql }]
    const next = service({ ...head, resources: [people], migrations })
    const { app, as, key } = await openService(t, name, { url, service: next })
    assert.match(rowsWith(await readAll(app.db), WORD).join(), /gh_events/)
    const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
    assert.equal((await admin.delete(`/admin/users/${body.id}`)).status, 202)
    await app.erasure.runDue()
    assert.deepEqual(rowsWith(await readAll(app.db), WORD), [])
  })
}
