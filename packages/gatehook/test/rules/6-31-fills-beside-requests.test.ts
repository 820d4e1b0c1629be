/** §6.31, §7.12: a job fills one value beside requests: it rests, reports, and is resumed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachMigrated, migratedUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { createRefillHandlers } from '../../src/declare/resources/refills.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import { service } from '../../src/declare/resources/service.ts'
import { enqueueNamed } from '../../src/platform/jobs/queue.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { f } from '../../src/protocol/fields/f.ts'
import { rigOf, START_MS } from '../jobs/runner-rig.ts'

const options = {
  access: { read: 'r', create: 'w', update: 'w', delete: 'w' },
  events: [],
} as const
const list = { filter: [], sort: [] } as const
const count = f.int().default(1)
const base = { name: 'till', versions: { v1: { released: '2025-01-01' } } }
const { definition: previous } = service({
  ...base,
  resources: [resource('lines', { ...options, fields: { id: f.id(), text: f.string() }, list })],
})
const { definition } = service({
  ...base,
  resources: [
    resource('guests', {
      ...options,
      fields: { id: f.id(), mail: f.email(), count, key: f.computed(f.int().unique()).stored() },
      list,
    }).compute('key', (row) => row.count),
    resource('lines', {
      ...options,
      fields: {
        id: f.id(),
        text: f.string(),
        count,
        double: f.computed(f.int().default(0)).stored(),
      },
      list,
      search: ['text'],
    }).compute('double', (row) => row.count * 2),
  ],
})
const ROWS = 1_200
const DOUBLE = 'lines.double'
const WORDS = 'lines words of text 2'

/** Rows without the values that the fill writes. */
async function createLines(db: Database, rows: number): Promise<void> {
  await migrateService(db, definition)
  await db.write(async (tx) => {
    for (let n = 1; n <= rows; n++) {
      await tx.run(sql`INSERT INTO lines (scope, text, count, double) VALUES (2, 'plum', 5, 0)`)
    }
  })
}

/** A node of the declaration that runs fills. Each reading of its clock takes `readingMs`. */
function createNode(db: Database, readingMs = 0) {
  const rig = rigOf(db)
  const clock = { ...rig.clock, elapsedMs: () => (rig.time.elapsedMs += readingMs) }
  const deps = { db, clock, log: quietLog, service: definition, rest: 3 }
  const node = rig.nodeOf(createRefillHandlers(deps), { lane: 'fill' })
  const request = (...names: readonly string[]) =>
    db.write((tx) => enqueueNamed(tx, rig.enqueue, 'fill', names))
  return { ...rig, ...node, request }
}

const countDoubles = async (db: Database) =>
  Number((await db.get(sql`SELECT count(*) AS n FROM lines WHERE double = 10`))!.n)
const wordsOf = async (db: Database) =>
  (await db.arrays(sql`SELECT word FROM gh_words_lines ORDER BY word`)).flat()

eachMigrated('the previous declaration requests a fill of each value that it lacks', async (db) => {
  const start = (declared: typeof definition) =>
    migrateService(db, declared, undefined, { now: () => START_MS })
  await start(previous)
  await start(definition)
  const { rows, settle } = createNode(db)
  assert.deepEqual(await rows(), [])
  // Columns that nothing computes need no fill; a job that waits is enqueued once.
  for (let starts = 0; starts < 2; starts++) await start(previous)
  const jobs = await rows()
  assert.deepEqual(
    jobs.map(({ name, state }) => [name, state]),
    [
      [WORDS, 'waiting'],
      [DOUBLE, 'waiting'],
    ],
  )
  await db.write((tx) =>
    tx.run(sql`INSERT INTO lines (scope, text, count, double) VALUES (2, 'plum', 5, 0)`),
  )
  await settle()
  assert.deepEqual([await countDoubles(db), await wordsOf(db)], [1, ['plum']])
})

eachMigrated('the fill of a computed field writes no words', async (db) => {
  await createLines(db, 1)
  const { request, settle } = createNode(db)
  await request(DOUBLE)
  await settle()
  assert.deepEqual([await countDoubles(db), await wordsOf(db)], [1, []])
})

eachMigrated('a fill rests after a part, and another node continues after its rows', async (db) => {
  await createLines(db, ROWS)
  // A batch takes a second of this clock.
  const slow = createNode(db, 1_000)
  await slow.request(DOUBLE)
  await slow.settle()
  assert.equal(await countDoubles(db), 500)
  const [job] = await slow.rows()
  assert.deepEqual([job!.state, job!.attempt], ['waiting', 0])
  const { rows, after } = JSON.parse(job!.input)
  assert.deepEqual([rows, after], [500, [2, 500]])
  assert.ok(job!.run_at >= slow.time.now + 3_000, 'it rests three times as long')
  // The next node computes only the rows that follow.
  await db.write((tx) => tx.run(sql`UPDATE lines SET double = 1 WHERE id <= 500`))
  const next = createNode(db)
  next.advance(60_000)
  await next.settle()
  assert.equal(await countDoubles(db), ROWS - 500)
  const [ended] = await next.rows()
  assert.equal(ended!.state, 'done')
})

test('rows with the right folded text are not written [postgres]', async (t) => {
  const db = await openForTest(t, await migratedUrl(t, 'postgres'))
  await migrateService(db, definition)
  await db.write((tx) =>
    tx.run(sql`INSERT INTO guests (scope, mail, gh_folded_mail, count, key) VALUES
      (2, 'A@x.example', 'a@x.example', 1, 1), (2, 'B@x.example', '', 2, 2)`),
  )
  // `xmin` is the transaction that wrote the row.
  const read = () => db.arrays(sql`SELECT gh_folded_mail, xmin::text FROM guests ORDER BY id`)
  const [right, wrong] = await read()
  const { request, settle } = createNode(db)
  await request('guests.gh_folded_mail')
  await settle()
  const [unchanged, folded] = await read()
  assert.deepEqual(unchanged, right)
  assert.equal(folded![0], 'b@x.example')
  assert.notEqual(folded![1], wrong![1])
})

eachMigrated('equal values in a unique index delay no other resource', async (db) => {
  await createLines(db, 1)
  await db.write((tx) =>
    tx.run(sql`INSERT INTO guests (scope, mail, count, key) VALUES
      (2, 'a@x.example', 7, 1), (2, 'b@x.example', 7, 2)`),
  )
  const { request, settle, rows, advance } = createNode(db)
  await request('guests.key', DOUBLE, WORDS)
  await settle()
  assert.deepEqual([await countDoubles(db), await wordsOf(db)], [1, ['plum']])
  assert.deepEqual(await db.arrays(sql`SELECT key FROM guests ORDER BY id`), [[1], [2]])
  const [failed] = await rows()
  assert.equal(failed!.state, 'waiting')
  assert.match(failed!.error, /Rows of guests are equal in the unique index/)
  await db.write((tx) => tx.run(sql`UPDATE guests SET count = 8 WHERE mail = 'b@x.example'`))
  advance(60_000)
  await settle()
  assert.deepEqual(await db.arrays(sql`SELECT key FROM guests ORDER BY id`), [[7], [8]])
})
