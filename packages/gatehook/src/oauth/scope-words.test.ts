/** Scopes as people read them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scopeInWords } from './scope-words.ts'

test('every kind of scope is a sentence', () => {
  assert.equal(scopeInWords('things:read'), 'See your things')
  assert.equal(scopeInWords('big_things:write'), 'Create, change and delete your big things')
  assert.match(scopeInWords('things:all'), /everybody/)
  assert.equal(scopeInWords('things:ship'), 'Ship your things')
  assert.match(scopeInWords('webhooks:read'), /webhooks/)
  for (const odd of ['odd', 'a:b:c', ':', 'x:', ':y', 'constructor:constructor', '<b>']) {
    assert(scopeInWords(odd).length > 0, odd)
  }
})
