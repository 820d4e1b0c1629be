/**
 * §8.11: the lock has the rules of a resource that OpenAPI does not describe. A rule that rejects
 * more, and an effect that ends, break callers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, promisesOf } from '../../src/cli/check.ts'
import { lockOf, parseLock, serializeLock } from '../../src/gate/lock.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const access = { read: 's:read', create: 's:write', update: 's:write', delete: 's:write' } as const
const list = { filter: [], sort: [] } as const

const halls = resource('halls', { fields: { id: f.id() }, list, access, events: [] })

const fields = {
  id: f.id(),
  hall_id: f.ref('halls').onDelete('cascade'),
  title: f.string().max(50),
  author: f.string().max(50),
  status: f.oneOf(['draft', 'open', 'over']).default('draft').readonly(),
}
const options = {
  fields,
  list,
  access,
  events: ['show.created', 'show.updated'] as const,
  search: ['title', 'author'] as const,
  unique: [['hall_id', 'title'] as const],
}
const base = resource('shows', options)
const opening = {
  scope: 's:write',
  from: ['draft', 'over'],
  to: 'open',
  emits: 'show.opened',
} as const

type Versions = Parameters<typeof service>[0]['versions']

// biome-ignore lint/suspicious/noExplicitAny: the test changes any part of the declaration
const definitionOf = (shows: any, versions: Versions = { v1: { released: '2025-01-01' } }) =>
  service({ name: 's', versions, resources: [halls, shows] }).definition

const before = definitionOf(base.action('open', opening))
const lock = parseLock(serializeLock(lockOf(promisesOf(before))), 'api.lock.json')

const breaksOf = (definition: typeof before, promised = lock): string[] =>
  check(definition, promised).verdicts.flatMap(({ breaks }) =>
    breaks.map(({ sentence }) => sentence.replace(/^shows: /, '').replace(/: this .*/, '')),
  )

test('rules that reject more, and effects that end, are breaks', () => {
  assert.deepEqual(breaksOf(before), [])
  const changes: readonly [unknown, readonly string[]][] = [
    [
      resource('shows', { ...options, unique: [['hall_id', 'title'], ['author']] }).action(
        'open',
        opening,
      ),
      ['two rows cannot have the same author'],
    ],
    [
      base.action('open', opening).check('named', (row) => row.author !== '', 'is required'),
      ['rows obey the check named'],
    ],
    [
      base.action('open', opening).editable(['title'], { from: ['draft', 'open'] }),
      ['title does not change in the state over'],
    ],
    [
      resource('shows', { ...options, events: ['show.created'] }).action('open', opening),
      ['emits the event show.updated'],
    ],
    [
      resource('shows', { ...options, search: ['title'] }).action('open', opening),
      ['q finds words of author'],
    ],
    [
      resource('shows', {
        ...options,
        fields: { ...fields, hall_id: f.ref('halls') },
      }).action('open', opening),
      ['the deletion of a row of halls deletes its rows'],
    ],
    [base.action('open', { ...opening, from: ['draft'] }), ['open is possible in the state over']],
    [base.action('open', { ...opening, to: 'over' }), ['open leads to the state open']],
    [
      base.action('open', { ...opening, emits: 'show.started' }),
      ['emits the event show.opened', 'open emits the event show.opened'],
    ],
  ]
  for (const [shows, sentences] of changes) {
    assert.deepEqual(breaksOf(definitionOf(shows)), sentences)
  }
})

test('rules of new fields, and rules that accept more, are no breaks', () => {
  const isbn = f.string().max(20).nullable().default(null)
  const harmless: readonly unknown[] = [
    resource('shows', { ...options, fields: { ...fields, isbn: isbn.unique() } }).action(
      'open',
      opening,
    ),
    resource('shows', { ...options, unique: [] }).action('open', opening),
    resource('shows', { ...options, events: [...options.events, 'show.deleted'] }).action(
      'open',
      opening,
    ),
    base.action('open', { ...opening, from: ['draft', 'open', 'over'] }).action('hide', opening),
    // A text without a name, as before.
    base.action('open', opening).rule('create', () => undefined),
  ]
  for (const shows of harmless) assert.deepEqual(breaksOf(definitionOf(shows)), [])
})

test('a field that .before() renames retains its rules, and an older lock has none', () => {
  const { title: _title, ...others } = fields
  const shows = resource('shows', {
    ...options,
    fields: { ...others, name: f.string().max(50) },
    search: ['name', 'author'],
    unique: [['hall_id', 'name']],
  })
    .action('open', opening)
    .before('v2', {
      why: 'x',
      had: { title: f.string().max(50) },
      hadNot: ['name'],
      up: (old) => ({ name: old.title }),
      down: (row) => ({ title: row.name }),
      renamed: { title: 'name' },
    })
  const versions = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }
  assert.deepEqual(breaksOf(definitionOf(shows, versions)), [])
  const { rules, ...v1 } = lock.versions.v1!
  assert.ok(rules)
  const older = parseLock(serializeLock({ ...lock, versions: { v1 } }), 'api.lock.json')
  assert.deepEqual(
    breaksOf(definitionOf(resource('shows', { ...options, search: [] })), older).length,
    2,
  )
})
