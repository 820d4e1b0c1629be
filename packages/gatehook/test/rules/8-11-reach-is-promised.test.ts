/**
 * §8.11: the lock has what persons and strangers can do, the targets of references, sorts of
 * several fields, and the media type. Less of them is a break.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, promisesOf } from '../../src/cli/check.ts'
import { lockOf, parseLock, serializeLock } from '../../src/declare/gate/lock.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const access = { read: 's:read', create: 's:write', update: 's:write', delete: 's:write' } as const
const list = { filter: [], sort: [] } as const

const people = resource('people', {
  fields: { id: f.id(), email: f.email().unique() },
  list,
  access,
  events: [],
})
const signIn = { username: 'email', scopes: ['s:read', 's:write'], signUp: {} } as const

const clubs = ['halls', 'rooms'].map((name) =>
  resource(name, { fields: { id: f.id() }, list, access, events: [] }),
)

interface Parts {
  readonly persons?: 'read' | 'write'
  readonly target?: string
  readonly sort?: readonly (readonly ['title', 'seats'] | 'title')[]
  readonly isOwned?: boolean
  readonly person?: Parameters<typeof people.signsIn>[0]
  readonly vendor?: string
}

function definitionOf({ persons, target = 'halls', sort, isOwned, person, vendor }: Parts) {
  const shows = resource('shows', {
    fields: {
      id: f.id(),
      hall_id: f.ref(target),
      person_id: f.ref('people'),
      title: f.string(),
      seats: f.int(),
    },
    list: { filter: [], sort: sort ?? [['title', 'seats']] },
    access: persons === undefined ? access : { ...access, persons },
    events: [],
  })
  return service({
    name: 's',
    versions: { v1: { released: '2025-01-01' } },
    resources: [
      people.signsIn(person ?? signIn),
      ...clubs,
      isOwned ? shows.ownedBy('person_id') : shows,
    ],
    ...(vendor !== undefined && { vendor }),
  }).definition
}

function breaksOf(before: Parts, after: Parts): string[] {
  const lock = parseLock(serializeLock(lockOf(promisesOf(definitionOf(before)))), 'api.lock.json')
  return check(definitionOf(after), lock).verdicts.flatMap(({ breaks }) =>
    breaks.map(({ sentence }) => sentence.replace(/: (this|requests) .*/, '')),
  )
}

const [readsAll, changesAll] = [
  ['shows: persons read their rows', 'shows: persons read every row'],
  ['shows: persons change their rows', 'shows: persons change every row'],
]

test('fewer rights of persons and strangers are breaks', () => {
  assert.deepEqual(breaksOf({ persons: 'write' }, { persons: 'read' }), changesAll)
  assert.deepEqual(breaksOf({ persons: 'read' }, {}), readsAll)
  assert.deepEqual(breaksOf({ persons: 'read' }, { isOwned: true }), [readsAll![1]])
  assert.deepEqual(breaksOf({ isOwned: true }, {}), [readsAll![0], changesAll![0]])
  const { signUp: _signUp, ...closed } = signIn
  assert.deepEqual(breaksOf({}, { person: { ...closed, scopes: ['s:read'] } }), [
    'POST /auth/signup is removed.',
    'people: persons have the scope s:write by default',
    'people: strangers sign up',
    'people: persons reset their passwords by mail',
  ])
})

test('another target of a reference, a lost sort and another vendor are breaks', () => {
  assert.deepEqual(breaksOf({}, { target: 'rooms' }), ['shows: hall_id refers to a row of halls'])
  assert.deepEqual(
    breaksOf({}, { sort: ['title'] }).at(-1),
    'shows: lists sort by title, seats together',
  )
  assert.deepEqual(breaksOf({}, { vendor: 'acme' }), [
    'application/vnd.gatehook.api.v1+json is no longer a media type',
  ])
})

test('more rights are no breaks', () => {
  assert.deepEqual(breaksOf({}, {}), [])
  assert.deepEqual(breaksOf({}, { persons: 'read' }), [])
  assert.deepEqual(breaksOf({}, { isOwned: true }), [])
  assert.deepEqual(breaksOf({ persons: 'read' }, { persons: 'write' }), [])
  const person = { ...signIn, scopes: ['s:read', 's:write', 'shows:all'] }
  assert.deepEqual(breaksOf({}, { person }), [])
  assert.deepEqual(breaksOf({}, { sort: [['title', 'seats'], 'title'] }), [])
})
