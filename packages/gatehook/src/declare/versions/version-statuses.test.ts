import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createVersionStatuses } from './version-statuses.ts'

const at = (text: string) => Date.parse(text)

function createStatuses(v1: object = {}) {
  const state = { now: at('2027-01-01'), base: 'http://127.0.0.1:0' }
  const statuses = createVersionStatuses({
    clock: { now: () => state.now, elapsedMs: () => 0 },
    definitions: [
      { name: 'v1', released: '2025-06-01', ...v1 },
      { name: 'v2', released: '2026-06-01' },
      { name: 'v3', released: '2026-09-01' },
    ],
    changes: [{ resource: 'boxes', version: 'v2', why: 'Sizes are numbers' }],
    publicUrl: () => state.base,
  })
  return { statuses, state }
}

test('a status is cached until its span ends or the public URL changes', () => {
  const calendar = { deprecated_at: at('2027-02-01'), sunset_at: at('2027-09-01') }
  const { statuses, state } = createStatuses(calendar)
  const first = statuses.statusOf('v1')!
  assert.equal(first.headers, undefined)
  state.now = at('2027-02-01') - 1
  assert.equal(statuses.statusOf('v1'), first)
  state.now = at('2027-02-01')
  const second = statuses.statusOf('v1')!
  assert.equal(second.state, 'deprecated')
  assert.match(second.headers!.link!, /<http:\/\/127\.0\.0\.1:0\/api\/v2>/)
  state.base = 'https://api.example.com'
  assert.match(statuses.statusOf('v1')!.headers!.link!, /<https:\/\/api\.example\.com\/api\/v2>/)
  state.now = at('2027-01-15')
  assert.equal(statuses.statusOf('v1')!.state, 'supported', 'the clock was set back')
})

test('an older revision has no effect', () => {
  const { statuses } = createStatuses()
  statuses.applyOverrides('v1', { deprecated_at: at('2026-01-01') }, 2)
  statuses.applyOverrides('v1', {}, 1)
  statuses.applyOverrides('v9', { deprecated_at: 0 }, 1)
  assert.equal(statuses.statusOf('v1')!.state, 'deprecated')
  statuses.applyOverrides('v1', {}, 3)
  assert.equal(statuses.statusOf('v1')!.state, 'supported')
})

test('the oldest served version and the served successor skip retired versions', () => {
  const { statuses } = createStatuses()
  const retired = { deprecated_at: 0, sunset_at: 1 }
  const served = () => [statuses.oldestServed(), statuses.servedSuccessor('v1')]
  assert.deepEqual(served(), ['v1', 'v1'])
  assert.equal(statuses.servedSuccessor('v9'), 'v9')
  statuses.applyOverrides('v1', retired, 1)
  assert.deepEqual(served(), ['v2', 'v2'])
  statuses.applyOverrides('v2', retired, 1)
  assert.deepEqual(served(), ['v3', 'v3'])
  statuses.applyOverrides('v3', retired, 1)
  assert.deepEqual(served(), ['v3', 'v3'], 'the newest if all are retired')
})

test('a warning lists the changes of the resource of the route, and is created once', () => {
  const { statuses } = createStatuses({ deprecated_at: 0 })
  const { warning } = statuses.statusOf('v1')!
  const boxes = warning('/api/boxes/:id')
  assert.match(boxes.message, /Changes: Sizes are numbers\.$/)
  assert.match(warning('/api/other').message, /Move to v2\.$/)
  assert.equal(warning('/api/boxes/:id'), boxes, 'the same object')
})
