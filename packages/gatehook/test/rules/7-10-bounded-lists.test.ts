/**
 * §7.10: a list request examines at most 50,000 rows and counts at most 100,000. A larger request
 * gives 400 `query_too_expensive`, which names the sorts and filters that an index serves. Within
 * the bounds every filter and sort can be combined.
 */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { fill, idsOf, ok } from '../lists/rows.ts'

const access = { read: 'parcels:read', create: false, update: false, delete: false } as const

/** `kind` and `rank` have an index each; `kind` and `place` have one in common. */
const depot = service({
  name: 'Depot',
  versions: { v1: { released: '2025-06-01' } },
  resources: [
    resource('parcels', {
      fields: {
        id: f.id(),
        kind: f.string().max(10),
        rank: f.int(),
        place: f.int(),
        colour: f.string().max(10),
      },
      list: { filter: ['kind', 'rank', 'colour'], sort: ['id', 'rank', ['kind', 'place']] },
      access,
      events: [],
    }),
  ],
})
const options = { service: depot }

const PATH = '/api/v1/parcels?limit=3'
const ALL = 150_100
/** The first 50,001 rows by id have low ranks, the last 100,000 high ranks. */
const columns = {
  rank: 'n',
  place: `${ALL} - n`,
  colour: "CASE WHEN n % 2 = 0 THEN 'red' ELSE 'blue' END",
  kind: `CASE WHEN n <= 50001 THEN 'early' WHEN n <= 50100 THEN 'few' WHEN n <= 100100 THEN 'half'
    ELSE 'late' END`,
}

async function expensive(
  { get }: TestApp,
  query: string,
  parameter: string,
  advice: RegExp,
): Promise<void> {
  const reply = await get(`${PATH}&${query}`)
  assert.equal(reply.status, 400, `${query}: ${reply.text}`)
  assert.equal(reply.body.error, 'query_too_expensive', query)
  assert.equal(reply.body.errors[0].parameter, parameter, query)
  assert.match(reply.body.message, advice, query)
}

const served = async ({ get }: TestApp, query: string, ids: number[]): Promise<void> => {
  assert.deepEqual(idsOf(await ok(get(`${PATH}&${query}`))), ids, query)
}

eachService(
  'a list within the bounds is served; a larger one gives the served sorts and filters',
  async (app) => {
    await fill(app.app.db, 'parcels', ALL, columns)
    // All rows of the filter are last in the order: 50,000 rows are sorted.
    await served(app, 'kind=half&sort=rank', [50_101, 50_102, 50_103])
    await served(app, 'kind=half&sort=-rank,id', [100_100, 100_099, 100_098])
    await served(app, 'kind=few&sort=rank&colour=red', [50_002, 50_004, 50_006])
    // 50,001 rows that are first in the order: the index fills the page at once.
    await served(app, 'kind=early&sort=rank', [1, 2, 3])
    // The same rows are last in the order: no index serves them within 50,000 rows.
    await expensive(app, 'kind[in]=early&sort=-rank', 'sort', /Sort \w+ id or place[^.]*\.$/)
    // The index on two columns serves the filter in the order of its second column.
    await served(app, 'kind=early&sort=place', [50_001, 50_000, 49_999])
    await served(app, 'kind=late&sort=-place', [100_101, 100_102, 100_103])
    await served(app, 'sort=kind,place', [50_001, 50_000, 49_999])
    // No index has this order of columns.
    await expensive(app, 'sort=kind,-rank', 'sort', /50,000 rows\. Sort \w+ id or rank/)
    await served(app, 'sort=rank,-kind,place', [1, 2, 3])
    // Half of the rows match and fill a page early; the index finds that no row matches.
    await served(app, 'colour=red&sort=-rank', [150_100, 150_098, 150_096])
    await served(app, 'colour=green&sort=-rank', [])
    // Each filter has more than 50,000 rows, and the first 50,001 rows match only one filter.
    const filters = 'rank[lte]=90000&colour[ne]=blue&kind[ne]=early'
    await expensive(app, filters, 'rank[lte]', /rows\. Leave out a filter\.$/)
  },
  options,
)

eachService(
  'a filtered total counts at most 100,000 rows',
  async (app) => {
    await fill(app.app.db, 'parcels', ALL, columns)
    const count = async (query: string) => {
      const reply = await app.get(`/api/v1/parcels?per_page=3&${query}`)
      return reply.status === 200 ? reply.body.total : reply.body
    }
    assert.equal(await count('kind=late'), 50_000)
    assert.equal(await count('rank[lte]=100000'), 100_000)
    assert.equal(await count('kind=half&colour=red&sort=rank'), 25_000)
    assert.equal(await count(''), ALL)
    const refused = await count('rank[lte]=100001')
    assert.equal(refused.error, 'query_too_expensive')
    assert.match(refused.message, /100,000 rows.*cursor/)
    // The page is in the middle of 50,000 sorted rows.
    const page = await ok(app.get('/api/v1/parcels?page=8000&per_page=3&kind=half&sort=rank'))
    assert.deepEqual(idsOf(page), [74_098, 74_099, 74_100])
  },
  options,
)
