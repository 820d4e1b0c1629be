/** The monitoring file on SQLite: a file that cannot be used affects neither requests nor start. */
import assert from 'node:assert/strict'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, migratedUrl, quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { createMonitoringFile } from '../../src/operate/monitoring/file.ts'
import type { FilePace } from '../../src/operate/monitoring/file-pace.ts'
import { FileThread, openWorker } from '../../src/operate/monitoring/file-thread.ts'
import { countRequests } from '../../src/operate/monitoring/store.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { serving } from '../cli/process.ts'
import { adminOf } from './admin.ts'

const fileOf = (url: string) => `${url.replace('sqlite:', '')}.monitoring.db`

const openFile = (t: TestContext, file: string) => {
  const opened = createMonitoringFile({ file, log: quietLog })
  onEnd(t, () => opened.close())
  return opened
}

test('the file is private, and is created with the first command', async (t) => {
  const path = join(emptyFolder(t), 'monitoring.db')
  const file = openFile(t, path)
  assert.equal(existsSync(path), false)
  assert.equal(await countRequests(file), 0)
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('a damaged file is renamed, and a new one begins', async (t) => {
  const path = join(emptyFolder(t), 'monitoring.db')
  writeFileSync(path, 'this is not a database, '.repeat(1000))
  const file = openFile(t, path)
  assert.equal(await countRequests(file), 0)
  assert.equal(existsSync(`${path}.damaged`), true)
  assert.equal(file.figures().renamed, 1)
})

test('a file with other tables is renamed', async (t) => {
  const path = join(emptyFolder(t), 'monitoring.db')
  const other = new DatabaseSync(path)
  other.exec('CREATE TABLE gh_monitoring_requests (id TEXT); PRAGMA user_version = 99')
  other.close()
  const file = openFile(t, path)
  assert.equal(await countRequests(file), 0)
  assert.equal(file.figures().renamed, 1)
})

test('a thread that the system refuses rejects its commands; the next one starts', async (t) => {
  const file = join(emptyFolder(t), 'monitoring.db')
  let isRefused = true
  const open: typeof openWorker = (script, options) => {
    if (isRefused) throw new Error('ERR_WORKER_INIT_FAILED')
    return openWorker(script, options)
  }
  const data = { file, tables: 'CREATE TABLE t (a)' }
  const thread = new FileThread(data, quietLog, undefined, open)
  onEnd(t, () => thread.end())
  const read = () =>
    thread.send({ rows: 'arrays', statement: { sql: 'SELECT a FROM t', values: [] } })
  for (const command of [read(), read()]) {
    await assert.rejects(command, { code: 'storage_unavailable' })
  }
  assert.equal(thread.figures().failures.failed, 2)
  isRefused = false
  assert.deepEqual(await read(), [])
})

test('a failed statement is rejected and rolls its transaction back', async (t) => {
  const file = openFile(t, join(emptyFolder(t), 'monitoring.db'))
  const insert = sql`INSERT INTO gh_monitoring_volume (at, node, bytes) VALUES (0, 'n', 1)`
  await assert.rejects(file.write([insert, sql`INSERT INTO nothing VALUES (1)`]))
  assert.deepEqual(await file.all(sql`SELECT at FROM gh_monitoring_volume`), [])
  assert.equal(file.figures().failures.failed, 1)
})

test('a thread of another priority replaces the former one, and no command is lost', async (t) => {
  const file = join(emptyFolder(t), 'a.db')
  const state = { isStarved: false }
  const pace: FilePace = {
    isStarved: () => state.isStarved,
    begin: () => ({ noteSlow() {}, end() {} }),
  }
  const thread = new FileThread({ file, tables: 'CREATE TABLE t (a)' }, quietLog, pace)
  onEnd(t, () => thread.end())
  const insert = JSON.stringify([{ sql: 'INSERT INTO t VALUES (1)', values: [] }])
  for (const isStarved of [false, true, false]) {
    const before = thread.send({ write: insert })
    state.isStarved = isStarved
    await Promise.all([before, thread.send({ write: insert }), thread.send({ write: insert })])
  }
  const statement = { sql: 'SELECT count(*) FROM t', values: [] }
  assert.deepEqual(await thread.send({ rows: 'arrays', statement }), [[9]])
  state.isStarved = true
  const last = thread.send({ write: insert })
  await thread.end()
  await last
  assert.equal(thread.isAwake, false)
  assert.deepEqual(thread.figures().failures, { corrupt: 0, locked: 0, failed: 0 })
})

test('requests are served while another process locks the file', async (t) => {
  const url = await freshUrl(t, 'sqlite')
  const service = await openService(t, 'sqlite', { url })
  const admin = await adminOf(service)
  await admin.get('/admin/series') // creates the file
  const other = new DatabaseSync(fileOf(url))
  onEnd(t, () => other.close())
  other.exec('BEGIN IMMEDIATE')
  for (let count = 0; count < 5; count++) {
    assert.equal((await service.get('/api/v2/orders')).status, 200)
  }
  const before = await admin.get('/admin/requests?route=/api/orders')
  assert.deepEqual([before.status, before.body.data], [200, []], 'the requests wait in memory')
  other.exec('COMMIT')
  const { body } = await admin.get('/admin/requests?route=/api/orders')
  assert.equal(body.data.length, 5)
  assert.deepEqual(body.not_logged, { sampled: 0, dropped: 0 })
})

test('a service starts and serves with a damaged file', async (t) => {
  const url = await migratedUrl(t, 'sqlite')
  writeFileSync(fileOf(url), 'damaged '.repeat(10_000))
  const service = await openService(t, 'sqlite', { url })
  assert.equal((await service.get('/api/v2/orders')).status, 200)
  const admin = await adminOf(service)
  assert.equal((await admin.get('/admin/requests')).status, 200)
})

test('after kill -9 the file is sound and has all but the last records', async (t) => {
  const cwd = emptyFolder(t)
  const key = generateApiKey(systemRandom(), 'live')
  const place = { cwd, env: { GATEHOOK_BOOTSTRAP_KEY: key, GATEHOOK_RATE_LIMIT: '0' } }
  const run = await serving(t, place, '--no-seed')
  const path = join(cwd, 'data/gatehook.db.monitoring.db')
  const send = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        fetch(`${run.url}/api/v2/users`, { headers: { 'x-api-key': key } }).then((reply) =>
          reply.arrayBuffer(),
        ),
      ),
    )
  const countRows = () => {
    if (!existsSync(path)) return 0
    const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
    try {
      return Number(db.prepare('SELECT count(*) AS total FROM gh_monitoring_requests').get()!.total)
    } catch {
      return 0 // the tables do not exist yet
    } finally {
      db.close()
    }
  }
  await send(100)
  await eventually(
    async () => countRows(),
    (count) => count === 100,
  )
  const sending = send(100).catch(() => undefined)
  run.kill('SIGKILL')
  await sending
  const db = new DatabaseSync(path)
  onEnd(t, () => db.close())
  assert.deepEqual(
    db
      .prepare('PRAGMA integrity_check')
      .all()
      .map((row) => row.integrity_check),
    ['ok'],
  )
  assert.ok(countRows() >= 100)
})
