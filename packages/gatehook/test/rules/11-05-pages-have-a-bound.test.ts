/**
 * §11.5: a page has at most 8 MiB of JSON. In cursor and keyset style it ends early and the walk
 * returns every row once; a numbered page is 400 `page_too_large` with the limit that fits.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { fill, follow, idsOf, ok } from '../lists/rows.ts'

const long = () => f.string().max(65_536)
const archive = service({
  name: 'Archive',
  versions: { v1: { released: '2025-06-01' } },
  resources: [
    resource('papers', {
      fields: { id: f.id(), size: f.int(), kind: f.int(), a: long(), b: long(), c: long() },
      list: { filter: ['kind'], sort: ['id', 'size'] },
      access: { read: 'papers:read', create: false, update: false, delete: false },
      events: [],
    }),
  ],
})

const ROWS = 100
const PARALLEL = 5
const PATH = '/api/v1/papers'
const BOUND = 8 * 1024 * 1024
const ids = Array.from({ length: ROWS }, (_, at) => at + 1)

eachService(
  'a page of large rows ends early, or names the limit that fits',
  async (app) => {
    // Three times 65,536 characters a row: 42 rows fit, and a page of 100 would have 19 MB.
    const letters = 'abcdefghijklmnopqrstuvwxyz012345'
    const wide = `replace('${'x'.repeat(2048)}', 'x', '${letters}')`
    await fill(app.app.db, 'papers', ROWS, {
      ...{ size: '100 - n', kind: 'n % 2', a: wide, b: wide, c: wide },
    })
    for (const query of ['limit=100', 'limit=100&sort=-size,id', 'pagination=keyset&limit=100']) {
      const pages = await follow(app, `${PATH}?${query}`)
      assert.deepEqual(pages.flatMap(idsOf), ids, query)
      assert.equal(pages.length, 3, query)
      for (const page of pages) assert.ok(page.text.length <= BOUND, `${page.text.length}`)
      assert.deepEqual(
        pages.map((page) => page.body.has_more),
        [true, true, false],
      )
    }
    const [first, second] = await follow(app, `${PATH}?limit=100`)
    const back = await ok(app.get(`${PATH}?limit=100&cursor=${second!.body.cursors.prev}`))
    assert.deepEqual(idsOf(back), idsOf(first!))
    // The same for lists that are sorted in memory.
    const odd = ids.filter((id) => id % 2 === 1)
    const sorted = await follow(app, `${PATH}?limit=100&kind=1&sort=-size`)
    assert.deepEqual(sorted.flatMap(idsOf), odd)

    for (const [query, parameter] of [
      ['offset=0&limit=100', 'limit'],
      ['page=1&per_page=100', 'per_page'],
    ]) {
      const reply = await app.get(`${PATH}?${query}`)
      assert.equal(reply.status, 400)
      assert.equal(reply.body.error, 'page_too_large')
      assert.equal(reply.body.errors[0].parameter, parameter)
      const fitting = new RegExp(`${parameter}=(\\d+)`).exec(reply.body.message)![1]!
      assert.equal(fitting, String(idsOf(first!).length))
      const fits = await ok(app.get(`${PATH}?${query!.replace('=100', `=${fitting}`)}`))
      assert.equal(idsOf(fits).length, Number(fitting))
    }
  },
  { service: archive },
)

eachService(
  'concurrent lists of large rows of one caller are read in turn',
  async ({ app, get }) => {
    await fill(app.db, 'papers', ROWS, { size: 'n', kind: 'n', a: "'a'", b: "'b'", c: "'c'" })
    const { arrays } = app.db
    const reads = { underWay: 0, most: 0, all: 0 }
    app.db.arrays = async (statement) => {
      if (!statement.sql.includes('FROM papers')) return arrays(statement)
      reads.all++
      reads.most = Math.max(reads.most, ++reads.underWay)
      return arrays(statement).finally(() => reads.underWay--)
    }
    const pages = await Promise.all(
      Array.from({ length: PARALLEL }, () => get(`${PATH}?limit=5&fields=id,size`)),
    )
    for (const page of pages) assert.equal(page.status, 200, page.text)
    assert.deepEqual([reads.most, reads.all], [1, PARALLEL])
  },
  { service: archive },
)

eachService(
  'a page reads no more than its bound, whatever rows follow small ones',
  async ({ app, get }) => {
    const long = `replace('${'x'.repeat(2048)}', 'x', 'abcdefghijklmnopqrstuvwxyz012345')`
    const wide = `CASE WHEN n <= 8 THEN '' ELSE ${long} END`
    await fill(app.db, 'papers', ROWS, { size: 'n', kind: 'n', a: wide, b: wide, c: wide })
    const { arrays } = app.db
    let bytes = 0
    app.db.arrays = async (statement) => {
      const rows = await arrays(statement)
      if (!statement.sql.includes('FROM papers')) return rows
      for (const cell of rows.flat()) bytes += typeof cell === 'string' ? cell.length : 0
      return rows
    }
    const page = await ok(get(`${PATH}?limit=100`))
    assert.ok(page.body.data.length < ROWS && page.body.has_more)
    assert.ok(bytes <= BOUND + 3 * 65_536, `${bytes} bytes`)
  },
  { service: archive },
)
