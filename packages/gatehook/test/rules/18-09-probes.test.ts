/** §18.9: probes count in no error rate, and are logged only when their response changes. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { createLog } from '../../src/kernel/log.ts'
import { adminOf } from '../monitoring/admin.ts'

const PROBES = ['/healthz', '/readyz', '/readyz?for=read', '/metrics']
const unavailable = () => Promise.reject(new Failure('storage_unavailable'))

/** Real time advances by 5 s per probe, the time for which a check of the database is cached. */
let elapsedMs = 0
const clock = { now: () => Date.UTC(2026, 10, 1), elapsedMs: () => elapsedMs }

async function openLogged(t: TestContext, kind: 'sqlite' | 'postgres') {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const log = createLog({ level: 'info', destination })
  const url = await freshUrl(t, kind)
  const service = await openService(t, kind, { url, log, clock })
  const linesOf = (path: string) =>
    lines
      .map((line) => JSON.parse(line))
      .filter(({ url: logged, status }) => logged === path && status !== undefined)
      .map(({ status }) => status)
  return { service, linesOf }
}

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a probe has a log line when its response changes [${kind}]`, async (t) => {
    const { service, linesOf } = await openLogged(t, kind)
    const { app, as } = service
    const probe = async () => {
      for (let count = 0; count < 3; count++) {
        for (const path of PROBES) {
          elapsedMs += 5_000
          await as(undefined).get(path)
        }
      }
    }
    await probe()
    for (const path of PROBES) assert.deepEqual(linesOf(path), [200], path)
    const { write } = app.db
    app.db.write = unavailable
    await probe()
    app.db.write = write
    await probe()
    assert.deepEqual(linesOf('/readyz'), [200, 503, 200])
    for (const path of ['/healthz', '/readyz?for=read', '/metrics']) {
      assert.deepEqual(linesOf(path), [200], path)
    }
    await as(undefined).get('/openapi/v2.json')
    await as(undefined).get('/openapi/v2.json')
    assert.equal(linesOf('/openapi/v2.json').length, 2, 'other requests have a line each')
  })

  test(`failed probes count in no error rate [${kind}]`, async (t) => {
    const { service } = await openLogged(t, kind)
    const admin = await adminOf(service)
    const { write } = service.app.db
    service.app.db.write = unavailable
    for (let count = 0; count < 60; count++) {
      elapsedMs += 5_000
      await service.as(undefined).get('/readyz')
    }
    service.app.db.write = write
    elapsedMs += 5_000
    const { text } = await admin.get('/metrics')
    assert.match(text, /^gatehook_http_probes_total\{route="\/readyz",status="503"\} 60$/m)
    for (const name of ['requests_total', 'request_duration_seconds_count']) {
      assert.doesNotMatch(text, new RegExp(`^gatehook_http_${name}\\{[^}]*readyz`, 'm'))
    }
    const attention = (await admin.get('/admin/attention')).body.data
    assert.deepEqual(
      attention.map(({ kind: of }: { kind: string }) => of),
      [],
    )
    assert.deepEqual((await admin.get('/admin/errors')).body.data, [])
    assert.deepEqual((await admin.get('/admin/requests?route=/readyz')).body.data, [])
  })
}
