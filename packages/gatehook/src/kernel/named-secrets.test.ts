/** §12.7: a secret is recognized by its name, however a caller spells it and wherever it is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { redactUrl } from './log.ts'
import { withoutSecretValues } from './named-secrets.ts'
import { redactBody, redactHeaders } from './redaction.ts'

const CANARY = 'kanary'
const secretFields = new Set(['door_code', 'Iban'])
/** Each is one or more words. */
const NAMES = [
  ...['password', 'passwd', 'pwd', 'pass', 'passphrase', 'passcode', 'pin', 'pin code', 'otp'],
  ...['secret', 'client secret', 'token', 'access token', 'csrf', 'cookie', 'session token'],
  ...['api key', 'access key', 'private key', 'key', 'x key', 'auth', 'authorization', 'cvc'],
  ...['sig', 'signature', 'x amz signature', 'x amz security token', 'x goog signature'],
  ...['x amz credential', 'a w s access key id', 'code', 'code verifier', 'ticket', 'assertion'],
  ...['old pwd', 'card cvv', 'totp', 'door code', 'iban', 'pin 2'],
]
/** Together their words resemble others: `spin`. */
const SEPARATE_NAMES = ['user pin', 'sms otp', 'url sig', 'db pass', 'pin of user']
const KEY_MEMBERS = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi']

const capital = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1)
const spelled = (words: readonly string[], separators: readonly string[]) =>
  fc.constantFrom(
    ...separators.map((separator) => words.join(separator)),
    words.map((word, index) => (index === 0 ? word : capital(word))).join(''),
    words.map(capital).join('-'),
    words.join('_').toUpperCase(),
    ` ${words.join('_')}\t`,
  )
const spelling = fc
  .constantFrom(...NAMES)
  .chain((name) => spelled(name.split(' '), ['_', '-', '', '.-']))
const separateSpelling = fc
  .constantFrom(...SEPARATE_NAMES)
  .chain((name) => spelled(name.split(' '), ['_', '-', '.']))
const anySpelling = fc.oneof(spelling, separateSpelling)
const inAParameter = fc.constantFrom<(name: string) => string>(
  (name) => name,
  (name) => `${name}[eq]`,
  (name) => `${name}[in][]`,
  (name) => `filter[${name}][gte]`,
  (name) => `filter[person.${name}]`,
  (name) => `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
)
const encoded = (name: string) => encodeURIComponent(name).replaceAll('%5B', '[')

test('no spelling of the name of a secret reveals it in a URL, a form or a text', () => {
  const places = fc.constantFrom<(pair: string) => string>(
    (pair) => `/api/v2/orders?limit=2&${pair}&sort=id`,
    (pair) => `/x;${pair}?a=1`,
    (pair) => `https://h.example/cb#${pair}&state=1`,
    (pair) => `grant=a&${pair}`,
    (pair) => `see https://h.example/?a=1&${pair} again`,
    (pair) => `/cb?next=${encodeURIComponent(`https://h.example/?${pair}`)}`,
  )
  fc.assert(
    fc.property(anySpelling, inAParameter, places, (name, wrap, place) => {
      const url = place(`${encoded(wrap(name))}=${CANARY}`)
      const text = redactUrl(url, secretFields)
      assert.ok(!text.includes(CANARY), `${url}: ${text}`)
    }),
    { numRuns: 3_000 },
  )
  for (const url of [
    `/a?jwk[d]=${CANARY}`,
    `/a?filter=${encodeURIComponent(`{"pin":"${CANARY}"}`)}`,
    `/a?filter={"pin":"${CANARY}"}`,
    `/a?%2570in=${CANARY}`,
    `level=info user=ada password=${CANARY}`,
    `a=1, password=${CANARY}`,
  ]) {
    assert.ok(!redactUrl(url, secretFields).includes(CANARY), url)
  }
})

test('no spelling of the name of a secret reveals it in a body or in a header', () => {
  const inABody = fc.constantFrom<(member: object) => unknown>(
    (member) => member,
    (member) => [[member]],
    (member) => ({ a: { b: [{ c: member }] } }),
  )
  fc.assert(
    fc.property(anySpelling, inABody, (name, wrap) => {
      const body = JSON.stringify(redactBody(wrap({ [name]: CANARY, n: 7 }), secretFields).value)
      assert.ok(!body.includes(CANARY) && body.includes('"n":7'), body)
    }),
    { numRuns: 2_000 },
  )
  fc.assert(
    fc.property(spelling, fc.constantFrom('', 'x-'), (name, prefix) => {
      const headers = redactHeaders({ [`${prefix}${name.trim()}`]: CANARY }, secretFields)
      assert.ok(!JSON.stringify(headers).includes(CANARY), JSON.stringify(headers))
    }),
  )
  for (const name of [...KEY_MEMBERS, ...KEY_MEMBERS.map((member) => member.toUpperCase())]) {
    const { value } = redactBody(
      { keys: [{ kty: 'EC', x: 'visible', [name]: CANARY }] },
      secretFields,
    )
    assert.match(JSON.stringify(value), /visible/)
    assert.doesNotMatch(JSON.stringify(value), /kanary/, name)
  }
})

test('words that only resemble the name of a secret keep their values', () => {
  const members = {
    ...{ pins: 'a', spin: 'a', compass: 'a', passenger: 'a', opinion: 'a', country_code: 'a' },
    ...{ error_code: 'a', idempotency_key: 'a', session_id: 'a', signed_at: 'a', design: 'a' },
    ...{ p: 0.5, monkey: 'a', keyboard: 'a', author: 'a', x: 'a', crv: 'a', doors: 'a' },
  }
  assert.deepEqual(redactBody(members, secretFields).value, members)
  const query = Object.entries(members)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
  assert.equal(redactUrl(`/a?${query}`, secretFields), `/a?${query}`)
  const prose = 'ended with code=7 for key=user:1 at https://h.example/a?limit=2'
  assert.equal(withoutSecretValues(prose, secretFields), prose)
  const headers = { 'idempotency-key': 'a', 'x-request-id': 'a', 'www-authenticate': 'a' }
  assert.deepEqual(redactHeaders(headers, secretFields), headers)
})

test('the values after more names than are examined are hidden, however they are written', () => {
  for (const filler of ['=', '[=', '&=', '.=', 'a[=', 'É[x].=', 'a,b=', '%5B%3D', 'n=1&']) {
    const names = filler.repeat(20_000)
    for (const text of [`/a?${names}&password=${CANARY}`, `/a?password=${CANARY}&${names}`]) {
      const redacted = redactUrl(text, secretFields)
      assert.ok(!redacted.includes(CANARY), filler)
    }
  }
  const ordinary = Array.from({ length: 60 }, (_, n) => `metadata[name_${n}][in]=${n}`).join('&')
  assert.equal(redactUrl(`/a?${ordinary}`, secretFields), `/a?${ordinary}`)
})

test('a text with many names ends after those that are examined', () => {
  for (const filler of ['=', '[=', '&=', 'a[b.c]=']) {
    const { length } = withoutSecretValues(filler.repeat(20_000), secretFields)
    assert.ok(length <= 5_000, `${filler}: ${length}`)
  }
})

test('a name that no header, member or parameter has counts as secret, and is not folded', () => {
  const isHidden = (name: string) =>
    JSON.stringify(redactBody({ [name]: CANARY }, secretFields)).includes('[redacted]')
  assert.deepEqual(['a'.repeat(256), 'a'.repeat(257), '\ufdfa'.repeat(300)].map(isHidden), [
    ...[false, true, true],
  ])
})
