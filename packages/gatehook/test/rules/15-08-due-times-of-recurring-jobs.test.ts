/** §15.8: a run of `.every()` serves the due times that have passed: the latest and the missed. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { service } from '../../src/gatehook.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/** The runs so far, as the hour of `dueAt` on its day, and `missed`. */
const runs: string[] = []
const faults: Error[] = []
/** Runs while a handler runs. */
let meanwhile: () => Promise<unknown> = async () => {}

const daily = service({
  name: 'daily',
  versions: { v1: { released: '2026-01-01' } },
  resources: [],
}).every('0 5 * * *', 'mark_overdue', async ({ dueAt, missed, attempt }) => {
  runs.push(`${new Date(dueAt).toISOString().slice(0, 13)} missed ${missed} attempt ${attempt}`)
  await meanwhile()
  const fault = faults.shift()
  if (fault) throw fault
})

const env = { GATEHOOK_TEST_CLOCK: '1' }

eachService(
  'after an outage dueAt is the latest due time, and missed counts those before it',
  async (app) => {
    runs.length = 0
    const operator = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
    const now = async () => Date.parse((await operator.get('/admin/clock')).body.now)
    const advance = (ms: number) =>
      operator.post('/admin/clock', { advance_s: Math.ceil(ms / 1000) })
    const start = new Date((Math.floor((await now()) / DAY_MS) + 1) * DAY_MS + 6 * HOUR_MS)
    const morning = (day: number) =>
      new Date(start.getTime() + day * DAY_MS).toISOString().replace(/T.*/, 'T05')
    await advance(start.getTime() - (await now()))
    await runDue(app)
    runs.length = 0

    // The next run waits: it was to be due tomorrow. Ten days without a node follow.
    await advance(10 * DAY_MS)
    await runDue(app)
    assert.deepEqual(runs.splice(0), [`${morning(10)} missed 9 attempt 1`])

    // A day without an outage.
    await advance(DAY_MS)
    await runDue(app)
    assert.deepEqual(runs.splice(0), [`${morning(11)} missed 0 attempt 1`])

    // A retry keeps its due time, which the results of its steps belong to; a run follows at once.
    faults.push(new Error('once'))
    await advance(DAY_MS)
    await runDue(app)
    await advance(2 * DAY_MS)
    await runDue(app)
    assert.deepEqual(runs.splice(0), [
      `${morning(12)} missed 0 attempt 1`,
      `${morning(12)} missed 0 attempt 2`,
      `${morning(14)} missed 1 attempt 1`,
    ])

    // Due times that pass during a run belong to the next one, directly after it.
    meanwhile = async () => {
      meanwhile = async () => {}
      await advance(2 * DAY_MS)
    }
    await advance(DAY_MS)
    await runDue(app)
    await advance(DAY_MS)
    await runDue(app)
    assert.deepEqual(runs.splice(0), [
      `${morning(15)} missed 0 attempt 1`,
      `${morning(17)} missed 1 attempt 1`,
      `${morning(18)} missed 0 attempt 1`,
    ])
  },
  { service: daily, env },
)

const runDue = ({ app }: TestApp) => app.jobs.runDue()
