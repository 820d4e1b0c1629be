/** The text of `gatehook check` (§8.11). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reportOf } from './check-report.ts'

type Report = Parameters<typeof reportOf>[0]

const textOf = (report: Partial<Report>): string =>
  reportOf({
    verdicts: [],
    mend: undefined,
    remaining: [],
    unlocked: [],
    routes: [],
    uncompared: [],
    warnings: [],
    callers: undefined,
    file: 'api.lock.json',
    today: '2026-11-23',
    rewrite: 'not requested',
    sql: { mistakes: [], unscoped: [] },
    ...report,
  })

test('a break names each caller with its number of requests', () => {
  const finding = { breaking: true, where: '/paths', sentence: 'It is removed.', operations: [] }
  const verdicts = [{ version: 'v1', breaks: [finding], additions: [] }]
  const last_at = Date.UTC(2026, 10, 23)
  const callers = [
    { customer: 'cus_1', name: 'Acme', count: 2, last_at },
    { customer: 'anonymous', name: null, count: 1, last_at },
  ]
  const text = textOf({
    verdicts,
    uncompared: ['orders: rules of create'],
    callers: [{ version: 'v1', callers }],
  })
  assert.match(text, /^ {2}v1 {2}Acme \(cus_1\): 2 requests, the last on 2026-11-23$/m)
  assert.match(text, /^ {2}v1 {2}anonymous: 1 request, the last on 2026-11-23$/m)
  assert.match(text, /does not compare this code[^\n]*\n {2}orders: rules of create$/)
})

test('the remedy for a break of an own route is fields({…}).before(…)', () => {
  const text = (where: string, routes: readonly string[]) => {
    const operations = ['POST /api/v1/quotes']
    const finding = { breaking: true, where, sentence: 'It is removed.', operations }
    return textOf({
      verdicts: [{ version: 'v1', breaks: [finding], additions: [] }],
      remaining: [{ version: 'v1', breaks: [finding], additions: [] }],
      routes,
    })
  }
  const own = '#/paths/~1quotes/post/requestBody/content/application~1json/schema/properties/a'
  assert.match(text(own, ['POST /quotes']), /POST \/quotes: declare .* fields\(\{…\}\)/)
  assert.doesNotMatch(text(own, ['GET /quotes']), /fields\(/)
  // The route returns a row, whose resource has the remedy.
  const ofRow = '#/components/schemas/Quote/properties/a'
  assert.doesNotMatch(text(ofRow, ['POST /quotes']), /fields\(/)
})

test('the remedy fits what the breaks concern', () => {
  const advice = {
    '#/webhooks': 'An event type ends in two releases',
    '#/webhooks/a.b/x-scope': 'A scope changes in two releases',
    '#/paths/~1x/get/x-scope': 'A scope changes in two releases',
    '#/components/schemas/A/properties/b/x-write-scope': 'A scope changes in two releases',
    '#/components/schemas/A/properties/b': 'add the new field beside the old one',
  }
  for (const [where, expected] of Object.entries(advice)) {
    const finding = { breaking: true, where, sentence: 'It is removed.', operations: [] }
    const verdicts = [{ version: 'v1', breaks: [finding], additions: [] }]
    const text = textOf({ verdicts, remaining: verdicts })
    for (const other of Object.values(advice)) {
      assert.equal(text.includes(other), other === expected, where)
    }
  }
})

test('an accepted break names the callers only if there are some', () => {
  const finding = { breaking: true, where: '#', sentence: 'It is removed.', operations: [] }
  const verdicts = [{ version: 'v1', breaks: [finding], additions: [] }]
  const caller = { customer: 'cus_1', name: null, count: 1, last_at: 0 }
  const namesCallers = (callers: Report['callers']) =>
    /tell the callers above/.test(textOf({ verdicts, callers, rewrite: 'accepted' }))
  assert.equal(namesCallers(undefined), false)
  assert.equal(namesCallers([{ version: 'v1', callers: [] }]), false)
  assert.equal(namesCallers([{ version: 'v1', callers: [caller] }]), true)
})
