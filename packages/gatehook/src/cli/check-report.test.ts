/** The text of `gatehook check` (§8.11). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reportOf } from './check-report.ts'

test('a break names each caller with its number of requests', () => {
  const finding = { breaking: true, where: '/paths', sentence: 'It is removed.', operations: [] }
  const verdicts = [{ version: 'v1', breaks: [finding], additions: [] }]
  const last_at = Date.UTC(2026, 10, 23)
  const callers = [
    { customer: 'cus_1', name: 'Acme', count: 2, last_at },
    { customer: 'anonymous', name: null, count: 1, last_at },
  ]
  const text = reportOf({
    verdicts,
    mend: undefined,
    remaining: [],
    unlocked: [],
    routes: [],
    uncompared: ['orders: rules of create'],
    warnings: [],
    callers: [{ version: 'v1', callers }],
    file: 'api.lock.json',
    today: '2026-11-23',
    rewrite: 'not requested',
  })
  assert.match(text, /^ {2}v1 {2}Acme \(cus_1\): 2 requests, the last on 2026-11-23$/m)
  assert.match(text, /^ {2}v1 {2}anonymous: 1 request, the last on 2026-11-23$/m)
  assert.match(text, /does not compare this code[^\n]*\n {2}orders: rules of create$/)
})

test('the remedy for a break of an own route is fields({…}).before(…)', () => {
  const finding = {
    breaking: true,
    where: '/paths',
    sentence: 'It is removed.',
    operations: ['POST /api/v1/quotes'],
  }
  const text = (routes: readonly string[]) =>
    reportOf({
      verdicts: [{ version: 'v1', breaks: [finding], additions: [] }],
      mend: undefined,
      remaining: [{ version: 'v1', breaks: [finding], additions: [] }],
      unlocked: [],
      routes,
      uncompared: [],
      warnings: [],
      callers: undefined,
      file: 'api.lock.json',
      today: '2026-11-23',
      rewrite: 'not requested',
    })
  assert.match(text(['POST /quotes']), /POST \/quotes: declare .* fields\(\{…\}\)/)
  assert.doesNotMatch(text(['GET /quotes']), /fields\(/)
})
