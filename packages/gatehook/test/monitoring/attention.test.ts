/** Items of `/admin/attention`, over a whole app, on both databases. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { healthRank } from '../../src/outbound/deliveries/outcome-summary.ts'
import { insertJob } from '../../src/platform/jobs/store.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'
import { adminOf } from './admin.ts'

const kindsOf = (body: { data: { kind: string }[] }) => body.data.map(({ kind }) => kind)

const expiringKey = (service: TestApp) =>
  service.key({ expires_at: new Date(Date.now() + 3 * 86_400_000).toISOString() })

eachService('nothing needs attention at first', async (service) => {
  const admin = await adminOf(service)
  const { status, body, text } = await admin.get('/admin/attention')
  assert.equal(status, 200, text)
  assert.deepEqual(body, { data: [], delayed: 0, next_cursor: null, has_more: false })
})

eachService('a key that is refused more than 20 times in an hour is named', async (service) => {
  const admin = await adminOf(service)
  const narrow = service.as(await service.key({ scopes: ['orders:read'] }))
  for (let count = 0; count < 21; count++) await narrow.post('/api/v2/users', {})
  const { body } = await admin.get('/admin/attention')
  assert.deepEqual(kindsOf(body), ['key_refused'])
  const [item] = body.data
  assert.equal(item.facts.refused, 21)
  const [since, last, now] = [item.since, item.facts.last_at, Date.now()].map((at) => +new Date(at))
  assert.ok(now! - since! < 600_000, 'since the first rejection, not for an hour')
  assert.ok(last! >= since! && last! <= now! + 1_000)
  assert.equal(item.subject.type, 'key')
  assert.equal(item.id, `key_refused.${item.subject.id}`)
  assert.equal(item.mode, 'test')
})

eachService(
  'a key that is in use and expires soon is named, until it is put off',
  async (service) => {
    const admin = await adminOf(service)
    await expiringKey(service)
    const expiring = sql`UPDATE gh_api_keys SET last_used_at = ${Date.now()}
    WHERE expires_at IS NOT NULL`
    await service.app.db.write((tx) => tx.run(expiring))
    const { body } = await admin.get('/admin/attention')
    assert.deepEqual(kindsOf(body), ['key_expiring'])
    const [{ id }] = body.data
    const until = new Date(Date.now() + 86_400_000).toISOString()
    const put = await admin.put(`/admin/attention/${id}`, { until })
    assert.equal(put.status, 200, put.text)
    const later = await admin.get('/admin/attention')
    assert.deepEqual([later.body.data, later.body.delayed], [[], 1])
    const other = await adminOf(service)
    assert.deepEqual(kindsOf((await other.get('/admin/attention')).body), ['key_expiring'])
    const { body: audit } = await admin.get('/admin/audit?action=attention.delay')
    assert.deepEqual(audit.data[0].target, id)
  },
)

eachService('a test key for a day, as gatehook listen creates, is not named', async (service) => {
  const admin = await adminOf(service)
  await service.key({ mode: 'test', expires_at: new Date(Date.now() + 86_400_000).toISOString() })
  const use = sql`UPDATE gh_api_keys SET last_used_at = ${Date.now()} WHERE expires_at IS NOT NULL`
  await service.app.db.write((tx) => tx.run(use))
  assert.deepEqual(kindsOf((await admin.get('/admin/attention')).body), [])
})

eachService('jobs that failed are counted by name', async (service) => {
  const admin = await adminOf(service)
  const now = Date.now()
  const job = { kind: 'job', name: 'mail', scope: 2 as Scope, input: '{}' } as const
  await service.app.db.write(async (tx) => {
    for (const id of ['job_1', 'job_2', 'job_3']) {
      await insertJob(tx, { ...job, id, runAt: now, createdAt: now })
    }
    await tx.run(sql`UPDATE gh_jobs SET state = 'failed', ended_at = ${now} WHERE id < 'job_3'`)
  })
  const { body } = await admin.get('/admin/attention')
  assert.deepEqual(kindsOf(body), ['jobs_failed'])
  const [{ id, subject, facts }] = body.data
  assert.deepEqual([id, subject.label, facts.failed], ['jobs_failed.mail', 'mail', 2])
})

eachService(
  'a slow receiver is named with what waits for it, and is listed among the worst',
  async (service, t) => {
    const admin = await adminOf(service)
    const hook = await openHook(t)
    const slow = (await register(service, hook)).body.id
    const healthy = (await register(service, hook)).body.id
    const state = sql`UPDATE gh_webhooks SET health = ${healthRank('slow')} WHERE id = ${slow}`
    await service.app.db.write((tx) => tx.run(state))
    const items = async () => {
      const { data } = (await admin.get('/admin/attention')).body
      return data.map(({ kind, severity, subject, facts }: Record<string, unknown>) => ({
        kind,
        severity,
        id: (subject as { id: string }).id,
        waiting: (facts as { waiting: number }).waiting,
      }))
    }
    await pay(service, 1)
    const due = sql`UPDATE gh_deliveries SET next_attempt_at = ${Date.now() - 120_000}`
    await service.app.db.write((tx) => tx.run(due))
    assert.deepEqual(await items(), [
      { kind: 'endpoint_slow', severity: 'warn', id: slow, waiting: 1 },
    ])
    const listed = async (query: string) =>
      (await admin.get(`/admin/webhooks?${query}`)).body.data.map(({ id }: { id: string }) => id)
    assert.deepEqual(await listed('sort=-health'), [slow, healthy])
    assert.deepEqual(await listed('state=slow'), [slow])
  },
  LOCAL,
)

eachService('an item is put off until an instant, by a valid id', async (service) => {
  const admin = await adminOf(service)
  assert.equal((await admin.put('/admin/attention/nothing', { until: '2030-01-01' })).status, 404)
  assert.equal((await admin.put('/admin/attention/a.b', { until: 'x' })).status, 422)
  assert.equal((await admin.put('/admin/attention/a.b', {})).status, 422)
})

eachService('the system names its node, queue, storage, jobs and signing keys', async (service) => {
  const admin = await adminOf(service)
  const { status, body, text } = await admin.get('/admin/system')
  assert.equal(status, 200, text)
  assert.deepEqual(
    body.nodes.map(({ role, state }: { role: string; state: string }) => [role, state]),
    [['all', 'ready']],
  )
  assert.deepEqual(body.queue, {
    waiting: 0,
    waiting_is_bound: false,
    oldest_at: null,
    in_flight: 0,
    rate_per_s: 0,
  })
  assert.ok(body.storage.bytes > 100_000)
  assert.ok(body.storage.migrations >= 1)
  assert.deepEqual(body.jobs, [])
  assert.equal(body.request_log.mode, 'all')
  const { keys } = (await admin.get('/.well-known/jwks.json')).body
  const [key, ...others] = body.signing_keys
  assert.deepEqual(others, [])
  assert.deepEqual(Object.keys(key), ['id', 'algorithm', 'created_at', 'signs_from', 'state'])
  assert.deepEqual([key.id, key.algorithm, key.state], [keys[0].kid, keys[0].alg, 'current'])
})
