/** §18.5: held data continues no request with steps; a new request runs its first attempt. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyOf, databases, migratedUrl } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { payments, probe } from '../fixtures/payments.ts'

for (const { name } of databases) {
  test(`a stored request waits for the release [${name}]`, async (t) => {
    const open = (url: string) =>
      openService(t, name, { url, service: payments, recognition: { isRestored: false } })
    const runs: string[] = []
    let meanwhile = async () => {}
    const send = (service: Pick<TestApp, 'patch'>, key: string) => {
      probe.run = async () => {
        runs.push(key)
        await meanwhile()
        if (runs.length === 1) throw new Error('the other system is down')
      }
      return service.patch('/api/v1/probe', {}, { 'idempotency-key': key })
    }
    const url = await migratedUrl(t, name)
    const first = await open(url)
    const key = await first.key({ scopes: ['r', 'w'] })
    const operator = await first.key({ scopes: ['admin'], mode: 'live' })
    const failed = await send(first.as(key), 'stored')
    assert.deepEqual([failed.status, failed.body.error], [503, 'request_incomplete'])
    await first.app.close()
    const restored = await open(await copyOf(url))
    await restored.app.work()
    const held = await send(restored.as(key), 'stored')
    assert.deepEqual([held.status, held.body.error], [503, 'request_incomplete'])
    assert.ok(Number(held.headers['retry-after']) >= 1)
    assert.deepEqual(runs, ['stored'])
    // A repeat while the first attempt runs waits for its response.
    const entered = Promise.withResolvers<void>()
    const left = Promise.withResolvers<void>()
    meanwhile = () => {
      entered.resolve()
      return left.promise
    }
    const begun = send(restored.as(key), 'new')
    await entered.promise
    // The attempt ends once the repeat has found it.
    const { db } = restored.app
    const read = db.get
    const repeatLook = Promise.withResolvers<void>()
    const spy = t.mock.method(db, 'get', async (statement: Parameters<typeof read>[0]) => {
      const row = await read(statement)
      if (row?.state === 'running' && 'row_key' in row) repeatLook.resolve()
      return row
    })
    const repeated = send(restored.as(key), 'new')
    await repeatLook.promise
    spy.mock.restore()
    left.resolve()
    assert.ok((await begun).status < 300)
    assert.ok((await repeated).status < 300)
    meanwhile = async () => {}
    const admin = restored.as(operator)
    assert.equal((await admin.post('/admin/restore/release')).status, 200)
    const repeat = () => send(restored.as(key), 'stored')
    await eventually(repeat, ({ status }) => status < 300)
  })
}
