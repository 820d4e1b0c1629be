/** §18.10: a row that a trigger of the team discards is no success, and the cause is named. */
import assert from 'node:assert/strict'
import { type Caller, eachService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { engineTables } from '../../src/engine-tables.ts'
import { raw, sql } from '../../src/platform/storage/sql.ts'
import { describeUnknownError } from '../../src/platform/storage/storage-failure.ts'
import { adminOf } from '../monitoring/admin.ts'

const TRIGGERS = {
  sqlite: (change: string, table: string) => [
    `CREATE TRIGGER ignored BEFORE ${change} ON ${table} BEGIN SELECT RAISE(IGNORE); END`,
  ],
  postgres: (change: string, table: string) => [
    `CREATE FUNCTION ignored() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
    `CREATE TRIGGER ignored BEFORE ${change} ON ${table} FOR EACH ROW EXECUTE FUNCTION ignored()`,
  ],
} as const

const createTrigger = ({ app }: TestApp, change: string, table = 'users') =>
  app.db.migrate(async (_tx, ddl) => {
    for (const text of TRIGGERS[app.db.name](change, table)) await ddl(text)
  })

const dropTrigger = ({ app }: TestApp) =>
  app.db.migrate((_tx, ddl) =>
    ddl(app.db.name === 'postgres' ? 'DROP FUNCTION ignored() CASCADE' : 'DROP TRIGGER ignored'),
  )

eachService(
  'a trigger that discards rows makes a creation fail with its cause',
  async (service) => {
    const { app, post, get } = service
    const create = (n: number) =>
      post('/api/v2/users', { name: `User ${n}`, email: `user${n}@example.com` })
    assert.equal((await create(1)).status, 201)
    const { total } = (await get('/api/v2/users?pagination=offset')).body
    await createTrigger(service, 'INSERT')
    assert.equal((await create(2)).status, 500)
    const insert = sql`INSERT INTO users (scope, name, email, gh_folded_email, created_at)
    VALUES (1, 'a', 'a@b.example', 'a@b.example', 1)`
    const error = await app.db.write((tx) => tx.insert(insert)).catch((thrown: unknown) => thrown)
    assert.match(describeUnknownError(error) ?? '', /^A trigger of the database discards a row/)
    assert.equal((await get('/api/v2/users?pagination=offset')).body.total, total)
  },
)

eachService('a trigger that discards changes makes updates and deletions fail', async (service) => {
  const { post, get, patch, delete: remove } = service
  const created = await post('/api/v2/users', { name: 'Ann', email: 'ann@example.com' })
  const path = `/api/v2/users/${created.body.id}`
  for (const change of ['UPDATE', 'DELETE']) {
    await createTrigger(service, change)
    const reply = change === 'UPDATE' ? await patch(path, { name: 'Bo' }) : await remove(path)
    assert.equal(reply.status, 500, change)
    assert.deepEqual((await get(path)).body, created.body)
    await dropTrigger(service)
  }
  assert.equal((await remove(path)).status, 204)
  const types = (await get('/events?limit=20')).body.data.map(({ type }: { type: string }) => type)
  assert.deepEqual(
    types.filter((type: string) => /updated|deleted/.test(type)),
    types.filter((type: string) => type === 'user.deleted'),
  )
})

const GRANTS = { grant_types: ['client_credentials'], scopes: ['users:read'] }
type Callers = { readonly admin: Caller; readonly customer: Caller }
/** Requests that store rows of the engine; `n` makes their values unique. */
const STORING: Readonly<Record<string, (callers: Callers, n: number) => Promise<Reply>>> = {
  'a key': ({ admin }, n) => admin.post('/admin/keys', { name: `k${n}`, scopes: [] }),
  'a customer': ({ admin }, n) => admin.post('/admin/customers', { name: `Customer ${n}` }),
  'a client': ({ admin }, n) => admin.post('/admin/clients', { name: `App ${n}`, ...GRANTS }),
  'an issuer': ({ admin }, n) =>
    admin.post('/admin/issuers', {
      issuer: `https://ci${n}.example`,
      rules: [{ match: { sub: 'a' }, customer: 'default', mode: 'live', scopes: [] }],
    }),
  'a person': ({ admin }, n) =>
    admin.post('/admin/users', {
      name: 'Ann',
      email: `ann${n}@example.com`,
      password: 'a long and good one',
    }),
  'an operator': ({ admin }, n) =>
    admin.post('/admin/operators', {
      email: `operator${n}@example.com`,
      password: 'a long one for the console',
    }),
  'a portal link': ({ admin }) =>
    admin.post('/admin/portal-links', { customer: 'default', mode: 'live', can: ['keys:read'] }),
  'a row with its event': ({ customer }, n) =>
    customer.post('/api/v2/users', { name: 'Row', email: `row${n}@example.com` }),
  'an event': ({ customer }, n) =>
    customer.post('/events', { type: 'payment.succeeded', object: { id: n } }),
}

/** Returns the number of rows by table; a file has those of requests elsewhere. */
async function countRows({ app }: TestApp): Promise<Readonly<Record<string, number>>> {
  const names = engineTables.map(({ name }) => name).filter((name) => !/monitoring/.test(name))
  const counts = names.map(async (name) => {
    const row = await app.db.get(sql`SELECT count(*) AS total FROM ${raw(name)}`)
    return [name, Number(row!.total)] as const
  })
  return Object.fromEntries(await Promise.all(counts))
}

eachService('no request succeeds whose rows of the engine are discarded', async (service) => {
  const callers = { admin: await adminOf(service), customer: service }
  let n = 0
  const pairs: string[] = []
  for (const [name, store] of Object.entries(STORING)) {
    const before = await countRows(service)
    const stored = await store(callers, ++n)
    assert.ok(stored.status < 300, `${name}: ${stored.text}`)
    const after = await countRows(service)
    for (const table of Object.keys(after).filter((table) => after[table]! > before[table]!)) {
      await createTrigger(service, 'INSERT', table)
      await service.get('/readyz')
      const present = await countRows(service)
      const { status, text } = await store(callers, ++n)
      assert.ok(status >= 400, `${name} without its row in ${table}: ${status} ${text}`)
      assert.deepEqual(await countRows(service), present, `${name}: ${table}`)
      await dropTrigger(service)
      pairs.push(`${name} ${table}`)
    }
    await service.get('/readyz')
  }
  for (const table of ['gh_api_keys', 'gh_audit', 'gh_events', 'gh_people', 'gh_clients']) {
    assert.ok(
      pairs.some((pair) => pair.endsWith(table)),
      `${table} in ${pairs.join()}`,
    )
  }
})

eachService('after the first discarded row no further request is stored', async (service) => {
  const create = async (n: number) => {
    const body = { name: 'Row', email: `row${n}@example.com` }
    return (await service.post('/api/v2/users', body)).status
  }
  const countUsers = async () => (await service.get('/api/v2/users?pagination=offset')).body.total
  await createTrigger(service, 'INSERT', 'gh_events')
  // PostgreSQL commits with this statement: the node learns from it, before any check of tables.
  assert.equal(await create(1), 500)
  const [rows, total] = [await countRows(service), await countUsers()]
  assert.equal(await create(2), 500)
  assert.deepEqual([await countRows(service), await countUsers()], [rows, total])
  await dropTrigger(service)
  assert.equal(await create(3), 201)
})

eachService('no change of an operator succeeds that is discarded', async (service) => {
  const admin = await adminOf(service)
  const created = async (path: string, body: object): Promise<string> => {
    const reply = await admin.post(path, body)
    assert.equal(reply.status, 201, reply.text)
    return `${path}/${reply.body.client_id ?? reply.body.id}`
  }
  const key = await created('/admin/keys', { name: 'k', scopes: [] })
  const customer = await created('/admin/customers', { name: 'Acme' })
  const client = await created('/admin/clients', { name: 'App', ...GRANTS })
  const changes: readonly (readonly [string, () => Promise<Reply>])[] = [
    ['gh_api_keys', () => admin.patch(key, { name: 'Other' })],
    ['gh_api_keys', () => admin.post(`${key}/roll`)],
    ['gh_api_keys', () => admin.delete(key)],
    ['gh_customers', () => admin.patch(customer, { suspended: true })],
    ['gh_customers', () => admin.delete(customer)],
    ['gh_clients', () => admin.patch(client, { name: 'Other' })],
    ['gh_clients', () => admin.delete(client)],
  ]
  for (const [table, change] of changes) {
    await createTrigger(service, 'UPDATE', table)
    const { status, text } = await change()
    assert.ok(status >= 400, `${table}: ${status} ${text}`)
    await dropTrigger(service)
  }
  for (const [table, change] of changes) assert.ok((await change()).status < 300, table)
})

const AFTERWARDS = {
  sqlite: [
    `CREATE TRIGGER gone AFTER INSERT ON gh_events
       BEGIN DELETE FROM gh_events WHERE id = NEW.id; END`,
  ],
  postgres: [
    `CREATE FUNCTION gone() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN DELETE FROM gh_events WHERE id = NEW.id; RETURN NULL; END'`,
    `CREATE CONSTRAINT TRIGGER gone AFTER INSERT ON gh_events DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION gone()`,
  ],
} as const

eachService(
  'a trigger that deletes rows of the engine afterwards is a warning',
  async (service) => {
    const { app, as, post } = service
    const admin = await adminOf(service)
    await app.db.migrate(async (_tx, ddl) => {
      for (const text of AFTERWARDS[app.db.name]) await ddl(text)
    })
    // The database reports success: no statement learns of it.
    const created = await post('/api/v2/users', { name: 'Row', email: 'row@example.com' })
    assert.equal(created.status, 201)
    const { warnings } = (await as(undefined).get('/readyz')).body
    assert.deepEqual(
      warnings.map(({ check }: { check: string }) => check),
      ['schema'],
    )
    const [{ message }] = (await admin.get('/admin/system')).body.health.warnings
    assert.match(message, /Repair it: DROP TRIGGER "?gone"?/)
  },
)
