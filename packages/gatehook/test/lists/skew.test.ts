/**
 * §7.10: on skewed data, each declared filter runs with each declared sort a hundred times on one
 * connection, with common and rare values. The rows that PostgreSQL reads for a page stay bounded,
 * whichever values precede it. The test counts rows that indexes fetched and measures no time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'
import { api } from '../../service/service.ts'
import { CONCURRENT_BOUNDS } from '../../src/lists/bounds.ts'
import { isServedByIndex, readBoundedKeys } from '../../src/lists/page-plan.ts'
import { pageStatement } from '../../src/lists/page-query.ts'
import type { Walk } from '../../src/lists/walk.ts'
import { resourceCollection } from '../../src/resources/table.ts'
import type { Reader } from '../../src/storage/database.ts'
import { prepareStatement } from '../../src/storage/sql.ts'
import { fill, fillUsers } from '../lists/rows.ts'

const ROWS = 20_000
const RUNS = 100
const PAGE = 21
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

async function readPage(reader: Reader, walk: Walk): Promise<number> {
  const before = Number((await reader.get(fetched([])))!.n)
  if (isServedByIndex(walk)) await reader.arrays(pageStatement(walk))
  else await readBoundedKeys(reader, walk, CONCURRENT_BOUNDS)
  return Number((await reader.get(fetched([])))!.n) - before
}

test('a hundred pages of each filter and sort read few rows each', async (t) => {
  const { app } = await openService(t, 'postgres')
  await fillUsers(app.db, 2)
  const last = `n > ${ROWS} - 20`
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
  const collection = resourceCollection(
    api.definition.resources.find(({ name }) => name === 'orders')!,
  )
  const id = { column: 'id', descending: false }
  await app.db.snapshot(
    async (reader) => {
      for (const [column, [common, rare]] of Object.entries(values)) {
        for (const sort of collection.sort) {
          const keys = sort === 'id' ? [id] : [{ column: sort, descending: false }, id]
          let worst = 0
          for (let run = 0; run < RUNS; run++) {
            const value = run % 10 === 9 ? rare : common
            const walk: Walk = {
              collection,
              scope,
              owner: undefined,
              sort: keys,
              backward: false,
              anchor: undefined,
              terms: [],
              inclusive: false,
              limit: PAGE,
              skip: 0,
              filters: [{ column, operator: 'eq', values: [value] }],
            }
            worst = Math.max(worst, await readPage(reader, walk))
          }
          assert.ok(worst <= FETCHED_MAX, `filter ${column}, sort ${sort}: ${worst} rows`)
        }
      }
    },
    { ordered: true },
  )
})
