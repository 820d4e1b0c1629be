import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { HeadersLike } from './headers.ts'
import { sign } from './sign.ts'
import { type VerificationErrorCode, verify, WebhookVerificationError } from './verify.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const OLD = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
const NOW = 1_800_000_000
const body = JSON.stringify({
  id: 'evt_1',
  type: 'order.paid',
  created: NOW,
  livemode: true,
  data: { object: { id: 7, status: 'paid' } },
})
const signed = await sign({ body, secret: SECRET, id: 'msg_1', timestamp: NOW })
const only = (...names: string[]) =>
  Object.fromEntries(Object.entries(signed).filter(([name]) => names.includes(name)))
const A = only('X-Hub-Signature-256')
const B = only('Gatehook-Signature')
const STANDARD = only('webhook-id', 'webhook-timestamp', 'webhook-signature')

const check = (headers: HeadersLike, more = {}) =>
  verify({ body, headers, secrets: SECRET, now: NOW, ...more })
const ALL = { schemes: ['A', 'B', 'standard'] } as const
const refuses = (code: VerificationErrorCode, headers: HeadersLike, more = {}) =>
  assert.rejects(check(headers, more), { name: 'WebhookVerificationError', code })

test('returns the parsed event, the scheme and the other signed values', async () => {
  const { event, ...rest } = await check(STANDARD)
  assert.deepEqual(event, JSON.parse(body))
  assert.deepEqual(rest, { scheme: 'standard', timestamp: NOW, id: 'msg_1' })
  assert.deepEqual(Object.keys(await check(A, ALL)), ['event', 'scheme'])
})

test('B takes precedence, then Standard Webhooks, then A if it is accepted', async () => {
  const bad = `t=${NOW},v1=${'0'.repeat(64)}`
  for (const schemes of [{}, ALL]) {
    await refuses('signature_mismatch', { ...signed, 'Gatehook-Signature': bad }, schemes)
    const wrong = { ...STANDARD, ...A, 'webhook-signature': 'v1,AAAA' }
    await refuses('signature_mismatch', wrong, schemes)
    assert.equal((await check({ ...STANDARD, ...A }, schemes)).scheme, 'standard')
    const other = { ...signed, 'X-Hub-Signature-256': 'sha256=00' }
    assert.equal((await check(other, schemes)).scheme, 'B')
  }
  assert.equal((await check(A, ALL)).scheme, 'A')
  assert.equal((await check(A, { schemes: ['A'] })).scheme, 'A')
})

test('a scheme that is not accepted counts as absent; A is not, unless it is named', async () => {
  await refuses('missing_signature', A)
  assert.equal((await check(signed, { schemes: ['standard'] })).scheme, 'standard')
})

test('the window is 300 s in both directions, inclusive', async () => {
  for (const headers of [B, STANDARD]) {
    await check(headers, { now: NOW + 300 })
    await check(headers, { now: NOW - 300 })
    await refuses('timestamp_outside_window', headers, { now: NOW + 301 })
    await refuses('timestamp_outside_window', headers, { now: NOW - 301 })
    await refuses('timestamp_outside_window', headers, { now: NOW + 11, toleranceSeconds: 10 })
    await refuses('timestamp_outside_window', headers, { toleranceSeconds: Number.NaN })
  }
})

test('the clock may be seconds, milliseconds, a Date, or a function', async () => {
  await check(B, { now: NOW * 1000 })
  await check(B, { now: new Date(NOW * 1000) })
  await check(B, { now: () => NOW })
  await refuses('timestamp_outside_window', B, { now: () => new Date((NOW + 301) * 1000) })
})

test('a changed time invalidates the signature', async () => {
  const renewed = B['Gatehook-Signature']!.replace(String(NOW), String(NOW + 1000))
  await refuses('signature_mismatch', { 'Gatehook-Signature': renewed }, { now: NOW + 1000 })
  const fields = { ...STANDARD, 'webhook-timestamp': String(NOW + 1000) }
  await refuses('signature_mismatch', fields, { now: NOW + 1000 })
  await refuses('signature_mismatch', { ...STANDARD, 'webhook-id': 'msg_2' })
})

test('during a rotation, either secret verifies either signature', async () => {
  const both = await sign({ body, secret: [SECRET, OLD], timestamp: NOW })
  assert.equal(both['Gatehook-Signature']?.match(/v1=/g)?.length, 2)
  for (const secrets of [[SECRET], [OLD], [OLD, SECRET], ['whsec_elsewhere', SECRET]]) {
    await check(both, { secrets })
    await check(both, { secrets, schemes: ['standard'] })
  }
  // The oldest secret signs A, for receivers with a single secret (§9.5).
  await check(both, { secrets: OLD, schemes: ['A'] })
  await refuses('signature_mismatch', both, { secrets: SECRET, schemes: ['A'] })
  await refuses('signature_mismatch', both, { secrets: 'whsec_elsewhere' })
})

test('headers are found in any case and in every supported shape', async () => {
  const lower = Object.fromEntries(Object.entries(B).map(([k, v]) => [k.toLowerCase(), v]))
  const upper = Object.fromEntries(Object.entries(B).map(([k, v]) => [k.toUpperCase(), v]))
  const value = B['Gatehook-Signature']!
  const shapes: HeadersLike[] = [
    lower,
    upper,
    new Headers(B),
    new Map(Object.entries(B)),
    Object.entries(upper),
    ['Host', 'example.com', 'GATEHOOK-Signature', value],
    { 'gatehook-signature': [value] },
  ]
  for (const headers of shapes) assert.equal((await check(headers)).scheme, 'B')
  await refuses('missing_signature', [])
  await refuses('missing_signature', {})
  await refuses('malformed_signature', { 'gatehook-signature': [value, value] })
})

test('bytes, buffer and string are the same body; a view covers its range only', async () => {
  const bytes = new TextEncoder().encode(`xx${body}yy`)
  for (const form of [body, Buffer.from(body), bytes.subarray(2, -2), bytes.slice(2, -2).buffer]) {
    await verify({ body: form, headers: B, secrets: SECRET, now: NOW })
  }
})

test('a MAC of another length does not verify, and hex may be in upper case', async () => {
  const value = B['Gatehook-Signature']!
  const [time, mac] = [`t=${NOW}`, value.slice(value.indexOf('v1=') + 3)]
  await check({ 'Gatehook-Signature': `${time}, v1=${mac.toUpperCase()}` })
  await check({ 'Gatehook-Signature': `${time},v0=anything,v1=${'00'.repeat(32)},v1=${mac}` })
  for (const cut of [mac.slice(0, -2), `${mac}00`, mac.slice(0, -1), '', 'zz']) {
    await refuses('signature_mismatch', { 'Gatehook-Signature': `${time},v1=${cut}` })
  }
})

test('malformed headers have codes and messages of their own', async () => {
  const hex = '0'.repeat(64)
  const forms = ['', 't', `v1=${hex}`, `t=${NOW}`, `t=${NOW},t=${NOW},v1=${hex}`, `t=1e9,v1=${hex}`]
  const many = `t=${NOW}${`,v1=${hex}`.repeat(11)}`
  for (const value of [...forms, `t=-1,v1=${hex}`, `t=01,v1=${hex}`, many]) {
    await refuses('malformed_signature', { 'Gatehook-Signature': value })
  }
  for (const value of ['', hex, `sha1=${hex}`, 'sha256=', 'sha256=xyz']) {
    await refuses('malformed_signature', { 'X-Hub-Signature-256': value }, ALL)
  }
  await refuses('malformed_signature', { 'webhook-signature': STANDARD['webhook-signature']! })
  await refuses('malformed_signature', { ...STANDARD, 'webhook-timestamp': 'soon' })
  await refuses('malformed_signature', { ...STANDARD, 'webhook-id': 'a b' })
  await refuses('malformed_signature', { ...STANDARD, 'webhook-signature': 'v2,AAAA' })
})

test('an error of the program is a TypeError', async () => {
  await assert.rejects(check(B, { secrets: [] }), TypeError)
  for (const secret of [undefined, null, 7, '', `${SECRET}\n`, ` ${SECRET}`, `"${SECRET}"`]) {
    await assert.rejects(check(B, { secrets: secret }), TypeError)
    await assert.rejects(check(B, { secrets: [SECRET, secret] }), TypeError)
    await assert.rejects(sign({ body, secret: [secret as string] }), TypeError)
  }
  await assert.rejects(check(B, { body: JSON.parse(body) }), TypeError)
})

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.stringMatching(/^t=[0-9]{0,14}(,? ?v1=[0-9a-f]{0,70}){0,12}$/),
  fc.stringMatching(/^sha256=[0-9a-fA-F]{0,70}$/),
  fc.stringMatching(/^(v1,[A-Za-z0-9+/=]{0,50} ?){0,12}$/),
)

test('any bytes in body and headers throw a WebhookVerificationError only', async () => {
  const headers = fc.dictionary(
    fc.constantFrom(...Object.keys(signed), 'GATEHOOK-SIGNATURE', 'x-other'),
    fc.oneof(text, fc.constantFrom(...Object.values(signed)), fc.constant(String(NOW))),
    { noNullPrototype: true },
  )
  const bytes = fc.uint8Array({ maxLength: 64 })
  await fc.assert(
    fc.asyncProperty(headers, bytes, async (given, noise) => {
      const attempt = verify({
        body: noise,
        headers: given,
        secrets: [SECRET, 'x'],
        now: NOW,
        ...ALL,
      })
      await assert.rejects(attempt, WebhookVerificationError)
    }),
    { numRuns: 500 },
  )
})

test('a flipped bit anywhere in the body invalidates the signature', async () => {
  const original = Buffer.from(body)
  await fc.assert(
    fc.asyncProperty(fc.nat(original.length * 8 - 1), async (bit) => {
      const changed = Buffer.from(original)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      for (const headers of [A, B, STANDARD]) {
        await refuses('signature_mismatch', headers, { body: changed, ...ALL })
      }
    }),
    { numRuns: 100 },
  )
})
