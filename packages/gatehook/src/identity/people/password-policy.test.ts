import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readMembers } from '../../protocol/fields/body.ts'
import { findPasswordError, MIN_LENGTH, newPassword } from './password-policy.ts'

test('§3.9 passwords have 8 characters (operators 12) to 1024 bytes', () => {
  const reader = (min: number) => (password: unknown) =>
    readMembers({ p: password }, { p: newPassword(min) }).p
  const read = reader(MIN_LENGTH.person)
  for (const good of ['12345678', '🔑🔑🔑🔑🔑🔑🔑🔑', 'x'.repeat(1024)])
    assert.equal(read(good), good)
  for (const bad of ['1234567', '🔑🔑🔑🔑', 'x'.repeat(1025), 'tab\there!', 12345678, null]) {
    assert.throws(() => read(bad), { code: 'validation_failed' })
  }
  assert.equal(reader(MIN_LENGTH.operator)('x'.repeat(12)), 'x'.repeat(12))
  assert.throws(() => reader(MIN_LENGTH.operator)('x'.repeat(11)), { code: 'validation_failed' })
})

const codeOf = async (password: string, name = 'nobody@example.com') =>
  (await findPasswordError(password, name, '/password'))?.code

test('§3.9 common passwords are rejected in upper and lower case', async () => {
  const common = [
    'password',
    '12345678',
    'password1',
    'qwertyuiop',
    'iloveyou1',
    'Sunshine',
    'TRUSTNO1',
  ]
  for (const password of common) {
    assert.equal(await codeOf(password), 'password_too_common', password)
  }
  for (const password of ['correct horse', 'xK9#mP2$vL', 'purple-monkey-7']) {
    assert.equal(await codeOf(password), undefined, password)
  }
})

test('§3.9 a password contains neither the sign-in name nor its local part', async () => {
  const cases: [password: string, name: string, rejected: boolean][] = [
    ['grace@example.com!', 'grace@example.com', true],
    ['my GRACE is here', 'Grace@Example.com', true],
    ['gra\u0301cia in summer', 'gr\u00e1cia@example.com', true],
    ['my example words', 'grace@example.com', false],
    ['an adamant word', 'ada@example.com', false],
    ['the quiet captain', 'captain', true],
    ['the quiet captain', 'ca', false],
    ['the quiet captain', '', false],
  ]
  for (const [password, name, isRejected] of cases) {
    const expected = isRejected ? 'password_too_common' : undefined
    assert.equal(await codeOf(password, name), expected, `${name}: ${password}`)
  }
})
