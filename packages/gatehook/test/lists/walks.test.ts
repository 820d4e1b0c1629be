/**
 * Properties of lists: every style returns the order of a model sorted in JavaScript, in both
 * directions and on both databases. Concurrent inserts and deletes do not disturb a walk (§7.6).
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { eachService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { resourceCollection } from '../../src/declare/resources/table.ts'
import { Query } from '../../src/protocol/http/query.ts'
import type { Cursor } from '../../src/protocol/lists/cursor.ts'
import { parseListQuery } from '../../src/protocol/lists/grammar.ts'
import { readCursorPage, readNumberedPage } from '../../src/protocol/lists/page.ts'
import { follow, idsOf, links, ok, run, testScope } from './rows.ts'
import {
  cells,
  type FilterTerm,
  filters,
  filterText,
  insert,
  matches,
  PATH,
  PEOPLE,
  refill,
  type SortTerm,
  shelf,
  sortRows,
  sorts,
  sortText,
  type Thing,
  things,
} from './shelf.ts'

const SEED = 76
const options = { service: shelf }

const table = fc.array(cells, { maxLength: 40 })
const request = fc.record({
  sort: sorts,
  filter: fc.option(filters, { nil: undefined, freq: 3 }),
  limit: fc.integer({ min: 1, max: 12 }),
})

const pagesOf = (ids: readonly number[], limit: number): number[][] => {
  const pages: number[][] = []
  for (let at = 0; at < Math.max(1, ids.length); at += limit) pages.push(ids.slice(at, at + limit))
  return pages
}

const modelOf = (rows: readonly Thing[], sort: readonly SortTerm[], filter?: FilterTerm) =>
  sortRows(
    rows.filter((row) => !filter || matches(row, filter)),
    sort,
  ).map((row) => row.id)

/** Follows `next` to the last page, then `prev` back to the first, and compares the pages. */
async function walkBothWays(service: TestApp, path: string, expected: number[][]): Promise<void> {
  const forward = await follow(service, path)
  assert.deepEqual(forward.map(idsOf), expected, path)
  const before = links(forward.at(-1)!).prev
  assert.equal(before === undefined, expected.length === 1, path)
  if (before === undefined) return
  const backward = (await follow(service, before, 'prev')).reverse()
  assert.deepEqual(backward.map(idsOf), expected.slice(0, -1), path)
  assert.deepEqual(
    idsOf(await ok(service.get(links(backward.at(-1)!).next!))),
    expected.at(-1),
    path,
  )
}

eachService(
  'every style returns the order of the model, in both directions',
  async (service) => {
    await fc.assert(
      fc.asyncProperty(
        table,
        fc.array(request, { minLength: 3, maxLength: 6 }),
        async (cells, requests) => {
          const rows = await refill(service.app.db, cells)
          for (const { sort, filter, limit } of requests) {
            const model = modelOf(rows, sort, filter)
            const query = `${sortText(sort)}${filter ? filterText(filter) : ''}`
            const expected = pagesOf(model, limit)
            await walkBothWays(service, `${PATH}?limit=${limit}${query}`, expected)
            await walkBothWays(service, `${PATH}?offset=0&limit=${limit}${query}`, expected)
            await walkBothWays(service, `${PATH}?per_page=${limit}${query}`, expected)
            const linked = await ok(
              service.get(`${PATH}?pagination=hypermedia&page=2&per_page=${limit}${query}`),
            )
            assert.deepEqual(idsOf(linked), expected[1] ?? [])
            assert.equal(linked.body.meta.total, model.length)
            const byId = modelOf(rows, [], filter)
            const keys = await follow(
              service,
              `${PATH}?pagination=keyset&limit=${limit}${filter ? filterText(filter) : ''}`,
            )
            assert.deepEqual(keys.map(idsOf), pagesOf(byId, limit))
          }
        },
      ),
      { seed: SEED, numRuns: 25 },
    )
  },
  options,
)

const change = fc.record({
  inserts: fc.array(cells, { maxLength: 3 }),
  /** Deleted rows, as offsets from the last row of the latest page. */
  deletes: fc.array(fc.integer({ min: -6, max: 6 }), { maxLength: 3 }),
})

eachService(
  'with concurrent inserts and deletes, each remaining row is returned exactly once',
  async (service) => {
    const { db } = service.app
    const scope = await testScope(db)
    const world = [table, sorts, fc.integer({ min: 1, max: 5 }), fc.array(change)] as const
    await fc.assert(
      fc.asyncProperty(...world, fc.boolean(), async (cells, sort, limit, changes, backwards) => {
        let rows = await refill(db, cells)
        const lasting = new Set(rows.map((row) => row.id))
        const rel = backwards ? 'prev' : 'next'
        let at: string | undefined = `${PATH}?limit=${limit}${sortText(sort)}`
        if (backwards) at = links((await follow(service, at)).at(-1)!).prev ?? at
        // A backward walk begins before the last page, so it does not return that page's rows.
        const all = modelOf(rows, sort)
        const begin = backwards
          ? all.slice(0, Math.max(limit, all.length - (all.length % limit || limit)))
          : all
        const returnedIds: number[] = []
        for (let n = 0; at !== undefined; n++) {
          const page: Reply = await ok(service.get(at))
          const ids = idsOf(page) as number[]
          returnedIds.push(...ids)
          at = links(page)[rel]
          const { inserts = [], deletes = [] } = changes[n] ?? {}
          const order = modelOf(rows, sort)
          const edge = order.indexOf(ids.at(backwards ? 0 : -1) ?? 0)
          for (const step of deletes) {
            const deletedId = order[edge + step]
            if (edge < 0 || deletedId === undefined) continue
            await run(db, 'DELETE FROM things WHERE id = ?', [deletedId])
            lasting.delete(deletedId)
            rows = rows.filter((row) => row.id !== deletedId)
          }
          rows = [...rows, ...(await insert(db, scope, inserts))]
        }
        assert.equal(new Set(returnedIds).size, returnedIds.length, 'a row was returned twice')
        for (const id of begin.filter((id) => lasting.has(id))) {
          assert.ok(returnedIds.includes(id), `row ${id} was not returned`)
        }
      }),
      { seed: SEED, numRuns: 60 },
    )
  },
  options,
)

eachService(
  'random next and prev steps return the pages of a model, also after deletions',
  async (service) => {
    const { db } = service.app
    const ways = fc.array(fc.constantFrom('next', 'prev'), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(
        table,
        sorts,
        fc.integer({ min: 1, max: 6 }),
        ways,
        async (cells, sort, limit, ways) => {
          const rows = await refill(db, cells)
          const pages = pagesOf(modelOf(rows, sort), limit)
          let page = await ok(service.get(`${PATH}?limit=${limit}${sortText(sort)}`))
          let at = 0
          for (const rel of ways) {
            const to: string | undefined = links(page)[rel]
            const there = pages[rel === 'next' ? at + 1 : at - 1]
            assert.equal(to === undefined, there === undefined)
            if (to === undefined) continue
            page = await ok(service.get(to))
            at += rel === 'next' ? 1 : -1
            assert.deepEqual(idsOf(page), there)
          }
          // After the page's rows are deleted, its links still lead to its neighbours.
          for (const id of idsOf(page)) await run(db, 'DELETE FROM things WHERE id = ?', [id])
          const { next, prev } = links(page)
          if (next) assert.deepEqual(idsOf(await ok(service.get(next))), pages[at + 1])
          if (prev) assert.deepEqual(idsOf(await ok(service.get(prev))), pages[at - 1])
        },
      ),
      { seed: SEED, numRuns: 60 },
    )
  },
  options,
)

eachService(
  'an emptied page links back to its neighbour, in both directions',
  async (service) => {
    const { db } = service.app
    const limits = fc.integer({ min: 1, max: 6 })
    await fc.assert(
      fc.asyncProperty(table, sorts, limits, fc.nat(), async (cells, sort, limit, nth) => {
        const rows = await refill(db, cells)
        const pages = await follow(service, `${PATH}?limit=${limit}${sortText(sort)}`)
        const page = pages[nth % pages.length]!
        const model = modelOf(rows, sort)
        const ids = idsOf(page) as number[]
        const { next, prev } = links(page)
        const deleteRows = async (ids: readonly number[]) => {
          for (const id of ids) await run(db, 'DELETE FROM things WHERE id = ?', [id])
        }
        if (next) {
          await deleteRows(model.slice(model.indexOf(ids.at(-1)!) + 1))
          const emptied = await ok(service.get(next))
          assert.deepEqual(emptied.body.data, [])
          assert.equal(emptied.body.has_more, false)
          assert.deepEqual(idsOf(await ok(service.get(links(emptied).prev!))), ids)
        }
        if (prev) {
          await deleteRows(model.slice(0, model.indexOf(ids[0]!)))
          const emptied = await ok(service.get(prev))
          assert.deepEqual(emptied.body.data, [])
          assert.equal(emptied.body.cursors.prev, null)
          assert.deepEqual(idsOf(await ok(service.get(links(emptied).next!))), ids)
          await deleteRows(ids)
          const nothing = await ok(service.get(prev))
          assert.deepEqual(nothing.body.cursors, { next: null, prev: null })
        }
      }),
      { seed: SEED, numRuns: 60 },
    )
  },
  options,
)

eachService(
  'a list of a person contains own rows only (§6.7)',
  async (service) => {
    const { db } = service.app
    const collection = resourceCollection(things.definition)
    const view = { fields: collection.columns.map((column) => column.name), item: () => '' }
    const scope = await testScope(db)
    await fc.assert(
      fc.asyncProperty(table, request, async (cells, { sort, filter, limit }) => {
        const rows = await refill(db, cells)
        const text = `limit=${limit}${sortText(sort)}${filter ? filterText(filter) : ''}`
        const request = parseListQuery(Query.parse(text), collection, view, 'cursor')
        const people = [...new Set(rows.map((row) => row.person_id)), 0]
        assert.ok(people.length <= PEOPLE + 1)
        for (const owner of people) {
          const own = rows.filter((row) => row.person_id === owner)
          const model = modelOf(own, sort, filter)
          const encode = () => ''
          const task = {
            db,
            customer: 1,
            collection,
            rowScope: { scope, owner },
            request,
            encode,
          }
          const returnedIds: number[] = []
          let cursor: Cursor | undefined
          do {
            const page = await readCursorPage(task, cursor)
            returnedIds.push(...page.rows.map((row) => row[0] as number))
            cursor = page.next ?? undefined
          } while (cursor)
          assert.deepEqual(returnedIds, model)
          const numbered = await readNumberedPage({ ...task, request: { ...request, offset: 1 } })
          assert.equal(numbered.total, model.length)
          assert.deepEqual(
            numbered.rows.map((row) => row[0]),
            model.slice(1, 1 + limit),
          )
        }
      }),
      { seed: SEED, numRuns: 40 },
    )
  },
  options,
)
