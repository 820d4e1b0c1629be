/** §8.8, the law: `down(up(down(row))) = down(row)`, on rows made from the declaration. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { api } from '../../service/service.ts'
import type { FieldSpec } from '../../src/resources/fields.ts'
import type { AnyRow, ResourceDefinition } from '../../src/resources/resource.ts'
import type { ServiceDefinition } from '../../src/resources/service.ts'
import { createShape } from '../../src/resources/shape.ts'
import { chainChanges, patchThroughChain, roundTripMismatch } from '../../src/versions/change.ts'
import { club, people } from '../fixtures/club.ts'
import { post } from '../fixtures/three-versions.ts'

fc.configureGlobal({ seed: 808, numRuns: 2000 })

const bounds = ({ min, max }: FieldSpec) => ({
  ...(min !== undefined && { min }),
  ...(max !== undefined && { max }),
})

function anyValue(spec: FieldSpec): fc.Arbitrary<unknown> {
  const { min, max } = spec
  const kinds: Partial<Record<FieldSpec['kind'], fc.Arbitrary<unknown>>> = {
    oneOf: fc.constantFrom(...(spec.values ?? [''])),
    string: fc.string({
      minLength: min ?? 0,
      maxLength: Math.min(max ?? 20, 20),
      unit: 'grapheme',
    }),
    email: fc.emailAddress(),
    bool: fc.boolean(),
    currency: fc.constantFrom('EUR', 'JPY'),
    number: fc.double({ noNaN: true, noDefaultInfinity: true, ...bounds(spec) }),
  }
  const value =
    kinds[spec.kind] ?? fc.integer({ min: min ?? 0, max: Math.min(max ?? 1e12, 2 ** 31 - 1) })
  return spec.nullable ? fc.option(value) : value
}

/** Rows as the declaration allows them, and its own samples. */
function rowsOf({ fields, sample }: ResourceDefinition): fc.Arbitrary<AnyRow> {
  const any = fc.record(
    Object.fromEntries(Object.entries(fields).map(([name, spec]) => [name, anyValue(spec)])),
  )
  return fc
    .tuple(any, fc.nat(50), fc.boolean())
    .map(([row, n, own]) => ({ ...row, ...(own && sample?.(n)) }))
}

function holds(service: ServiceDefinition): void {
  const versions = service.versions.map(({ name }) => name)
  for (const definition of service.resources) {
    for (const version of versions) {
      const way = chainChanges(definition.changes, versions, version)
      fc.assert(
        fc.property(rowsOf(definition), (row) =>
          assert.equal(roundTripMismatch(way, row), undefined),
        ),
      )
    }
  }
}

test('the reference service keeps the law', () => holds(api.definition))
test('three versions of renames, splits and types keep the law', () => holds(club.definition))
test('so do units, wider sets and fields given up', () => holds(post.definition))

test('a change that loses what it had is found', () => {
  const [split, typed] = people.definition.changes
  const lossy = { ...typed!, up: (old: AnyRow) => ({ ...typed!.up(old), tier: 'basic' }) }
  const way = chainChanges([split!, lossy], ['v1', 'v2', 'v3'], 'v1')
  const gold = { id: 1, ...people.definition.sample!(1) }
  assert.equal(roundTripMismatch(way, gold), 'gold')
})

test('after any patch, the old version shows what was sent', () => {
  const versions = ['v1', 'v2', 'v3']
  const name = fc.constantFrom('Anna', 'Anna Maria', 'Anna Maria Sibylla', 'Merian')
  for (const version of ['v1', 'v2']) {
    const way = chainChanges(people.definition.changes, versions, version)
    const patches = fc.record({ full_name: name, points: fc.nat() }, { requiredKeys: [] })
    fc.assert(
      fc.property(rowsOf(people.definition), name, name, patches, (any, first, last, patch) => {
        const row = { ...any, first, last }
        const after = patchThroughChain(way, row, patch).row
        assert.deepEqual(way.down(after), { ...way.down(row), ...patch })
      }),
    )
  }
})

/** Whatever the declaration: what another row shows can be patched into this one. */
test('after any patch of any resource, the old version shows what was sent', () => {
  for (const { versions: declared, resources } of [club.definition, post.definition]) {
    const versions = declared.map(({ name }) => name)
    for (const definition of resources) {
      for (const version of versions) {
        const way = chainChanges(definition.changes, versions, version)
        const names = Object.entries(createShape(definition, versions, version).specs)
          .filter(([, spec]) => spec.write !== 'never')
          .map(([name]) => name)
        fc.assert(
          fc.property(
            rowsOf(definition),
            rowsOf(definition),
            fc.subarray(names),
            (row, other, some) => {
              const sent = way.down(other)
              const patch = Object.fromEntries(some.map((name) => [name, sent[name]]))
              const after = patchThroughChain(way, row, patch).row
              assert.deepEqual(way.down(after), { ...way.down(row), ...patch })
            },
          ),
        )
      }
    }
  }
})

/** Lists take the row apart on its way down, to copy nothing: it must show the same. */
test('a row that sinks shows what one that goes down shows', () => {
  const { versions: declared, resources } = post.definition
  const versions = declared.map(({ name }) => name)
  for (const definition of resources) {
    for (const version of versions) {
      const { chain: way, specs } = createShape(definition, versions, version)
      fc.assert(
        fc.property(rowsOf(definition), (row) => {
          const [down, sunk] = [way.down(row), way.downInPlace({ ...row })]
          for (const name of Object.keys(specs)) assert.deepEqual(sunk[name], down[name])
        }),
      )
    }
  }
})

test('a patch that says what the old version shows changes nothing', () => {
  const versions = ['v1', 'v2', 'v3']
  for (const version of versions) {
    const way = chainChanges(people.definition.changes, versions, version)
    fc.assert(
      fc.property(rowsOf(people.definition), (row) => {
        const { changed } = patchThroughChain(way, row, way.isEmpty ? {} : way.down(row))
        assert.deepEqual(changed, {})
      }),
    )
  }
})
