/**
 * §18.4: on a full disk writes are 503, and `/readyz` is 503 for as long as a table cannot grow,
 * although rows can still be changed in place. Reads go on. The node recovers by itself.
 */
import assert from 'node:assert/strict'
import { chown, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import type { Kind } from '../../../../test/rig/databases.ts'
import { createDatabase, queryAsAdmin, startPostgres } from '../../../../test/rig/postgres.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { canMount, mountSmallDisk } from '../../../../test/rig/small-disk.ts'

const DISK_MIB = 64
/** More than enough to use the free space of existing pages. */
const WRITES_MAX = 20_000
/** The result of a write is valid for 5 s. */
const PROBE_MS = 5_000

/** Creates a database whose tables are on the disk; the log of the server is elsewhere. */
async function databaseOn(t: TestContext, kind: Kind, folder: string): Promise<string> {
  if (kind === 'sqlite') return `sqlite:${join(folder, 'gatehook.db')}`
  const server = await startPostgres()
  onEnd(t, () => server.stop())
  const location = join(folder, 'tablespace')
  await mkdir(location)
  const [settings] = await queryAsAdmin(server.url, 'SHOW data_directory')
  const { uid, gid } = await stat(settings!.data_directory)
  await chown(location, uid, gid)
  await queryAsAdmin(server.url, `CREATE TABLESPACE small LOCATION '${location}'`)
  const url = await createDatabase(server.url)
  const name = new URL(url).pathname.slice(1)
  await queryAsAdmin(server.url, `ALTER DATABASE ${name} SET TABLESPACE small`)
  return url
}

/** Returns the status of each kind of readiness with the failed checks. */
async function readiness({ as }: TestApp) {
  const results = ['/readyz', '/readyz?for=read'].map(async (path) => {
    const { status, body } = await as(undefined).get(path)
    return [status, ...body.reasons.map(({ check }: { check: string }) => check)]
  })
  return Promise.all(results)
}

const READY = [[200], [200]]
const FULL = [[503, 'writes'], [200]]

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a full disk is not ready until it has space [${kind}]`, {
    skip: !canMount() && 'mounting a disk needs root',
  }, async (t) => {
    const disk = await mountSmallDisk(DISK_MIB)
    onEnd(t, disk.unmount)
    let elapsedMs = 0
    const clock = { now: Date.now, elapsedMs: () => elapsedMs }
    const url = await databaseOn(t, kind, disk.folder)
    const service = await openService(t, kind, { url, clock })
    onEnd(t, () => service.app.close())
    const user = (n: number) => ({ name: 'x'.repeat(90), email: `u${n}@example.com` })
    assert.equal((await service.post('/api/v2/users', user(0))).status, 201)
    assert.deepEqual(await readiness(service), READY)

    await disk.fill()
    let refused = await service.post('/api/v2/users', user(1))
    for (let n = 2; refused.status === 201 && n < WRITES_MAX; n++) {
      refused = await service.post('/api/v2/users', user(n))
    }
    assert.deepEqual([refused.status, refused.body.error], [503, 'storage_unavailable'])
    assert.deepEqual(await readiness(service), FULL, 'at once')
    for (let probe = 1; probe <= 3; probe++) {
      elapsedMs += PROBE_MS
      assert.deepEqual(await readiness(service), FULL, `probe ${probe}`)
    }
    const { body } = await service.as(undefined).get('/readyz')
    assert.match(body.reasons[0].message, /disk of the database is full/)
    assert.equal((await service.get('/api/v2/users')).status, 200)

    await disk.free()
    elapsedMs += PROBE_MS
    assert.deepEqual(await readiness(service), READY)
    assert.equal((await service.post('/api/v2/users', user(WRITES_MAX))).status, 201)
  })
}
