/** §17.2, `gatehook outbox …`: grants, prints and stubs the functions of transactions. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { applications, type Installation } from '../../src/cli/revocation-actions.ts'
import { CHANNEL, STATE_CHANGED } from '../../src/outbound/deliveries/wake-up.ts'
import { listGrants } from '../../src/outbound/emissions/grants.ts'
import { placeOf } from '../../src/platform/storage/postgres-place.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { codeOf, emit } from '../storage/emitter.ts'
import { openTeamDatabase } from '../storage/team-database.ts'
import { gatehook, jsonOf, type Place } from './command.ts'

const SERVICE = `import { event, f, fields, service } from 'gatehook'
const paid = event('invoice.paid', fields({ id: f.string().max(40) }))
export const api = service({ name: 'Acme', versions: { v1: { released: '2026-06-01' } },
  resources: [], externalEvents: [{ event: paid, from: ['sql'] }] })
`

async function openTeam(t: TestContext) {
  const { url, query } = await openTeamDatabase(t)
  const cwd = emptyFolder(t)
  writeFileSync(join(cwd, 'service.ts'), SERVICE)
  const role = `app_${new URL(url).pathname.slice(1)}`
  await query(`CREATE ROLE ${role} LOGIN PASSWORD 'app'`)
  const env = {
    GATEHOOK_DATABASE_URL: url,
    GATEHOOK_DATABASE_SCHEMA: 'one',
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
  }
  const place: Place = { cwd, env }
  const connect = async (user: string, password: string) => {
    const address = new URL(url)
    address.username = user
    address.password = password
    const client = new pg.Client(address.href)
    await client.connect()
    onEnd(t, () => client.end())
    return client
  }
  return { place, role, query, connect, url }
}

test('a role is granted, listed and revoked, and each step is audited', async (t) => {
  const { place, role, connect, query } = await openTeam(t)
  await jsonOf(place, 'migrate')
  const early = await gatehook(place, 'outbox', 'revoke', role)
  assert.match(early.stderr, /has no grant/)
  const usage = await gatehook(place, 'outbox', 'install', '--grant', role)
  assert.equal(usage.exit, 2, usage.stderr)
  const typed = ['outbox', 'install', '--grant', role, '--all-customers', '--types', 'a.b']
  assert.equal((await gatehook(place, ...typed)).exit, 2)
  const args = ['outbox', 'install', '--grant', role, '--all-customers', '--mode', 'live']
  const grant = { role, customers: null, mode: 'live', types: null }
  const node = await connect('postgres', 'postgres')
  const messages: unknown[] = []
  node.on('notification', ({ payload }) => messages.push(payload))
  await node.query(`LISTEN ${placeOf({ schema: 'one' }).channel(CHANNEL)}`)
  assert.deepEqual(await jsonOf(place, ...args), grant)
  await eventually(
    async () => messages[0],
    (message) => message === STATE_CHANGED,
  )
  assert.deepEqual(await jsonOf(place, ...args), grant)
  const listed = { ...grant, external_ids: null }
  assert.deepEqual(await jsonOf(place, 'outbox', 'list'), { data: [listed] })
  const app = await connect(role, 'app')
  const id = await emit(app, 'invoice.paid', { id: 'inv_1' }, { customer: 'default' })
  await query("UPDATE one.gh_emissions SET held_at = 1, problem = 'why'")
  const { data } = await jsonOf(place, 'outbox', 'held')
  assert.deepEqual([data[0].id, data[0].problem], [id, 'why'])
  assert.deepEqual([data[0].customer, data[0].mode], ['cus_default', 'live'])
  await jsonOf(place, 'outbox', 'discard', id)
  assert.notEqual((await gatehook(place, 'outbox', 'discard', id)).exit, 0)
  assert.deepEqual(await query('SELECT no FROM one.gh_emissions'), [])
  await jsonOf(place, 'outbox', 'revoke', role)
  assert.notEqual((await gatehook(place, 'outbox', 'revoke', role)).exit, 0)
  const refused = emit(app, 'invoice.paid', { id: 'inv_1' }, { customer: 'default' })
  assert.equal(await codeOf(refused), '42501')
  const actions = await query(
    "SELECT action FROM one.gh_audit WHERE action LIKE 'outbox.%' ORDER BY id",
  )
  assert.deepEqual(
    actions.map(({ action }) => action),
    ['outbox.install', 'outbox.install', 'outbox.discard', 'outbox.revoke'],
  )
})

test('a list of grants has both ids of a customer', async (t) => {
  const { place, role } = await openTeam(t)
  await jsonOf(place, 'migrate')
  const { id } = await jsonOf(place, 'customers', 'create', 'Acme', '--external-id', 'org_42')
  await jsonOf(place, 'outbox', 'install', '--grant', role, '--customer', 'org_42', 'default')
  const { data } = await jsonOf(place, 'outbox', 'list')
  const named = data[0].customers.map((customer: string, at: number) => [
    customer,
    data[0].external_ids[at],
  ])
  assert.deepEqual(Object.fromEntries(named), { [id]: 'org_42', cus_default: null })
  const { stdout } = await gatehook(place, 'outbox', 'list')
  assert.ok(stdout.includes(`org_42 (${id})`), stdout)
})

test('a revoked role retains the right to use the schema that it had before', async (t) => {
  const { place, role, query } = await openTeam(t)
  await jsonOf(place, 'migrate')
  const hasUsage = async () => {
    const [row] = await query(`SELECT has_schema_privilege('${role}', 'one', 'USAGE') AS has`)
    return row!.has
  }
  for (const had of [false, true]) {
    if (had) await query(`GRANT USAGE ON SCHEMA one TO ${role}`)
    for (let times = 0; times < 2; times++) {
      await jsonOf(place, 'outbox', 'install', '--grant', role, '--all-customers')
    }
    assert.equal(await hasUsage(), true)
    await jsonOf(place, 'outbox', 'revoke', role)
    assert.equal(await hasUsage(), had)
  }
})

test('printed SQL begins with the owner, and has the effect of the command', async (t) => {
  const { place, role, connect, url } = await openTeam(t)
  await jsonOf(place, 'migrate')
  const args = ['outbox', 'install', '--grant', role, '--customer', 'default', '--print']
  const { stdout } = await gatehook(place, ...args)
  const { username } = new URL(url)
  assert.ok(stdout.startsWith(`SET ROLE "${username}";\n`), stdout.slice(0, 80))
  assert.deepEqual(await jsonOf(place, 'outbox', 'list'), { data: [] })
  await (await connect(username, 'node')).query(stdout)
  const { data } = await jsonOf(place, 'outbox', 'list')
  assert.deepEqual(data[0].customers, ['cus_default'])
  await emit(await connect(role, 'app'), 'invoice.paid', { id: 'inv_1' }, { mode: 'test' })
})

test('a stub has the same signature, and a table for the tests of a team', async (t) => {
  const { place, role, connect } = await openTeam(t)
  const { exit, stderr } = await gatehook(place, 'outbox', 'install', '--stub')
  assert.equal(exit, 0, stderr)
  const app = await connect(role, 'app')
  const named = { customer: 'org_1', mode: 'live', key: 'k' }
  const id = await emit(app, 'any.type', { a: 1 }, named)
  assert.equal(await emit(app, 'any.type', { a: 1 }, named), id)
  assert.equal(await codeOf(emit(app, 'any.type', { a: 2 }, named)), '22023')
  await app.query("SELECT one.gatehook_customer('org_1', 'One')")
  const { rows } = await app.query('SELECT * FROM one.gatehook_emitted')
  assert.deepEqual(rows, [{ id, type: 'any.type', object: { a: 1 }, ...named }])
  const { stdout } = await gatehook(place, 'outbox', 'install', '--stub', '--print')
  assert.match(stdout, /^SET ROLE /)
})

/** §18.5: the trail is applied to restored data. */
eachService('a grant of SQL has what the trail says, and ends with it', async (service) => {
  const { app } = service
  const { db } = app
  const installation = { app } as unknown as Installation
  const role = 'app_rw'
  await db.write((tx) => tx.run(sql`INSERT INTO gh_emission_grants (role) VALUES (${role})`))
  const apply = (action: string, detail: object = {}) =>
    applications[action]!(installation, { at: Date.now(), target: role, detail })
  const narrow = { customers: ['cus_1'], mode: 'test', types: ['a.b'] }
  await apply('outbox.install', narrow)
  assert.deepEqual(await listGrants(db), [{ role, ...narrow }])
  await apply('outbox.revoke')
  await apply('outbox.install', narrow)
  assert.deepEqual(await listGrants(db), [])
})
