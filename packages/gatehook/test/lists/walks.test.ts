/**
 * Properties: random tables, walked in every style and both ways on both databases, have the order
 * of a model sorted in JavaScript; and rows that come and go harm no walk (§7.6).
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { eachService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { Query } from '../../src/http/query.ts'
import type { Cursor } from '../../src/lists/cursor.ts'
import { parseListQuery } from '../../src/lists/grammar.ts'
import { cursorPage, numberedPage } from '../../src/lists/walk.ts'
import { resourceCollection } from '../../src/resources/table.ts'
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
  sorted,
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
  sorted(
    rows.filter((row) => !filter || matches(row, filter)),
    sort,
  ).map((row) => row.id)

/** Pages forth along `next`, and back along `prev` from the last of them. */
async function walked(service: TestApp, path: string, expected: number[][]): Promise<void> {
  const forth = await follow(service, path)
  assert.deepEqual(forth.map(idsOf), expected, path)
  const before = links(forth.at(-1)!).prev
  assert.equal(before === undefined, expected.length === 1, path)
  if (before === undefined) return
  const back = (await follow(service, before, 'prev')).reverse()
  assert.deepEqual(back.map(idsOf), expected.slice(0, -1), path)
  assert.deepEqual(idsOf(await ok(service.get(links(back.at(-1)!).next!))), expected.at(-1), path)
}

eachService(
  'every style gives the order of the model, forth and back',
  async (service) => {
    await fc.assert(
      fc.asyncProperty(
        table,
        fc.array(request, { minLength: 3, maxLength: 6 }),
        async (cells, asked) => {
          const rows = await refill(service.app.db, cells)
          for (const { sort, filter, limit } of asked) {
            const model = modelOf(rows, sort, filter)
            const query = `${sortText(sort)}${filter ? filterText(filter) : ''}`
            const expected = pagesOf(model, limit)
            await walked(service, `${PATH}?limit=${limit}${query}`, expected)
            await walked(service, `${PATH}?offset=0&limit=${limit}${query}`, expected)
            await walked(service, `${PATH}?per_page=${limit}${query}`, expected)
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
  arrive: fc.array(cells, { maxLength: 3 }),
  /** Which rows leave: counted from the last row of the page just read, before and behind. */
  leave: fc.array(fc.integer({ min: -6, max: 6 }), { maxLength: 3 }),
})

eachService(
  'rows that come and go: those there throughout are seen exactly once',
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
        // A walk backwards begins behind the page before the last; what lies there is not its
        // business.
        const all = modelOf(rows, sort)
        const begin = backwards
          ? all.slice(0, Math.max(limit, all.length - (all.length % limit || limit)))
          : all
        const seen: number[] = []
        for (let n = 0; at !== undefined; n++) {
          const page: Reply = await ok(service.get(at))
          const ids = idsOf(page) as number[]
          seen.push(...ids)
          at = links(page)[rel]
          const { arrive = [], leave = [] } = changes[n] ?? {}
          const order = modelOf(rows, sort)
          const edge = order.indexOf(ids.at(backwards ? 0 : -1) ?? 0)
          for (const step of leave) {
            const gone = order[edge + step]
            if (edge < 0 || gone === undefined) continue
            await run(db, 'DELETE FROM things WHERE id = ?', [gone])
            lasting.delete(gone)
            rows = rows.filter((row) => row.id !== gone)
          }
          rows = [...rows, ...(await insert(db, scope, arrive))]
        }
        assert.equal(new Set(seen).size, seen.length, 'a row was seen twice')
        for (const id of begin.filter((id) => lasting.has(id))) {
          assert.ok(seen.includes(id), `row ${id} was there throughout and not seen`)
        }
      }),
      { seed: SEED, numRuns: 60 },
    )
  },
  options,
)

eachService(
  'next, prev, next … at random lands where a model of pages says; deleted anchors included',
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
          // The whole page is deleted: its links lead to what lay beside it.
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
  'a page emptied since leads back to exactly its neighbour, both ways',
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
        const leave = async (gone: readonly number[]) => {
          for (const id of gone) await run(db, 'DELETE FROM things WHERE id = ?', [id])
        }
        if (next) {
          await leave(model.slice(model.indexOf(ids.at(-1)!) + 1))
          const emptied = await ok(service.get(next))
          assert.deepEqual(emptied.body.data, [])
          assert.equal(emptied.body.has_more, false)
          assert.deepEqual(idsOf(await ok(service.get(links(emptied).prev!))), ids)
        }
        if (prev) {
          await leave(model.slice(0, model.indexOf(ids[0]!)))
          const emptied = await ok(service.get(prev))
          assert.deepEqual(emptied.body.data, [])
          assert.equal(emptied.body.cursors.prev, null)
          assert.deepEqual(idsOf(await ok(service.get(links(emptied).next!))), ids)
          await leave(ids)
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
  'a person walks own rows only (§6.7)',
  async (service) => {
    const { db } = service.app
    const collection = resourceCollection(things.definition)
    const view = { fields: collection.columns.map((column) => column.name), item: () => '' }
    const scope = await testScope(db)
    await fc.assert(
      fc.asyncProperty(table, request, async (cells, { sort, filter, limit }) => {
        const rows = await refill(db, cells)
        const text = `limit=${limit}${sortText(sort)}${filter ? filterText(filter) : ''}`
        const asked = parseListQuery(Query.parse(text), collection, view, 'cursor')
        const people = [...new Set(rows.map((row) => row.person_id)), 0]
        assert.ok(people.length <= PEOPLE + 1)
        for (const owner of people) {
          const own = rows.filter((row) => row.person_id === owner)
          const model = modelOf(own, sort, filter)
          const encode = () => ''
          const task = {
            ...{ db, customer: 1, collection, reach: { scope, owner }, request: asked, encode },
          }
          const seen: number[] = []
          let cursor: Cursor | undefined
          do {
            const page = await cursorPage(task, cursor)
            seen.push(...page.rows.map((row) => row[0] as number))
            cursor = page.next ?? undefined
          } while (cursor)
          assert.deepEqual(seen, model)
          const numbered = await numberedPage({ ...task, request: { ...asked, offset: 1 } })
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
