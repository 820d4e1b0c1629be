import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isLocalHost, parsePostgresAddress } from './database-target.ts'

test('an address with several hosts gives a URL for each, and requires the primary', () => {
  assert.deepEqual(parsePostgresAddress('postgres://u:p%2C@a:5432,b,[::1]:7/db?sslmode=disable'), {
    urls: [
      'postgres://u:p%2C@a:5432/db?sslmode=disable',
      'postgres://u:p%2C@b/db?sslmode=disable',
      'postgres://u:p%2C@[::1]:7/db?sslmode=disable',
    ],
    requiresPrimary: true,
    label: 'postgres://a:5432,b,[::1]:7/db',
  })
})

test('target_session_attrs decides whether only the primary is valid', () => {
  const requires = (address: string) => parsePostgresAddress(address)?.requiresPrimary
  assert.equal(requires('postgres://a/db'), false)
  assert.equal(requires('postgres://a/db?target_session_attrs=read-write'), true)
  assert.equal(requires('postgres://a,b/db?target_session_attrs=primary'), true)
  assert.equal(requires('postgres://a,b/db?target_session_attrs=any'), false)
  assert.equal(requires('postgres://a,b/db?target_session_attrs=standby'), undefined)
  assert.equal(requires('postgres://a,b/db?target_session_attrs=toString'), undefined)
})

test('an address that is not valid gives undefined', () => {
  const many = Array(17).fill('h').join()
  for (const text of [
    'mysql://a',
    'postgres://a,,b/db',
    'postgres://a:x,b/db',
    `postgres://${many}/d`,
  ])
    assert.equal(parsePostgresAddress(text), undefined, text)
})

test('no text makes the parser throw, and a label contains no user or password', () => {
  const part = fc.string({ unit: fc.constantFrom(...'ab@,:/?#=%[]'), maxLength: 30 })
  fc.assert(fc.property(part, (text) => void parsePostgresAddress(`postgres://${text}`)))
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{1,9}$/), (host) => {
      const { label } = parsePostgresAddress(`postgres://me:hidden@${host},other/db`)!
      assert.equal(label, `postgres://${host},other/db`)
    }),
  )
})

test('a local host is a loopback address or a socket', () => {
  for (const host of ['localhost', '127.0.0.1', '[::1]', '%2Ftmp', '/tmp', '']) {
    assert.equal(isLocalHost(host), true, host)
  }
  for (const host of ['10.0.0.1', 'database', 'db.example.com']) {
    assert.equal(isLocalHost(host), false, host)
  }
})
