/** Scopes as people read them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scopeInWords } from './scope-words.ts'

test('every kind of scope is a sentence', () => {
  assert.equal(scopeInWords('things:read', 'Acme'), 'See your things')
  assert.equal(
    scopeInWords('big_things:write', 'Acme'),
    'Create, change and delete your big things',
  )
  assert.match(scopeInWords('things:all', 'Acme'), /everybody/)
  assert.equal(scopeInWords('things:ship', 'Acme'), 'Ship your things')
  assert.equal(
    scopeInWords('webhooks:write', 'Acme'),
    'Create, change and delete the webhooks of Acme',
  )
  for (const odd of ['odd', 'a:b:c', ':', 'x:', ':y', 'constructor:constructor', '<b>']) {
    assert(scopeInWords(odd, 'Acme').length > 0, odd)
  }
})
