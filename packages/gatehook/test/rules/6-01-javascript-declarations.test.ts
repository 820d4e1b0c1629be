/** §6.1: a declaration in plain JavaScript has the checks that types are in TypeScript. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, resource, service } from '../../src/gatehook.ts'
import { collectMistakes } from '../../src/protocol/fields/declaration-mistakes.ts'
import { kinds, nameOfKind } from '../fixtures/every-kind.ts'

const base = {
  fields: { id: f.id(), status: f.oneOf(['open', 'shut']).default('open'), text: f.string() },
  list: { filter: [], sort: [] },
  access: { read: 'r', create: 'w', update: 'w', delete: false },
  events: [],
} as const

const doors = () => resource('doors', base)
/** The values of a caller without types. */
const plain = (value: unknown) => value as never

test('each call of the chain names its mistake', () => {
  const scope = 'doors:write'
  const calls: readonly [RegExp, () => unknown][] = [
    [/no state locked/, () => doors().action('lock', plain({ scope, to: 'locked' }))],
    [/no state ajar/, () => doors().action('shut', plain({ scope, from: ['ajar'] }))],
    [/from is an array/, () => doors().action('shut', plain({ scope, from: 'open' }))],
    [/scope is required/, () => doors().action('shut', plain({}))],
    [/options are required/, () => doors().action('shut', plain(undefined))],
    [/run is a function/, () => doors().action('shut', plain({ scope, run: {} }))],
    [/emits is an event type/, () => doors().action('shut', plain({ scope, emits: 7 }))],
    [/names look like/, () => doors().action('Shut it', { scope })],
    [
      /field a: is not a field/,
      () => doors().action('shut', plain({ scope, input: { a: 'text' } })),
    ],
    [/argument is a function/, () => doors().check(plain('text'))],
    [/argument is a function/, () => doors().links(plain({}))],
    [/argument is a function/, () => doors().sample(plain({}))],
    [/no field name/, () => doors().signsIn(plain({ username: 'name' }))],
    [/no field of/, () => doors().ownedBy(plain('of'))],
    [/no field title/, () => doors().editable(plain(['title']), { from: ['open'] })],
    [/no state ajar/, () => doors().editable(['text'], plain({ from: ['ajar'] }))],
    [/from is an array/, () => doors().editable(['text'], plain(undefined))],
    [/why is required[\s\S]*down is a function/, () => doors().before('v2', plain({}))],
    [
      /field note: is not a field/,
      () => resource('notes', plain({ ...base, fields: { note: 'text' } })),
    ],
  ]
  for (const [sentence, call] of calls) assert.throws(call, sentence)
})

test('a kind of field and an option name the form of their arguments', () => {
  const versions = { v1: { released: '2026-01-01' } }
  const declare = (more: object) =>
    service(plain({ name: 's', versions, resources: [doors()], ...more }))
  const route = { method: 'GET', path: '/x', scope: 'doors:read', summary: 's', handle: () => ({}) }
  const calls: readonly [RegExp, () => unknown][] = [
    [/f\.object\(\) requires a field/, () => f.object(plain({ a: 'text' }))],
    [/f\.array\(\) requires a field/, () => f.array(plain('text'), { max: 1 })],
    [/f\.computed\(\) requires a field/, () => f.computed(plain(undefined))],
    [/f\.derived\(\) requires a field/, () => f.derived(plain('a + b'), 'a')],
    [/f\.oneOf\(\) requires an array/, () => f.oneOf(plain('open'))],
    [/f\.pattern\(\) requires a regular expression/, () => f.pattern(plain('^a$'))],
    [/fields is required/, () => resource('notes', plain(undefined))],
    [/search is an array/, () => resource('notes', plain({ ...base, search: 'text' }))],
    [/input is an object of fields/, () => doors().action('a', plain({ scope: 'w', input: null }))],
    [/why is required/, () => doors().before('v2', plain(undefined))],
    [/scopes is an array/, () => doors().signsIn(plain({ username: 'text', scopes: 'r' }))],
    [/service: name is required/, () => service(plain(undefined))],
    [/versions is required/, () => declare({ versions: { v1: undefined } })],
    [/resources: each is the result of/, () => declare({ resources: [undefined] })],
    [/externalEvents is an array/, () => declare({ externalEvents: 'payment.succeeded' })],
    [/externalEvents is an array/, () => declare({ externalEvents: [null] })],
    [/migrations is an array/, () => declare({ migrations: {} })],
    [/\.route\(\): options are required/, () => declare({}).route(plain(undefined))],
    [/query is an object/, () => declare({}).route(plain({ ...route, query: null }))],
    [/input is an object/, () => declare({}).route(plain({ ...route, input: null }))],
    [/status is a number/, () => declare({}).route(plain({ ...route, status: '200' }))],
    [/failures is an array/, () => declare({}).route(plain({ ...route, failures: 1 }))],
    [/headers is an object/, () => declare({}).route(plain({ ...route, headers: null }))],
    [/\.job\(\): the first argument/, () => declare({}).job(plain('send'), () => {})],
  ]
  for (const [sentence, call] of calls) assert.throws(call, sentence)
})

test('a bound and a right that are undefined do not open a field or a resource', () => {
  const versions = { v1: { released: '2026-01-01' } }
  const declare = (field: unknown) =>
    resource('doors', plain({ ...base, fields: { id: f.id(), field } }))
  const access = { read: 's:read', create: 's:write', update: false, delete: false }
  const open = (more: object) =>
    service({
      name: 's',
      versions,
      resources: [resource('doors', plain({ ...base, access: { ...access, ...more } }))],
    })
  const serve = (more: object) => service(plain({ name: 's', versions, resources: [], ...more }))
  const row = (sentence: RegExp, more: object) => [sentence, () => serve(more)] as const
  const url = 'https://mit.example'
  serve({ vendor: 'acme-shop', license: { name: 'MIT', url }, contact: { name: 'Ann', url } })
  const calls: readonly (readonly [RegExp, () => unknown])[] = [
    [/\.max\(\) is a number/, () => declare(f.string().max(plain(undefined)))],
    [/\.max\(\) is a number/, () => declare(f.array(f.string(), plain({ max: '10' })))],
    [/\.max\(\) is a number/, () => declare(f.json().max(Number.NaN))],
    [/\.min\(\) is an integer/, () => declare(f.string().min(1.5))],
    [/f\.oneOf\(\) has texts/, () => declare(f.oneOf(plain([])))],
    [/f\.oneOf\(\) has texts/, () => declare(f.oneOf(plain([1])))],
    [/\.visible\(\) requires a scope/, () => declare(f.string().visible(plain(undefined)))],
    [/\.writable\(\) requires a scope/, () => declare(f.int().default(1).writable(plain(1)))],
    [/access\.read is required: a scope/, () => open({ read: undefined })],
    [/access\.create: a scope is a text/, () => open({ create: true })],
    [/access\.persons is 'read' or 'write'/, () => open({ persons: 'all' })],
    [/migrations is an array/, () => serve({ migrations: [{ number: 1, name: 'a', sql: 1 }] })],
    ...[7, '', 'a/b', 'a b', 'a+b'].map((vendor) => row(/vendor is a text/, { vendor })),
    ...[null, 7, {}, { name: 'MIT', url: 'mit' }, { name: 'MIT', identifier: 'MIT', url }].map(
      (license) => row(/license has a name/, { license }),
    ),
    ...[7, {}, { name: 'Ann', email: 'ann' }, { name: 'Ann', url: '/ann' }].map((contact) =>
      row(/contact has a name/, { contact }),
    ),
    [/claims is a function/, () => serve({ claims: {} })],
  ]
  for (const [sentence, call] of calls) assert.throws(call, sentence)
  declare(f.number().max(1.5))
})

test('states need the field that has them', () => {
  const fields = { id: f.id() }
  const plainDoors = resource('doors', { ...base, fields })
  const options = plain({ scope: 'doors:write', to: 'shut' })
  assert.throws(() => plainDoors.action('shut', options), /a field status, which is not declared/)
})

test('a default is a value of its field', () => {
  const fields = {
    id: f.id(),
    size: f.int().max(5).default(9),
    tag: f.string().max(2).default('abc'),
  }
  const access = { read: 'a:read', create: 'a:write', update: false, delete: false } as const
  const wrong = resource('doors', { ...base, access, fields })
  const versions = { v1: { released: '2026-01-01' } }
  assert.throws(
    () => service({ name: 's', versions, resources: [wrong] }),
    /size: the default must be at most 5\n.*tag: the default must have at most 2 characters/,
  )
})

test('a default of another type is one mistake, for a field of each kind', async () => {
  const access = { read: 'a:read', create: 'a:write', update: false, delete: false } as const
  for (const [kind, field] of Object.entries(kinds)) {
    if (kind === 'ref' || kind === 'json') continue // no other default, and no other type
    const name = nameOfKind(kind)
    const declared: ReturnType<typeof f.string> = plain(field)
    const wrong = declared.default(plain(Symbol.iterator))
    const load = async () => {
      const resources = [
        resource('doors', { ...base, access, fields: { id: f.id(), [name]: wrong } }),
      ]
      service({ name: 's', versions: { v1: { released: '2026-01-01' } }, resources })
    }
    const { errors } = await collectMistakes(load)
    assert.equal(errors.length, 1, `${kind}: ${errors.map(String).join(' and ')}`)
    assert.match(String(errors[0]), new RegExp(`${name}: the default `))
  }
})
