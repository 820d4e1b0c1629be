/**
 * §11.5: one change writes at most 5,000 rows, events and jobs, 20,000 rows of words and 8 MiB,
 * else it is 413 `change_too_large` and has no effect: every way to write, with and without a dry
 * run.
 */
import assert from 'node:assert/strict'
import { eachService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { event, f, fields, job, resource, service } from '../../src/gatehook.ts'
import { CHANGE_BOUNDS } from '../../src/platform/storage/change-budget.ts'
import type { Tx } from '../../src/platform/storage/database.ts'
import { fill, run, testScope } from '../lists/rows.ts'

const access = { read: 'x:read', create: 'x:write', update: 'x:write', delete: 'x:write' } as const
const list = { filter: [], sort: [] }
const eventsOf = <const N extends string>(name: N) =>
  [`${name}.created`, `${name}.updated`, `${name}.deleted`] as const
/** A row of 190 KB. */
const LONG = 'x'.repeat(63_000)
const long = () => f.string().max(65_536).default('')
const large = { a: LONG, b: LONG, c: LONG }

const folders = resource('folders', {
  fields: { id: f.id(), name: f.string().max(100).default('') },
  ...{ list, access, events: eventsOf('folder') },
}).rule('update', async ({ tx, after }) => {
  for (let n = 0; n < Number(after.name); n++) await tx.create(papers, large)
})
const folder = () => f.ref('folders').nullable().default(null)
const papers = resource('papers', {
  fields: { id: f.id(), folder_id: folder().onDelete('cascade'), a: long(), b: long(), c: long() },
  ...{ list, access, events: eventsOf('paper') },
})
const cards = resource('cards', {
  fields: { id: f.id(), folder_id: folder().onDelete('cascade') },
  ...{ list, access, events: ['card.deleted'] },
})
const marks = resource('marks', {
  fields: { id: f.id(), folder_id: folder().onDelete('setNull') },
  ...{ list, access, events: ['mark.updated'] },
})
const boxes = resource('boxes', {
  fields: { id: f.id() },
  ...{ list, access, events: eventsOf('box'), softDelete: true },
})
const sheets = resource('sheets', {
  fields: { id: f.id(), box_id: f.ref('boxes').onDelete('cascade') },
  ...{ list, access, events: eventsOf('sheet'), softDelete: true },
})
const notes = resource('notes', {
  fields: { id: f.id(), folder_id: folder().onDelete('cascade'), body: f.string().max(8_000) },
  ...{ list, access, events: eventsOf('note'), search: ['body'], batch: true },
})
const resources = [folders, papers, cards, marks, boxes, sheets, notes]
const longText = () => f.string().max(65_536)
const written = event('paper.written', fields({ a: longText(), b: longText(), c: longText() }))
const print = job('print', { a: longText() })
const loops = {
  create: (tx) => tx.create(papers, large),
  update: (tx, n) => tx.update(papers, 1_001 + n, large),
  remove: (tx, n) => tx.remove(papers, 1_001 + n),
  emit: (tx) => tx.emit(written, large),
  async enqueue(tx, n) {
    if (n === 0) await tx.create(cards, {})
    await tx.enqueue(print, { a: LONG })
  },
  // biome-ignore lint/suspicious/noExplicitAny: the type of ServiceTx depends on the service
} satisfies Record<string, (tx: any, n: number) => Promise<unknown>>

const office = service({
  name: 'Office',
  versions: { v1: { released: '2026-01-01' } },
  resources,
  events: [written],
})
  .route({
    method: 'POST',
    path: '/loops',
    scope: 'x:write',
    summary: 'Writes in a loop.',
    input: { kind: f.string().max(10), count: f.int() },
    async handle({ input, write }) {
      const loop = loops[input.kind as keyof typeof loops] as (tx: unknown, n: number) => unknown
      await write(async (tx) => {
        for (let n = 0; n < input.count; n++) await loop(tx, n)
      })
    },
  })
  .route({
    method: 'POST',
    path: '/texts',
    scope: 'x:write',
    summary: 'Returns a long text.',
    input: { count: f.int() },
    async handle({ input, write }) {
      await write((tx) => tx.create(cards, {}))
      return { body: { text: 'x'.repeat(input.count) } }
    },
  })
  .job(print, () => {})

const DRY = { prefer: 'dry-run' }
const wordsOf = (item: number) => Array.from({ length: 1_000 }, (_, n) => `w${item}x${n}`).join(' ')
const items = (count: number) => Array.from({ length: count }, (_, n) => ({ body: wordsOf(n) }))

interface Kind {
  /** Prepares the rows that the change concerns. */
  readonly prepare?: (app: TestApp, count: number) => Promise<unknown>
  readonly send: (app: TestApp, count: number, headers: Record<string, string>) => Promise<Reply>
  /** Counts that fit and that exceed a bound. */
  readonly fits: number
  readonly exceeds: number
}

const post =
  (path: string, body: (count: number) => object): Kind['send'] =>
  (app, count, headers) =>
    app.post(`/api/v1/${path}`, body(count), headers)
/** Deletes a row to which `count` rows refer. */
const cascade = (
  table: string,
  columns: Record<string, string>,
  [fits, exceeds]: readonly [number, number],
  parent = 'folders',
): Kind => ({
  prepare: async ({ app }, count) => {
    await fill(app.db, parent, 1, parent === 'folders' ? { name: "''" } : { deleted_at: 'NULL' })
    const reference = parent === 'folders' ? 'folder_id' : 'box_id'
    const id = `(SELECT max(id) FROM ${parent})`
    await fill(app.db, table, count, { [reference]: id, ...columns })
  },
  send: async ({ app, delete: remove }, _count, headers) => {
    const [[id] = []] = await app.db.arrays({
      ...{
        sql: `SELECT max(id) FROM ${parent}`,
        text: `SELECT max(id) FROM ${parent}`,
        values: [],
      },
    })
    return remove(`/api/v1/${parent}/${id}`, headers)
  },
  ...{ fits, exceeds },
})
const text = `'${LONG}'`
const kinds: Readonly<Record<string, Kind>> = {
  'a batch': {
    send: post('notes/batch', (count) => ({ items: items(count) })),
    ...{ fits: 20, exceeds: 21 },
  },
  'a batch that is not atomic': {
    send: post('notes/batch', (count) => ({ items: items(count), atomic: false })),
    ...{ fits: 20, exceeds: 21 },
  },
  'a cascade of rows': cascade('cards', {}, [50, 2_600]),
  'a cascade of large rows': cascade('papers', { a: text, b: text, c: text }, [21, 23]),
  'references set to null': cascade('marks', {}, [50, 2_600]),
  'a soft deletion': cascade('sheets', { deleted_at: 'NULL' }, [50, 2_600], 'boxes'),
  'rows of a rule': {
    prepare: ({ app }) => fill(app.db, 'folders', 1, { name: "''" }),
    async send({ app, patch }, count, headers) {
      const [[id] = []] = await app.db.arrays({
        ...{ sql: 'SELECT max(id) FROM folders', text: 'SELECT max(id) FROM folders', values: [] },
      })
      return patch(`/api/v1/folders/${id}`, { name: String(count) }, headers)
    },
    ...{ fits: 20, exceeds: 23 },
  },
  ...Object.fromEntries(
    [
      ['create', 20, 23],
      ['update', 15, 23],
      ['remove', 20, 23],
      ['emit', 44, 45],
      ['enqueue', 130, 140],
    ].map(([kind, fits, exceeds]) => [
      `own code: ${kind}`,
      {
        prepare: ({ app }: TestApp) => emptyAndFillPapers(app),
        send: post('loops', (count) => ({ kind, count })),
        ...{ fits, exceeds },
      } as Kind,
    ]),
  ),
  'the response of own code': {
    send: post('texts', (count) => ({ count })),
    ...{ fits: 1_000_000, exceeds: CHANGE_BOUNDS.bytes },
  },
}

/** Own code updates and removes the rows 1001, 1002, …. */
async function emptyAndFillPapers({ db }: TestApp['app']): Promise<void> {
  await run(db, 'DELETE FROM papers')
  await fill(db, 'papers', 30, { id: '1000 + n', a: "''", b: "''", c: "''" })
  await run(db, `UPDATE papers SET a = ${text}, b = ${text}, c = '${LONG}1'`)
}

/** Returns the totals of all rows and events. */
async function totals({ app, get }: TestApp): Promise<unknown> {
  const counts: unknown[] = [(await get('/events?pagination=page')).body.total]
  for (const { definition } of resources) {
    const { name, softDeletion } = definition
    const where = softDeletion ? ' WHERE deleted_at IS NULL' : ''
    const statement = `SELECT count(*) FROM ${name}${where}`
    counts.push(await app.db.arrays({ sql: statement, text: statement, values: [] }))
  }
  return counts
}

for (const [name, { prepare, send, fits, exceeds }] of Object.entries(kinds)) {
  eachService(
    `${name}: beyond a bound it is 413 and has no effect`,
    async (app) => {
      await prepare?.(app, exceeds)
      const before = await totals(app)
      for (const headers of [DRY, {}]) {
        const reply = await send(app, exceeds, headers)
        assert.equal(reply.status, 413, reply.text.slice(0, 300))
        assert.equal(reply.body.error, 'change_too_large')
        assert.deepEqual(await totals(app), before)
      }
      await prepare?.(app, fits)
      const prepared = await totals(app)
      const dry = await send(app, fits, DRY)
      assert.ok(dry.status < 300, dry.text.slice(0, 300))
      assert.ok(Buffer.byteLength(dry.text) <= CHANGE_BOUNDS.bytes)
      assert.deepEqual(await totals(app), prepared)
      const reply = await send(app, fits, {})
      assert.ok(reply.status < 300, reply.text.slice(0, 300))
      assert.notDeepEqual(await totals(app), prepared)
    },
    { service: office },
  )
}

eachService(
  'the repeat of a change has its large response, while the caller reads it',
  async ({ post }) => {
    const headers = { 'idempotency-key': 'large' }
    const first = await post('/api/v1/texts', { count: 1_000_000 }, headers)
    assert.equal(first.status, 200, first.text.slice(0, 300))
    const repeats = await Promise.all(
      Array.from({ length: 3 }, (_, n) =>
        post(
          '/api/v1/texts',
          { count: 1_000_000 },
          { 'idempotency-key': n < 2 ? 'large' : 'other' },
        ),
      ),
    )
    for (const { status, text } of repeats) {
      assert.ok(status === 409 || text === first.text, `${status} ${text.slice(0, 300)}`)
    }
    const repeat = await post('/api/v1/texts', { count: 1_000_000 }, headers)
    assert.deepEqual([repeat.status, repeat.text], [200, first.text])
    assert.equal(repeat.headers['idempotent-replayed'], 'true')
  },
  { service: office },
)

eachService(
  'deliveries count: with 50 webhooks a change has at most 400 events',
  async (app) => {
    const { db } = app.app
    const scope = await testScope(db)
    for (let n = 1; n <= 50; n++) {
      const tag = String(n).padStart(8, '0')
      await run(
        db,
        `INSERT INTO gh_webhook_topics (scope, topic, webhook_no, tag, version, scopes)
           VALUES (${scope}, 'card.deleted', ${n}, '${tag}', 'v1', '["x:read"]')`,
      )
    }
    const { prepare, send } = cascade('cards', {}, [0, 401])
    await prepare!(app, 401)
    const before = await totals(app)
    const reply = await send(app, 401, {})
    assert.equal(reply.status, 413, reply.text.slice(0, 300))
    assert.match(reply.body.message, /20,000 deliveries/)
    assert.deepEqual(await totals(app), before)
  },
  { service: office },
)

eachService(
  'a batch that is too large names the items that fit',
  async ({ post }) => {
    for (const atomic of [true, false]) {
      const { body } = await post('/api/v1/notes/batch', { items: items(100), atomic })
      assert.deepEqual(
        body.errors.map(({ pointer, code }: Record<string, string>) => [pointer, code]),
        [['/items/20', 'change_too_large']],
      )
      assert.match(body.message, /at most 20 items/)
    }
  },
  { service: office },
)

eachService(
  'a cascade that is too large reads no row that it would delete',
  async (app) => {
    const { db } = app.app
    const locked: string[] = []
    const { write } = db
    db.write = (change, options) => write((tx) => change(observeLocks(tx, locked)), options)
    for (const name of ['a cascade of rows', 'a cascade of large rows', 'a soft deletion']) {
      const { prepare, send, exceeds } = kinds[name]!
      await prepare!(app, exceeds)
      locked.length = 0
      const reply = await send(app, 0, DRY)
      assert.equal(reply.status, 413)
      assert.match(reply.body.message, /Delete rows of (cards|papers|sheets) /)
      assert.equal(locked.length, 1, name)
    }
  },
  { service: office },
)

/** Records the statements by which a transaction locks rows: a deletion locks each of its rows. */
function observeLocks(tx: Tx, locked: string[]): Tx {
  const { lock } = tx
  tx.lock = (statement) => {
    locked.push(statement.sql)
    return lock.call(tx, statement) as never
  }
  return tx
}
