/** §8.8: contradictory changes are rejected when the service is declared. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnyResource } from '../../src/declare/resources/resource.ts'
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

test('a name of both shapes must be in hadNot', () => {
  const boxes = base().before('v2', { ...change, had: { size: f.string() }, hadNot: ['name'] })
  assert.throws(
    () => service({ name: 's', versions, resources: [boxes] }),
    /name size in hadNot too/,
  )
})

test('every version has the id', () => {
  const boxes = base().before('v2', { ...change, had: {}, hadNot: ['id'] })
  assert.throws(
    () => service({ name: 's', versions, resources: [boxes] }),
    /every version has the id/,
  )
})

test('a change names a declared version after the first', () => {
  for (const version of ['v1', 'v3']) {
    const boxes = base().before(version, { ...change, had: {}, hadNot: ['name'] })
    assert.throws(
      () => service({ name: 's', versions, resources: [boxes] }),
      /names a version after the first/,
    )
  }
})

const coloured = (old: readonly [string, ...string[]], now: readonly [string, ...string[]]) => ({
  had: { colour: f.oneOf(old) },
  now: resource('pens', {
    fields: { id: f.id(), colour: f.oneOf(now) },
    list: { filter: [], sort: [] },
    access: { read: 'r', create: 'w', update: 'w', delete: false },
    events: [],
  }),
})
const declared = (definition: AnyResource) => () =>
  service({ name: 's', versions, resources: [definition] })

test('down() must convert values that an older version lacks', () => {
  const { had, now } = coloured(['red'], ['red', 'blue'])
  const pens = (down: (row: { colour: string }) => { colour: string }) =>
    now.before('v2', { why: 'w', had, hadNot: ['colour'], up: ({ colour }) => ({ colour }), down })
  assert.throws(
    declared(pens(({ colour }) => ({ colour }))),
    /resource pens: v1 would show colour as "blue", but colour must be \w+ of red there/,
  )
  assert.ok(declared(pens(() => ({ colour: 'red' })))())
})

test('up() must convert values that only older versions accept', () => {
  const { had, now } = coloured(['red', 'blue'], ['red'])
  const pens = (up: (old: { colour: string }) => { colour: string }) =>
    now.before('v2', { why: 'w', had, hadNot: ['colour'], up, down: ({ colour }) => ({ colour }) })
  assert.throws(
    declared(pens(({ colour }) => ({ colour }))),
    /v1 accepts colour "blue", but v2 does not: colour must be \w+ of red/,
  )
  assert.ok(declared(pens(() => ({ colour: 'red' })))())
})

test('a conversion must fit the bounds of both versions', () => {
  const named = (max: number, had: number) =>
    resource('tags', {
      fields: { id: f.id(), label: f.string().max(max) },
      list: { filter: [], sort: [] },
      access: { read: 'r', create: 'w', update: 'w', delete: false },
      events: [],
    }).before('v2', {
      why: 'w',
      had: { name: f.string().max(had) },
      hadNot: ['label'],
      up: (old) => ({ label: old.name }),
      down: (row) => ({ name: row.label }),
      renamed: { name: 'label' },
    })
  assert.throws(declared(named(9, 5)), /v1 would show name as "x{9}", but name must have at most 5/)
  assert.throws(
    declared(named(5, 9)),
    /v1 accepts name "x{9}", but v2 does not: label must have at/,
  )
  assert.ok(declared(named(9, 9))())
})

test('a down() that throws, omits fields or breaks the invariant is rejected', () => {
  const boxes = (down: () => { width: number }) =>
    base().before('v2', {
      why: 'w',
      had: { width: f.int() },
      hadNot: ['size'],
      up: (old) => ({ size: old.width }),
      down,
    })
  let n = 0
  const mistakes: readonly (readonly [() => { width: number }, RegExp])[] = [
    [() => assert.fail('no value'), /down\(\) throws for v1: no value/],
    [() => ({}) as { width: number }, /v1 has width, but down\(\) returns none/],
    [() => ({ width: n++ }), /down\(up\(down\(row\)\)\) must equal down\(row\)/],
  ]
  for (const [down, sentence] of mistakes) assert.throws(declared(boxes(down)), sentence)
})
