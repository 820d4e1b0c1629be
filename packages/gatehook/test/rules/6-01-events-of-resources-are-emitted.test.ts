/** §6.1: a resource declares only events that the engine emits; the start names all others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, resource, service } from '../../src/gatehook.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const

const declare = (name: string, events: readonly string[], options: object = {}) =>
  resource(name, {
    fields: { id: f.id() },
    list: { filter: [], sort: [] },
    access,
    events: events as never,
    ...options,
  })

const start = (...resources: ReturnType<typeof declare>[]) =>
  service({ name: 'tools', versions: { v1: { released: '2026-01-01' } }, resources })

const softly = { softDelete: true }

test('every event that the engine emits can be declared', () => {
  const verbs = ['created', 'updated', 'deleted']
  start(
    declare(
      'tools',
      verbs.map((verb) => `tool.${verb}`),
    ),
    declare(
      'shelves',
      [...verbs, 'restored'].map((verb) => `shelf.${verb}`),
      softly,
    ),
    declare(
      'crew',
      verbs.map((verb) => `sailor.${verb}`),
      { singular: 'sailor' },
    ),
  )
})

const mistakes: readonly (readonly [type: string, hint: RegExp])[] = [
  ['tools.deleted', /Did you mean tool\.deleted\?/],
  ['tool.deletd', /Did you mean tool\.deleted\?/],
  ['tool.Created', /Did you mean tool\.created\?/],
  ['tool.restored', /There are: tool\.created, tool\.updated, tool\.deleted\.|Did you mean/],
  ['tool.lent', /There are: tool\.created, tool\.updated, tool\.deleted\./],
  ['loan.created', /Did you mean tool\.created\?/],
  ['deleted', /There are: tool\.created/],
]

for (const [type, hint] of mistakes) {
  test(`an event that nothing emits is refused: ${type}`, () => {
    assert.throws(
      () => start(declare('tools', [type])),
      (error: Error) =>
        error.message.includes(`nothing emits ${type}. `) && hint.test(error.message),
    )
  })
}

test('all events that nothing emits are named at once', () => {
  assert.throws(
    () =>
      start(declare('tools', ['tools.created', 'tool.deletd']), declare('pets', ['pets.updated'])),
    /tools\.created[\s\S]*tool\.deletd[\s\S]*pets\.updated/,
  )
})
