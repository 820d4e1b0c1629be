/**
 * Properties of bounded lists (§7.10): with bounds far below a table's rows, each page equals that
 * of a model sorted in JavaScript, or fails with `query_too_expensive`. A separate walk returns the
 * same page as a read beside other requests.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { eachService } from '../../../../test/rig/service.ts'
import { resourceCollection } from '../../src/declare/resources/table.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { Query } from '../../src/protocol/http/query.ts'
import { LONG_READ_BOUNDS, type ReadBounds } from '../../src/protocol/lists/bounds.ts'
import type { Cursor } from '../../src/protocol/lists/cursor.ts'
import { parseListQuery } from '../../src/protocol/lists/grammar.ts'
import {
  type ListTask,
  type Rows,
  readCursorPage,
  readNumberedPage,
} from '../../src/protocol/lists/page.ts'
import { testScope } from './rows.ts'
import {
  cells,
  filters,
  filterText,
  matches,
  refill,
  shelf,
  sortRows,
  sorts,
  sortText,
  type Thing,
  things,
} from './shelf.ts'

const SEED = 710
const NOTHING: ReadBounds = { rows: 1, ownRows: 1, smallRange: 0, totalRows: 0, skippedRows: 0 }
const ALL: ReadBounds = { ...LONG_READ_BOUNDS, smallRange: 3 }
const FEW: ReadBounds = { rows: 9, ownRows: 7, smallRange: 2, totalRows: 15, skippedRows: 6 }

const request = fc.record({
  sort: sorts,
  filters: fc.uniqueArray(filters, {
    maxLength: 3,
    selector: ({ column, operator }) => `${column} ${operator}`,
  }),
  limit: fc.integer({ min: 1, max: 12 }),
  owner: fc.constantFrom(undefined, undefined, 1, 2),
})

type TestRequest = typeof request extends fc.Arbitrary<infer A> ? A : never

const isTooExpensive = (error: unknown): boolean =>
  error instanceof Failure && error.code === 'query_too_expensive'

const idsOf = (rows: Rows): number[] => rows.map((row) => row[0] as number)

/** Returns ids along `next`, then back along `prev`; undefined if a page is too expensive. */
async function walkBothWays(
  task: ListTask,
): Promise<{ forward: number[]; backward: number[] } | undefined> {
  const forward: number[] = []
  const backward: number[][] = []
  let cursor: Cursor | undefined
  let end: Cursor | null | undefined
  try {
    do {
      const page = await readCursorPage(task, cursor)
      forward.push(...idsOf(page.rows))
      end = page.prev
      cursor = page.next ?? undefined
    } while (cursor)
    for (let at = end ?? undefined; at; ) {
      const page = await readCursorPage(task, at)
      backward.unshift(idsOf(page.rows))
      at = page.prev ?? undefined
    }
  } catch (error) {
    if (isTooExpensive(error)) return undefined
    throw error
  }
  return { forward, backward: backward.flat() }
}

/** Reads a numbered page; undefined if it is too expensive. */
const tryNumberedPage = (task: ListTask) =>
  readNumberedPage(task).catch((error) => {
    if (isTooExpensive(error)) return undefined
    throw error
  })

for (const [name, most, runs] of [
  ['a separate walk', ALL, 60],
  ['a walk with bounds of a few rows', FEW, 90],
] as const) {
  eachService(
    `${name} returns the page of the model, or query_too_expensive`,
    async ({ app: { db } }) => {
      const collection = resourceCollection(things.definition)
      const view = { fields: collection.columns.map((column) => column.name), item: () => '' }
      const scope = await testScope(db)
      let [servedCount, rejectedCount] = [0, 0]
      const table = fc.array(cells, { maxLength: 40, size: 'max' })
      const check = async (rows: Thing[], { sort, filters, limit, owner }: TestRequest) => {
        const text = `limit=${limit}${sortText(sort)}${filters.map(filterText).join('')}`
        const task: ListTask = {
          db,
          customer: 1,
          collection,
          rowScope: { scope, owner },
          encode: () => '',
          request: parseListQuery(Query.parse(text), collection, view, 'cursor'),
          bounds: { concurrent: NOTHING, long: most },
        }
        const own = rows.filter((row) => owner === undefined || row.person_id === owner)
        const matching = own.filter((row) => filters.every((filter) => matches(row, filter)))
        const model = sortRows(matching, sort).map((row) => row.id)
        const pages = await walkBothWays(task)
        if (pages) {
          assert.deepEqual(pages.forward, model, text)
          const last = model.length % limit || Math.min(limit, model.length)
          assert.deepEqual(pages.backward, model.slice(0, model.length - last), text)
        }
        const offset = Math.floor(model.length / 2)
        const numbered = await tryNumberedPage({ ...task, request: { ...task.request, offset } })
        if (numbered) {
          assert.equal(numbered.total, model.length, text)
          assert.deepEqual(idsOf(numbered.rows), model.slice(offset, offset + limit), text)
        }
        if (most === ALL) assert.ok(pages && numbered, text)
        if (pages) servedCount += 1
        else rejectedCount += 1
      }
      await fc.assert(
        fc.asyncProperty(table, request, async (cells, request) => {
          await check(await refill(db, cells), request)
        }),
        { seed: SEED, numRuns: runs },
      )
      assert.ok(servedCount > 10, `${servedCount} served`)
      assert.ok(
        most === ALL ? rejectedCount === 0 : rejectedCount > 10,
        `${rejectedCount} rejected`,
      )
    },
    { service: shelf },
  )
}
