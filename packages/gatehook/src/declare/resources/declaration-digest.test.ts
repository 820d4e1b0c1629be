/** Digests of declarations: equal for equal ones, and different for each part that differs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from '../../protocol/fields/f.ts'
import { digestDeclaration } from './declaration-digest.ts'
import { resource } from './resource.ts'
import { service } from './service.ts'

interface Variant {
  readonly max?: number
  readonly compute?: (row: { readonly text: string }) => string
  readonly released?: string
}

function digestOf({ max = 20, compute = ({ text }) => text, released = '2026-01-01' }: Variant) {
  const notes = resource('notes', {
    fields: { id: f.id(), text: f.string().max(max), copy: f.computed(f.string()) },
    list: { filter: [], sort: ['id'] },
    access: { read: 'r', create: 'w', update: 'w', delete: 'w' },
    events: [],
  }).compute('copy', compute)
  const marks = resource('marks', {
    fields: { id: f.id(), note_id: f.ref('notes') },
    list: { filter: [], sort: ['id'] },
    access: { read: 'r', create: 'w', update: 'w', delete: 'w' },
    events: [],
  })
  const { definition } = service({
    name: 'n',
    versions: { v1: { released } },
    resources: [notes, marks],
  })
  return digestDeclaration(definition)
}

test('equal declarations have equal digests', () => {
  assert.deepEqual(digestOf({}), digestOf({}))
  assert.deepEqual(Object.keys(digestOf({})), ['service', 'notes', 'marks'])
})

const variants: readonly (readonly [name: string, part: string, variant: Variant])[] = [
  ['a bound of a field', 'notes', { max: 21 }],
  ['the code of a computed field', 'notes', { compute: ({ text }) => text.trim() }],
  ['the date of a version', 'service', { released: '2026-01-02' }],
]

for (const [name, part, variant] of variants) {
  test(`${name} changes the digest of its part alone`, () => {
    const [before, after] = [digestOf({}), digestOf(variant)]
    const changed = Object.keys(before).filter((key) => before[key] !== after[key])
    assert.deepEqual(changed, [part])
  })
}

test('a resource of the name `service` hides no difference of the service', () => {
  const digest = (host: string, max: number) =>
    digestDeclaration({ host, resources: [{ name: 'service', max }] } as never).service
  assert.equal(new Set([digest('a', 1), digest('b', 1), digest('a', 2)]).size, 3)
})

test('an object that contains itself has a digest', () => {
  const cyclic: Record<string, unknown> = { list: [/a/u, new Map([['k', 1n]])] }
  cyclic.self = cyclic
  const definition = { resources: [{ name: 'cyclic', cyclic }] } as never
  assert.match(digestDeclaration(definition).cyclic!, /^[0-9a-f]{12}$/)
})
