/** §18.8: a right that the role of a node has lost is named, with the statement that grants it. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import { checkTables } from '../../src/cli/doctor-installation.ts'
import { adminOf, requestIdOf } from '../monitoring/admin.ts'
import { inSchema, OWN, openTeamDatabase } from '../storage/team-database.ts'

async function openNode(t: TestContext) {
  const { url, query } = await openTeamDatabase(t)
  const options = { service: OWN, url, env: inSchema('one') }
  const node = await openService(t, 'postgres', options)
  const role = new URL(url).username
  const schemaOf = async () => {
    const { reasons = [], warnings = [] } = (await node.as(undefined).get('/readyz')).body
    const find = (all: { check: string; message: string }[]) =>
      all.find(({ check }) => check === 'schema')?.message
    return { reason: find(reasons), warning: find(warnings) }
  }
  const again = () => openService(t, 'postgres', options)
  return { node, url, query, role, schemaOf, again, admin: await adminOf(node) }
}

const NOTE = { text: 'tea' }

for (const [name, revoke, expected] of [
  ['to read', 'REVOKE SELECT ON one.notes', 'GRANT SELECT ON one.notes'],
  ['to change rows', 'REVOKE INSERT, DELETE ON one.notes', 'GRANT DELETE, INSERT ON one.notes'],
  ['on a table of the engine', 'REVOKE INSERT ON one.gh_events', 'GRANT INSERT ON one.gh_events'],
] as const) {
  test(`a lost right ${name} is named, and the node recovers [postgres]`, async (t) => {
    const { node, query, role, schemaOf, admin } = await openNode(t)
    assert.equal((await node.post('/api/v1/notes', NOTE)).status, 201)
    await query(`${revoke} FROM ${role}`)
    const failed = name === 'to read' ? await node.get('/api/v1/notes') : undefined
    const refused = failed ?? (await node.post('/api/v1/notes', NOTE))
    assert.deepEqual([refused.status, refused.body.error], [503, 'storage_unavailable'])
    const { help } = (await admin.get(`/admin/requests/${requestIdOf(refused)}`)).body
    const grant = `${expected} TO ${role}`
    assert.equal(help.text, `The database lacks a right that the node uses: ${grant}.`)
    const { reason } = await schemaOf()
    assert.match(reason!, /^The role of this node has lost rights in the database\./)
    assert.doesNotMatch(reason!, /notes|gh_|node_/, 'any caller reads it')
    const { health } = (await admin.get('/admin/system')).body
    assert.ok(health.reasons[0].message.includes(grant), health.reasons[0].message)
    const doctor = await checkTables(node.app.db, OWN)
    assert.deepEqual([doctor?.state, doctor?.hint], ['fail', `${grant}.`])
    await query(grant)
    assert.deepEqual(await schemaOf(), { reason: undefined, warning: undefined })
    assert.equal((await node.post('/api/v1/notes', NOTE)).status, 201)
  })
}

test('a right on some columns is not one on the others [postgres]', async (t) => {
  const { node, query, role, schemaOf } = await openNode(t)
  await query(`REVOKE SELECT ON one.notes FROM ${role}`)
  await query(`GRANT SELECT (scope, id) ON one.notes TO ${role}`)
  assert.ok((await schemaOf()).reason)
  assert.equal((await node.get('/api/v1/notes')).status, 503)
  await query(`GRANT SELECT (text) ON one.notes TO ${role}`)
  const { columns } = (await node.app.db.get({
    sql: '',
    text: `SELECT string_agg(quote_ident(attname), ', ') AS columns FROM pg_attribute
      WHERE attrelid = 'one.notes'::regclass AND attnum > 0 AND NOT attisdropped`,
    values: [],
  }))!
  await query(`GRANT SELECT (${columns}) ON one.notes TO ${role}`)
  assert.equal((await schemaOf()).reason, undefined, 'each column is one of the table')
})

test('a lost schema is no missing table, also for a start [postgres]', async (t) => {
  const { node, query, role, schemaOf, admin, again } = await openNode(t)
  const { id } = (await node.post('/api/v1/notes', NOTE)).body
  await query(`REVOKE USAGE ON SCHEMA one FROM ${role}`)
  const { reason } = await schemaOf()
  assert.match(reason!, /has lost rights in the database/)
  for (const path of ['/admin/system', '/admin/attention']) {
    const { status, body } = await admin.get(path)
    if (status === 200) continue
    assert.equal(status, 503)
    assert.match(body.message, /or a right that this node uses: its log names it\.$/)
  }
  assert.equal((await node.get(`/api/v1/notes/${id}`)).status, 503)
  const grant = `GRANT USAGE ON SCHEMA one TO ${role}`
  await assert.rejects(again(), ({ name, message }: Error) => {
    assert.equal(name, 'StorageError')
    return message.includes(`its user lacks a right: ${grant}`)
  })
  await query(grant)
  await eventually(
    () => node.get(`/api/v1/notes/${id}`),
    ({ status }) => status === 200,
  )
  assert.equal((await schemaOf()).reason, undefined)
})

test('a lost CONNECT is a warning while open connections serve [postgres]', async (t) => {
  const { node, url, query, role, schemaOf } = await openNode(t)
  const database = new URL(url).pathname.slice(1)
  await query(`REVOKE CONNECT ON DATABASE ${database} FROM PUBLIC`)
  const { reason, warning } = await schemaOf()
  assert.equal(reason, undefined)
  assert.match(warning!, /may open no further connection/)
  const grant = `GRANT CONNECT ON DATABASE ${database} TO ${role}`
  assert.equal((await checkTables(node.app.db, OWN))?.hint, `${grant}.`)
  await query(grant)
  assert.equal((await schemaOf()).warning, undefined)
})
