/**
 * §18.11: an erased person leaves no byte of its personal data, in any table and file; its rows
 * stay, and those of others are untouched.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { letterbox } from '../fixtures/letters.ts'
import { assertNotInFiles, readAll, rowsWith } from '../storage/canaries.ts'
import { createReceiver, response } from '../transport/receivers.ts'

/** Everything that an erasure of `kanary` may change has it. */
const WORD = 'kanary'

interface Rows {
  readonly id: number
  readonly letter: string
}

/** Creates a person with a word in every personal field, and in every kind of row. */
async function fillPerson(service: TestApp, customer: string, word: string): Promise<Rows> {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const own = service.as(await service.key({ customer, mode: 'live' }))
  const email = `${word}.mail@example.com`
  const person = {
    ...{ given_name: `${word} given`, email, nickname: `${word} nick` },
    ...{ interests: [`${word} interest`], profile: { city: `${word} city` }, plan: `plan` },
  }
  const { body: member, status } = await own.post('/api/v2/members', person, {
    'idempotency-key': word,
  })
  assert.equal(status, 201, JSON.stringify(member))
  const { id } = member
  assert.equal(member.greeting, `Dear ${word} given`)
  const password = { password: `${word.slice(0, 3)} long password` }
  assert.equal((await admin.put(`/admin/users/${id}/password`, password)).status, 204)
  const login = { username: email, ...password }
  const signedIn = await service.as(undefined).post('/auth/login', login)
  assert.equal(signedIn.status, 200, signedIn.text)
  const bearer = { authorization: `Bearer ${signedIn.body.access_token}` }
  const self = service.as(undefined)
  const letter = {
    ...{ member_id: id, address: `${word} street 5`, code: `${word}-code`, weight: 7 },
  }
  const { body: sent } = await self.post('/api/v2/letters', letter, bearer)
  assert.ok(sent.id, JSON.stringify(sent))
  const { body: gone } = await self.post(
    '/api/v2/letters',
    { ...letter, code: `${word}-2` },
    bearer,
  )
  const page = { letter_id: sent.id, signature: `${word} signature`, number: 3 }
  assert.equal((await self.post('/api/v2/pages', page, bearer)).status, 201)
  assert.equal((await self.delete(`/api/v2/letters/${gone.id}`, bearer)).status, 204)
  const shipment = { member_id: id, address: `${word} harbour` }
  const shipped = await self.post('/api/v2/shipments', shipment, bearer)
  assert.equal(shipped.status, 200, shipped.text)
  await own.post('/api/v2/letters', { ...letter, weight: `${word} no number` })
  await own.get(`/api/v2/letters?q=${word}%20street`)
  await own.patch(`/api/v1/members/${id}`, { name: `${word} given` })
  const scan = { member_id: id, signature: `${word} signed` }
  for (const [type, object] of [
    ['parcel.scanned', scan],
    ['parcel.weighed', { recipient: email }],
  ]) {
    assert.equal((await own.post('/events', { type, object })).status, 201)
  }
  await self.post('/auth/password/forgot', { email })
  for (let n = 0; n < 11; n++) {
    await self.post('/auth/login', { username: email, password: 'a wrong password' })
  }
  await admin.patch(`/admin/users/${id}`, { role: `${word} role` })
  await admin.get(`/admin/users?username=${encodeURIComponent(email)}`)
  await service.app.db.write((tx) =>
    tx.run(sql`UPDATE gh_deliveries SET attempts = ${`["${word} given"]`}, attempt = 1
      WHERE event_id IN (SELECT id FROM gh_events WHERE object LIKE ${`%${word}%`})`),
  )
  return { id, letter: sent.id }
}

/** Creates a customer with a webhook that is pinned to the oldest version. */
async function createCustomer(t: TestContext, service: TestApp): Promise<string> {
  const { url } = await createReceiver(t, (socket) => socket.write(response('ok')))
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const { body: customer } = await admin.post('/admin/customers', { name: 'Post' })
  const own = service.as(await service.key({ customer: customer.id, mode: 'live' }))
  for (const api_version of ['v1', 'v2']) {
    const webhook = { url, events: ['*'], api_version }
    const created = await own.post('/webhooks', webhook)
    assert.equal(created.status, 201, created.text)
  }
  return customer.id
}

const env = { GATEHOOK_REQUEST_LOG_BODIES: 'errors', GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' }

for (const { name } of databases) {
  test(`nothing of an erased person is left, and its rows stay [${name}]`, async (t) => {
    const service = await openService(t, name, { service: letterbox, env })
    const { app, url } = service
    const customer = await createCustomer(t, service)
    const gone = await fillPerson(service, customer, WORD)
    const stays = await fillPerson(service, customer, 'other')
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const own = service.as(await service.key({ customer, mode: 'live' }))
    await admin.get('/admin/requests') // writes the log of requests
    const before = await readAll(app.db)
    const tables = new Set(rowsWith(before, WORD).map((row) => row.split(':')[0]))
    for (const table of ['members', 'letters', 'pages', 'gh_events', 'gh_event_bodies']) {
      assert.ok(tables.has(table), `${table} has the person`)
    }
    for (const table of ['gh_people', 'gh_jobs', 'gh_audit', 'gh_deliveries', 'gh_words_members']) {
      assert.ok(tables.has(table) || !before.has(table), `${table} has the person`)
    }
    const reply = await admin.delete(`/admin/users/${gone.id}`)
    assert.equal(reply.status, 202, reply.text)
    assert.deepEqual(Object.keys(reply.body), ['id', 'erasing_since', 'job_id'])
    assert.equal((await admin.get(`/admin/users/${gone.id}`)).status, 404)
    await app.erasure.runDue()
    const job = await admin.get(`/admin/jobs/${reply.body.job_id}`)
    assert.deepEqual([job.body.state, job.body.input], ['done', {}])
    await admin.get('/admin/requests')

    const after = await readAll(app.db)
    assert.deepEqual(rowsWith(after, WORD), [])
    const { body: member } = await own.get(`/api/v2/members/${gone.id}`)
    assert.equal(member.plan, 'plan')
    assert.deepEqual([member.nickname, member.interests], [null, []])
    const { body: letter } = await own.get(`/api/v2/letters/${gone.letter}`)
    assert.deepEqual([letter.member_id, letter.weight], [gone.id, 7])
    assert.equal((await own.get(`/api/v2/letters?q=${WORD}`)).body.data.length, 0)
    for (const [table, rows] of before) {
      if (/^gh_(nodes|counters|chore|monitoring|settings)/.test(table)) continue
      const others = (all: readonly string[] = []) => all.filter((row) => row.includes('other'))
      assert.deepEqual(others(after.get(table)), others(rows), table)
    }
    const { body: untouched } = await own.get(`/api/v2/members/${stays.id}`)
    assert.equal(untouched.given_name, 'other given')
    for (const version of ['v1', 'v2']) {
      const key = await service.key({ customer, mode: 'live', api_version: version })
      const { body: events } = await service.as(key).get('/events?limit=100')
      assert.doesNotMatch(JSON.stringify(events), /kanary/)
    }
    const { body: erased } = await own.get('/events?type=person.erased')
    const [
      {
        data: { object },
      },
    ] = erased.data // prettier-ignore
    assert.deepEqual([erased.data.length, object.id, object.collection], [1, gone.id, 'members'])
    assert.equal((await app.audit.verify()).valid, true)
    const { body: trail } = await admin.get(`/admin/audit?target=${gone.id}&sort=id&limit=100`)
    const actions = trail.data.map((entry: { action: string }) => entry.action)
    assert.ok(
      actions.includes('person.erase') && actions.at(-1) === 'person.erased',
      actions.join(),
    )
    await app.close()
    if (name === 'sqlite') assertNotInFiles(url, WORD)
  })
}
