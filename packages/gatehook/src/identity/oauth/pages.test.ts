/** Pages escape all values, and their headers exclude scripts and frames. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../kernel/failure.ts'
import { formatDuration, renderConsentPage, renderFailurePage, renderSignInPage } from './pages.ts'

const view = {
  service: 'A & B <script>',
  client: '"><img src=x onerror=alert(1)>',
  redirectUri: 'https://app.example/callback',
  mode: 'test',
  ticket: 't\'"',
  cookie: undefined,
} as const

test('each page escapes text of others', () => {
  const pages = [
    renderSignInPage({ ...view, username: '" autofocus onfocus="alert(1)', notice: '<b>no</b>' }),
    renderConsentPage({
      ...view,
      username: '</main>',
      customer: '<b>',
      scopes: ['<i>:read'],
      changes: new Map(),
      lifetimes: { idleS: 1, absoluteS: 2 },
    }),
    renderFailurePage(new Failure('invalid_request', '<script>alert(1)</script>'), {
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

test('the headers exclude scripts, frames, referrers, caches and other form targets', () => {
  const { headers } = renderSignInPage(view)
  const policy = headers!['content-security-policy']!
  assert.match(
    policy,
    /^default-src 'none'; style-src 'sha256-[^']+='; form-action 'self' https:\/\/app\.example;/,
  )
  assert.match(policy, /; frame-ancestors 'none'; base-uri 'none'$/)
  assert.equal(headers!['x-frame-options'], 'DENY')
  assert.equal(headers!['referrer-policy'], 'no-referrer')
  assert.equal(headers!['cache-control'], 'no-store')
  const errorPage = renderFailurePage(new Failure('not_found'), {
    requestId: 'r',
    accept: undefined,
  })
  assert.match(errorPage.headers!['content-security-policy']!, /form-action 'self';/)
})

test('a duration has the largest unit that it fills, rounded up', () => {
  const seconds = [1, 59, 60, 3599, 3600, 86_399, 86_400, 86_401, 30 * 86_400]
  assert.deepEqual(seconds.map(formatDuration), [
    '1 second',
    '59 seconds',
    '1 minute',
    '60 minutes',
    '1 hour',
    '24 hours',
    '1 day',
    '2 days',
    '30 days',
  ])
})
