import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../kernel/failure.ts'
import { createBodyReader, readMembers } from './body.ts'
import { b } from './members.ts'

const members = {
  name: b.line(5),
  on: b.bool().optional(),
  at: b.instant().nullable().optional(),
  mode: b.oneOf(['live', 'test']).optional(),
  tags: b.set(b.line(3), { max: 2 }).optional(),
  limit: b.object({ n: b.int(1, 9) }).optional(),
  odd: b
    .int(0, 9)
    .refine((n, reject) => (n % 2 ? `${n}` : reject('must be odd')))
    .optional(),
}

const failureOf = (body: unknown, code?: 'invalid_request'): Failure => {
  try {
    createBodyReader(members, code)(body)
  } catch (error) {
    assert(error instanceof Failure)
    return error
  }
  throw new Error('the body is valid')
}

const pointers = (body: unknown): string[] => {
  const failure = failureOf(body)
  assert.equal(failure.code, 'validation_failed')
  return (failure.errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`)
}

test('valid members are converted, and duplicates removed', () => {
  const body = { name: 'a', at: '2026-11-21', tags: ['x', 'x'], limit: { n: 3 }, odd: 7 }
  assert.deepEqual(readMembers(body, members), {
    name: 'a',
    at: Date.UTC(2026, 10, 21),
    tags: ['x'],
    limit: { n: 3 },
    odd: '7',
  })
  assert.equal(readMembers({ name: 'a', at: null }, members).at, null)
  assert.deepEqual(readMembers({ name: 'a', on: undefined }, members), { name: 'a' })
})

test('every mistake is reported with its pointer and one of three codes', () => {
  assert.deepEqual(pointers([]), [' invalid_value'])
  assert.deepEqual(pointers(undefined), [' invalid_value'])
  assert.deepEqual(pointers({}), ['/name required'])
  assert.deepEqual(pointers({ name: '', 'a/~b': 1, on: null }), [
    '/a~1~0b unknown_field',
    '/name invalid_value',
    '/on invalid_value',
  ])
  assert.deepEqual(pointers({ name: 'a\n', at: 'soon', mode: 'LIVE', odd: 2 }), [
    '/name invalid_value',
    '/at invalid_value',
    '/mode invalid_value',
    '/odd invalid_value',
  ])
  assert.deepEqual(pointers({ name: 'a', tags: ['ok', 7], limit: { n: 1.5, m: 1 } }), [
    '/tags/1 invalid_value',
    '/limit/m unknown_field',
    '/limit/n invalid_value',
  ])
  assert.deepEqual(pointers({ name: 'a', tags: ['1', '2', '3'] }), ['/tags invalid_value'])
})

test('the sentence of a 422 names the first mistake, and the number of others', () => {
  const messageOf = (body: unknown) => failureOf(body).message
  assert.equal(messageOf({}), 'name: is required')
  assert.equal(messageOf({ name: 'a', limit: { n: 0 } }), 'limit/n: must be at least 1')
  const two = failureOf({ name: 'a', mode: 'x', odd: 2 })
  assert.equal(two.message, `mode: ${two.errors![0]!.message} (and 1 more)`)
  assert.match(messageOf([]), /^must be an? /)
})

test('a sign-in reports the first mistake with 400', () => {
  const failure = failureOf({ name: 7 }, 'invalid_request')
  assert.deepEqual(
    [failure.status, failure.message],
    [
      400,
      'name must be a string, not a number: one line of valid Unicode without control or ' +
        'invisible characters.',
    ],
  )
  assert.equal(failure.errors?.length, 1)
})

test('names of the prototype are unknown members', () => {
  const own = { constructor: b.line(5).optional() }
  assert.deepEqual(readMembers({}, own), {})
  assert.deepEqual(readMembers({ constructor: 'a' }, own), { constructor: 'a' })
  assert.deepEqual(pointers(JSON.parse('{"name":"a","constructor":1,"__proto__":2}')), [
    '/constructor unknown_field',
    '/__proto__ unknown_field',
  ])
})

test('at most fifty mistakes are reported', () => {
  const flood = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`m${n}`, n]))
  assert.equal(pointers({ name: 'a', ...flood }).length, 50)
})
