/**
 * §18.4: on a full disk writes are 503, and `/readyz` is 503 for as long as a table cannot grow,
 * although rows can still be changed in place. Reads go on. The node recovers by itself.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { quietLog } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { canMount, databaseOn, mountSmallDisk } from '../../../../test/rig/small-disk.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'

const DISK_MIB = 64
/** More than enough to use the free space of existing pages. */
const WRITES_MAX = 20_000
/** The result of a write is valid for 5 s. */
const PROBE_MS = 5_000

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
    const { url, stop } = await databaseOn(kind, disk.folder)
    onEnd(t, stop)
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
    // A command beside it ends in order, although the log cannot be copied into the file.
    const beside = await openDatabase({ url, durability: 'local' }, { log: quietLog })
    await beside.close()

    await disk.free()
    elapsedMs += PROBE_MS
    assert.deepEqual(await readiness(service), READY)
    assert.equal((await service.post('/api/v2/users', user(WRITES_MAX))).status, 201)
  })
}
