/** §8.8: a change that cannot be undone by name is refused when it is declared. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, resource, service } from '../../src/gatehook.ts'

const base = () =>
  resource('boxes', {
    fields: { id: f.id(), size: f.int(), name: f.string() },
    list: { filter: [], sort: [] },
    access: { read: 'r', create: 'w', update: 'w', delete: false },
    events: [],
  })
const versions = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }
const change = { why: 'w', up: () => ({}) as never, down: () => ({}) as never }

test('a name of both shapes has to be given up', () => {
  const one = base().before('v2', { ...change, had: { size: f.string() }, hadNot: ['name'] })
  assert.throws(() => service({ name: 's', versions, resources: [one] }), /name size in hadNot too/)
})

test('the id is in every version', () => {
  const one = base().before('v2', { ...change, had: {}, hadNot: ['id'] })
  assert.throws(
    () => service({ name: 's', versions, resources: [one] }),
    /every version has the id/,
  )
})

test('a change came with a version that is declared, and not the first', () => {
  for (const version of ['v1', 'v3']) {
    const one = base().before(version, { ...change, had: {}, hadNot: ['name'] })
    assert.throws(
      () => service({ name: 's', versions, resources: [one] }),
      /names a version after the first/,
    )
  }
})
