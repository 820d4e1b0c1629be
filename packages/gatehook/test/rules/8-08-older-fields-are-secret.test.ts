/** §8.8, §12.7: a field of an older version whose value is that of a secret field is secret. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeclarationError, f, resource, service } from '../../src/gatehook.ts'

const access = { read: 'a:read', create: 'a:write', update: 'a:write', delete: 'a:write' }
const text = f.string().max(50)

/** `down` returns the newer secret as `code`, and `up` reads it from there. */
const declare = (code: typeof text, options: { isDown?: boolean; isUp?: boolean } = {}) => {
  const { isDown = true, isUp = true } = options
  const cars = resource('cars', {
    fields: { id: f.id(), name: text, pin: text.secret().default('') },
    list: { filter: [], sort: ['id'] },
    access,
    events: [],
  }).before('v2', {
    why: 'A code is a pin.',
    had: { code: code.default('') },
    hadNot: ['pin'],
    up: (old) => ({ pin: isUp ? old.code : '' }),
    down: (row) => ({ code: isDown ? row.pin : '' }),
  })
  return service({
    name: 'Cars',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
    resources: [cars],
  })
}

test('the start says which older field needs .secret()', () => {
  for (const options of [{}, { isUp: false }, { isDown: false }]) {
    assert.throws(
      () => declare(text, options),
      (error) =>
        error instanceof DeclarationError &&
        /code has the value of pin, which is secret, .* declare code with \.secret\(\)/.test(
          error.message,
        ),
      JSON.stringify(options),
    )
  }
})

test('an older field that is secret, or has nothing of the value, is accepted', () => {
  declare(text.secret())
  declare(text, { isUp: false, isDown: false })
})
