/**
 * §11.5, §7.11: with `expand` the server stops reading at 8 MiB: a page in cursor or keyset style
 * ends early, and a numbered page, or one row, is 400 `page_too_large`.
 */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { fill, follow, idsOf, ok } from '../lists/rows.ts'

const access = { read: 'x:read', create: false, update: false, delete: false } as const
const long = () => f.string().max(65_536)
const parts = resource('parts', {
  fields: { id: f.id(), a: long(), b: long(), c: long() },
  ...{ list: { filter: [], sort: ['id'] }, access, events: [] },
})
const RELATIONS = ['r0', 'r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8', 'r9'] as const
const part = () => f.ref('parts')
const links = resource('links', {
  fields: {
    ...{ id: f.id(), rank: f.int() },
    ...{ r0_id: part(), r1_id: part(), r2_id: part(), r3_id: part(), r4_id: part() },
    ...{ r5_id: part(), r6_id: part(), r7_id: part(), r8_id: part(), r9_id: part() },
  },
  ...{ list: { filter: ['rank'], sort: ['id', 'rank'] }, access, events: [] },
})
const chains = resource('chains', {
  fields: { id: f.id(), link_id: f.ref('links') },
  ...{ list: { filter: [], sort: ['id'] }, access, events: [] },
})
const catalog = service({
  name: 'Catalog',
  versions: { v1: { released: '2026-01-01' } },
  resources: [parts, links, chains],
})

const BOUND = 8 * 1024 * 1024
const LINKS = 12
const PATH = '/api/v1/links'
const EXPAND = `expand=${RELATIONS.join(',')}`
const ids = Array.from({ length: LINKS }, (_, at) => at + 1)

/** Fills links to parts with texts of `length`: ten of each link, which no other link has. */
async function fillLinks({ app }: TestApp, length: number): Promise<void> {
  const text = `replace('${'x'.repeat(length / 32)}', 'x', '${'abcdefghijklmnopqrstuvwxyz012345'}')`
  await fill(app.db, 'parts', LINKS * 10, { a: text, b: text, c: text })
  const references = RELATIONS.map((name, at) => [`${name}_id`, `n * 10 - ${at}`])
  const rank = { rank: `${LINKS} - n` }
  await fill(app.db, 'links', LINKS, { ...rank, ...Object.fromEntries(references) })
  await fill(app.db, 'chains', LINKS, { link_id: 'n' })
}

/** Counts the bytes of parts that are read. */
function countReads({ app }: TestApp) {
  const reads = { bytes: 0, statements: 0 }
  const { arrays } = app.db
  app.db.arrays = async (statement) => {
    const rows = await arrays(statement)
    if (!statement.sql.includes('FROM parts')) return rows
    reads.statements++
    for (const cell of rows.flat()) reads.bytes += typeof cell === 'string' ? cell.length : 0
    return rows
  }
  return reads
}

eachService(
  'a page with expanded rows ends early, or names the limit that fits, and reads no more',
  async (app) => {
    await fillLinks(app, 64_000)
    const reads = countReads(app)
    for (const query of ['limit=20', 'limit=20&sort=-rank,id', 'pagination=keyset&limit=20']) {
      const pages = await follow(app, `${PATH}?${query}&${EXPAND}`)
      assert.deepEqual(pages.flatMap(idsOf), ids, query)
      assert.deepEqual(
        pages.map((page) => page.body.data.length),
        [4, 4, 4],
      )
      assert.equal(pages[0]!.body.data[0].r9.a.length, 64_000)
      for (const page of pages) assert.ok(page.text.length <= BOUND)
    }
    const [first, second] = await follow(app, `${PATH}?limit=20&${EXPAND}`)
    const back = await ok(app.get(`${PATH}?limit=20&${EXPAND}&cursor=${second!.body.cursors.prev}`))
    assert.deepEqual(idsOf(back), idsOf(first!))
    const last = await follow(app, `${PATH}?limit=20`)
    assert.equal(last.length, 1)

    for (const [query, parameter] of [
      ['offset=0&limit=20', 'limit'],
      ['page=1&per_page=20', 'per_page'],
      ['page=1&per_page=20&sort=rank&rank[gte]=0', 'per_page'],
    ]) {
      Object.assign(reads, { bytes: 0 })
      const reply = await app.get(`${PATH}?${query}&${EXPAND}`)
      assert.deepEqual([reply.status, reply.body.error], [400, 'page_too_large'])
      assert.equal(reply.body.errors[0].parameter, parameter)
      assert.match(reply.body.message, new RegExp(`${parameter}=4\\b`))
      assert.ok(reads.bytes <= BOUND + 3 * 65_536, `${reads.bytes} bytes`)
      const fits = await ok(app.get(`${PATH}?${query!.replace('=20', '=4')}&${EXPAND}`))
      assert.equal(idsOf(fits).length, 4)
    }
  },
  { service: catalog },
)

eachService(
  'a page with small expanded rows takes one read of each relation',
  async (app) => {
    await fillLinks(app, 32)
    const reads = countReads(app)
    const page = await ok(app.get(`${PATH}?limit=20&expand=r0`))
    assert.equal(page.body.data.length, LINKS)
    assert.ok(reads.statements <= 2, String(reads.statements))
  },
  { service: catalog },
)

eachService(
  'one row whose expanded rows do not fit is page_too_large',
  async (app) => {
    await fillLinks(app, 32)
    await app.app.db.write((tx) => {
      const text = `UPDATE parts SET a = replace('${'x'.repeat(32_768)}', 'x',
        'abcdefghijklmnopqrstuvwxyz012345')`
      return tx.run({ sql: text, text, values: [] })
    })
    const reads = countReads(app)
    const nested = RELATIONS.map((name) => `link.${name}`).slice(0, 9)
    for (const path of [`${PATH}/1?${EXPAND}`, `/api/v1/chains/1?expand=${nested.join(',')}`]) {
      Object.assign(reads, { bytes: 0 })
      const reply = await app.get(path)
      assert.deepEqual([reply.status, reply.body.error], [400, 'page_too_large'])
      assert.ok(reads.bytes <= BOUND + 1_048_676, `${reads.bytes} bytes`)
    }
    assert.equal((await app.get(`${PATH}/1?expand=r0,r1`)).status, 200)
  },
  { service: catalog },
)
