/**
 * §15.9: a walk in the order of a field of another table returns each row once, in order, where
 * many rows refer to one row, many rows have one value, and values are rare.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { resourceCollection } from '../../src/declare/resources/table.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import type { Reader } from '../../src/platform/storage/database.ts'
import { BoundsExceeded, LONG_READ_BOUNDS } from '../../src/protocol/lists/bounds.ts'
import { relatedName } from '../../src/protocol/lists/collection.ts'
import { readBoundedKeys } from '../../src/protocol/lists/page-plan.ts'
import { all, fill, follow, ok } from './rows.ts'

const access = { read: 't:read', create: 't:write', update: 't:write', delete: false } as const
const list = { filter: [], sort: ['id'] } as const
const cities = resource('cities', {
  fields: { id: f.id(), name: f.string().max(40) },
  list,
  access,
  events: [],
})
const buyers = resource('buyers', {
  fields: {
    id: f.id(),
    city_id: f.ref('cities').nullable(),
    name: f.string().max(40),
    rank: f.int().nullable(),
    shoe: f.int(),
  },
  list,
  access,
  events: [],
})
const paths = [
  'buyer.name',
  'buyer.rank',
  'second.shoe',
  'second.city.name',
  'buyer.city.id',
] as const
const sales = resource('sales', {
  fields: {
    id: f.id(),
    buyer_id: f.ref('buyers'),
    second_id: f.ref('buyers').nullable(),
    amount: f.int(),
  },
  list: { filter: [...paths, 'amount'], sort: [...paths, 'amount'] },
  access,
  events: [],
})
const versions = { v1: { released: '2025-01-01' } }
const shop = service({ name: 'Shop', versions, resources: [cities, buyers, sales] })

/** Rows of one buyer: more than a read beside other requests examines. */
const OF_ONE = 600

const values: Readonly<Record<(typeof paths)[number], string>> = {
  'buyer.name': '(SELECT name FROM buyers b WHERE b.id = s.buyer_id)',
  'buyer.rank': '(SELECT rank FROM buyers b WHERE b.id = s.buyer_id)',
  'second.shoe': '(SELECT shoe FROM buyers b WHERE b.id = s.second_id)',
  'second.city.name':
    '(SELECT c.name FROM buyers b JOIN cities c ON c.id = b.city_id WHERE b.id = s.second_id)',
  'buyer.city.id': '(SELECT b.city_id FROM buyers b WHERE b.id = s.buyer_id)',
}
const filters: Readonly<Record<string, string>> = {
  '': '1 = 1',
  '&amount=3': 'amount = 3',
  '&buyer.rank[gte]=1': '(SELECT rank FROM buyers b WHERE b.id = s.buyer_id) >= 1',
  // More rows than a read beside other requests examines, and fewer.
  '&buyer.name[gte]=b12': `${values['buyer.name']} >= 'b12'`,
  '&second.city.name[in]=c1,c3': `${values['second.city.name']} IN ('c1', 'c3')`,
}

eachService(
  'each walk returns the rows in order, forwards and back',
  async (app) => {
    const { db } = app.app
    await fill(db, 'cities', 5, { name: "'c' || n" })
    await fill(db, 'buyers', 500, {
      city_id: 'CASE WHEN n % 10 = 0 THEN NULL ELSE 1 + n % 5 END',
      name: "'b' || n",
      rank: 'CASE WHEN n % 7 = 0 THEN NULL ELSE n % 2 END',
      shoe: '1',
    })
    await fill(db, 'sales', 1200, {
      buyer_id: `CASE WHEN n <= ${OF_ONE} THEN 1 ELSE 1 + n % 500 END`,
      second_id: 'CASE WHEN n % 400 = 0 THEN NULL ELSE 1 + n % 500 END',
      amount: 'n % 5',
    })
    for (const path of paths) {
      for (const [filter, condition] of Object.entries(filters)) {
        for (const sign of ['', '-']) {
          const direction = sign === '' ? '' : ' DESC'
          const value = values[path]
          const expected = await all(
            db,
            `SELECT id FROM (SELECT s.id, ${value} AS value FROM sales s WHERE ${condition}) AS rows
             ORDER BY value IS NULL${direction}, value${direction}, id${direction}`,
          )
          const query = `/api/v1/sales?sort=${sign}${path}${filter}&limit=100&fields=id`
          const pages = await follow(app, query)
          const ids = pages.map((page) => page.body.data.map(({ id }: { id: number }) => id))
          assert.deepEqual(
            ids.flat(),
            expected.map(({ id }) => id),
            query,
          )
          const { prev } = pages.at(-1)!.body.cursors
          if (prev === null) continue
          const back = await ok(app.get(`${query}&cursor=${prev}`))
          const before = back.body.data.map(({ id }: { id: number }) => id)
          assert.deepEqual(before, ids.at(-2), `back: ${query}`)
        }
      }
    }
    const numbered = await ok(app.get('/api/v1/sales?sort=buyer.rank&page=4&per_page=100'))
    const third = await ok(app.get('/api/v1/sales?sort=buyer.rank&offset=300&limit=100'))
    assert.deepEqual(numbered.body.data, third.body.data)
    assert.equal(numbered.body.total, 1200)
  },
  { service: shop },
)

eachService(
  'a filter beside a sort reads the other table alone, in few statements',
  async (app) => {
    const { db } = app.app
    const { snapshot, longRead } = db
    let statements = 0
    const countStatements = (reader: Reader): Reader => ({
      ...reader,
      arrays(statement) {
        statements += 1
        return reader.arrays(statement)
      },
    })
    db.snapshot = (read, options) => snapshot((reader) => read(countStatements(reader)), options)
    db.longRead = (customer, read) => longRead(customer, (reader) => read(countStatements(reader)))
    // The matching rows are the last of the order: more than a read beside other requests counts.
    await fill(db, 'buyers', 2_000, {
      name: "'b' || (10000 + n)",
      rank: 'CASE WHEN n > 1500 THEN 1 ELSE 0 END',
      shoe: '1',
    })
    await fill(db, 'sales', 2_000, { buyer_id: 'n', amount: '1' })
    const query = '/api/v1/sales?sort=buyer.name&buyer.rank=1&limit=3&fields=id'
    const { data } = (await ok(app.get(query))).body
    assert.deepEqual(data, [{ id: 1501 }, { id: 1502 }, { id: 1503 }])
    assert.ok(statements > 0 && statements <= 12, `${statements} statements`)
  },
  { service: shop },
)

eachService(
  'rows that a page reads before it plans are part of its bound (§7.10)',
  async ({ app: { db } }) => {
    await fill(db, 'buyers', 2, { name: "'b' || n", shoe: '1' })
    // The last 1,000 rows match: no early read reaches them.
    const scope = await fill(db, 'sales', 12_000, {
      buyer_id: 'CASE WHEN n > 11000 THEN 2 ELSE 1 END',
      amount: '1',
    })
    const { resources } = shop.definition
    const definition = resources.find(({ name }) => name === 'sales')!
    const collection = resourceCollection(definition, resources, { database: db.name })
    const walk = {
      ...{ collection, scope, owner: undefined },
      ...{ backward: false, inclusive: false, anchor: undefined, terms: [], skip: 0 },
      filters: [{ column: relatedName('buyer.name'), operator: 'eq', values: ['b2'] } as const],
      sort: [{ column: 'id', descending: false }],
    }
    const read = (rows: number, limit: number) =>
      db.snapshot(
        (reader) => readBoundedKeys(reader, { ...walk, limit }, { ...LONG_READ_BOUNDS, rows }),
        { ordered: true },
      )
    // An early read of 8,000 rows leaves 1,000 for the range of the filter, or fewer.
    assert.equal((await read(9_000, 100)).length, 100)
    await assert.rejects(read(8_999, 100), BoundsExceeded)
    // A small page reads 4,000 rows early.
    assert.equal((await read(8_999, 2)).length, 2)
  },
  { service: shop },
)
