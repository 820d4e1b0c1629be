/**
 * §7.9, §7.10: on skewed data, each declared sort runs a hundred times on one connection: with each
 * declared filter, without a filter, and for a person. Common and rare values alternate. The rows
 * that PostgreSQL reads for a page stay bounded, whichever values precede it. The test counts rows
 * that indexes fetched and measures no time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'
import { api } from '../../service/service.ts'
import { resourceCollection } from '../../src/declare/resources/table.ts'
import type { Database, Reader } from '../../src/platform/storage/database.ts'
import { prepareStatement } from '../../src/platform/storage/sql.ts'
import { BoundsExceeded, CONCURRENT_BOUNDS } from '../../src/protocol/lists/bounds.ts'
import type { Key } from '../../src/protocol/lists/cursor.ts'
import { isServedByIndex, readBoundedKeys } from '../../src/protocol/lists/page-plan.ts'
import { pageStatement } from '../../src/protocol/lists/page-query.ts'
import type { Walk } from '../../src/protocol/lists/walk.ts'
import { fill, fillUsers } from '../lists/rows.ts'

const ROWS = 20_000
/** Rows with the rare values. */
const RARE_ROWS = 20
const RUNS = 100
const PAGE = 21
/** Rows of a page that one index serves: after its position, ties and others are two ranges. */
const SERVED_MAX = 2 * PAGE
/** Two counts and one read of at most 400 rows each. */
const FETCHED_MAX = 1_200

/** One row in a thousand has the rare value; these rows are the last in every order. */
const values: Readonly<Record<string, readonly [common: string | number, rare: string | number]>> =
  {
    status: ['paid', 'cancelled'],
    currency: ['EUR', 'JPY'],
    user_id: [1, 2],
    amount: [1, 900],
  }

const fetched = prepareStatement(`SELECT coalesce(sum(idx_tup_fetch + seq_tup_read), 0) AS n
  FROM pg_stat_xact_user_tables WHERE relname = 'orders'`)

/** Reads a page, and returns whether its bounds sufficed and how many rows PostgreSQL fetched. */
async function readPage(
  reader: Reader,
  walk: Walk,
): Promise<{ readonly isComplete: boolean; readonly rows: number }> {
  const before = Number((await reader.get(fetched([])))!.n)
  let isComplete = true
  try {
    if (isServedByIndex(walk)) await reader.arrays(pageStatement(walk))
    else await readBoundedKeys(reader, walk, CONCURRENT_BOUNDS)
  } catch (error) {
    if (!(error instanceof BoundsExceeded)) throw error
    isComplete = false
  }
  return { isComplete, rows: Number((await reader.get(fetched([])))!.n) - before }
}

/** Fills orders of two persons, and returns the walk of their first page. */
async function fillSkewed(app: { readonly db: Database }): Promise<Walk> {
  await fillUsers(app.db, 2)
  const last = `n > ${ROWS} - ${RARE_ROWS}`
  const scope = await fill(app.db, 'orders', ROWS, {
    user_id: `CASE WHEN ${last} THEN 2 ELSE 1 END`,
    status: `CASE WHEN ${last} THEN 'cancelled' ELSE 'paid' END`,
    currency: `CASE WHEN ${last} THEN 'JPY' ELSE 'EUR' END`,
    amount: `CASE WHEN ${last} THEN 900 ELSE 1 END`,
    created_at: 'n',
    updated_at: 'n',
    note: "'n' || n",
  })
  await app.db.migrate(async (_, ddl) => ddl('ANALYZE orders'))
  return {
    collection: resourceCollection(api.definition.resources.find(({ name }) => name === 'orders')!),
    scope,
    owner: undefined,
    sort: [],
    backward: false,
    anchor: undefined,
    terms: [],
    inclusive: false,
    limit: PAGE,
    skip: 0,
    filters: [],
  }
}

/** Returns the sort keys of a column, in one direction. */
const sortBy = (column: string, descending: boolean): Walk['sort'] => [
  ...(column === 'id' ? [] : [{ column, descending }]),
  { column: 'id', descending },
]

/** Runs the pages of a walk's sorts. `choose` returns the walk with a common or a rare value. */
async function readSorts(
  reader: Reader,
  walk: Walk,
  choose: (sorted: Walk, isRare: boolean) => Walk,
  verify: (isComplete: boolean, sort: string, isRare: boolean) => void,
): Promise<void> {
  for (const sort of walk.collection.sort) {
    for (const descending of [false, true]) {
      const sorted = { ...walk, sort: sortBy(sort, descending) }
      for (let run = 0; run < RUNS / 2; run++) {
        const isRare = run % 10 === 9
        const chosen = choose(sorted, isRare)
        const most = isServedByIndex(chosen) ? SERVED_MAX : FETCHED_MAX
        const { isComplete, rows } = await readPage(reader, chosen)
        assert.ok(rows <= most, `sort ${sort}, run ${run}: ${rows} rows`)
        verify(isComplete, sort, isRare)
      }
    }
  }
}

test('a hundred pages of each filter and sort read few rows each', async (t) => {
  const { app } = await openService(t, 'postgres')
  const walk = await fillSkewed(app)
  await app.db.snapshot(
    async (reader) => {
      for (const [column, [common, rare]] of Object.entries(values)) {
        await readSorts(
          reader,
          walk,
          (sorted, isRare) => ({
            ...sorted,
            filters: [{ column, operator: 'eq', values: [isRare ? rare : common] }],
          }),
          (isComplete, sort) => assert.ok(isComplete, `filter ${column}, sort ${sort}`),
        )
      }
    },
    { ordered: true },
  )
})

test('a hundred unfiltered pages of each sort read few rows each, at any depth', async (t) => {
  const { app } = await openService(t, 'postgres')
  const walk = await fillSkewed(app)
  /** The position of row `n` in the order of a sort. */
  const anchorAt = (sorted: Walk, n: number): Key[] =>
    sorted.sort.map(({ column }) => values[column]?.[n > ROWS - RARE_ROWS ? 1 : 0] ?? n)
  await app.db.snapshot(
    (reader) =>
      readSorts(
        reader,
        walk,
        (sorted, isRare) => ({
          ...sorted,
          anchor: anchorAt(sorted, isRare ? ROWS - RARE_ROWS / 2 : ROWS / 2),
        }),
        (isComplete, sort) => assert.ok(isComplete, `sort ${sort}`),
      ),
    { ordered: true },
  )
})

test('a hundred pages of each sort of a person read few rows each', async (t) => {
  const { app } = await openService(t, 'postgres')
  const walk = await fillSkewed(app)
  await app.db.snapshot(
    (reader) =>
      readSorts(
        reader,
        walk,
        (sorted, isRare) => ({ ...sorted, owner: isRare ? 2 : 1 }),
        // More rows than the bound are read in the order of the id only (§7.9).
        (isComplete, sort, isRare) =>
          assert.equal(isComplete, isRare || sort === 'id', `sort ${sort}, rare ${isRare}`),
      ),
    { ordered: true },
  )
})
