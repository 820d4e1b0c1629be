/** §8.8, the invariant `down(up(down(row))) = down(row)`, on rows generated from declarations. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { api } from '../../service/service.ts'
import type { AnyRow, ResourceDefinition } from '../../src/declare/resources/resource.ts'
import type { ServiceDefinition } from '../../src/declare/resources/service.ts'
import { createShape } from '../../src/declare/resources/shape.ts'
import {
  chainChanges,
  patchThroughChain,
  roundTripMismatch,
} from '../../src/declare/versions/change.ts'
import type { FieldSpec } from '../../src/protocol/fields/fields.ts'
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

/** Generates rows that the declaration allows, and its samples. */
function rowsOf({ fields, sample }: ResourceDefinition): fc.Arbitrary<AnyRow> {
  const any = fc.record(
    Object.fromEntries(Object.entries(fields).map(([name, spec]) => [name, anyValue(spec)])),
  )
  return fc
    .tuple(any, fc.nat(50), fc.boolean())
    .map(([row, n, own]) => ({ ...row, ...(own && sample?.(n)) }))
}

function assertInvariant(service: ServiceDefinition): void {
  const versions = service.versions.map(({ name }) => name)
  for (const definition of service.resources) {
    for (const version of versions) {
      const chain = chainChanges(definition.changes, versions, version)
      fc.assert(
        fc.property(rowsOf(definition), (row) =>
          assert.equal(roundTripMismatch(chain, row), undefined),
        ),
      )
    }
  }
}

test('the reference service satisfies the invariant', () => assertInvariant(api.definition))
test('renames, splits and new types satisfy the invariant', () => assertInvariant(club.definition))
test('new units, wider enumerations and removed fields satisfy the invariant', () =>
  assertInvariant(post.definition))

test('a lossy change violates the invariant', () => {
  const [split, typed] = people.definition.changes
  const lossy = { ...typed!, up: (old: AnyRow) => ({ ...typed!.up(old), tier: 'basic' }) }
  const chain = chainChanges([split!, lossy], ['v1', 'v2', 'v3'], 'v1')
  const gold = { id: 1, ...people.definition.sample!(1) }
  assert.equal(roundTripMismatch(chain, gold), 'gold')
})

test('after any patch, the old version returns the sent values', () => {
  const versions = ['v1', 'v2', 'v3']
  const name = fc.constantFrom('Anna', 'Anna Maria', 'Anna Maria Sibylla', 'Merian')
  for (const version of ['v1', 'v2']) {
    const chain = chainChanges(people.definition.changes, versions, version)
    const patches = fc.record({ full_name: name, points: fc.nat() }, { requiredKeys: [] })
    fc.assert(
      fc.property(rowsOf(people.definition), name, name, patches, (any, first, last, patch) => {
        const row = { ...any, first, last }
        const after = patchThroughChain(chain, row, patch).row
        assert.deepEqual(chain.down(after), { ...chain.down(row), ...patch })
      }),
    )
  }
})

/** The values of any other row can be patched into a row. */
test('after any patch of any resource, the old version returns the sent values', () => {
  for (const { versions: declared, resources } of [club.definition, post.definition]) {
    const versions = declared.map(({ name }) => name)
    for (const definition of resources) {
      for (const version of versions) {
        const chain = chainChanges(definition.changes, versions, version)
        const names = Object.entries(createShape(definition, versions, version).specs)
          .filter(([, spec]) => spec.write !== 'never')
          .map(([name]) => name)
        fc.assert(
          fc.property(
            rowsOf(definition),
            rowsOf(definition),
            fc.subarray(names),
            (row, other, some) => {
              const sent = chain.down(other)
              const patch = Object.fromEntries(some.map((name) => [name, sent[name]]))
              const after = patchThroughChain(chain, row, patch).row
              assert.deepEqual(chain.down(after), { ...chain.down(row), ...patch })
            },
          ),
        )
      }
    }
  }
})

/** Lists convert rows in place, without a copy. The result must be the same. */
test('a conversion in place equals a conversion of a copy', () => {
  const { versions: declared, resources } = post.definition
  const versions = declared.map(({ name }) => name)
  for (const definition of resources) {
    for (const version of versions) {
      const { chain, specs } = createShape(definition, versions, version)
      fc.assert(
        fc.property(rowsOf(definition), (row) => {
          const [down, inPlace] = [chain.down(row), chain.downInPlace({ ...row })]
          for (const name of Object.keys(specs)) assert.deepEqual(inPlace[name], down[name])
        }),
      )
    }
  }
})

test('a patch with the current values changes nothing', () => {
  const versions = ['v1', 'v2', 'v3']
  for (const version of versions) {
    const chain = chainChanges(people.definition.changes, versions, version)
    fc.assert(
      fc.property(rowsOf(people.definition), (row) => {
        const { changed } = patchThroughChain(chain, row, chain.isEmpty ? {} : chain.down(row))
        assert.deepEqual(changed, {})
      }),
    )
  }
})
