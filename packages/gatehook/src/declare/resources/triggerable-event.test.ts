import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from '../../protocol/fields/f.ts'
import { resource } from './resource.ts'
import { service } from './service.ts'
import { suggestEventType } from './triggerable-event.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: false } as const
const list = { filter: [], sort: ['id'] } as const

/** Returns a resource without a sample. */
const bare = (name: string, options: { create?: 'w' | false; of?: string; at?: boolean } = {}) =>
  resource(name, {
    fields: {
      id: f.id(),
      starts_at: f.time(),
      ends_at: f.time(),
      ...(options.of && { parent_id: f.ref(options.of) }),
    },
    list,
    access: { ...access, create: options.create ?? 'w' },
    events: [`${name.slice(0, -1)}.updated`, `${name.slice(0, -1)}.created`],
  })

const suggestionOf = (
  resources: Parameters<typeof service>[0]['resources'],
  externalEvents: string[] = [],
) => {
  const versions = { v1: { released: '2026-01-01' } }
  return suggestEventType(service({ name: 'S', versions, resources, externalEvents }).definition)
}

test('the suggested event is the first creation whose sample the service accepts', () => {
  assert.equal(suggestionOf([bare('cats'), bare('dogs')]), 'cat.created')
  assert.equal(suggestionOf([bare('cats', { create: false }), bare('dogs')]), 'dog.created')
  assert.equal(suggestionOf([bare('cats').rule('create', () => ({})), bare('dogs')]), 'dog.created')
  assert.equal(suggestionOf([bare('cats').rule('update', () => ({})), bare('dogs')]), 'cat.created')
  const sampled = bare('cats')
    .sample(() => ({}))
    .rule('create', () => ({}))
  assert.equal(suggestionOf([sampled, bare('dogs')]), 'cat.created')
  const never = bare('cats').check('never', ({ id }) => id === undefined, 'never')
  assert.equal(suggestionOf([never, bare('dogs')]), 'dog.created')
  const throwing = bare('cats').check('throws', () => assert.fail('a bug'), 'never')
  assert.equal(suggestionOf([throwing, bare('dogs')]), 'dog.created')
  const period = bare('cats').check('ends', (row) => row.ends_at > row.starts_at, 'ends too early')
  assert.equal(suggestionOf([period, bare('dogs')]), 'cat.created')
})

test('a row that must refer to a row without an accepted sample is not suggested', () => {
  const parents = bare('pets', { create: false })
  assert.equal(suggestionOf([bare('cats', { of: 'pets' }), parents, bare('dogs')]), 'dog.created')
  assert.equal(suggestionOf([bare('cats', { of: 'cats' }), bare('dogs')]), 'dog.created')
  assert.equal(suggestionOf([bare('cats', { of: 'dogs' }), bare('dogs')]), 'cat.created')
})

test('without such a creation it is an external event, or none', () => {
  const resources = [bare('cats', { create: false })]
  assert.equal(suggestionOf(resources, ['payment.made']), 'payment.made')
  assert.equal(suggestionOf(resources), null)
})
