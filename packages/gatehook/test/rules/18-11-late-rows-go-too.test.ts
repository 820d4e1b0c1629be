/**
 * §18.11: rows of requests that end after a deletion or an erasure are deleted by a later pass. The
 * test stores one in every table that nodes write after responses.
 */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { engineTables } from '../../src/engine-tables.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import type { Table } from '../../src/platform/storage/table.ts'
import { PASSWORD } from '../people/rig.ts'
import { createReceiver, response } from '../transport/receivers.ts'

const late = engineTables.filter(({ followsRequests }) => followsRequests)
const clock = { aheadMs: 0, now: () => Date.now() + clock.aheadMs, elapsedMs: () => clock.now() }
const LATE_MS = 120_000

/** Runs a statement where the rows of a table are. */
async function run({ app, url }: TestApp, { apart }: Table, text: string): Promise<unknown[]> {
  if (app.db.name === 'postgres' || !apart) {
    return app.db.write((tx) => tx.all({ sql: text, text, values: [] }))
  }
  const file = new DatabaseSync(`${url.replace('sqlite:', '')}.monitoring.db`, { timeout: 5_000 })
  try {
    return file.prepare(text).all()
  } finally {
    file.close()
  }
}

/** Stores a row as a node does after the response of a caller. */
async function store(service: TestApp, table: Table, row: Record<string, string | number>) {
  const cells = Object.entries(table.columns)
    .filter(([name, { nullable }]) => row[name] !== undefined || !nullable)
    .map(([name, { kind }]) => [name, row[name] ?? (kind === 'text' ? 'GET' : 987_654)] as const)
  const values = cells.map(([, cell]) => (typeof cell === 'number' ? cell : `'${cell}'`))
  const columns = cells.map(([name]) => name).join(', ')
  await run(service, table, `INSERT INTO ${table.name} (${columns}) VALUES (${values.join(', ')})`)
}

for (const { name } of databases) {
  test(`requests that end after a deletion leave no row [${name}]`, async (t) => {
    const service = await openService(t, name, { clock })
    const { app } = service
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const { id } = (await admin.post('/admin/customers', { name: 'Gone' })).body
    const { no } = (await app.db.get<{ no: number }>(
      sql`SELECT no FROM gh_customers WHERE id = ${id}`,
    ))!
    assert.equal((await admin.delete(`/admin/customers/${id}`)).status, 202)
    await app.erasure.runDue()
    assert.equal((await admin.get(`/admin/customers/${id}`)).status, 404)
    for (const table of late) await store(service, table, { customer: id, scope: no * 2 })
    const left = async () => {
      const rows = []
      for (const table of late) {
        const text = `SELECT 1 AS one FROM ${table.name} WHERE customer = '${id}'`
        rows.push(...(await run(service, table, text)))
      }
      return rows.length
    }
    await app.erasure.runDue()
    assert.equal(await left(), late.length, 'the pass is later')
    clock.aheadMs += LATE_MS
    await app.erasure.runDue()
    assert.equal(await left(), 0)
    const jobs = await app.db.all<{ input: string }>(
      sql`SELECT input FROM gh_jobs WHERE name = 'delete_late_rows'`,
    )
    assert.ok(!JSON.stringify(jobs).includes(id), 'the id is not stored longer')
  })

  test(`requests that end after an erasure leave no line of the person [${name}]`, async (t) => {
    const service = await openService(t, name, { clock })
    const { app } = service
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const person = { name: 'Paula', email: 'paula@example.com', password: PASSWORD }
    const { id } = (await admin.post('/admin/users', person)).body
    const other = id + 1
    assert.equal((await admin.delete(`/admin/users/${id}`)).status, 202)
    await app.erasure.runDue()
    const requests = late.find(({ name }) => name === 'gh_monitoring_requests')!
    for (const [position, caller] of [id, other].entries()) {
      await store(service, requests, {
        ...{ customer: 'cus_default', kind: 'api', mode: 'live', position: 900_000 + position },
        ...{ caller_kind: 'person', caller_id: String(caller), caller_name: 'Paula' },
      })
    }
    const left = async () =>
      (
        await run(
          service,
          requests,
          `SELECT caller_id FROM gh_monitoring_requests WHERE caller_name = 'Paula'`,
        )
      ).map((row) => Number((row as { caller_id: string }).caller_id))
    assert.deepEqual(await left(), [id, other])
    clock.aheadMs += LATE_MS
    await app.erasure.runDue()
    assert.deepEqual(await left(), [other])
  })

  test(`what a receiver answers after an erasure goes, too [${name}]`, async (t) => {
    const env = { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' }
    const service = await openService(t, name, { clock, env })
    const { app } = service
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const { url } = await createReceiver(t, (socket) => socket.write(response('ok')))
    await admin.post('/webhooks', { url, events: ['user.*'] })
    const [gone] = [await createPerson(admin, 'paula'), await createPerson(admin, 'other')]
    assert.equal((await admin.delete(`/admin/users/${gone}`)).status, 202)
    await app.erasure.runDue()
    await app.db.write((tx) => tx.run(sql`UPDATE gh_deliveries SET attempts = '["late"]'`))
    clock.aheadMs += LATE_MS
    await app.erasure.runDue()
    const rows = await app.db.all<{ object: string; attempts: string | null }>(
      sql`SELECT object, attempts FROM gh_deliveries JOIN gh_events ON gh_events.id = event_id`,
    )
    const left = rows.filter(({ attempts }) => attempts !== null)
    assert.ok(left.length > 0 && left.length < rows.length, JSON.stringify(rows))
    assert.ok(left.every(({ object }) => object.includes('other@')))
  })
}

async function createPerson(admin: ReturnType<TestApp['as']>, word: string): Promise<number> {
  const person = { name: word, email: `${word}@example.com`, password: PASSWORD }
  return (await admin.post('/admin/users', person)).body.id
}
