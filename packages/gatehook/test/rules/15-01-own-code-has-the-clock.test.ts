/** §15.1: own code has `now`, that of the engine's clock and of the rows of its transaction. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, job, resource, service } from '../../src/gatehook.ts'

/** The `now` that each word received, in the order of the calls. */
const seen = new Map<string, number>()
const note = (word: string, now: number) => seen.set(word, now)

const books = resource('books', {
  fields: {
    id: f.id('book'),
    status: f.oneOf(['in', 'out']).default('in').readonly(),
    lent_at: f.time().nullable().default(null).readonly(),
    first_id: f.string().max(40).default('').readonly(),
    created_at: f.createdAt(),
    updated_at: f.updatedAt(),
  },
  list: { filter: [], sort: ['created_at'] },
  access: { read: 'books:read', create: 'books:write', update: false, delete: 'books:write' },
  events: ['book.created'],
  softDelete: true,
})
  .action('lend', {
    scope: 'books:write',
    from: ['in'],
    to: 'out',
    run({ now }) {
      note('run', now)
      return { lent_at: now }
    },
  })
  .rule('create', ({ now, tx, after }) => {
    note('rule create', now)
    note('rule tx', tx.now)
    return { first_id: after.id }
  })
  .rule('delete', ({ now }) => void note('rule delete', now))

const count = job('count')
const library = service({
  name: 'library',
  versions: { v1: { released: '2026-01-01' } },
  resources: [books],
})
  .route({
    method: 'GET',
    path: '/clock',
    scope: 'books:read',
    summary: 'The time',
    output: { now: f.time() },
    handle: ({ now }) => ({ body: { now } }),
  })
  .route({
    method: 'POST',
    path: '/pairs',
    scope: 'books:write',
    summary: 'Two books',
    output: { rows: [books] },
    async handle({ now, write }) {
      note('route', now)
      const rows = await write(async (tx) => {
        note('route tx', tx.now)
        await tx.enqueue(count, {})
        return [await tx.create(books, {}), await tx.create(books, {})]
      })
      return { body: { rows } }
    },
  })
  .job(count, async ({ now, write }) => {
    note('job', now)
    await write(async (tx) => note('job tx', tx.now))
  })
  .on(books, 'book.created', ({ now }) => void note('on', now))
  .every('1h', 'tick', ({ now }) => void note('every', now))

const env = { GATEHOOK_TEST_CLOCK: '1' }

eachService(
  'every context of own code has the time that its rows have',
  async (app) => {
    const operator = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
    await operator.post('/admin/clock', { advance_s: 3_600 })
    await runDue(app)
    await operator.post('/admin/clock', { advance_s: 950_400, freeze: true })
    const instant = Date.parse((await operator.get('/admin/clock')).body.now)
    seen.clear()
    const { rows } = (await app.post('/api/v1/pairs')).body
    const { id, first_id } = rows[0]
    assert.equal(first_id, id, 'the rule knows the id of the new row')
    const lent = (await app.post(`/api/v1/books/${id}/lend`)).body
    await app.delete(`/api/v1/books/${id}`)
    const { now } = (await app.get('/api/v1/clock')).body
    const stamps = [...rows.map((row: { created_at: string }) => row.created_at), lent.lent_at]
    for (const text of [...stamps, lent.updated_at, now]) assert.equal(Date.parse(text), instant)
    await runDue(app)
    const words = 'route,route tx,rule create,rule tx,run,rule delete,job,job tx,on,every'
    assert.deepEqual([...seen.keys()].sort(), words.split(',').sort())
    for (const [word, time] of seen) assert.equal(time, instant, word)
  },
  { service: library, env },
)

eachService(
  'one transaction has one time, also while the clock moves on',
  async (app) => {
    const { rows } = (await app.post('/api/v1/pairs')).body
    const [first, second] = rows
    assert.equal(first.created_at, second.created_at)
    assert.equal(Date.parse(first.created_at), seen.get('route tx'))
  },
  { service: library, clock: runningClock() },
)

/** A clock that is a second ahead at each look. */
function runningClock() {
  let time = Date.UTC(2026, 10, 1)
  return { now: () => (time += 1_000), elapsedMs: () => performance.now() }
}

const runDue = ({ app }: TestApp) => app.jobs.runDue()
