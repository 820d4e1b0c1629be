/** §11.5: no order of charges exceeds a bound, and a charge that fails counts nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Failure } from '../../kernel/failure.ts'
import { CHANGE_BOUNDS, ChangeBudget } from './change-budget.ts'

const cost = fc.record(
  {
    rows: fc.nat(CHANGE_BOUNDS.rows * 2),
    deliveries: fc.nat(CHANGE_BOUNDS.deliveries * 2),
    words: fc.nat(CHANGE_BOUNDS.words * 2),
    bytes: fc.nat(CHANGE_BOUNDS.bytes * 2),
  },
  { requiredKeys: [] },
)

test('a budget accepts what fits, and counts nothing else', () => {
  fc.assert(
    fc.property(fc.array(cost, { maxLength: 40 }), (costs) => {
      const budget = new ChangeBudget()
      const left = { ...CHANGE_BOUNDS } as Record<keyof typeof CHANGE_BOUNDS, number>
      const kinds = ['rows', 'deliveries', 'words', 'bytes'] as const
      for (const next of costs) {
        const fits = kinds.every((kind) => (next[kind] ?? 0) <= left[kind])
        for (const act of [() => budget.require(next), () => budget.charge(next)]) {
          if (fits) act()
          else {
            const isTooLarge = (error: unknown) =>
              error instanceof Failure && error.code === 'change_too_large'
            assert.throws(act, isTooLarge)
          }
        }
        if (fits) for (const kind of kinds) left[kind] -= next[kind] ?? 0
        assert.deepEqual(Object.fromEntries(kinds.map((kind) => [kind, budget.left(kind)])), left)
      }
    }),
  )
})
