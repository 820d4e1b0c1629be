/**
 * §18.11: an erasure takes the values of the person out of events that SQL emitted and no node has
 * recorded. It removes none of them, and no key that guards one (§17.2).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { event, f, fields, resource, service } from '../../src/gatehook.ts'
import { findCustomer } from '../../src/identity/access/store.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { emit, openEmitter } from '../storage/emitter.ts'
import { HEAD } from '../storage/team-database.ts'

const members = resource('members', {
  fields: {
    id: f.id(),
    name: f.string().max(100).personal(),
    email: f.email().unique(),
    words: f.array(f.string().max(100), { max: 9 }).personal(),
  },
  list: { filter: [], sort: ['id'] },
  access: { read: 'm:read', create: 'm:write', update: 'm:write', delete: 'm:write' },
  events: [],
}).signsIn({ username: 'email', scopes: ['m:read'] })
const paymentMade = event(
  'payment.made',
  fields({
    payer_id: f.ref('members').owner(),
    payer: f.string().max(100).personal(),
    status: f.oneOf(['succeeded', 'failed']),
  }),
)
const declared = service({
  ...HEAD,
  resources: [members],
  externalEvents: [
    { type: 'payment.posted', from: ['sql'] },
    { event: paymentMade, from: ['sql'] },
  ],
})

const EMAIL = 'anna@example.com'

async function createAnna(app: TestApp): Promise<number> {
  const live = app.as(await app.key({ mode: 'live' }))
  const person = { name: 'Anna', email: EMAIL, words: ['invoice', 'order-Anna-1', '{}'] }
  const { body, text } = await live.post('/api/members', person)
  assert.ok(body.id, text)
  return body.id
}

async function eraseAnna(app: TestApp, id?: number): Promise<void> {
  id ??= await createAnna(app)
  const admin = app.as(await app.key({ mode: 'live', scopes: ['admin'] }))
  assert.equal((await admin.delete(`/admin/users/${id}`)).status, 202)
  await app.app.erasure.runDue()
  const { body: jobs } = await admin.get('/admin/jobs?kind=erasure')
  assert.equal(jobs.data[0].state, 'done')
}

for (const { name } of databases) {
  test(`a held and a waiting event lose the values of the person alone [${name}]`, async (t) => {
    const app = await openService(t, name, { service: declared })
    const { db } = app.app
    const scope = scopeOf((await findCustomer(db, 'cus_default'))!.no, 'live')
    const object = {
      invoice: 7,
      to: [EMAIL, 'Anna'],
      billed_to: 'Anna Smith',
      sender: `x.${EMAIL}`,
    }
    for (const held of [null, 1]) {
      await db.write((tx) =>
        tx.run(sql`INSERT INTO gh_emissions
            (id, scope, type, key_hash, object, object_hash, created_at, txid, held_at)
          VALUES (${`evt_${held}`}, ${scope}, 'payment.due', ${`key ${held}`},
            ${JSON.stringify(object)}, 'hash', 1, 1, ${held})`),
      )
    }
    await eraseAnna(app)
    const rows = await db.all(sql`SELECT id, key_hash, object, object_hash, held_at
      FROM gh_emissions ORDER BY no`)
    const erased = JSON.stringify({ ...object, to: ['erased@example.invalid', 'erased'] })
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [null, 1].map((held) => ({
        ...{ id: `evt_${held}`, key_hash: `key ${held}`, object: erased },
        ...{ object_hash: 'hash', held_at: held },
      })),
    )
  })
}

for (const { name } of databases) {
  test(`a held event loses the personal members of its owner [${name}]`, async (t) => {
    const app = await openService(t, name, { service: declared })
    const { db } = app.app
    const scope = scopeOf((await findCustomer(db, 'cus_default'))!.no, 'live')
    const anna = await createAnna(app)
    // An application that is ahead of the declaration: `refunded` and `reason` are not in it.
    const object = { payer_id: anna, payer: 'A. Byron, Countess', status: 'refunded', reason: 'r' }
    const others = { ...object, payer_id: anna + 1 }
    for (const [at, emitted] of [object, others].entries()) {
      await db.write((tx) =>
        tx.run(sql`INSERT INTO gh_emissions
            (id, scope, type, key_hash, object, object_hash, created_at, txid, held_at)
          VALUES (${`evt_${at}`}, ${scope}, 'payment.made', ${`key ${at}`},
            ${JSON.stringify(emitted)}, 'hash', 1, 1, 1)`),
      )
    }
    await eraseAnna(app, anna)
    const rows = await db.all(sql`SELECT object FROM gh_emissions ORDER BY no`)
    const [own, ofOthers] = rows.map((row) => JSON.parse(String(row.object)))
    assert.match(own.payer, /^erased/)
    assert.deepEqual({ ...own, payer: '' }, { ...object, payer: '' })
    assert.deepEqual(ofOthers, others)
  })
}

test('a key with a value of an erased person still guards its event', async (t) => {
  const { app, connect, query } = await openEmitter(t, { service: declared })
  const client = await connect()
  const named = { customer: 'default', key: 'order-Anna-1' }
  const object = { order: 1, for: 'Anna', to: EMAIL }
  const id = await emit(client, 'payment.posted', object, named)
  await eraseAnna(app)
  assert.equal(await emit(client, 'payment.posted', object, named), id)
  await app.app.work()
  const posted = () => query("SELECT id, object FROM one.gh_events WHERE type = 'payment.posted'")
  const events = await eventually(posted, ({ length }) => length > 0)
  assert.deepEqual(
    events.map((row) => ({ id: row.id, object: JSON.parse(String(row.object)) })),
    [{ id, object: { order: 1, for: 'erased', to: 'erased@example.invalid' } }],
  )
  assert.equal(await emit(client, 'payment.posted', object, named), id)
  const rows = JSON.stringify(await query('SELECT * FROM one.gh_emissions'))
  assert.doesNotMatch(rows, /anna/i)
})
