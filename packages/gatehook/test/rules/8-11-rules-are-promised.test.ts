/**
 * §8.11: the lock has the rules of a resource that OpenAPI does not describe. A rule that rejects
 * more, and an effect that ends, break callers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, promisesOf } from '../../src/cli/check.ts'
import { lockOf, parseLock, serializeLock } from '../../src/declare/gate/lock.ts'
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

const removalOf = (type: string): string =>
  `The event ${type} is removed: subscribers no longer receive it, and requests that name it are ` +
  'rejected.'

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
      [removalOf('show.updated')],
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
    [base.action('open', { ...opening, emits: 'show.started' }), [removalOf('show.opened')]],
  ]
  for (const [shows, sentences] of changes) {
    assert.deepEqual(breaksOf(definitionOf(shows)), sentences)
  }
})

test('an event type that ends is one break, also with the last type of its family', () => {
  const { emits: _type, ...quiet } = opening
  const silent = resource('shows', { ...options, events: [] }).action('open', quiet)
  assert.deepEqual(
    breaksOf(definitionOf(silent)),
    ['show.created', 'show.updated', 'show.opened'].map(removalOf),
  )
  const { breaks } = check(definitionOf(silent), lock).verdicts[0]!
  for (const { operations } of breaks) {
    assert.deepEqual(operations, [
      'POST /webhooks',
      'PATCH /webhooks/{id}',
      'POST /webhooks/{id}/replay',
      'POST /webhooks/{id}/test',
    ])
  }
  const moved = service({
    name: 's',
    versions: { v1: { released: '2025-01-01' } },
    resources: [halls, silent],
    externalEvents: ['show.created', 'show.updated', 'show.opened'],
  }).definition
  assert.deepEqual(breaksOf(moved), [
    'emits the event show.created',
    'emits the event show.updated',
    'emits the event show.opened',
    'open emits the event show.opened',
  ])
})

test('an enumeration of a resource with names of events is compared', () => {
  const withLog = (values: readonly [string, ...string[]]) =>
    resource('shows', {
      ...options,
      events: values as never,
      fields: { ...fields, last_event: f.oneOf(values).default('show.created') },
    })
  const definition = definitionOf(withLog(['show.created', 'show.updated']))
  const promised = parseLock(serializeLock(lockOf(promisesOf(definition))), 'api.lock.json')
  const breaks = breaksOf(definitionOf(withLog(['show.created'])), promised)
  assert.ok(breaks.includes(removalOf('show.updated')))
  assert.ok(breaks.some((sentence) => /^"last_event" of .* no longer accepts/.test(sentence)))
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

test('a removed event type, and another scope that reads it, are breaks', () => {
  const eventsOf = (...externalEvents: (string | { type: string; scope: string })[]) =>
    service({
      name: 's',
      versions: { v1: { released: '2025-01-01' } },
      resources: [halls],
      externalEvents,
    }).definition
  const old = eventsOf('payment.succeeded', { type: 'payment.failed', scope: 's:read' })
  const promised = parseLock(serializeLock(lockOf(promisesOf(old))), 'api.lock.json')
  assert.deepEqual(breaksOf(old, promised), [])
  const added = eventsOf('payment.succeeded', 'a.b', { type: 'payment.failed', scope: 's:read' })
  assert.deepEqual(breaksOf(added, promised), [])
  assert.deepEqual(breaksOf(eventsOf('payment.failed'), promised), [
    removalOf('payment.succeeded'),
    'The event payment.failed needs the scope events:read instead of s:read: existing ' +
      'credentials lack it.',
  ])
  const { externalEvents: _events, ...v1 } = promised.versions.v1!
  assert.deepEqual(
    breaksOf(eventsOf('payment.succeeded', 'payment.failed'), { lock: 1, versions: { v1 } }),
    [],
  )
})

test('a shorter time in which callers restore deleted rows is a break', () => {
  const definitionWith = (softDelete: boolean | { scope?: string; purgeAfterDays?: number }) =>
    definitionOf(resource('shows', { ...options, softDelete }))
  const promised = parseLock(
    serializeLock(lockOf(promisesOf(definitionWith(true)))),
    'api.lock.json',
  )
  for (const days of [30, 31]) {
    assert.deepEqual(breaksOf(definitionWith({ purgeAfterDays: days }), promised), [])
  }
  assert.deepEqual(breaksOf(definitionWith({ purgeAfterDays: 29 }), promised), [
    'deleted rows are purged after 29 days instead of 30, and callers restore them until then.',
  ])
})

test('the gate names the code that it does not compare', () => {
  const shows = base
    .check('named', () => true, 'is required')
    .check(() => undefined)
    .rule('create', () => undefined)
    .rule('update', () => undefined)
  const { uncompared } = check(definitionOf(shows), lock)
  assert.deepEqual(uncompared, ['shows: a check without a name; rules of create, update'])
  assert.deepEqual(check(before, lock).uncompared, [])
})

test('a field that .before() renames retains its rules', () => {
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
})
