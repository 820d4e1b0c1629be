/** §6.14: jobs, handlers of events and recurring jobs of own code run at least once. */
import assert from 'node:assert/strict'
import { eventually } from '../../../../test/rig/eventually.ts'
import { wallClockOfTests } from '../../../../test/rig/frozen-service.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { errands, faults } from '../fixtures/errands.ts'
import { openHook, register } from '../webhooks/hook.ts'

const OPTIONS = { service: errands, env: { GATEHOOK_TEST_CLOCK: '1' } }
const readNotes = async (service: TestApp): Promise<string[]> =>
  (await service.get('/api/v1/notes?limit=100&sort=id')).body.data.map(
    ({ text }: { text: string }) => text,
  )

/** Waits for a number of notes, and returns their texts. */
const notesOf = (service: TestApp, count: number) =>
  eventually(
    () => readNotes(service),
    (notes) => notes.length >= count,
  )

const operator = async (service: TestApp) =>
  service.as(await service.key({ scopes: ['admin'], mode: 'live' }))

eachService(
  'a job that a route enqueues runs with its input, and reads and writes its customer’s rows',
  async (service) => {
    await service.app.work()
    const order = (await service.post('/api/v1/orders', { total: 7 })).body
    await notesOf(service, 1)
    const sent = await service.post(`/api/v1/orders/${order.id}/receipt`)
    assert.equal(sent.status, 200)
    const [, receipt] = await notesOf(service, 2)
    assert.equal(receipt, 'test receipt 7 × 1, attempt 1')
    const admin = await operator(service)
    const isDone = ({ body }: { body: { state: string } }) => body.state === 'done'
    const path = `/admin/jobs/${sent.body.job_id}`
    const job = (await eventually(() => admin.get(path), isDone)).body
    assert.deepEqual(
      [job.kind, job.name, job.customer, job.mode, job.attempt, job.error],
      ['job', 'send_receipt', 'cus_default', 'test', 1, null],
    )
    assert.deepEqual(job.input, { order_id: order.id, copies: 1, due: null })
  },
  OPTIONS,
)

eachService(
  'a job of a transaction that fails is not stored, and one before its time waits',
  async (service) => {
    const order = (await service.post('/api/v1/orders', { total: 7 })).body
    const path = `/api/v1/orders/${order.id}/receipt`
    assert.equal((await service.post(path, { fails: true })).status, 404)
    const admin = await operator(service)
    const listJobs = async () => (await admin.get('/admin/jobs?name=send_receipt')).body.data
    assert.deepEqual(await listJobs(), [])
    const { now } = (await admin.get('/admin/clock')).body
    const at = new Date(Date.parse(now) + 3 * 86_400_000).toISOString()
    await service.post(path, { at })
    const [job] = await listJobs()
    assert.deepEqual([job.state, job.run_at, job.attempt], ['waiting', at, 0])
    await service.app.work()
    await notesOf(service, 1)
    assert.equal((await listJobs())[0].state, 'waiting')
    await admin.post('/admin/clock', { advance_s: 4 * 86_400 })
    const notes = await notesOf(service, 3)
    assert.ok(notes.includes('test receipt 7 × 1, attempt 1'), notes.join())
  },
  OPTIONS,
)

eachService(
  'a dry run stores no job',
  async (service) => {
    const headers = { prefer: 'dry-run' }
    const reply = await service.post('/api/v1/orders', { total: 7 }, headers)
    assert.equal(reply.status, 201, reply.text)
    const admin = await operator(service)
    assert.deepEqual((await admin.get('/admin/jobs')).body.data, [])
  },
  OPTIONS,
)

eachService(
  'handlers of events receive them in the newest version, in the order of one row',
  async (service) => {
    const order = (await service.post('/api/v1/orders', { total: 13 })).body
    for (const total of [1, 2, 3, 4, 5]) {
      await service.patch(`/api/v1/orders/${order.id}`, { total })
    }
    await service.post('/events', { type: 'parcel.arrived', object: { number: 'P-1' } })
    await service.app.work()
    const notes = await notesOf(service, 7)
    const updates = [1, 2, 3, 4, 5].map((total) => `updated to ${total}`)
    assert.deepEqual(
      notes.filter((text) => text.startsWith('updated')),
      updates,
    )
    assert.ok(notes.includes(`created ${order.id}: 13 unlucky`))
    assert.ok(notes.includes('parcel P-1'))
  },
  OPTIONS,
)

eachService(
  'a recurring job runs once for the times that passed, and again at the next one',
  async (service) => {
    const admin = await operator(service)
    const now = new Date('2027-03-01T10:20:00Z')
    await admin.post('/admin/clock', { now: now.toISOString(), freeze: true })
    await service.post('/api/v1/orders', { total: 1 })
    await service.app.work()
    await notesOf(service, 1)
    const runs = async () => (await admin.get('/admin/jobs?name=count_orders')).body.data
    const [run] = await eventually(runs, (rows) => rows.length === 1)
    assert.deepEqual([run.state, run.run_at], ['waiting', '2027-03-01T11:00:00.000Z'])
    assert.deepEqual([run.customer, run.mode], [null, null])
    await admin.post('/admin/clock', { advance_s: 5 * 3600 })
    assert.deepEqual((await notesOf(service, 2)).slice(1), ['15:00: 1 orders'])
    const next = await eventually(runs, (rows) => rows.length === 2)
    assert.deepEqual(
      next.map(({ state, run_at }: { state: string; run_at: string }) => `${state} ${run_at}`),
      ['done 2027-03-01T11:00:00.000Z', 'waiting 2027-03-01T16:00:00.000Z'],
    )
    await admin.post('/admin/clock', { advance_s: 3600 })
    assert.deepEqual((await notesOf(service, 3)).slice(1), ['15:00: 1 orders', '16:00: 1 orders'])
  },
  { ...OPTIONS, clock: wallClockOfTests },
)

eachService(
  'an operator retries a job that has failed, and the audit trail has it',
  async (service) => {
    const order = (await service.post('/api/v1/orders', { total: 7 })).body
    const admin = await operator(service)
    await admin.post('/admin/clock', { advance_s: 0, freeze: true }) // no retry becomes due
    faults.set('note_update', [new Error('no ink'), new Error('still no ink')])
    await service.patch(`/api/v1/orders/${order.id}`, { total: 8 })
    await service.app.work()
    const readJob = async () =>
      (await admin.get('/admin/jobs?name=note_update&kind=event')).body.data[0]
    const isRetried = ({ attempt, state }: { attempt: number; state: string }) =>
      attempt === 1 && state === 'waiting'
    await eventually(readJob, isRetried)
    await admin.post('/admin/clock', { advance_s: 60 })
    const failed = await eventually(readJob, ({ state }) => state === 'failed')
    assert.deepEqual([failed.attempt, failed.error], [2, 'Error: still no ink'])
    const list = await admin.get('/admin/jobs?state=failed')
    assert.deepEqual(
      list.body.data.map(({ id }: { id: string }) => id),
      [failed.id],
    )
    const path = `/admin/jobs/${failed.id}/retry`
    assert.equal((await service.post(path)).body.error, 'insufficient_scope')
    const retried = await admin.post(path)
    assert.deepEqual(
      [retried.status, retried.body.state, retried.body.attempt],
      [200, 'waiting', 0],
    )
    const done = await eventually(readJob, ({ state }) => state === 'done')
    assert.ok((await readNotes(service)).includes('updated to 8'))
    const again = await admin.post(`/admin/jobs/${done.id}/retry`)
    assert.deepEqual([again.status, again.body.error], [409, 'invalid_state'])
    assert.equal((await admin.post('/admin/jobs/job_none/retry')).status, 404)
    const trail = (await admin.get('/admin/audit?action=job.retry')).body.data
    assert.deepEqual(
      trail.map(({ action, target }: Record<string, string>) => [action, target]),
      [['job.retry', failed.id]],
    )
  },
  OPTIONS,
)

eachService(
  'the error of a job names a row that does not exist',
  async (service) => {
    await service.app.work()
    const admin = await operator(service)
    await service.post('/api/v1/orders/99/receipt')
    const path = '/admin/jobs?name=send_receipt'
    const readJob = async () => (await admin.get(path)).body.data[0]
    const { error } = await eventually(readJob, (job) => job.error !== null)
    assert.equal(error, 'Error: orders 99 does not exist')
  },
  OPTIONS,
)

eachService(
  'an operator cancels a job that waits: it does not run, and can be retried',
  async (service) => {
    const admin = await operator(service)
    const { now } = (await admin.get('/admin/clock')).body
    const at = new Date(Date.parse(now) + 86_400_000).toISOString()
    const order = (await service.post('/api/v1/orders', { total: 7 })).body
    const { job_id: id } = (await service.post(`/api/v1/orders/${order.id}/receipt`, { at })).body
    const path = `/admin/jobs/${id}/cancel`
    assert.equal((await service.post(path)).body.error, 'insufficient_scope')
    const canceled = await admin.post(path)
    assert.deepEqual(
      [canceled.status, canceled.body.state, canceled.body.ended_at !== null],
      [200, 'canceled', true],
    )
    const again = await admin.post(path)
    assert.deepEqual([again.status, again.body.error], [409, 'invalid_state'])
    assert.equal((await admin.post('/admin/jobs/job_none/cancel')).status, 404)
    await service.app.work()
    await notesOf(service, 1)
    await admin.post('/admin/clock', { advance_s: 2 * 86_400 })
    await service.post('/api/v1/orders', { total: 8 })
    const notes = await notesOf(service, 2)
    assert.ok(!notes.some((text) => text.includes('receipt')), notes.join())
    assert.equal((await admin.get('/admin/jobs?state=canceled')).body.data[0].id, id)
    const trail = (await admin.get('/admin/audit?action=job.cancel')).body.data
    assert.deepEqual(
      trail.map(({ action, target }: Record<string, string>) => [action, target]),
      [['job.cancel', id]],
    )
    const retried = await admin.post(`/admin/jobs/${id}/retry`)
    assert.deepEqual([retried.status, retried.body.ended_at], [200, null])
    const isSent = (texts: string[]) => texts.some((text) => text.includes('receipt'))
    await eventually(() => readNotes(service), isSent)
  },
  OPTIONS,
)

eachService(
  'a recurring job cannot be canceled',
  async (service) => {
    const admin = await operator(service)
    await admin.post('/admin/clock', { advance_s: 0, freeze: true }) // it never becomes due
    await service.app.work()
    const runs = async () => (await admin.get('/admin/jobs?name=count_orders')).body.data
    const [run] = await eventually(runs, (rows) => rows.length === 1)
    const reply = await admin.post(`/admin/jobs/${run.id}/cancel`)
    assert.deepEqual([reply.status, reply.body.error], [409, 'invalid_state'])
    assert.equal((await runs())[0].state, 'waiting')
  },
  OPTIONS,
)

eachService(
  'input that violates the declaration is a bug of the code: 500, and nothing is stored',
  async (service) => {
    const admin = await operator(service)
    for (const wrong of ['type', 'missing', 'undeclared', 'late']) {
      const reply = await service.post('/api/v1/mistakes', { wrong })
      assert.deepEqual([reply.status, reply.body.error], [500, 'internal_error'], wrong)
    }
    assert.equal((await service.post('/api/v1/mistakes', { wrong: 'long' })).status, 413)
    assert.deepEqual((await admin.get('/admin/jobs')).body.data, [])
  },
  OPTIONS,
)

eachService(
  'an event that the delivery engine records has its handler as well',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook, { events: ['parcel.arrived'] })).body
    await service.app.work()
    hook.answers = () => 410
    await service.post('/events', { type: 'parcel.arrived', object: { number: 'P-2' } })
    const isDisabled = (notes: string[]) => notes.includes(`disabled ${id}`)
    await eventually(() => readNotes(service), isDisabled)
  },
  { service: errands, env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' } },
)
