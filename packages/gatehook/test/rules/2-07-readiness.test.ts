/** §2.7: `/readyz` is 503 without writes, `/readyz?for=read` without reads, both when draining. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { Failure } from '../../src/kernel/failure.ts'

/** Real time advances by 5 s per check, the time for which a database check is cached. */
let elapsedMs = 0
const clock = { now: () => Date.UTC(2026, 10, 1), elapsedMs: () => elapsedMs }

const READY = [200, 'ready', []]

/** Returns the status code, the status and the failed checks. */
async function readiness({ as }: TestApp, path: string) {
  elapsedMs += 5_000
  const { status, headers, body } = await as(undefined).get(path)
  assert.equal(headers['cache-control'], 'no-store')
  return [status, body.status, body.reasons.map(({ check }: { check: string }) => check)]
}

const both = async (service: TestApp) => [
  await readiness(service, '/readyz'),
  await readiness(service, '/readyz?for=read'),
]

const unavailable = () => Promise.reject(new Failure('storage_unavailable'))

eachService(
  'a node that cannot write continues to serve reads',
  async (service) => {
    const { app, get, post } = service
    assert.deepEqual(await both(service), [READY, READY])
    const { write } = app.db
    app.db.write = unavailable
    assert.deepEqual(await both(service), [[503, 'not_ready', ['writes']], READY])
    assert.equal((await get('/api/v2/users')).status, 200)
    const refused = await post('/api/v2/users', { name: 'Ada', email: 'a@example.com' })
    assert.equal(refused.status, 503)
    app.db.write = write
    assert.deepEqual(await both(service), [READY, READY])
  },
  { clock },
)

eachService(
  'a node that cannot read is ready for neither',
  async (service) => {
    const { app } = service
    app.db.get = unavailable
    const checks = (await both(service)).map(([status, , failed]) => [
      status,
      failed.includes('database'),
    ])
    assert.deepEqual(checks, [
      [503, true],
      [503, true],
    ])
  },
  { clock },
)

eachService(
  'a draining node is ready for neither, and serves requests',
  async (service) => {
    const draining = [503, 'not_ready', ['draining']]
    await service.app.drain()
    assert.deepEqual(await both(service), [draining, draining])
    const answer = await service.get('/api/v2/users')
    assert.deepEqual([answer.status, answer.headers.connection], [200, 'close'])
  },
  { clock },
)

eachService('an unknown purpose is 400', async ({ as }) => {
  const { status, body } = await as(undefined).get('/readyz?for=reads')
  assert.deepEqual([status, body.error], [400, 'invalid_parameter'])
  assert.equal((await as(undefined).get('/readyz?for=write')).status, 200)
})
