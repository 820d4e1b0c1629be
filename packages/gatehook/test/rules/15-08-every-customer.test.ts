/** §15.8: `each: 'customer'` runs for every customer and mode; one failure stops no other. */
import assert from 'node:assert/strict'
import { openForTest } from '../../../../test/rig/databases.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const bills = resource('bills', {
  fields: { id: f.id(), day: f.string().default('') },
  list: { filter: ['day'], sort: [] },
  access: { read: 'b', create: 'b', update: 'b', delete: false },
  events: [],
})

const ZONE = 'America/New_York'

/** The runs so far: customer, mode, day, `missed`, attempt. */
const runs: string[] = []
/** The customers whose runs fail. */
const failing = new Set<string>()
/** Runs during each run. */
let meanwhile: () => Promise<unknown> = async () => {}

const daily = service({
  name: 'daily',
  versions: { v1: { released: '2026-01-01' } },
  resources: [bills],
}).every(
  '0 5 * * *',
  'mark',
  async ({ day, dueAt, missed, attempt, principal, read, write, step }) => {
    const { customer, mode } = principal
    assert.equal(new Date(dueAt).toLocaleString('sv', { timeZone: ZONE }), `${day} 05:00:00`)
    runs.push(`${customer} ${mode} ${day} missed ${missed} attempt ${attempt}`)
    await meanwhile()
    for (const { id } of await read.list(bills, { filter: { day: '' } })) {
      await write((tx) => tx.update(bills, id, { day }))
    }
    await step('own', ({ principal: own }) => assert.equal(own.customer, customer))
    if (failing.has(customer)) throw new Error('no')
  },
  { timeZone: ZONE, each: 'customer', attempts: 2 },
)
const env = { GATEHOOK_TEST_CLOCK: '1' }
const DAY_S = 86_400
const CUSTOMERS = 101

async function prepare(app: TestApp) {
  runs.length = 0
  failing.clear()
  const operator = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
  await app.app.jobs.openSchedules()
  const advance = (seconds: number) =>
    operator.post('/admin/clock', { advance_s: seconds, freeze: true })
  return { operator, advance }
}

eachService(
  'each customer and mode has one run, its own rows, attempts and job',
  async (app) => {
    const { operator, advance } = await prepare(app)
    const ids: string[] = []
    for (let n = 0; n < CUSTOMERS; n++) {
      ids.push((await operator.post('/admin/customers', { name: `c${n}` })).body.id)
    }
    const [bad = '', good = ''] = ids
    failing.add(bad)
    const callers = new Map<string, ReturnType<TestApp['as']>>()
    for (const customer of [bad, good]) {
      callers.set(customer, app.as(await app.key({ customer, scopes: ['b'], mode: 'live' })))
      await callers.get(customer)!.post('/api/v1/bills', {})
    }
    await advance(DAY_S)
    await app.app.jobs.runDue()
    const of = (customer: string) => runs.filter((run) => run.startsWith(`${customer} `))
    assert.equal(new Set(runs.map((run) => run.split(' ')[0])).size, CUSTOMERS + 1)
    for (const id of ids) {
      const modes = of(id).map((run) => run.split(' ')[1])
      assert.deepEqual(modes.sort(), ['live', 'test'], id)
    }
    assert.equal(new Set(runs.map((run) => run.split(' ')[2])).size, 1, 'one day')
    const day = runs[0]!.split(' ')[2]
    const marked = (await callers.get(good)!.get('/api/v1/bills')).body.data
    assert.deepEqual([marked.length, marked[0].day], [1, day])

    // The failed runs of one customer are retried; those of the others are not.
    runs.length = 0
    await advance(60)
    await app.app.jobs.runDue()
    assert.deepEqual(
      runs.toSorted(),
      ['live', 'test'].map((mode) => `${bad} ${mode} ${day} missed 0 attempt 2`),
    )
    const failed = (await operator.get('/admin/jobs?name=mark&state=failed')).body.data
    assert.deepEqual(
      failed.map((job: { customer: string; mode: string }) => [job.customer, job.mode]).sort(),
      [
        [bad, 'live'],
        [bad, 'test'],
      ],
    )

    // Ten days without a node are one run for each, which counts those before it.
    runs.length = 0
    await advance(10 * DAY_S)
    await app.app.jobs.runDue()
    assert.equal(of(good).length, 2)
    for (const run of of(good)) assert.match(run, / missed 9 attempt 1$/)
  },
  { service: daily, env },
)

/** Runs the due jobs, also those that become due meanwhile. */
async function runDue({ app }: TestApp): Promise<void> {
  for (let pass = 0; pass < 3; pass++) await app.jobs.runDue()
}

/** Asserts that each customer and mode has had each of its due times once, `missed` included. */
function assertServed(dueTimes: number): void {
  const served = new Map<string, number>()
  const days = new Set<string>()
  for (const run of runs) {
    const [customer, mode, day, , missed] = run.split(' ')
    assert.ok(!days.has(`${customer} ${mode} ${day}`), `twice: ${run}`)
    days.add(`${customer} ${mode} ${day}`)
    served.set(`${customer} ${mode}`, (served.get(`${customer} ${mode}`) ?? 0) + 1 + Number(missed))
  }
  assert.equal(served.size, (CUSTOMERS + 1) * 2)
  assert.deepEqual(new Set(served.values()), new Set([dueTimes]))
}

for (const [at, run] of Object.entries({ 1: 'first', 30: 'thirtieth', 204: 'last' })) {
  eachService(
    `all customers have each due time once when the next one passes during the ${run} run`,
    async (app) => {
      const { operator, advance } = await prepare(app)
      for (let n = 0; n < CUSTOMERS; n++) await operator.post('/admin/customers', { name: `c${n}` })
      await advance(DAY_S)
      meanwhile = async () => {
        if (runs.length === Number(at)) await advance(DAY_S)
      }
      await runDue(app)
      assertServed(2)
      await advance(3 * DAY_S)
      await runDue(app)
      assertServed(5)
    },
    { service: daily, env },
  )
}

/** As short as a declaration allows: the engine's own transactions need longer. */
const limited = service({
  name: 'limited',
  versions: { v1: { released: '2026-01-01' } },
  resources: [bills],
}).every('0 5 * * *', 'mark', () => {}, { each: 'customer', attempts: 1, timeoutMs: 1 })

eachService(
  'the limits of a job are those of its customers, not of the code that enqueues their runs',
  async (app, t) => {
    const { operator, advance } = await prepare(app)
    for (let n = 0; n < CUSTOMERS; n++) await operator.post('/admin/customers', { name: `c${n}` })
    await advance(DAY_S)
    await runDue(app)
    const db = await openForTest(t, app.url)
    const rows = await db.all(sql`SELECT scope, purge_at - ended_at AS stays FROM gh_jobs
      WHERE name = 'mark' AND state IN ('done', 'failed')`)
    assert.equal(rows.length, 1 + (CUSTOMERS + 1) * 2)
    for (const { scope, stays } of rows) {
      // Done runs of customers stay for minutes: there are many.
      const periods = scope === null ? [DAY_S] : [600, 30 * DAY_S]
      assert.ok(periods.includes(Number(stays) / 1000), `${scope} ${stays}`)
    }
  },
  { service: limited, env },
)
