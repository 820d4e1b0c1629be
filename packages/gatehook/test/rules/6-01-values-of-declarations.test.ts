/**
 * §6.1: the start rejects values of a declaration that no row and no request can have. Types
 * prevent most of them in TypeScript.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadServiceModule } from '../../src/declare/resources/service-module.ts'
import { f, job, resource, service } from '../../src/gatehook.ts'

/** Hides the types, as plain JavaScript does. */
const untyped = (value: unknown) => value as never
const access = {
  read: 'things:read',
  create: 'things:write',
  update: false,
  delete: false,
} as const

const declare = (fields: object = {}, released = '2026-01-31', options: object = {}) =>
  service({
    name: 's',
    versions: { v1: { released } },
    resources: [
      resource('things', {
        fields: { id: f.id(), ...fields } as { id: ReturnType<typeof f.id> },
        list: { filter: [], sort: [] },
        access,
        events: [],
        ...options,
      }),
    ],
  })

const twoVersions = (v1: string, v2: string) =>
  service({ name: 's', versions: { v1: { released: v1 }, v2: { released: v2 } }, resources: [] })

const declareRoute = (parts: object) =>
  declare().route({
    method: 'GET',
    path: '/report',
    scope: 'things:read',
    summary: 'A report',
    handle: () => untyped({}),
    ...parts,
  })

test('the default of an instant is an instant', () => {
  for (const value of ['2026-01-31', Number.NaN, 1.5, 9e15, true]) {
    assert.throws(
      () => declare({ at: f.time().default(untyped(value)) }),
      /instant in milliseconds/,
    )
  }
  declare({ at: f.time().default(0), ends_at: f.time().nullable().default(null) })
})

test('ids are never null, and f.oneOf() has a text', () => {
  assert.throws(() => declare({ id: f.id().nullable() }), /field id: an id is never null/)
  assert.throws(() => declare({ kind: f.oneOf(untyped([])) }), /field kind: f.oneOf/)
})

test('no two operations have one name', () => {
  const things = (name: string) =>
    resource(name, {
      ...{ fields: { id: f.id() }, list: { filter: [], sort: [] }, access, events: [] },
      singular: 'thing',
    })
  const versions = { v1: { released: '2026-01-31' } }
  assert.throws(
    () => service({ name: 's', versions, resources: [things('things'), things('items')] }),
    /items: singular: things is a thing, too/,
  )
  const action = { scope: 'things:write', run: () => untyped(undefined) }
  assert.throws(
    () => service({ name: 's', versions, resources: [things('things').action('create', action)] }),
    /things: action create: every resource has an operation of this name/,
  )
})

test('a value that no row or document can have is a mistake of its declaration', () => {
  const before = (renamed: object) =>
    service({
      name: 's',
      versions: { v1: { released: '2026-01-31' }, v2: { released: '2026-02-28' } },
      resources: [
        resource('things', {
          ...{ fields: { id: f.id(), text: f.string() }, list: { filter: [], sort: [] } },
          ...{ access, events: [] },
        }).before(
          'v2',
          untyped({
            ...{ why: 'Shorter.', had: { note: f.string() }, hadNot: ['text'], renamed },
            up: ({ note }: { note: string }) => ({ text: note }),
            down: ({ text }: { text: string }) => ({ note: text }),
          }),
        ),
      ],
    })
  const named = (name: string) =>
    service({ name, versions: { v1: { released: '2026-01-31' } }, resources: [] })
  const mail = () => declare().mail(undefined, { from: 'a@example.com' })
  for (const [sentence, run] of [
    [/field n: the default is NaN/, () => declare({ n: f.number().default(Number.NaN) })],
    [/the default contains NUL or half/, () => declare({ t: f.string().default('\ud800') })],
    [
      /the default is of the type undefined/,
      () => declare({ t: f.string().default(untyped(undefined)) }),
    ],
    [/\.describe\(\) is a sentence/, () => declare({ t: f.string().describe(untyped(7)) })],
    [/field other: a row has one id/, () => declare({ other: f.id() })],
    [/unique is an array of tuples/, () => declare({}, undefined, { unique: [[]] })],
    [/name is required: one line/, () => named('')],
    [/:a occurs twice in the path/, () => declareRoute({ path: '/x/:a/:a' })],
    [/renamed: had lacks q/, () => before({ q: 'text' })],
    [/renamed: hadNot lacks nope/, () => before({ note: 'nope' })],
    [/job a: input is an object of fields/, () => job('a', untyped(7))],
    [/\.mail\(\) is declared twice/, () => mail().mail(undefined, { from: 'a@example.com' })],
    [/v2: released is before v1/, () => twoVersions('2026-02-28', '2026-01-31')],
    [/is not of the form/, () => declare({ t: f.string().visible(`x:${'r'.repeat(100)}`) })],
  ] as const) {
    assert.throws(run, sentence)
  }
  before({ note: 'text' })
  mail()
  twoVersions('2026-01-31', '2026-02-28')
})

test('a scope that nothing requires is a mistake of the whole service', async () => {
  const people = (scope: string) =>
    resource('people', {
      fields: { id: f.id(), email: f.email().unique() },
      ...{ list: { filter: [], sort: [] }, access, events: [] },
    }).signsIn({ username: 'email', scopes: ['things:read', scope] })
  const load = (scope: string, more: object = {}) =>
    loadServiceModule(() =>
      service({
        name: 's',
        versions: { v1: { released: '2026-01-31' } },
        resources: [people(scope)],
        ...more,
      }).route({
        ...{ method: 'GET', path: '/report', scope: 'reports:read', summary: 'A report' },
        handle: () => untyped({}),
      }),
    )
  await load('reports:read')
  await load('books:read', { scopes: ['books:read'] })
  await assert.rejects(
    load('report:read'),
    /\.ts:\d+: resource people: \.signsIn\(\): nothing requires the scope report:read\. Did you/,
  )
  const oauth = { documents: { scopes: ['no:pe'] } }
  await assert.rejects(load('things:read', { oauth }), /oauth\.documents\.scopes: nothing requires/)
})

test('a list names a field once', () => {
  const name = { name: f.string() }
  const listed = (list: object) =>
    declare(name, undefined, { list: { filter: [], sort: [], ...list } })
  for (const [sentence, list] of [
    [/list.sort: name occurs twice in \[name, name\]/, { sort: [['name', 'name']] }],
    [/list.sort: name occurs twice/, { sort: ['name', { field: 'name', index: false }] }],
    [/list.sort: \[name, id\] occurs/, { sort: [...[['name', 'id']], ['name', 'id']] }],
    [/list.filter: name occurs twice/, { filter: ['name', 'id', 'name'] }],
    [/list.prefix: name occurs twice/, { prefix: ['name', 'name'] }],
    [/list.contains: name occurs twice/, { contains: ['name', 'name'] }],
  ] as const) {
    assert.throws(() => listed(list), sentence)
  }
  for (const [sentence, options] of [
    [/unique: name, id occurs twice/, { unique: [...[['name', 'id']], ['name', 'id']] }],
    [/events: thing.created occurs twice/, { events: ['thing.created', 'thing.created'] }],
    [/search: name occurs twice/, { search: ['name', 'name'] }],
  ] as const) {
    assert.throws(() => declare(name, undefined, options), sentence)
  }
  listed({ filter: ['name'], sort: ['name', ['name', 'id']], prefix: ['name'] })
})

test('a bound leaves more than the empty value', () => {
  for (const field of [
    ...[f.string().max(0), f.email().max(0), f.url().max(0), f.json().max(0), f.id().max(0)],
    ...[f.array(f.string(), { max: 0 }), f.duration().max(0), f.string().max(-1)],
  ]) {
    assert.throws(() => declare({ it: field }), /field it: .*max is at least 1/)
  }
  declare({ it: f.string().max(1), n: f.int().max(0), d: f.number().min(-2).max(-1) })
})

test('a version is released on a day that exists', () => {
  for (const day of ['2026-13-01', '2026-02-30', '2026-00-10', '2026-1-1']) {
    assert.throws(() => declare({}, day), /version v1: released is a day/)
  }
  declare({}, '2028-02-29')
})

test('a GET has no body, and a parameter is no object', () => {
  assert.throws(() => declareRoute({ input: { n: f.int() } }), /report: a GET has no body/)
  const nested = { place: f.object({ city: f.string() }), tags: f.array(f.string(), { max: 3 }) }
  assert.throws(() => declareRoute({ query: nested }), /query: place is.*\n?.*query: tags is/)
  declareRoute({ query: { n: f.int() } })
})

test('a path has one route of a method, whatever the names of its parameters', () => {
  const route = { scope: 'things:read', summary: 'A report', handle: () => untyped({}) }
  const first = declare().route({ ...route, method: 'GET', path: '/reports/:day' })
  assert.throws(
    () => first.route({ ...route, method: 'GET', path: '/reports/:month' }),
    /route GET \/reports\/:month: is declared twice/,
  )
  assert.throws(
    () => first.route({ ...route, method: 'POST', path: '/reports/:month' }),
    /another route names its parameters as in \/reports\/:day/,
  )
  first.route({ ...route, method: 'POST', path: '/reports/:day' })
})

const states = { status: f.oneOf(['open', 'shut']).default('open').readonly() }
const own = { scope: 'things:write', run: () => untyped(undefined) }

/** Returns the resource with a state and a computed field, of which the service is declared. */
const things = (fields: object = {}, options: object = {}) =>
  resource('things', {
    fields: { id: f.id(), ...fields } as { id: ReturnType<typeof f.id> },
    ...{ list: { filter: [], sort: [] }, access, events: [], ...options },
  })
const serviceOf = (...resources: unknown[]) =>
  service({
    name: 's',
    versions: { v1: { released: '2026-01-31' } },
    resources: untyped(resources),
  })

test('a part of a body that no caller can send is a mistake', () => {
  for (const field of [f.id(), f.createdAt(), f.int().readonly(), f.computed(f.int())]) {
    const input = untyped({ it: field })
    const sentence = /it is set by the service/
    assert.throws(() => serviceOf(things().action('go', { ...own, input })), sentence)
    assert.throws(() => declareRoute({ method: 'POST', input }), sentence)
    assert.throws(() => declareRoute({ query: input }), sentence)
    assert.throws(() => declare().job(job('a', input), () => {}), sentence)
  }
})

test('a reference leads to a resource wherever it is declared', () => {
  for (const field of [f.ref('zz'), f.array(f.ref('zz'), { max: 3 })]) {
    const members = untyped({ it: field })
    const sentence = /it: there is no resource zz/
    assert.throws(() => declare({ it: field }), sentence)
    assert.throws(() => serviceOf(things().action('go', { ...own, input: members })), sentence)
    assert.throws(() => declareRoute({ method: 'POST', input: members }), sentence)
    assert.throws(() => declareRoute({ output: members }), sentence)
    assert.throws(() => declare().job(job('a', members), () => {}), sentence)
  }
  assert.throws(() => declareRoute({ query: { it: f.ref('zz') } }), /it: there is no resource zz/)
})

test('a call that replaces another one, or has no effect, is a mistake', () => {
  const computed = { it: f.computed(f.int()) }
  const compute = untyped(() => 1)
  for (const [sentence, run] of [
    [
      /\.compute\(it\): is declared twice/,
      () => things(computed).compute(untyped('it'), compute).compute(untyped('it'), compute),
    ],
    [/\.links\(\): is declared twice/, () => things().links(compute).links(compute)],
    [/\.sample\(\): is declared twice/, () => things().sample(compute).sample(compute)],
    [
      /\.editable\(\): text occurs twice/,
      () => {
        const fields = { ...states, text: f.string() }
        const rule = untyped({ from: ['open'] })
        const name = untyped(['text'])
        return serviceOf(
          things(fields, { access: { ...access, update: 'things:write' } })
            .editable(name, rule)
            .editable(name, rule),
        )
      },
    ],
    [/from has no state/, () => things(states).action('go', { ...own, from: [] })],
    [/\.editable\(\): from has no state/, () => things(states).editable([], { from: [] })],
    [/\.check\(required\): required is a code/, () => things().check('required', () => true, 'No')],
  ] as const) {
    assert.throws(run, sentence)
  }
})

test('a route takes neither a parameter of every request nor the path of an action', () => {
  for (const name of ['version', 'v', 'api_key', 'access_token']) {
    assert.throws(() => declareRoute({ query: { [name]: f.string() } }), /is of every request/)
  }
  const deletable = { access: { ...access, delete: 'things:write' }, softDelete: true }
  const acting = serviceOf(things({}, deletable).action('go', own))
  const route = { scope: 'things:read', summary: 'A report', handle: () => untyped({}) }
  for (const [method, name] of [
    ['POST', 'go'],
    ['GET', 'go'],
    ['POST', 'restore'],
  ] as const) {
    const path = `/things/:key/${name}`
    assert.throws(() => acting.route({ ...route, method, path }), /is an action of things/)
  }
  acting.route({ ...route, method: 'GET', path: '/things/:id/report' })
})

test('the advice for a cascade of a soft deletion can be followed', () => {
  const deletable = { access: { ...access, delete: 'things:write' }, softDelete: true }
  const photos = (options: object) =>
    resource('photos', {
      fields: { id: f.id(), thing_id: f.ref('things').onDelete('cascade') },
      ...{ list: { filter: [], sort: [] }, access, events: [], ...options },
    })
  const declareBoth = (options: object) => () => serviceOf(things({}, deletable), photos(options))
  assert.throws(declareBoth({}), /declare softDelete in photos, or onDelete\('restrict'\)/)
  const internal = { access: false, list: undefined, events: undefined }
  assert.throws(declareBoth(internal), /for good; onDelete\('restrict'\)/)
})

test('a conversion that throws, and a default that contains itself, are sentences', () => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  for (const [sentence, value] of [
    [/the default contains itself/, circular],
    [/the default is of the type bigint/, { n: 1n }],
    [/the default is of the type function/, () => 1],
    [/the default contains NUL/, { text: 'a\0' }],
  ] as const) {
    assert.throws(() => declare({ it: f.json().default(untyped(value)) }), sentence)
  }
  const twice = { both: 1 }
  declare({ it: f.json().default(untyped({ a: twice, b: twice })) })
  const boom = () => {
    throw new Error('boom')
  }
  const changed = (up: unknown, down: unknown) =>
    service({
      name: 's',
      versions: { v1: { released: '2026-01-31' }, v2: { released: '2026-02-28' } },
      resources: [
        things({ text: f.string() }).before(
          'v2',
          untyped({ why: 'w', had: { note: f.string() }, hadNot: ['text'], up, down }),
        ),
      ],
    })
  const down = ({ text }: { text: string }) => ({ note: text })
  assert.throws(() => changed(boom, down), /things: up\(\) throws for v1: boom/)
  assert.throws(() => changed(() => ({ text: '' }), boom), /things: down\(\) throws for v1: boom/)
})

test('an indexed text is short enough for the key of an index', () => {
  const fields = { note: f.string().max(601), title: f.string().max(301), tag: f.string().max(300) }
  const uses = [
    [{ list: { filter: ['note'], sort: [] } }, /things: no index can serve note.* to 600/],
    [{ list: { filter: [], sort: ['note'] } }, /no index can serve note/],
    [{ list: { filter: [], sort: [], prefix: ['note'] } }, /no index can serve note/],
    [{ unique: [['title', 'tag']] }, /no index can serve title.* to 300/],
    [
      { list: { filter: ['note'], sort: [] }, unique: [['note', 'tag']] },
      /^(?!.*note.* to 600).*note.* to 300/s,
    ],
  ] as const
  for (const [options, message] of uses) {
    assert.throws(() => declare(fields, '2026-01-31', options), message)
  }
  declare(fields, '2026-01-31', { list: { filter: ['title'], sort: ['tag'] } })
})
