/** §6.1: a declaration in plain JavaScript has the checks that types are in TypeScript. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, resource, service } from '../../src/gatehook.ts'

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
    [/why is required.*down is a function/, () => doors().before('v2', plain({}))],
    [
      /field note: is not a field/,
      () => resource('notes', plain({ ...base, fields: { note: 'text' } })),
    ],
  ]
  for (const [sentence, call] of calls) assert.throws(call, sentence)
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
