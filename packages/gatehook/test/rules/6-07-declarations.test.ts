/** §3.6, §6.7, §6.10: a declaration with contradictory scopes or owners is rejected. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultPersonScopes } from '../../src/declare/resources/scopes.ts'
import { DeclarationError, f, resource, service } from '../../src/gatehook.ts'
import { NAME_MAX } from '../../src/identity/people/sign-in-bounds.ts'

const versions = { v1: { released: '2026-01-01' } }
const list = { filter: [], sort: [] } as const
const open = { read: 'things:read', create: 'things:write', update: false, delete: false } as const
const people = resource('users', {
  fields: { id: f.id(), email: f.email().unique() },
  list,
  access: { read: 'users:read', create: 'users:write', update: 'users:write', delete: false },
  events: [],
})
const users = people.signsIn({ username: 'email' })

const thing = (fields: object = {}, access: object = {}) =>
  resource('things', {
    fields: { id: f.id(), ...fields } as { id: ReturnType<typeof f.id> },
    list,
    access: { ...open, ...access },
    events: [],
  })

const declare = (...resources: unknown[]) =>
  service({ name: 's', versions, resources: [users, ...resources] as never })

const rejects = (sentence: RegExp, declare: () => unknown) =>
  assert.throws(declare, (error) => {
    assert.ok(error instanceof DeclarationError)
    assert.match(error.message, sentence)
    return true
  })

test('scopes are named `collection:verb`', () => {
  const bad = ['', 'Things:read', 'things:', ':read', 'a:b:c', 'things read', '9:read', 'thïngs:x']
  for (const scope of bad) {
    rejects(/is not of the form/, () => declare(thing({}, { read: scope })))
    rejects(/is not of the form/, () => declare(thing({}, { create: scope })))
    rejects(/is not of the form/, () => declare(thing().action('go', { scope })))
    const route = { method: 'GET', path: '/x', scope, summary: 'x', handle: () => ({}) } as const
    rejects(/is not of the form/, () => declare(thing()).route(route))
  }
  for (const scope of ['things', 'things:read', 'my-things_2:do-it_2', 'a:b']) {
    declare(thing({}, { read: scope }))
  }
})

test('only reading can be public, and only of rows without an owner', () => {
  for (const operation of ['create', 'update', 'delete']) {
    rejects(/'public' is for access.read only/, () => declare(thing({}, { [operation]: 'public' })))
  }
  rejects(/'public'/, () => declare(thing().action('go', { scope: 'public' })))
  const owned = { user_id: f.ref('users').owner() }
  rejects(/are not 'public'/, () => declare(thing(owned, { read: 'public' })))
  declare(thing({}, { read: 'public' }))
})

test('a row has one owner, which is a person', () => {
  const owned = { user_id: f.ref('users').owner() }
  const twice = { ...owned, other_id: f.ref('users').owner() }
  rejects(/a row has .* owner/, () => declare(thing(twice)))
  rejects(/a row has .* owner/, () => declare(thing(owned).ownedBy('user_id' as never)))
  rejects(/access.persons/, () => declare(thing(owned, { persons: 'read' })))
  const parts = resource('parts', {
    fields: { id: f.id(), thing_id: f.ref('things').owner() },
    list,
    access: open,
    events: [],
  })
  rejects(/\.owner\(\) refers to users/, () => declare(thing(), parts))
  const alone = { name: 's', versions, resources: [thing(), parts] }
  rejects(/thing_id: \.owner\(\) refers to a person, and no resource/, () => service(alone))
})

test('.ownedBy() leads to a person, without a circle', () => {
  const part = (target: string, name = 'parts') =>
    resource(name, {
      fields: { id: f.id(), of_id: f.ref(target), note: f.string() },
      list,
      access: open,
      events: [],
    })
  rejects(/rows of things have no owner/, () => declare(thing(), part('things').ownedBy('of_id')))
  rejects(/is not an f\.ref/, () => declare(part('users').ownedBy('note')))
  rejects(/leads back/, () => declare(part('parts').ownedBy('of_id')))
  declare(part('users').ownedBy('of_id'), part('parts', 'bits').ownedBy('of_id'))
})

test('the default scopes of persons are resource scopes', () => {
  const named = (...scopes: string[]) =>
    service({
      name: 's',
      versions,
      resources: [people.signsIn({ username: 'email', scopes })],
    }).definition
  assert.deepEqual(defaultPersonScopes(named()), [])
  assert.deepEqual(defaultPersonScopes(named('users:read', 'reports:read')), [
    'users:read',
    'reports:read',
  ])
  for (const scope of ['admin', 'webhooks:read', 'events:read', 'keys:write']) {
    rejects(/is an account scope/, () => named(scope))
  }
  rejects(/is not a scope/, () => named('Users:Read'))
  const odd = { read: 'events:read', create: 'admin', update: 'things:all', delete: 'x:y' } as const
  const owned = thing({ user_id: f.ref('users').owner() }, odd)
  assert.deepEqual(defaultPersonScopes(declare(owned).definition), ['users:read', 'x:y'])
})

test('names whose scopes would be account scopes are reserved', () => {
  for (const name of ['events', 'webhooks', 'keys']) {
    const taken = resource(name, { fields: { id: f.id() }, list, access: open, events: [] })
    rejects(/the name is taken/, () => declare(taken))
  }
})

test('.editable() names fields that clients write', () => {
  const fields = {
    status: f.oneOf(['new', 'old']).default('new').readonly(),
    created_at: f.createdAt(),
    note: f.string(),
  }
  const definition = resource('things', {
    fields: { id: f.id(), ...fields },
    list,
    access: open,
    events: [],
  })
  rejects(/clients never write created_at/, () =>
    declare(definition.editable(['created_at'], { from: ['new'] })),
  )
  declare(definition.editable(['note'], { from: ['new'] }))
})

test('lists neither filter nor sort by a secret field', () => {
  const secret = (list: object) =>
    declare(
      resource('things', {
        fields: { id: f.id(), pin: f.string().secret() },
        list: { filter: [], sort: [], ...list },
        access: open,
        events: [],
      }),
    )
  secret({})
  rejects(/list: pin is secret/, () => secret({ filter: ['pin'] }))
  rejects(/list: pin is secret/, () => secret({ sort: ['pin'] }))
})

test('a sign-in name has at most 320 characters', () => {
  const signingIn = (max: number) =>
    resource('users', {
      fields: { id: f.id(), name: f.string().max(max).unique() },
      list,
      access: { ...open, create: 'users:write' },
      events: [],
    }).signsIn({ username: 'name' })
  rejects(/name has at most 320 characters/, () =>
    service({ name: 's', versions, resources: [signingIn(NAME_MAX + 1)] }),
  )
  service({ name: 's', versions, resources: [signingIn(NAME_MAX)] })
})
