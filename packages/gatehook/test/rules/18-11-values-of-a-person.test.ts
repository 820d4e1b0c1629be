/** §18.11: which values of a person an erasure searches for in the data of others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PersonValues } from '../../src/operate/erasure/person-values.ts'

const valuesOf = (kind: 'name' | 'other', ...values: readonly unknown[]) => {
  const person = new PersonValues({ id: '1', resource: 'members' })
  person.add(kind, values)
  return person
}

test('a short number of a person is that of others, too', () => {
  const values = valuesOf('other', 2026, 86_400, 40_954_696_475)
  assert.equal(values.mentions('{"created":"2026-11-29T10:00:00Z","limit":86400}'), false)
  assert.deepEqual([values.is(2026), values.is(86_400)], [false, false])
  assert.equal(values.mentions('{"tax":40954696475}'), true)
  assert.equal(values.is(40_954_696_475), true)
  assert.equal(valuesOf('other', '2026').is(2026), false)
})

test('a short text of digits is that of others, too, unless it signs in', () => {
  const values = valuesOf('other', '2026', '123456789', '4930901820')
  assert.equal(values.mentions('{"created":"2026-11-29T10:00:00Z","count":123456789}'), false)
  assert.deepEqual([values.is('2026'), values.is('123456789')], [false, false])
  assert.equal(values.mentions('{"phone":"+49 4930901820"}'), true)
  assert.equal(valuesOf('name', '123456').isName('123456'), true)
  assert.equal(valuesOf('other', '2026-AB').is('2026-ab'), true)
})

test('a long sign-in name is found in an audit row', () => {
  const name = `${'a'.repeat(60)}@${'b'.repeat(60)}.example`
  const values = valuesOf('name', name)
  assert.equal(values.isName(name.toUpperCase()), true)
  assert.equal(values.isNamedIn(JSON.stringify({ before: { email: name } })), true)
  assert.equal(values.isName(`c${name}`), false)
})
