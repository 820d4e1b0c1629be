/** §12.1: `/metrics` for Prometheus serves this machine and the scope `metrics:read`. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

const elsewhere = { 'x-forwarded-for': '203.0.113.9' }

eachService('responses are counted by route', async ({ get, post, as }) => {
  await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  await get('/api/v1/users/1')
  await get('/api/v2/users/77')
  await get('/nowhere/secret-in-a-path')
  const { status, headers, text } = await as(undefined).get('/metrics')
  assert.deepEqual([status, headers['cache-control']], [200, 'no-store'])
  assert.match(headers['content-type']!, /^text\/plain; version=0\.0\.4; charset=utf-8$/)
  const of = (method: string, route: string, code: number) =>
    `\ngatehook_http_requests_total{method="${method}",route="${route}",status="${code}"} 1\n`
  assert.ok(text.includes(of('POST', '/api/users', 201)), text)
  assert.ok(text.includes(of('GET', '/api/users/:id', 200)))
  assert.ok(text.includes(of('GET', '/api/users/:id', 404)))
  assert.ok(text.includes(of('other', '*', 404)))
  for (const name of [
    'process_resident_memory_bytes',
    'gatehook_build_info',
    'gatehook_storage_queued',
  ]) {
    assert.match(text, new RegExp(`\n# TYPE ${name} gauge\n`))
  }
  for (const secret of ['ada@example.com', 'secret-in-a-path', 'gk_test']) {
    assert.ok(!text.includes(secret), secret)
  }
})

eachService('deliveries have metrics', async ({ get }) => {
  const { text } = await get('/metrics')
  for (const name of [
    'gatehook_webhook_queue_age_seconds',
    'gatehook_webhook_attempts_total',
    'gatehook_webhook_attempt_duration_seconds',
    'gatehook_webhook_endpoints',
    'gatehook_webhook_in_flight',
  ]) {
    assert.match(text, new RegExp(`\n# TYPE ${name} (gauge|counter|histogram)\n`))
  }
})

eachService(
  'other machines need the scope metrics:read, which admin implies',
  async ({ as, key }) => {
    const statusFor = async (secret: string | undefined) =>
      (await as(secret).get('/metrics', elsewhere)).status
    assert.equal(await statusFor(undefined), 401)
    assert.equal(await statusFor('gk_test_wrong'), 401)
    assert.equal(await statusFor(await key({ scopes: ['events:read'], mode: 'live' })), 403)
    for (const scope of ['metrics:read', 'admin']) {
      assert.equal(await statusFor(await key({ scopes: [scope], mode: 'live' })), 200)
    }
  },
)
