/** Errors by cause over a whole app, on both databases. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { adminOf, requestIdOf } from './admin.ts'

eachService('errors are counted by cause, with the latest request', async (service) => {
  const admin = await adminOf(service)
  await service.get('/api/v2/orders/998')
  const last = await service.get('/api/v2/orders/999')
  await service.get('/api/v2/orders?what=1')
  const { status, body, text } = await admin.get('/admin/errors?mode=test')
  assert.equal(status, 200, text)
  const cause = body.data.find(({ error }: { error: string }) => error === 'not_found')
  assert.deepEqual(
    { ...cause, last_at: null },
    {
      error: 'not_found',
      status: 404,
      route: '/api/orders/:id',
      version: 'v2',
      count: 2,
      customers: 1,
      last_at: null,
      sample_request_id: requestIdOf(last),
    },
  )
  assert.equal(body.data.length, 2)
  const month = new Date(Date.parse(body.to) - 29 * 86_400_000).toISOString()
  const rolledUp = await admin.get(`/admin/errors?mode=test&from=${month}`)
  assert.deepEqual(rolledUp.body.data, body.data)
})

eachService('errors of other modes and ranges are left out', async (service) => {
  const admin = await adminOf(service)
  await service.get('/api/v2/orders/999')
  assert.equal((await admin.get('/admin/errors?mode=live')).body.data.length, 0)
  assert.equal((await admin.get('/admin/errors?to=2026-01-01')).body.data.length, 0)
  assert.equal((await admin.get('/admin/errors?from=2020-01-01')).status, 400)
  assert.equal((await admin.get('/admin/errors?status=404')).status, 400)
})
