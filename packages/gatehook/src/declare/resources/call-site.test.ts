import assert from 'node:assert/strict'
import { test } from 'node:test'
import { locationOf } from './call-site.ts'

test('the location is the innermost line outside the engine', () => {
  const engine = new URL('./field-check.ts', import.meta.url).href
  const error = new Error('no')
  error.stack = `Error: no\n  at f (${engine}:1:60)\n  at file:///srv/my%20api/service.ts:3:24\n`
  assert.equal(locationOf(error), '/srv/my api/service.ts:3')
  error.stack = '/srv/api/service.ts:2\nexport {{\n\nSyntaxError: no\n    at node:internal:1:2'
  assert.equal(locationOf(error), '/srv/api/service.ts:2')
  error.stack = 'Error: no\n    at node:internal/modules:1:2'
  assert.equal(locationOf(error), undefined)
})
