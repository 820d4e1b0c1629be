/** §15.4: the columns of `table(…)`, the items of its lists, and refused statements. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { f, resource, service, sql, table, unscopedSql } from '../../src/gatehook.ts'
import { createLog } from '../../src/kernel/log.ts'

const line = f.object({
  sku: f.string(),
  count: f.int(),
  weight: f.number(),
  gift: f.bool(),
  price: f.decimal(8, 2).nullable(),
  // A keyword of both databases.
  order: f.int(),
})
const sales = resource('sales', {
  fields: {
    id: f.id('sa'),
    pin: f.string().writeOnly(),
    price: f.decimal(8, 2),
    at: f.time(),
    paid: f.bool(),
    email: f.email(),
    note: f.string().nullable().default(null),
    place: f.object({ city: f.string() }),
    lines: f.array(line, { max: 9 }),
    marks: f.array(f.int(), { max: 9 }).nullable().default(null),
  },
  list: { filter: ['email'], sort: [] },
  access: { read: 's:read', create: 's:write', update: false, delete: 's:write' },
  events: [],
})
const strangers = resource('strangers', {
  fields: { id: f.id() },
  list: { filter: [], sort: [] },
  access: { read: 's:read', create: false, update: false, delete: false },
  events: [],
})

const queries = {
  columns: sql`SELECT * FROM ${table(sales)}`,
  items: sql`SELECT l.* FROM ${table(sales, { items: 'lines', as: 'l' })} ORDER BY count`,
  values: sql`SELECT sum(value) AS total, count(*) AS n FROM ${table(sales, { items: 'marks' })}`,
  joined: sql`SELECT S.price, sum("my lines".count * "my lines".weight) AS weight
    FROM ${table(sales, { as: 's' })}
    JOIN ${table(sales, { items: 'lines', as: 'my lines' })} ON sales_id = s.id GROUP BY s.price`,
  part: sql`SELECT paid FROM ${table(sales)} WHERE ${sql`at > ${5} AND price = ${250}`}`,
  foreign: sql`SELECT * FROM sales`,
  engine: sql`SELECT * FROM gh_customers`,
  written: sql`UPDATE sales SET price = 0`,
  plain: { sql: 'SELECT 1', text: 'SELECT 1', values: [] } as never,
  unknown: sql`SELECT * FROM ${table(strangers)}`,
  unscoped: unscopedSql`SELECT count(*) AS n FROM sales`,
}

const shop = service({
  name: 'shop',
  versions: { v1: { released: '2026-01-01' } },
  resources: [sales],
}).route({
  method: 'GET',
  path: '/queries/:name',
  scope: 's:read',
  summary: 'A query',
  handle: async ({ params, read }) => ({
    body: await read.sql.all(queries[params.name as keyof typeof queries]),
  }),
})

const item = { sku: 'a', count: 2, weight: 0.5, gift: true, price: '2.50', order: 1 }
const sale = {
  pin: '1234',
  price: '2.50',
  at: '1970-01-01T00:00:00.010Z',
  paid: true,
  email: 'Ann@example.com',
  place: { city: 'Rom' },
  lines: [item, { ...item, sku: 'b', count: 3, gift: false, price: null }],
  marks: [3, 4],
}

eachService(
  'a table has the stored columns of its rows, and of the items of a list',
  async (app) => {
    const { id } = (await app.post('/api/v1/sales', sale)).body
    const rowsOf = async (name: string) => (await app.get(`/api/v1/queries/${name}`)).body
    assert.deepEqual(await rowsOf('columns'), [
      {
        ...{ id, price: 250, at: 10, paid: 1, email: 'Ann@example.com', note: null },
        ...{ place: '{"city":"Rom"}', lines: JSON.stringify(sale.lines), marks: '[3,4]' },
      },
    ])
    assert.deepEqual(await rowsOf('items'), [
      { sales_id: id, sku: 'a', count: 2, weight: 0.5, gift: 1, price: '2.50', order: 1 },
      { sales_id: id, sku: 'b', count: 3, weight: 0.5, gift: 0, price: null, order: 1 },
    ])
    assert.deepEqual(await rowsOf('values'), [{ total: 7, n: 2 }])
    assert.deepEqual(await rowsOf('joined'), [{ price: 250, weight: 2.5 }])
    assert.deepEqual(await rowsOf('part'), [{ paid: 1 }])
    await app.as(await app.key({ mode: 'live' })).post('/api/v1/sales', sale)
    assert.deepEqual(await rowsOf('unscoped'), [{ n: 2 }])
  },
  { service: shop },
)

test('a refused statement is a mistake of the code, with its file and line', async (t) => {
  const lines: string[] = []
  const log = createLog({ level: 'error', destination: { write: (text) => void lines.push(text) } })
  const app = await openService(t, 'sqlite', { service: shop, log })
  const file = 'packages/gatehook/test/rules/15-04-tables-in-own-sql.test.ts'
  for (const [name, reason] of Object.entries({
    foreign: 'sql: sales is no table of sql: write ',
    engine: 'sql: gh_customers is no table of sql',
    written: 'sql: sql reads',
    plain: 'sql: a statement is sql`…` or unscopedSql`…`',
    unknown: 'the service has no resource strangers',
  })) {
    lines.length = 0
    assert.equal((await app.get(`/api/v1/queries/${name}`)).status, 500)
    const text = lines.join()
    assert.ok(text.includes(reason) && text.includes(file), `${name}: ${text}`)
  }
})

test('a table that cannot be is a mistake of its call', () => {
  const mistakes: [options: object, reason: RegExp][] = [
    [{ as: '' }, /as: a name has 1 to 63 bytes/],
    [{ as: 'ä'.repeat(32) }, /as: a name/],
    [{ items: 'note' }, /items: note is no f\.array/],
    [{ alias: 'x' }, /there is no member alias/],
  ]
  for (const [options, reason] of mistakes) assert.throws(() => table(sales, options), reason)
})
