/** §15.6: an exception of a step ends the attempt: its code changes nothing from then on. */
import assert from 'node:assert/strict'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { f, job, resource, service } from '../../src/gatehook.ts'

const orders = resource('orders', {
  fields: { id: f.id(), state: f.string().max(20) },
  list: { filter: [], sort: [] },
  access: { read: 'r', create: 'w', update: 'w', delete: 'w' },
  events: [],
})
const pay = job('pay', { order_id: f.int() })

/** The observations after the exception. */
const seen: string[] = []

const shop = service({
  name: 'shop',
  versions: { v1: { released: '2026-01-01' } },
  resources: [orders],
})
  .route({
    method: 'POST',
    path: '/orders/:id/pay',
    scope: 'w',
    summary: 'Pay an order later',
    output: { job_id: f.string() },
    async handle({ params, write }) {
      const order_id = Number(params.id)
      return { body: { job_id: await write((tx) => tx.enqueue(pay, { order_id })) } }
    },
  })
  .job(pay, async ({ input: { order_id: id }, step, write }) => {
    const hasBegun = Promise.withResolvers<void>()
    const parallel = step('parallel', async ({ signal }) => {
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
      hasBegun.resolve()
      await aborted
      seen.push('aborted')
    })
    const fail = step('fail', async () => {
      await hasBegun.promise
      throw new Error('declined')
    })
    try {
      await Promise.all([parallel, fail])
    } catch {
      const change = write((tx) => tx.update(orders, id, { state: 'failed' }))
      await change.then(
        () => seen.push('committed'),
        (error: Error) => seen.push(error.message),
      )
    }
  })

eachService(
  'a write after the end of its attempt is rejected, and parallel steps are aborted',
  async (service) => {
    seen.length = 0
    const { id } = (await service.post('/api/v1/orders', { state: 'open' })).body
    const { job_id } = (await service.post(`/api/v1/orders/${id}/pay`)).body
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    await admin.post('/admin/clock', { advance_s: 0, freeze: true }) // no retry becomes due
    await service.app.work()
    const readJob = async () => (await admin.get(`/admin/jobs/${job_id}`)).body
    const hasEnded = ({ state, attempt }: Record<string, unknown>) =>
      state === 'waiting' && attempt === 1
    const { error } = await eventually(readJob, hasEnded)
    assert.equal(error, 'Error: declined')
    await eventually(
      async () => seen.toSorted(),
      (all) => all.length === 2,
    )
    assert.deepEqual(seen.toSorted(), ['aborted', 'declined'])
    assert.equal((await service.get(`/api/v1/orders/${id}`)).body.state, 'open')
  },
  { service: shop, env: { GATEHOOK_TEST_CLOCK: '1' } },
)
