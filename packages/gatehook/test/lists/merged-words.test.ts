/**
 * §7.12, §11.5: a row can be an entry of several words of one term. A page counts the entries that
 * it passes, not only the rows that it returns.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { resourceCollection } from '../../src/declare/resources/table.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { prepareStatement } from '../../src/platform/storage/sql.ts'
import { CONCURRENT_BOUNDS } from '../../src/protocol/lists/bounds.ts'
import { readBoundedKeys } from '../../src/protocol/lists/page-plan.ts'
import { ACCESS, HEAD } from '../storage/team-database.ts'
import { fill, follow, idsOf, ok, run } from './rows.ts'

const NOTES = service({
  ...HEAD,
  resources: [
    resource('notes', {
      fields: { id: f.id(), text: f.string() },
      list: { filter: [], sort: ['id'] },
      access: ACCESS,
      events: [],
      search: ['text'],
    }),
  ],
})
const WORDS = ['qa', 'qb', 'qc', 'qd', 'qe', 'qf', 'qg', 'qh']

eachService(
  'pages of a term whose words share rows have each row once, in both directions',
  async ({ get, post }) => {
    const texts = ['qa qb', 'qb', 'x', 'qc qa qh', 'qh', 'qb qc qd qe qf qg qh', 'qa']
    for (const text of texts) await post('/api/v1/notes', { text })
    const expected = [1, 2, 4, 5, 6, 7]
    for (const limit of [1, 2, 5]) {
      const path = `/api/v1/notes?q=q&limit=${limit}`
      const walked = async (order: string) =>
        (await follow({ get }, `${path}&sort=${order}`)).flatMap(idsOf)
      assert.deepEqual(await walked('id'), expected)
      assert.deepEqual(await walked('-id'), expected.toReversed())
    }
    assert.deepEqual(
      idsOf(await ok(get('/api/v1/notes?q=q&pagination=offset&offset=2'))),
      [4, 5, 6, 7],
    )
  },
  { service: NOTES },
)

const seeks = prepareStatement(`SELECT coalesce(sum(idx_scan), 0) AS n
  FROM pg_stat_xact_user_tables WHERE relname = 'gh_words_notes'`)

test('a page of rows with eight words of a term looks up few entries', async (t) => {
  const { app } = await openService(t, 'postgres', { service: NOTES })
  const rows = 5_000
  const scope = await fill(app.db, 'notes', rows, { text: "'qa qb qc qd qe qf qg qh'" })
  const values = WORDS.map((word) => `('${word}')`).join(', ')
  await run(
    app.db,
    `INSERT INTO gh_words_notes (scope, word, id)
       SELECT ${scope}, w.word, n.id FROM notes AS n CROSS JOIN (VALUES ${values}) AS w(word)`,
  )
  const walk = {
    collection: resourceCollection(NOTES.definition.resources[0]!),
    scope,
    owner: undefined,
    sort: [{ column: 'id', descending: false }],
    backward: false,
    anchor: undefined,
    terms: [{ first: 'q', end: 'r' }],
    inclusive: false,
    limit: 21,
    skip: 0,
    filters: [],
  }
  await app.db.snapshot(async (reader) => {
    const before = Number((await reader.get(seeks([])))!.n)
    const keys = await readBoundedKeys(reader, walk, CONCURRENT_BOUNDS)
    const after = Number((await reader.get(seeks([])))!.n)
    assert.equal(keys.length, 21)
    const most = 2 * WORDS.length * CONCURRENT_BOUNDS.rows
    assert.ok(after - before < most, `${after - before} look-ups`)
  })
})
