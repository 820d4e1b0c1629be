/** §15.9: a resource by whose fields others filter is the input and output of routes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, resource, service } from '../../src/gatehook.ts'

const access = { read: 'a:read', create: 'a:write', update: false, delete: false } as const
const people = resource('people', {
  fields: { id: f.id(), name: f.string() },
  list: { filter: [], sort: [] },
  access,
  events: [],
})
const bills = resource('bills', {
  fields: { id: f.id(), person_id: f.ref('people') },
  list: { filter: ['person.name'], sort: ['person.name'] },
  access,
  events: [],
})

test('a route takes and returns rows whose fields other lists filter by', () => {
  const versions = { v1: { released: '2026-01-01' } }
  const { routes } = service({ name: 'x', versions, resources: [people, bills] }).route({
    method: 'POST',
    path: '/copies',
    scope: 'a:write',
    summary: 'Copies a person',
    input: people,
    output: { copy: people },
    handle: async ({ input, write }) => ({
      body: { copy: await write((tx) => tx.create(people, input)) },
    }),
  }).definition
  assert.equal(routes.length, 1)
})
