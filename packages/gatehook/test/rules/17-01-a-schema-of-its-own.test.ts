/**
 * §17.1: `GATEHOOK_DATABASE_SCHEMA` puts every table into one schema of the team's database, and
 * nothing outside it is created, changed, locked or notified.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, quietLog } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { f, resource, type Service, service } from '../../src/gatehook.ts'
import { ConfigError, loadConfig } from '../../src/platform/config/config.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { ACCESS, HEAD, inSchema, notes, OWN, openTeamDatabase } from '../storage/team-database.ts'

const OUTSIDE = `SELECT n.nspname, c.relname FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname NOT IN ('one', 'two', 'information_schema') AND n.nspname !~ '^pg_'
  ORDER BY 1, 2`
const FUNCTIONS = `SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
  WHERE n.nspname = 'public'`

test('two installations in one database share nothing, and change nothing outside', async (t) => {
  const { url, query } = await openTeamDatabase(t)
  const before = [await query(OUTSIDE), await query(FUNCTIONS)]
  const open = (name: string) =>
    openService(t, 'postgres', { service: OWN, url, env: inSchema(name) })
  const [first, second] = [await open('one'), await open('two')]
  const note = await first.post('/api/v1/notes', { text: 'only one' }, { 'idempotency-key': 'k' })
  assert.equal(note.status, 201)
  assert.equal((await first.get('/api/v1/notes?text[contains]=only')).body.data.length, 1)
  assert.equal((await second.get('/api/v1/notes')).body.data.length, 0)
  assert.equal((await second.get('/events')).body.data.length, 0)
  assert.deepEqual([await query(OUTSIDE), await query(FUNCTIONS)], before)
  assert.deepEqual(await query('SELECT * FROM users'), [{ id: 1 }])
  const locks = await query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'")
  assert.deepEqual(locks, [])
})

test('notifications of one schema do not reach another one', async (t) => {
  const { url } = await openTeamDatabase(t)
  const open = async (schema: string) => {
    const db = await openDatabase({ url, schema }, { log: quietLog })
    onEnd(t, () => db.close())
    return db
  }
  const [first, second] = [await open('one'), await open('two')]
  const listen = async (db: Database) => {
    const received: string[] = []
    const end = Promise.withResolvers<void>()
    const stop = await db.listen('jobs', (message) => {
      received.push(message)
      if (message === 'last') end.resolve()
    })
    return { received, end: end.promise, stop }
  }
  const listeners = [await listen(first), await listen(second)]
  // The server sends each session its notifications in the order of the commits.
  await second.notify('jobs', 'of two')
  await first.notify('jobs', 'last')
  await second.notify('jobs', 'last')
  for (const { end, stop } of listeners) {
    await end
    await stop()
  }
  assert.deepEqual(
    listeners.map(({ received }) => received),
    [['last'], ['of two', 'last']],
  )
})

test('a schema that is missing is created, where the role may', async (t) => {
  const admin = await freshUrl(t, 'postgres')
  const env = inSchema('created')
  const app = await openService(t, 'postgres', { service: OWN, url: admin, env })
  assert.equal((await app.post('/api/v1/notes', { text: 'x' })).status, 201)
  const { url } = await openTeamDatabase(t)
  await assert.rejects(
    openService(t, 'postgres', { service: OWN, url, env: inSchema('three') }),
    /schema three does not exist, and the role node_\w+ may not create it: CREATE SCHEMA "three"/,
  )
})

test('tables of others are never altered, and nothing is seeded beside them', async (t) => {
  const { url, query } = await openTeamDatabase(t)
  const mine = service({
    ...HEAD,
    resources: [
      resource('notes', {
        fields: { id: f.id('no'), text: f.string() },
        list: { filter: [], sort: [] },
        access: ACCESS,
        events: [],
      }).sample((n) => ({ text: `sample ${n}` })),
    ],
  })
  await query('CREATE TABLE one.invoices (id int)')
  const open = (declared: Service, name: string) =>
    openService(t, 'postgres', { service: declared, url, env: inSchema(name), seed: 'first' })
  await assert.rejects(open(mine, 'one'), (error: Error) => {
    assert.ok(error instanceof ConfigError)
    return /tables of another program: invoices/.test(error.message)
  })
  assert.deepEqual(
    await query("SELECT 1 FROM pg_tables WHERE schemaname = 'one' AND tablename <> 'invoices'"),
    [],
  )
  await assert.rejects(
    openService(t, 'postgres', { service: mine, url, env: inSchema('two'), seed: true }),
    /no samples are added/,
  )
  const app = await open(mine, 'two')
  assert.equal((await app.get('/api/v1/notes')).body.data.length, 0)
  await app.app.close()
  await assert.rejects(
    openService(t, 'postgres', { service: mine, url, env: inSchema('two'), seed: true }),
    /no samples are added/,
  )
  await query('CREATE TABLE two.bills (id int)')
  const bills = resource('bills', {
    fields: { id: f.id('bi'), text: f.string() },
    list: { filter: [], sort: [] },
    access: ACCESS,
    events: [],
  })
  const more = service({ ...HEAD, resources: [notes, bills] })
  await assert.rejects(open(more, 'two'), /table bills that no migration of the service created/)
  assert.equal(
    (await query("SELECT * FROM information_schema.columns WHERE table_name = 'bills'")).length,
    1,
  )
})

test('an owner without login owns every table, also those that a node adds', async (t) => {
  const { url, query } = await openTeamDatabase(t)
  const owner = `owner_${new URL(url).pathname.slice(1)}`
  const role = new URL(url).username
  await query(`CREATE ROLE ${owner}; CREATE SCHEMA owned AUTHORIZATION ${owner}`)
  const env = { ...inSchema('owned'), GATEHOOK_DATABASE_OWNER: owner }
  const open = (declared: Service = OWN) =>
    openService(t, 'postgres', { service: declared, url, env })
  await assert.rejects(open(), new RegExp(`no member of the role ${owner}`))
  await query(`GRANT ${owner} TO ${role}`)
  const app = await open()
  assert.equal((await app.post('/api/v1/notes', { text: 'x' })).status, 201)
  await app.app.close()
  const sorted = service({
    ...HEAD,
    resources: [
      resource('notes', {
        fields: { id: f.id('no'), text: f.string(), title: f.string().nullable().default(null) },
        list: { contains: ['text'], filter: ['title'], sort: ['title'] },
        access: ACCESS,
        events: [],
      }),
    ],
  })
  const again = await open(sorted)
  assert.equal((await again.get('/api/v1/notes?sort=title')).status, 200)
  const owners = await query(`SELECT DISTINCT pg_get_userbyid(relowner) AS name FROM pg_class
    WHERE relnamespace = 'owned'::regnamespace`)
  assert.deepEqual(owners, [{ name: owner }])
})

test('a name that a search path cannot hold is a mistake', () => {
  for (const name of [
    'pg_temp',
    'information_schema',
    'a b',
    'Upper',
    '1a',
    'a'.repeat(64),
    'a"b',
  ]) {
    assert.throws(
      () => loadConfig({ GATEHOOK_DATABASE_SCHEMA: name }),
      (error: Error) =>
        error instanceof ConfigError && /GATEHOOK_DATABASE_SCHEMA/.test(error.message),
      name,
    )
  }
  assert.throws(
    () =>
      loadConfig({
        GATEHOOK_DATABASE_URL: 'postgres://h/d',
        GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
        GATEHOOK_DATABASE_POOLER: 'transaction',
        GATEHOOK_DATABASE_OWNER: 'team',
      }),
    /GATEHOOK_DATABASE_DIRECT_URL is not/,
  )
})
