/**
 * Properties of bounded lists (§7.10): with bounds far below a table's rows, a page is either the
 * one of a model sorted in JavaScript or `query_too_expensive`; a walk of its own yields the page
 * that a request beside others does.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { eachService } from '../../../../test/rig/service.ts'
import { Query } from '../../src/http/query.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { AT_MOST, type ReadBounds } from '../../src/lists/bounds.ts'
import type { Cursor } from '../../src/lists/cursor.ts'
import { parseListQuery } from '../../src/lists/grammar.ts'
import { cursorPage, type ListTask, numberedPage, type Rows } from '../../src/lists/walk.ts'
import { resourceCollection } from '../../src/resources/table.ts'
import { testScope } from './rows.ts'
import {
  cells,
  filters,
  filterText,
  matches,
  refill,
  shelf,
  sorted,
  sorts,
  sortText,
  type Thing,
  things,
} from './shelf.ts'

const SEED = 710
const NOTHING: ReadBounds = { rows: 1, ownRows: 1, smallRange: 0, counted: 0, skipped: 0 }
const ALL: ReadBounds = { ...AT_MOST, smallRange: 3 }
const FEW: ReadBounds = { rows: 9, ownRows: 7, smallRange: 2, counted: 15, skipped: 6 }

const request = fc.record({
  sort: sorts,
  filters: fc.uniqueArray(filters, {
    maxLength: 3,
    selector: ({ column, operator }) => `${column} ${operator}`,
  }),
  limit: fc.integer({ min: 1, max: 12 }),
  owner: fc.constantFrom(undefined, undefined, 1, 2),
})

type Asked = typeof request extends fc.Arbitrary<infer A> ? A : never

const isRefused = (error: unknown): boolean =>
  error instanceof Failure && error.code === 'query_too_expensive'

const idsOf = (rows: Rows): number[] => rows.map((row) => row[0] as number)

/** Ids along next, then back along prev; undefined where a page was refused. */
async function walked(task: ListTask): Promise<{ forth: number[]; back: number[] } | undefined> {
  const forth: number[] = []
  const back: number[][] = []
  let cursor: Cursor | undefined
  let end: Cursor | null | undefined
  try {
    do {
      const page = await cursorPage(task, cursor)
      forth.push(...idsOf(page.rows))
      end = page.prev
      cursor = page.next ?? undefined
    } while (cursor)
    for (let at = end ?? undefined; at; ) {
      const page = await cursorPage(task, at)
      back.unshift(idsOf(page.rows))
      at = page.prev ?? undefined
    }
  } catch (error) {
    if (isRefused(error)) return undefined
    throw error
  }
  return { forth, back: back.flat() }
}

/** A page of numbers, or undefined where it was refused. */
const numberedOf = (task: ListTask) =>
  numberedPage(task).catch((error) => {
    if (isRefused(error)) return undefined
    throw error
  })

for (const [name, most, runs] of [
  ['a walk of its own', ALL, 60],
  ['bounds of a few rows', FEW, 90],
] as const) {
  eachService(
    `${name} yields the page of the model, or refuses it`,
    async ({ app: { db } }) => {
      const collection = resourceCollection(things.definition)
      const view = { fields: collection.columns.map((column) => column.name), item: () => '' }
      const scope = await testScope(db)
      let [served, refused] = [0, 0]
      const table = fc.array(cells, { maxLength: 40, size: 'max' })
      const check = async (rows: Thing[], { sort, filters, limit, owner }: Asked) => {
        const text = `limit=${limit}${sortText(sort)}${filters.map(filterText).join('')}`
        const task: ListTask = {
          ...{ db, customer: 1, collection, reach: { scope, owner }, encode: () => '' },
          request: parseListQuery(Query.parse(text), collection, view, 'cursor'),
          bounds: { beside: NOTHING, most },
        }
        const own = rows.filter((row) => owner === undefined || row.person_id === owner)
        const kept = own.filter((row) => filters.every((one) => matches(row, one)))
        const model = sorted(kept, sort).map((row) => row.id)
        const seen = await walked(task)
        if (seen) {
          assert.deepEqual(seen.forth, model, text)
          const last = model.length % limit || Math.min(limit, model.length)
          assert.deepEqual(seen.back, model.slice(0, model.length - last), text)
        }
        const offset = Math.floor(model.length / 2)
        const numbered = await numberedOf({ ...task, request: { ...task.request, offset } })
        if (numbered) {
          assert.equal(numbered.total, model.length, text)
          assert.deepEqual(idsOf(numbered.rows), model.slice(offset, offset + limit), text)
        }
        if (most === ALL) assert.ok(seen && numbered, text)
        if (seen) served += 1
        else refused += 1
      }
      await fc.assert(
        fc.asyncProperty(table, request, async (cells, asked) => {
          await check(await refill(db, cells), asked)
        }),
        { seed: SEED, numRuns: runs },
      )
      assert.ok(served > 10, `${served} served`)
      assert.ok(most === ALL ? refused === 0 : refused > 10, `${refused} refused`)
    },
    { service: shelf },
  )
}
