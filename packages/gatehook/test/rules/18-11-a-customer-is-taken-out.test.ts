/**
 * §18.11: a deleted customer leaves no row, and no byte of its data, in any table and file. The
 * test fills every declared table, so that a new one is part of it.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { engineTables } from '../../src/engine-tables.ts'
import { recordAudit } from '../../src/history/audit/store.ts'
import type { CustomerPlace } from '../../src/platform/storage/customer-rows.ts'
import type { Database, Value } from '../../src/platform/storage/database.ts'
import { prepareStatement, sql } from '../../src/platform/storage/sql.ts'
import type { DeclaredColumn, Table } from '../../src/platform/storage/table.ts'
import { clinicChart } from '../fixtures/clinic-chart.ts'
import { errands } from '../fixtures/errands.ts'
import { assertNotInFiles, readAll, rowsWith } from '../storage/canaries.ts'
import { createReceiver, response } from '../transport/receivers.ts'

const ROWS = 3
/** Tables that the test fills through the engine: the chain verifies audit rows. */
const BY_ENGINE = /^gh_(customers|audit|monitoring_\w+)$/

/** Numbers of one customer differ from those of another. */
const numberOf = ({ no }: CustomerPlace, n: number) => no * 1_000 + n

function cellOf(
  { kind, nullable }: DeclaredColumn,
  word: string,
  customer: CustomerPlace,
  n: number,
): Value {
  if (kind === 'text') return `${word} ${n}`
  if (kind === 'bytes') return Buffer.from(`${word} bytes ${n}`)
  return nullable && n === 0 ? null : numberOf(customer, n)
}

/** Columns whose text the deletion reads as JSON. */
const jsonOf = (word: string): Readonly<Record<string, Record<string, Value>>> => ({
  gh_issuer_rules: {
    claims: JSON.stringify({ sub: word }),
    scopes: JSON.stringify([word]),
    domains: JSON.stringify([word]),
  },
})

/** Inserts rows of a customer in both modes with a word in every column of text and bytes. */
async function fillTable(db: Database, table: Table, customer: CustomerPlace, word: string) {
  const { name, columns, belongs } = table
  assert.ok(belongs !== 'installation')
  const written = Object.entries(columns).filter(([, { kind }]) => !/serial|txid/.test(kind))
  const names = written.map(([column]) => column)
  const marks = written.map(() => '?').join(', ')
  const insert = prepareStatement(
    `INSERT INTO ${name} (${names.join(', ')}) VALUES (${marks}) ON CONFLICT DO NOTHING`,
  )
  for (let n = 0; n < ROWS; n++) {
    const owners: Record<string, Value> = {
      [belongs.scope ?? '']: customer.no * 2 + (n % 2),
      [belongs.customer ?? '']: customer.id,
      [belongs.customerNo ?? '']: customer.no,
      ...jsonOf(word)[name],
    }
    const cells = written.map(([column, spec]) => owners[column] ?? cellOf(spec, word, customer, n))
    await db.write((tx) => tx.run(insert(cells)))
  }
}

const filled = engineTables.filter(
  ({ belongs, name }) => belongs !== 'installation' && !BY_ENGINE.test(name),
)

interface Filled extends CustomerPlace {
  readonly key: string
}

/** Creates a customer with rows of every kind, whose texts have a word. */
async function fillCustomer(service: TestApp, word: string): Promise<Filled> {
  const { app } = service
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const contact = { name: `${word} Ltd`, contact_email: `${word}@example.com` }
  const { body: created } = await admin.post('/admin/customers', contact)
  const { id } = created
  const { no } = (await app.db.get(sql`SELECT no FROM gh_customers WHERE id = ${id}`))!
  for (const mode of ['live', 'test'] as const) {
    const own = service.as(await service.key({ customer: id, mode, name: `${word} key` }))
    const { body: root } = await own.post('/api/v1/folders', { title: `${word} root` })
    const child = { title: `${word} child`, parent_id: root.id }
    const { body: folder } = await own.post('/api/v1/folders', child)
    await own.patch(`/api/v1/folders/${root.id}`, { parent_id: folder.id }) // a circle
    const note = { folder_id: folder.id, body: `${word} body`, pin: `${word} pin` }
    const { body: live } = await own.post('/api/v1/notes', note, { 'idempotency-key': `${word}` })
    assert.ok(live.id, JSON.stringify(live))
    const { body: marked } = await own.post('/api/v1/notes', note)
    assert.equal((await own.delete(`/api/v1/notes/${marked.id}`)).status, 204)
    await own.get(`/api/v1/notes?q=${word}`, { 'user-agent': `${word} agent` })
    await own.post('/api/v1/notes', { unknown: `${word} mistake` })
    const person = { name: `${word} Person`, email: `${word}.${mode}@example.com` }
    const patient = { ...person, password: `${word} password`, customer: id, mode }
    assert.equal((await admin.post('/admin/users', patient)).status, 201)
  }
  await admin.patch(`/admin/customers/${id}`, { name: `${word} Inc` })
  await admin.get('/admin/requests') // writes the log of requests
  const customer = { id, no: Number(no) }
  for (const table of filled) await fillTable(app.db, table, customer, word)
  const mark = sql`INSERT INTO marks (customer, id, words) VALUES (${id}, 'm1', ${`${word} mark`})`
  await app.db.write((tx) => tx.run(mark))
  const actor = { kind: 'key', id: 'key_1', name: `${word} name`, address: `${word} ip` } as const
  const entry = { actor, action: 'key.create', target: 'key_1', scope: customer.no * 2 }
  const detail = { name: `${word} detail` }
  await app.db.write((tx) => recordAudit(tx, { ...entry, detail }, app.administration))
  return { ...customer, key: await service.key({ customer: id }) }
}

async function deleteOne(t: TestContext, kind: 'sqlite' | 'postgres') {
  const env = { GATEHOOK_REQUEST_LOG_BODIES: 'errors' }
  const service = await openService(t, kind, { service: clinicChart, env })
  const { app } = service
  const gone = await fillCustomer(service, 'kanary')
  const other = await fillCustomer(service, 'other')
  const before = await readAll(app.db)
  const leaks = rowsWith(before, 'kanary').map((row) => row.split(':')[0])
  for (const { name } of filled) assert.ok(leaks.includes(name), `${name} has rows of the customer`)
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const reply = await admin.delete(`/admin/customers/${gone.id}`)
  assert.equal(reply.status, 202, reply.text)
  assert.deepEqual(Object.keys(reply.body), ['id', 'deleting_since', 'deleted_rows'])
  return { service, admin, gone, other, before }
}

for (const { name } of databases) {
  test(`nothing of a deleted customer is left, and all of the others [${name}]`, async (t) => {
    const { service, admin, gone, other, before } = await deleteOne(t, name)
    const { app, url } = service
    const { body: progress } = await admin.get(`/admin/customers/${gone.id}`)
    assert.ok(progress.deleting_since)
    assert.equal((await admin.delete(`/admin/customers/${gone.id}`)).status, 202)
    const refused = await service.as(gone.key).get('/api/v1/notes')
    assert.equal(refused.body.error, 'invalid_api_key')
    const change = { name: 'Another' }
    assert.equal((await admin.patch(`/admin/customers/${gone.id}`, change)).status, 404)
    await app.erasure.runDue()
    assert.equal((await admin.get(`/admin/customers/${gone.id}`)).status, 404)
    assert.equal((await admin.delete(`/admin/customers/${gone.id}`)).status, 404)
    const after = await readAll(app.db)
    assert.deepEqual(rowsWith(after, 'kanary'), [])
    for (const { name: table } of engineTables) {
      const others = (rows: readonly string[] = []) => rows.filter((row) => row.includes('other'))
      assert.deepEqual(others(after.get(table)), others(before.get(table)), table)
    }
    assert.equal((await service.as(other.key).get('/api/v1/notes')).status, 200)
    assert.equal((await app.audit.verify()).valid, true)
    const { body: trail } = await admin.get(`/admin/audit?target=${gone.id}&sort=id`)
    assert.deepEqual(
      trail.data.map((entry: { action: string; detail: object }) => [entry.action, entry.detail]),
      [
        ['customer.create', {}],
        ['customer.update', {}],
        ['customer.delete', { scopes: trail.data[2].detail.scopes }],
        ['customer.deleted', trail.data[3].detail],
      ],
    )
    assert.ok(trail.data[3].detail.rows >= filled.length)
    assert.ok((await app.db.get(sql`SELECT 1 AS one FROM gh_audit WHERE target = 'key_1'`))!)
    await admin.get('/admin/requests')
    await app.close()
    if (name === 'sqlite') assertNotInFiles(url, 'kanary')
  })
}

/** Tables of a team, with a key or without, and with names that SQL reserves. */
const OWN_TABLES: Readonly<Record<string, string>> = {
  targets: 'scope BIGINT NOT NULL, shop TEXT NOT NULL',
  '"Order"': 'scope BIGINT NOT NULL, "group" TEXT NOT NULL, PRIMARY KEY (scope, "group")',
  rates: 'id BIGINT PRIMARY KEY, scope BIGINT NOT NULL, shop TEXT NOT NULL',
  links: 'shop TEXT PRIMARY KEY, scope BIGINT NOT NULL',
  plans: 'customer TEXT NOT NULL, shop TEXT NOT NULL, PRIMARY KEY (customer, shop)',
  visits: 'customer BIGINT PRIMARY KEY', // a customer of the team's own
}

for (const { name } of databases) {
  test(`rows of a customer in tables of the team go, too [${name}]`, async (t) => {
    const service = await openService(t, name, { service: clinicChart })
    const { db } = service.app
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const { body: gone } = await admin.post('/admin/customers', { name: 'Gone' })
    const { body: other } = await admin.post('/admin/customers', { name: 'Other' })
    const run = (text: string, values: Value[] = []) =>
      db.write((tx) => tx.run(prepareStatement(text)(values)))
    for (const [table, columns] of Object.entries(OWN_TABLES)) {
      await db.migrate((_, ddl) => ddl(`CREATE TABLE ${table} (${columns})`))
    }
    let id = 0
    for (const { id: customer } of [gone, other]) {
      const { no } = (await db.get(sql`SELECT no FROM gh_customers WHERE id = ${customer}`))!
      for (const scope of [Number(no) * 2, Number(no) * 2 + 1]) {
        const shop = `${customer} ${scope}`
        await run('INSERT INTO targets VALUES (?, ?), (?, ?)', [scope, shop, scope, shop])
        await run('INSERT INTO "Order" VALUES (?, ?)', [scope, shop])
        await run('INSERT INTO rates VALUES (?, ?, ?)', [++id, scope, shop])
        await run('INSERT INTO links VALUES (?, ?)', [shop, scope])
        await run('INSERT INTO plans VALUES (?, ?)', [customer, shop])
        await run('INSERT INTO visits VALUES (?)', [id])
      }
    }
    const lines = (await admin.get(`/admin/customers/${gone.id}/export`)).text
    assert.equal(lines.split('\n').filter((line) => line.includes(`${gone.id} `)).length, 12)
    assert.equal((await admin.delete(`/admin/customers/${gone.id}`)).status, 202)
    await service.app.erasure.runDue()
    assert.equal((await admin.get(`/admin/customers/${gone.id}`)).status, 404)
    const rest = await readAll(db)
    assert.deepEqual(rowsWith(rest, `${gone.id} `), [])
    const counts = Object.keys(OWN_TABLES).map(
      (table) => rest.get(table.replaceAll('"', ''))?.length,
    )
    assert.deepEqual(counts, [4, 2, 2, 2, 2, 4])
  })
}

const isCustomer = ({ name }: Table) => name === 'gh_customers'

for (const { name } of databases) {
  test(`an export has every row of a customer, and no secret [${name}]`, async (t) => {
    const service = await openService(t, name, { service: clinicChart })
    const own = await fillCustomer(service, 'kanary')
    await fillCustomer(service, 'other')
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const reply = await admin.get(`/admin/customers/${own.id}/export`)
    assert.deepEqual([reply.status, reply.headers['content-type']], [200, 'application/x-ndjson'])
    assert.doesNotMatch(reply.text, /other/)
    const lines = reply.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const tables = new Set(lines.map(({ table }) => table))
    for (const table of [...filled, ...engineTables.filter(isCustomer)]) {
      assert.ok(tables.has(table.name), table.name)
    }
    assert.equal(tables.has('gh_audit'), false, 'the trail names operators')
    for (const table of ['folders', 'notes', 'patients']) {
      const ofTable = lines.filter((line) => line.table === table)
      assert.equal(ofTable.length, table === 'patients' ? 2 : 4, table)
    }
    for (const { table, row } of lines) {
      const declared = engineTables.find(({ name }) => name === table)?.columns ?? {}
      for (const column of Object.keys(row)) {
        assert.notEqual(declared[column]?.content, 'secret', `${table}.${column}`)
      }
    }
    assert.doesNotMatch(reply.text, /kanary (pin|password|bytes)/)
    const { body: trail } = await admin.get(`/admin/audit?target=${own.id}&action=customer.export`)
    assert.equal(trail.data.length, 1)
    assert.equal((await admin.get('/admin/customers/cus_none/export')).status, 404)
  })
}

for (const { name } of databases) {
  test(`an interrupted deletion continues, the default customer stays [${name}]`, async (t) => {
    const service = await openService(t, name, { service: clinicChart })
    const { app } = service
    const gone = await fillCustomer(service, 'kanary')
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const own = await admin.delete('/admin/customers/default')
    assert.deepEqual([own.status, own.body.error], [409, 'invalid_state'])
    assert.equal((await admin.delete(`/admin/customers/${gone.id}`)).status, 202)
    // As a node that was killed leaves it: a job that runs, whose piece is repeated.
    await app.db.write((tx) =>
      tx.run(sql`UPDATE gh_jobs SET attempt = 30 WHERE name = 'delete_customer'`),
    )
    await app.db.write((tx) => tx.run(sql`DELETE FROM notes WHERE scope = ${gone.no * 2}`))
    await app.erasure.runDue()
    assert.deepEqual(rowsWith(await readAll(app.db), 'kanary'), [])
    assert.equal((await admin.get(`/admin/customers/${gone.id}`)).status, 404)
  })
}

for (const { name } of databases) {
  test(`jobs of a deleted customer fail at once [${name}]`, async (t) => {
    const { app, as, key } = await openService(t, name, { service: errands })
    const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
    const { body: customer } = await admin.post('/admin/customers', { name: 'C' })
    const own = as(await key({ customer: customer.id }))
    const order = await own.post('/api/v1/orders', { total: 7 })
    assert.equal(order.status, 201, order.text)
    assert.equal((await admin.delete(`/admin/customers/${customer.id}`)).status, 202)
    const attempts = await app.jobs.runDue()
    const ofEvent = attempts.filter(({ outcome }) => outcome !== 'done')
    assert.deepEqual(
      ofEvent.map(({ outcome, count }) => [outcome, count]),
      [['failed', 1]],
    )
    assert.deepEqual(await app.db.all(sql`SELECT text FROM notes`), [])
  })
}

for (const { name } of databases) {
  test(`a replay of a customer in deletion ends, and none begins [${name}]`, async (t) => {
    const env = { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' }
    const { app, as, key } = await openService(t, name, { service: errands, env })
    const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
    const { body: customer } = await admin.post('/admin/customers', { name: 'C' })
    const own = as(await key({ customer: customer.id }))
    const { url } = await createReceiver(t, (socket) => socket.write(response('ok')))
    const { body: hook } = await own.post('/webhooks', { url, events: ['order.created'] })
    assert.equal((await own.post('/api/v1/orders', { total: 7 })).status, 201)
    const replay = { since: '2026-01-01T00:00:00Z' }
    assert.equal((await own.post(`/webhooks/${hook.id}/replay`, replay)).status, 202)
    assert.equal((await admin.delete(`/admin/customers/${customer.id}`)).status, 202)
    const acting = `/admin/as/${customer.id}/test/webhooks/${hook.id}/replay`
    assert.equal((await admin.post(acting, replay)).status, 404)
    await app.erasure.runDue()
    const left = await app.db.all(sql`SELECT id FROM gh_jobs WHERE kind = 'replay'`)
    assert.deepEqual(left, [])
    assert.deepEqual(await app.db.all(sql`SELECT webhook_no FROM gh_webhook_replays`), [])
  })
}
