/** §8.8: a change that cannot be undone by name is refused when it is declared. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, resource, service } from '../../src/gatehook.ts'
import type { AnyResource } from '../../src/resources/resource.ts'

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

const coloured = (old: readonly [string, ...string[]], now: readonly [string, ...string[]]) => ({
  had: { colour: f.oneOf(old) },
  now: resource('pens', {
    fields: { id: f.id(), colour: f.oneOf(now) },
    list: { filter: [], sort: [] },
    access: { read: 'r', create: 'w', update: 'w', delete: false },
    events: [],
  }),
})
const declared = (one: AnyResource) => () => service({ name: 's', versions, resources: [one] })

test('a word no older version knows has to be made into one', () => {
  const { had, now } = coloured(['red'], ['red', 'blue'])
  const pens = (down: (row: { colour: string }) => { colour: string }) =>
    now.before('v2', { why: 'w', had, hadNot: ['colour'], up: ({ colour }) => ({ colour }), down })
  assert.throws(
    declared(pens(({ colour }) => ({ colour }))),
    /resource pens: v1 would show colour as "blue", but colour must be one of red there/,
  )
  assert.ok(declared(pens(() => ({ colour: 'red' })))())
})

test('a word that older versions take has to be made into one of the newest', () => {
  const { had, now } = coloured(['red', 'blue'], ['red'])
  const pens = (up: (old: { colour: string }) => { colour: string }) =>
    now.before('v2', { why: 'w', had, hadNot: ['colour'], up, down: ({ colour }) => ({ colour }) })
  assert.throws(
    declared(pens(({ colour }) => ({ colour }))),
    /v1 accepts colour "blue", but v2 does not: colour must be one of red/,
  )
  assert.ok(declared(pens(() => ({ colour: 'red' })))())
})

test('bounds that became wider or narrower are dealt with', () => {
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

test('a way down that throws, forgets or breaks the law is told', () => {
  const boxes = (down: () => { width: number }) =>
    base().before('v2', {
      why: 'w',
      had: { width: f.int() },
      hadNot: ['size'],
      up: (old) => ({ size: old.width }),
      down,
    })
  let n = 0
  const wrong: readonly (readonly [() => { width: number }, RegExp])[] = [
    [() => assert.fail('no way'), /down\(\) throws for v1: no way/],
    [() => ({}) as { width: number }, /v1 has width, but down\(\) returns none/],
    [() => ({ width: n++ }), /down\(up\(down\(row\)\)\) must equal down\(row\)/],
  ]
  for (const [down, told] of wrong) assert.throws(declared(boxes(down)), told)
})
