/** Fresh and upgraded tables, and moves, have fields of every kind with the same values. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import { moveDatabase } from '../../../../test/rig/move.ts'
import { openService } from '../../../../test/rig/service.ts'
import { migrateService, planMigration } from '../../src/declare/resources/migrate.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { idOnly, everyKind as service } from '../fixtures/every-kind.ts'

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a fresh and an upgraded table have the same columns and indexes [${kind}]`, async (t) => {
    const fresh = await openForTest(t, await freshUrl(t, kind))
    const upgraded = await openForTest(t, await freshUrl(t, kind))
    for (const db of [fresh, upgraded]) await migrateEngine(db, { clock: wallClock })
    await migrateService(fresh, service.definition)
    await migrateService(upgraded, idOnly.definition)
    await migrateService(upgraded, service.definition)
    for (const db of [fresh, upgraded]) {
      assert.deepEqual(await planMigration(db, service.definition), [])
    }
    assert.deepEqual(await upgraded.columns('things'), await fresh.columns('things'))
    const sorted = (names: readonly string[]) => [...names].sort()
    assert.deepEqual(
      sorted(await upgraded.indexes('things')),
      sorted(await fresh.indexes('things')),
    )
  })

  test(`a row of before an upgrade has the values of a new one [${kind}]`, async (t) => {
    const url = await freshUrl(t, kind)
    const before = await openService(t, kind, { service: idOnly, url })
    await before.post('/api/v1/things', {})
    await before.app.close()
    const { get, post } = await openService(t, kind, { service, url })
    const created = await post('/api/v1/things', {})
    assert.equal(created.status, 201, created.text)
    const { id: _id, a_stored: _stored, ...old } = (await get('/api/v1/things/1')).body
    const { id: _newId, a_stored, ...values } = created.body
    assert.deepEqual(old, values)
    assert.equal(a_stored, 7)
  })
}

for (const [from, to] of [
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
] as const) {
  test(`a move carries the values of every kind [${from} to ${to}]`, async (t) => {
    const origin = await openService(t, from, { service })
    await origin.post('/api/v1/targets', {})
    const body = { a_ref: 1, a_string: '', a_metadata: { key: '"' }, a_list: [], a_number: 1e-7 }
    for (const values of [{}, body]) await origin.post('/api/v1/things', values)
    const rows = (await origin.get('/api/v1/things')).body.data
    assert.equal(rows.length, 2)
    const url = await freshUrl(t, to)
    await origin.app.close()
    await moveDatabase(origin.url, url, service)
    const { get } = await openService(t, to, { service, url })
    const list = await get('/api/v1/things')
    assert.equal(list.status, 200, list.text)
    assert.deepEqual(list.body.data, rows)
    assert.deepEqual((await get('/api/v1/things?sort=a_time_of_day')).body.data, rows)
  })
}
