import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from '../../protocol/fields/f.ts'
import { type ResourceDefinition, resource } from './resource.ts'
import { indexesOf, storedIndex } from './table.ts'

const options = {
  list: { filter: [], sort: ['size'] },
  access: { read: 'notes:read', create: false, update: false, delete: false },
  events: [],
} as const
const numbers = resource('notes', { fields: { id: f.id(), size: f.int() }, ...options })
const texts = resource('notes', { fields: { id: f.id('note'), size: f.int() }, ...options })

const columnsOf = (definition: ResourceDefinition, name: 'sqlite' | 'postgres') =>
  indexesOf(definition).map((index) => storedIndex(index, definition, name).columns.join())

test('an index of SQLite does not name the integer id, with which each entry ends', () => {
  assert.deepEqual(columnsOf(numbers.definition, 'sqlite'), ['scope,size'])
  assert.deepEqual(columnsOf(numbers.definition, 'postgres'), ['scope,size,id'])
})

test('an index of SQLite names an id that is a text', () => {
  assert.deepEqual(columnsOf(texts.definition, 'sqlite'), ['scope,size,id'])
})
