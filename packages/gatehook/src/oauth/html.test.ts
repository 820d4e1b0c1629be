/** Pages: what is put into them is text, and what they are sent with shuts the rest out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../kernel/failure.ts'
import { consentPage, pageProblem, signInPage } from './pages.ts'

const about = {
  service: 'A & B <script>',
  client: '"><img src=x onerror=alert(1)>',
  redirectUri: 'https://app.example/callback',
  mode: 'test',
  ticket: 't\'"',
  cookie: undefined,
} as const

test('what others wrote is text on every page', () => {
  const pages = [
    signInPage({ ...about, username: '" autofocus onfocus="alert(1)', notice: '<b>no</b>' }),
    consentPage({ ...about, username: '</main>', customer: '<b>', scopes: ['<i>:read'] }),
    pageProblem(new Failure('invalid_request', '<script>alert(1)</script>'), {
      requestId: 'r',
      accept: undefined,
    }),
  ]
  for (const { raw } of pages) {
    const text = String(raw)
    assert.doesNotMatch(text, /<(script|img|b|i)[ >]/)
    assert.doesNotMatch(text, /" (autofocus|onfocus)/)
  }
})

test('no script, no frame, no referrer, kept by nobody; forms lead here and back', () => {
  const { headers } = signInPage(about)
  const policy = headers!['content-security-policy']!
  assert.match(
    policy,
    /^default-src 'none'; style-src 'sha256-[^']+='; form-action 'self' https:\/\/app\.example;/,
  )
  assert.match(policy, /; frame-ancestors 'none'; base-uri 'none'$/)
  assert.equal(headers!['x-frame-options'], 'DENY')
  assert.equal(headers!['referrer-policy'], 'no-referrer')
  assert.equal(headers!['cache-control'], 'no-store')
  const trouble = pageProblem(new Failure('not_found'), { requestId: 'r', accept: undefined })
  assert.match(trouble.headers!['content-security-policy']!, /form-action 'self';/)
})
