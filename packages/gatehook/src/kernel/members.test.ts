import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from './failure.ts'
import {
  bool,
  instant,
  integer,
  line,
  object,
  oneOf,
  optional,
  orNull,
  readMembers,
  required,
  setOf,
} from './members.ts'

const shape = {
  name: required(line(5)),
  on: optional(bool),
  at: optional(orNull(instant)),
  mode: optional(oneOf('live', 'test')),
  tags: optional(setOf(line(3), 2)),
  limit: optional(object({ n: required(integer(1, 9)) })),
}

const pointers = (input: unknown): string[] => {
  try {
    readMembers(input, shape)
  } catch (error) {
    assert(error instanceof Failure)
    assert.equal(error.code, 'validation_failed')
    return (error.errors ?? []).map((each) => `${each.pointer} ${each.code}`)
  }
  return []
}

test('valid members are converted, and duplicates removed', () => {
  const values = readMembers(
    { name: 'a', at: '2026-11-21', tags: ['x', 'x'], limit: { n: 3 } },
    shape,
  )
  assert.deepEqual(values, {
    name: 'a',
    at: Date.UTC(2026, 10, 21),
    tags: ['x'],
    limit: { n: 3 },
  })
  assert.equal(readMembers({ name: 'a', at: null }, shape).at, null)
})

test('every mistake is reported with its pointer', () => {
  assert.deepEqual(pointers([]), [' invalid_value'])
  assert.deepEqual(pointers(undefined), [' invalid_value'])
  assert.deepEqual(pointers({}), ['/name required'])
  assert.deepEqual(pointers({ name: '', 'a/~b': 1, on: null }), [
    '/a~1~0b unknown_field',
    '/name invalid_value',
    '/on invalid_value',
  ])
  assert.deepEqual(pointers({ name: 'a\n', at: 'soon', mode: 'LIVE' }), [
    '/name invalid_value',
    '/at invalid_value',
    '/mode invalid_value',
  ])
  assert.deepEqual(pointers({ name: 'a', tags: ['ok', 7], limit: { n: 1.5, m: 1 } }), [
    '/tags/1 invalid_value',
    '/limit/m unknown_field',
    '/limit/n invalid_value',
  ])
  assert.deepEqual(pointers({ name: 'a', tags: ['1', '2', '3'] }), ['/tags invalid_value'])
})

test('names of the prototype are unknown members', () => {
  assert.deepEqual(pointers(JSON.parse('{"name":"a","constructor":1,"__proto__":2}')), [
    '/constructor unknown_field',
    '/__proto__ unknown_field',
  ])
})

test('at most fifty mistakes are reported', () => {
  const flood = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`m${n}`, n]))
  assert.equal(pointers({ name: 'a', ...flood }).length, 50)
})
