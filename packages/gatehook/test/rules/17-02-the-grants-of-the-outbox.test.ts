/**
 * §17.2: a role emits what its grant says and nothing else, whatever its session has prepared; a
 * wrong argument is an error with a code, and says nothing about customers beyond the grant.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeOf, emit, openEmitter } from '../storage/emitter.ts'

const PAID = { id: 'inv_1', total_cents: 1200 }
const ACME = { customer: 'org_acme' }

test('a grant is verified before the customer, the mode and the type exist', async (t) => {
  const { connect, grant, query } = await openEmitter(t)
  const client = await connect()
  const ids = async () => (await query('SELECT id FROM one.gh_emissions ORDER BY no')).length
  const { rows } = await client.query("SELECT one.gatehook_customer('org_acme', 'Acme') AS id")
  const again = await client.query("SELECT one.gatehook_customer('org_acme', 'Other') AS id")
  assert.equal(again.rows[0].id, rows[0].id)
  await client.query("SELECT one.gatehook_customer('org_other', 'Other')")
  await emit(client, 'invoice.paid', PAID, ACME)
  assert.equal(await codeOf(emit(client, 'invoice.paid', PAID)), '22023')
  assert.equal(await codeOf(emit(client, 'invoice.paid', PAID, { customer: 'org_none' })), '22023')
  assert.equal(await codeOf(emit(client, 'invoice.paid', PAID, { ...ACME, mode: 'test' })), '42501')
  await grant({ customers: ['org_acme'], mode: undefined, types: ['invoice.paid'] })
  assert.equal(await codeOf(emit(client, 'invoice.paid', PAID)), '22023')
  await emit(client, 'invoice.paid', PAID, { mode: 'test' })
  await emit(client, 'invoice.paid', PAID, { mode: 'live', customer: String(rows[0].id) })
  assert.equal(await codeOf(emit(client, 'invoice.paid', PAID, { mode: 'other' })), '22023')
  for (const customer of ['org_other', 'org_none', 'default', 'cus_none']) {
    const refused = emit(client, 'invoice.paid', PAID, { customer, mode: 'live' })
    assert.equal(await codeOf(refused), '42501', customer)
  }
  for (const type of ['payment.failed', 'payment.none']) {
    assert.equal(await codeOf(emit(client, type, PAID, { mode: 'live' })), '42501', type)
  }
  assert.equal(
    await codeOf(client.query("SELECT one.gatehook_customer('org_new', 'New')")),
    '42501',
  )
  assert.equal(await ids(), 3)
})

test('a wrong argument is an error of the caller, and its transaction decides', async (t) => {
  const { connect, query } = await openEmitter(t)
  const client = await connect()
  const named = { customer: 'default' }
  let deep: unknown = 1
  for (let level = 0; level < 31; level++) deep = { deep }
  await emit(client, 'payment.failed', deep, named)
  await emit(client, 'payment.failed', { list: Array(49_000).fill(1) }, named)
  const wrong: [type: string, object: unknown, more?: Record<string, string>][] = [
    ['payment.posted', {}],
    ['invoice.none', {}],
    ['note.created', {}],
    ['payment.failed', null],
    ['payment.failed', []],
    ['payment.failed', 'text'],
    ['payment.failed', { deep }],
    ['payment.failed', { list: Array(60_000).fill(1) }],
    ['payment.failed', { text: 'x'.repeat(262_144) }],
    ['payment.failed', JSON.parse('{"a": {"__proto__": 1}}')],
    ['payment.failed', { constructor: { prototype: 1 } }],
    ['payment.failed', {}, { key: '' }],
    ['payment.failed', {}, { key: 'k'.repeat(256) }],
  ]
  for (const [type, object, more] of wrong) {
    const text = JSON.stringify(object).slice(0, 80)
    assert.equal(await codeOf(emit(client, type, object, { ...named, ...more })), '22023', text)
  }
  const deepest = `('{"a":' || repeat('[', 12000) || repeat(']', 12000) || '}')::jsonb`
  const nested = `SELECT one.gatehook_emit('payment.failed', ${deepest}, 'default')`
  assert.equal(await codeOf(client.query(nested)), '22023')
  // The depth comes first: the counts read each value with all that is in it.
  const wide = `[${'1,'.repeat(60_000)}${'['.repeat(40)}${']'.repeat(41)}`
  const both = client.query("SELECT one.gatehook_emit('payment.failed', $1, 'default')", [
    JSON.stringify({ wide: JSON.parse(wide) }),
  ])
  await assert.rejects(both, /nested deeper/)
  for (const number of ['1e400', '1e-400', '9007199254740993', '0.99999999999999999999']) {
    const text = `SELECT one.gatehook_emit('payment.failed', '{"n": ${number}}', 'default')`
    assert.equal(await codeOf(client.query(text)), '22023', number)
  }
  for (const args of ["NULL, '{}', 'default'", "'payment.failed', NULL, 'default'"]) {
    assert.equal(await codeOf(client.query(`SELECT one.gatehook_emit(${args})`)), '22023', args)
  }
  for (const args of [
    "NULL, 'x'",
    "'a,b', 'x'",
    "'cus_x', 'x'",
    "'default', 'x'",
    "'a', ' '",
    "'a', E'x\\u202e'",
    "'a', NULL",
  ]) {
    assert.equal(await codeOf(client.query(`SELECT one.gatehook_customer(${args})`)), '22023', args)
  }
  await client.query('BEGIN; SAVEPOINT s')
  assert.equal(await codeOf(emit(client, 'payment.failed', [], named)), '22023')
  await client.query('ROLLBACK TO s')
  await emit(client, 'payment.failed', {}, named)
  await client.query('COMMIT')
  assert.equal((await query('SELECT no FROM one.gh_emissions')).length, 3)
})

test('a session cannot widen its grant', async (t) => {
  const { connect, createRole, grant, query, role } = await openEmitter(t)
  const [wide, none] = [await createRole('wide'), await createRole('none')]
  const admin = await connect()
  await admin.query("SELECT one.gatehook_customer('org_acme', 'Acme')")
  await grant({ customers: ['org_acme'] })
  await grant({ role: wide })
  await query(`GRANT ${none}, ${wide} TO ${role}`)
  const client = await connect()
  // Memberships count, so the session holds the grant of `wide`, until it is taken.
  await emit(client, 'invoice.paid', PAID, { customer: 'default' })
  await query(`REVOKE ${wide} FROM ${role}`)
  const refused = () => codeOf(emit(client, 'invoice.paid', PAID, { customer: 'default' }))
  assert.equal(await refused(), '42501')
  await client.query(`SET ROLE ${none}`)
  assert.equal(await codeOf(emit(client, 'invoice.paid', PAID, ACME)), '42501')
  await client.query('RESET ROLE')
  const tables = ['gh_emissions', 'gh_emission_types', 'gh_emission_grants', 'gh_customers']
  for (const table of tables) {
    await client.query(`CREATE TEMP TABLE ${table} (LIKE pg_class)`)
    assert.equal(await codeOf(client.query(`SELECT 1 FROM one.${table}`)), '42501', table)
    assert.equal(await codeOf(client.query(`DELETE FROM one.${table}`)), '42501', table)
  }
  await client.query(`CREATE TEMP TABLE gh_move (state text, target text)`)
  await client.query(`CREATE FUNCTION pg_temp.gatehook_grants(name) RETURNS TABLE (customers jsonb,
    mode text, types jsonb) LANGUAGE sql AS 'SELECT NULL::jsonb, NULL, NULL::jsonb'`)
  await client.query(`CREATE FUNCTION pg_temp.current_setting(text) RETURNS text
    LANGUAGE sql AS $$SELECT '${wide}'$$`)
  await client.query('SET search_path = pg_temp, pg_catalog')
  await client.query(`SET standard_conforming_strings = off; SET transform_null_equals = on;
    SET extra_float_digits = -15; SET check_function_bodies = off`)
  assert.equal(await refused(), '42501')
  const object = { ...PAID, text: 'a"b\\"c\\', exact: 2 ** 53 + 2 }
  const allowed = await emit(client, 'invoice.paid', object, ACME)
  assert.match(allowed, /^evt_[0-9A-Za-z]{22}$/)
  for (const inner of ["one.gatehook_grants('x')", 'one.gatehook_stay()']) {
    assert.equal(await codeOf(client.query(`SELECT ${inner}`)), '42501', inner)
  }
  const other = await connect(none)
  assert.equal(await codeOf(other.query(`SELECT one.gatehook_emit('a.b', '{}')`)), '42501')
  assert.equal(await codeOf(client.query('CREATE TABLE one.mine ()')), '42501')
})

test('the functions belong to no superuser, in a schema where no other role creates', async (t) => {
  const { grant, query, role } = await openEmitter(t)
  await query(`GRANT CREATE ON SCHEMA one TO ${role}`)
  await assert.rejects(grant(), /may create objects in the schema one/)
  await query(`REVOKE CREATE ON SCHEMA one FROM ${role}`)
  await grant()
  await assert.rejects(grant({ customers: ['org_none'] }), /Not all customers exist/)
})
