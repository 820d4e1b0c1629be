/** A reader of commits returns each row once, whenever its transaction commits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anchorTowardsNewer } from './anchors.ts'
import type { Key } from './cursor.ts'

type StoredRow = readonly [txid: number, position: number]

/** A database whose transactions each have some rows, and commit in an order of their own. */
function openModel(sizes: readonly number[]) {
  let position = 0
  const rows: StoredRow[] = sizes.flatMap((size, at) =>
    Array.from({ length: size }, (): StoredRow => [at + 1, ++position]),
  )
  const open = new Set(sizes.map((_, at) => at + 1))
  return { rows, open, isVisible: ([txid]: StoredRow) => !open.has(txid) }
}

const idsIn = (text: unknown) =>
  String(text ?? '')
    .split(/[{},]/)
    .filter(Boolean)
    .map(Number)

/** Returns the rows after an anchor as the statements select and order them. */
function rowsAfter(
  { rows, isVisible }: ReturnType<typeof openModel>,
  anchor: readonly Key[] | undefined,
) {
  const [txid, position, late, begunTxid, begunPosition] = (anchor ?? [0, 0]) as number[]
  const ids = new Set(idsIn(late))
  const isFurther = ([of, at]: StoredRow) => of === begunTxid && at > begunPosition!
  const isLate = ([of]: StoredRow) => ids.has(of)
  const isAfter = ([of, at]: StoredRow) => of > txid! || (of === txid && at > position!)
  const visible = rows.filter(isVisible)
  return [isFurther, isLate, isAfter].flatMap((condition) => visible.filter(condition))
}

test('pages towards newer rows contain each row once, at whatever time it commits', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(4), { minLength: 1, maxLength: 8 }),
      fc.array(fc.record({ commit: fc.option(fc.nat(7)), limit: fc.integer({ min: 1, max: 3 }) })),
      (sizes, steps) => {
        const model = openModel(sizes)
        const read: StoredRow[] = []
        let anchor: readonly Key[] | undefined
        const readPage = (limit: number) => {
          const open = `{${[...model.open].join(',')}}`
          const page = rowsAfter(model, anchor).slice(0, limit)
          read.push(...page)
          const last = page.at(-1)
          if (last) anchor = anchorTowardsNewer(anchor, last, open)
          return page.length
        }
        for (const { commit, limit } of steps) {
          if (commit !== null) model.open.delete((commit % sizes.length) + 1)
          readPage(limit)
        }
        model.open.clear()
        while (readPage(2) > 0);
        const inOrder = (a: StoredRow, b: StoredRow) => a[1] - b[1]
        assert.deepEqual(read.sort(inOrder), model.rows)
      },
    ),
  )
})
