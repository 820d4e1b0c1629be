/** Series over a whole app, on both databases. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { adminOf } from './admin.ts'

const sumOf = (values: readonly (number | null)[]) =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0)

eachService('requests count by class, version and caller; totals agree', async (service) => {
  const admin = await adminOf(service)
  for (let count = 0; count < 3; count++) await service.get('/api/v2/orders')
  await service.get('/api/v1/orders/999')
  const { status, body, text } = await admin.get('/admin/series?mode=test&metric=requests,versions')
  assert.equal(status, 200, text)
  assert.equal(body.step_s, 15)
  const valuesOf = (key: string) =>
    body.series.find((series: { key: string }) => series.key === key).values
  assert.equal(valuesOf('2xx').length, 240)
  assert.equal(sumOf(valuesOf('2xx')), 3)
  assert.equal(sumOf(valuesOf('4xx')), 1)
  assert.equal(sumOf(valuesOf('v2')), 3)
  assert.equal(sumOf(valuesOf('v1')), 1)
  assert.equal(body.totals.requests.count, 4)
  assert.deepEqual(body.totals.versions, { v1: 1, v2: 3 })
  assert.equal(body.totals.previous.requests.count, 0)
})

eachService('the same requests are in every step', async (service) => {
  const admin = await adminOf(service)
  await service.get('/api/v2/orders')
  const now = Date.parse((await admin.get('/admin/series')).body.to)
  for (const [days, step] of [
    [1, 900],
    [7, 7200],
    [30, 21_600],
    [400, 86_400],
  ] as const) {
    const from = new Date(now - days * 86_400_000).toISOString()
    const { body, text } = await admin.get(`/admin/series?metric=requests&mode=test&from=${from}`)
    assert.equal(body.step_s, step, text)
    assert.equal(body.totals.requests['2xx'], 1)
  }
})

eachService('bad parameters of a series are 400', async (service) => {
  const admin = await adminOf(service)
  const bad = [
    'metric=nothing',
    'step=7',
    'step=15&from=2020-01-01',
    'from=2001-01-01',
    'from=2026-01-02&to=2026-01-01',
    'webhook=wh_1&metric=requests',
    'other=1',
    'mode=',
  ]
  for (const query of bad) {
    assert.equal((await admin.get(`/admin/series?${query}`)).status, 400, query)
  }
})
