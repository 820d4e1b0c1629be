/** §15.6: jobs, handlers of events and recurring jobs have steps. */
import assert from 'node:assert/strict'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { sql } from '../../src/gatehook.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { payments, places, swept } from '../fixtures/payments.ts'
import { startProvider } from '../fixtures/provider.ts'

const OPTIONS = {
  service: payments,
  env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1', GATEHOOK_TEST_CLOCK: '1' },
}
eachService(
  'a later attempt at a job repeats no step whose result is stored',
  async (service, t) => {
    const provider = await startProvider(t)
    const { id } = (await service.post('/api/v1/orders', { total: 9 })).body
    for (const place of ['job after charge', 'job end']) {
      places.set(place, () => {
        places.delete(place)
        throw new Error(`fault ${place}`)
      })
    }
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    await admin.post('/admin/clock', { advance_s: 0, freeze: true }) // no retry becomes due
    const { job_id } = (await service.post(`/api/v1/orders/${id}/settle`, { url: provider.url }))
      .body
    await service.app.work()
    const readJob = async () => (await admin.get(`/admin/jobs/${job_id}`)).body
    for (const attempt of [1, 2]) {
      const hasFailed = (job: Record<string, unknown>) =>
        job.attempt === attempt && job.state === 'waiting'
      await eventually(readJob, hasFailed)
      await admin.post('/admin/clock', { advance_s: 3_600 })
    }
    const isDone = (job: Record<string, unknown>) => job.state === 'done'
    assert.equal((await eventually(readJob, isDone)).attempt, 3)
    assert.equal(provider.keys.length, 1)
    assert.equal((await service.get(`/api/v1/orders/${id}`)).body.paid, 9)
  },
  OPTIONS,
)

eachService(
  'a recurring job has steps of its own, and of each customer and mode',
  async (service, t) => {
    swept.length = 0
    let count = 0
    places.set('sweep', () => void count++)
    places.set('swept', () => {
      places.delete('swept')
      throw new Error('fault')
    })
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    // No retry becomes due, and a minute later no other run.
    const toTenPast = 3_600 - (Math.floor(Date.now() / 1_000) % 3_600) + 600
    await admin.post('/admin/clock', { advance_s: toTenPast, freeze: true })
    await service.app.work()
    const readJobs = async () => (await admin.get('/admin/jobs?name=sweep')).body.data
    await eventually(readJobs, (jobs) => jobs.length > 0)
    await admin.post('/admin/clock', { advance_s: 7_200 })
    const hasFailed = (jobs: { attempt: number; state: string }[]) =>
      jobs.some(({ attempt, state }) => attempt === 1 && state === 'waiting')
    await eventually(readJobs, hasFailed)
    await admin.post('/admin/clock', { advance_s: 60 })
    const isDone = (jobs: { state: string }[]) => jobs.some(({ state }) => state === 'done')
    await eventually(readJobs, isDone)
    places.delete('sweep')
    // The default customer in both modes.
    assert.deepEqual([count, swept.length, new Set(swept).size], [1, 2, 2])
    // Their results belong to the customer, and end with it.
    const db = await openDatabase(service.url, { log: quietLog, checksReferences: false })
    onEnd(t, () => db.close())
    const rows = await db.all(sql`SELECT name, scope FROM gh_steps`)
    for (const { name, scope } of rows) {
      const [, prefix = null] = /^([0-9]+) (call|touch)$/.exec(name) ?? []
      assert.equal(scope === null ? null : String(scope), prefix, name)
    }
    assert.equal(rows.filter(({ scope }) => scope !== null).length, 4)
  },
  OPTIONS,
)
