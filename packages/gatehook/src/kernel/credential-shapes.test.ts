import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { withoutCredentials, withoutIssued } from './credential-shapes.ts'

const random = (bytes: number) => randomBytes(bytes).toString('base64url')
const json = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

const prefixed: Readonly<Record<string, () => string>> = {
  'API key': () => `gk_live_${randomBytes(19).toString('hex')}`,
  'client secret': () => `gs_${randomBytes(16).toString('hex')}`,
  'refresh token': () => `grt_${random(32)}`,
  'signing secret': () => `whsec_${randomBytes(32).toString('base64')}`,
  'access token': () => `${json({ alg: 'ES256' })}.${json({ sub: '1' })}.${random(64)}`,
}
const shapeless: Readonly<Record<string, () => string>> = {
  'code, cookie, token of a mail or link': () => random(32),
  'ticket of a form': () => random(200),
  'pair of Basic': () => `Basic ${btoa('ada@example.com:correct horse battery')}`,
}

/** Whether 16 characters in a row of the secret part remain. */
const leaks = (text: string, secret: string): boolean => {
  const part = secret.replace(/^\w+_|^Basic /, '')
  for (let at = 0; at + 16 <= part.length; at++) {
    if (text.includes(part.slice(at, at + 16))) return true
  }
  return false
}

const around = fc.string({ unit: fc.constantFrom(...'/?&=;:, "{}[]()<>%#!') })
/** As it is, in a URL, and in the pointer of an unknown member. */
const encodings = [
  (text: string) => text,
  encodeURIComponent,
  (text: string) => text.replaceAll('~', '~0').replaceAll('/', '~1'),
]

test('every kind of credential is removed between any separators', () => {
  for (const [name, create] of Object.entries({ ...prefixed, ...shapeless })) {
    const secret = fc.constant(0).map(create)
    fc.assert(
      fc.property(around, secret, around, fc.constantFrom(...encodings), (a, value, b, encode) => {
        const text = withoutCredentials(`${a}${encode(value)}${b}`)
        assert.ok(!leaks(decodeURIComponent(text.replace(/%(?![0-9A-F]{2})/g, '')), value), name)
      }),
    )
  }
  for (const [name, create] of Object.entries(prefixed)) {
    const value = create()
    assert.ok(!leaks(withoutIssued(`{"msg":"${value}","x":"${value}"}`), value), name)
  }
})

test('a random word with the prefix of another credential inside leaks neither part', () => {
  for (const prefix of ['gk_live_', 'gk_test_', 'gs_', 'grt_', 'whsec_', 'eyJ']) {
    for (let at = 0; at <= 43 - prefix.length; at++) {
      const word = randomBytes(32).toString('base64url')
      const secret = `${word.slice(0, at)}${prefix}${word.slice(at + prefix.length)}`
      const text = withoutCredentials(`/auth/reset?token=${secret}`)
      assert.ok(!leaks(text.replaceAll(prefix, ''), word.slice(0, at)), `${prefix} at ${at}`)
      assert.ok(!leaks(text.replaceAll(prefix, ''), word.slice(at + prefix.length)), text)
    }
  }
})

test('ids, hashes, slugs and prose stay', () => {
  for (const text of [
    '/api/v2/orders/17?status=paid&sort=-created_at',
    'req_6yCqcYD5VBL7k5BZ evt_01jdq8w9vgk7 bk_0AbCdEfGhIjKlMnOpQrStU',
    '0b5c1c0e-8d3c-4c57-9d0d-6f6a0ed4e4a1',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '"k3m9QxPZ0RrVbN1sTuWvXyZ_-aB"',
    '/a-long-slug-of-many-words-that-somebody-wrote-for-a-page',
    'Authorization accepts the schemes ApiKey, Bearer and Basic. Basic authentication failed.',
  ])
    assert.equal(withoutCredentials(text), text)
  assert.equal(withoutIssued('settings_changed flags_on'), 'settings_changed flags_on')
})
