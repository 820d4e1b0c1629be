import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classifyScope, describeGrant, describeScope } from './scope-words.ts'

const NONE = new Map<string, readonly string[]>()

test('each kind of scope has a description', () => {
  assert.equal(describeScope('things:read', 'Acme', NONE), 'See your things')
  assert.equal(
    describeScope('big_things:write', 'Acme', NONE),
    'Create, change and delete your big things',
  )
  assert.match(describeScope('things:all', 'Acme', NONE), /everybody/)
  assert.equal(describeScope('things:ship', 'Acme', NONE), 'Ship your things')
  assert.equal(
    describeScope('webhooks:write', 'Acme', NONE),
    'Create, change and delete the webhooks of Acme',
  )
})

test('a scope that writes names the changes that it permits', () => {
  const changes = new Map([
    ['things:write', ['create', 'delete']],
    ['notes:write', ['create']],
  ])
  assert.equal(describeScope('things:write', 'Acme', changes), 'Create and delete your things')
  assert.equal(describeScope('notes:write', 'Acme', changes), 'Create your notes')
  assert.equal(describeGrant('notes:write', changes), 'Create notes')
})

test('an unusual scope name is quoted or spelled out', () => {
  for (const scope of ['odd', 'a:b:c', ':', 'x:', ':y', '<b>']) {
    assert.equal(describeScope(scope, 'Acme', NONE), `Use “${scope}”`)
  }
  assert.equal(
    describeScope('constructor:constructor', 'Acme', NONE),
    'Constructor your constructor',
  )
})

test('an operator reads what a scope grants', () => {
  assert.equal(describeGrant('big_things:read', NONE), 'Read big things')
  assert.equal(describeGrant('things:write', NONE), 'Create, change and delete things')
  assert.equal(describeGrant('things:ship', NONE), 'Ship things')
  assert.match(describeGrant('admin', NONE), /everything of every customer/)
  assert.equal(describeGrant('odd', NONE), 'Use “odd”')
})

test('a scope is of a kind, and of a collection unless it covers the account', () => {
  assert.deepEqual(classifyScope('webhooks:read'), { kind: 'account', collection: null })
  assert.deepEqual(classifyScope('things:all'), { kind: 'all', collection: 'things' })
  assert.deepEqual(classifyScope('things:ship'), { kind: 'action', collection: 'things' })
  assert.deepEqual(classifyScope('odd'), { kind: 'action', collection: null })
})
