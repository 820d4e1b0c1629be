/**
 * §18.11: an erased person leaves no byte of its personal data, in any table and file; its rows
 * stay, and those of others are untouched.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { engineTables } from '../../src/engine-tables.ts'
import { f, resource } from '../../src/gatehook.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import type { Fields } from '../../src/protocol/fields/fields.ts'
import { letterbox } from '../fixtures/letters.ts'
import { assertNotInFiles, readAll, rowsWith } from '../storage/canaries.ts'
import { createReceiver, response } from '../transport/receivers.ts'

/** Everything that an erasure of `kanary` may change has it. */
const WORD = 'kanary'
const OTHER = 'other'

/** Values that cannot contain a word, by the word of their person. */
const VALUES: Readonly<Record<string, Readonly<Record<string, string | number>>>> = {
  [WORD]: { tax: 40_954_696_475, born: '1987-03-04T05:06:07.890Z', naps: 'PT13H47M29S' },
  [OTHER]: { tax: 71_352_008_812, born: '1991-09-10T11:12:13.141Z', naps: 'PT11H52M38S' },
}
/** A text that is long at its end, where the word is no whole word. */
const bioOf = (word: string) => `${'x'.repeat(70)} ${word}${'y'.repeat(300)}`

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
    ...{ bio: bioOf(word), ...VALUES[word] },
  }
  const { body: member, status } = await own.post('/api/v2/members', person, {
    'idempotency-key': word,
  })
  assert.equal(status, 201, JSON.stringify(member))
  const { id } = member
  assert.equal(member.greeting, `Dear ${word} given`)
  const password = { password: `${word.slice(0, 3)} long password` }
  assert.equal((await admin.put(`/admin/users/${id}/password`, password)).status, 204)
  await admin.patch(`/admin/users/${id}`, { role: `${word} role` })
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
  const { born, ...values } = VALUES[word]!
  await own.post('/api/v2/pages', { letter_id: sent.id, number: [born] })
  for (const value of [bioOf(word), ...Object.values(values)]) {
    await own.post('/api/v2/pages', { letter_id: sent.id, number: [value] })
    await self.get(`/nowhere/${encodeURIComponent(value)}`)
  }
  await self.get(`/api/v2/members?email=${email}`)
  await self.get(`/oauth/authorize?client_id=x&login_hint=${email}`)
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
    const stays = await fillPerson(service, customer, OTHER)
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
    for (const text of [
      WORD,
      ...Object.values(VALUES[WORD]!).map((value) => String(value).toLowerCase()),
    ]) {
      assert.ok(rowsWith(before, text).length > 0, text)
      assert.deepEqual(rowsWith(after, text), [], text)
    }
    const { body: member } = await own.get(`/api/v2/members/${gone.id}`)
    assert.equal(member.plan, 'plan')
    assert.deepEqual([member.nickname, member.interests], [null, []])
    const { body: letter } = await own.get(`/api/v2/letters/${gone.letter}`)
    assert.deepEqual([letter.member_id, letter.weight], [gone.id, 7])
    assert.equal((await own.get(`/api/v2/letters?q=${WORD}`)).body.data.length, 0)
    for (const [table, rows] of before) {
      if (/^gh_(nodes|counters|chore|monitoring|settings)/.test(table)) continue
      const others = (all: readonly string[] = []) => all.filter((row) => /\bother\b/.test(row))
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
    const { erased: counts, values_left } = trail.data.at(-1).detail
    assert.equal(values_left, 0)
    for (const table of ['members', 'letters', 'gh_events', 'gh_jobs', 'gh_monitoring_requests'])
      assert.ok(counts[table] > 0, JSON.stringify(counts))
    assert.ok(
      actions.includes('person.erase') && actions.at(-1) === 'person.erased',
      actions.join(),
    )
    await app.close()
    if (name === 'sqlite') assertNotInFiles(url, WORD)
  })
}

for (const { name } of databases) {
  test(`every value of a person with more than a part has is erased [${name}]`, async (t) => {
    const service = await openService(t, name, { service: letterbox, env })
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const person = { given_name: 'Ann', interests: [], profile: { city: 'Bath' } }
    const { body: member } = await service.post('/api/v2/members', {
      ...{ ...person, email: 'ann@example.com' },
    })
    const addresses = Array.from({ length: 120 }, (_, n) => `${WORD} street ${n}`)
    for (const [n, address] of addresses.entries()) {
      const letter = { member_id: member.id, address, code: `code ${n}`, weight: 1 }
      assert.equal((await service.post('/api/v2/letters', letter)).status, 201)
      await service.get(`/api/v2/letters?q=${encodeURIComponent(address)}`)
    }
    await admin.get('/admin/requests') // writes the log of requests
    const logged = async () => {
      const requests = (await readAll(service.app.db)).get('gh_monitoring_requests') ?? []
      return addresses.filter((address) => {
        const sent = new RegExp(`${address.replaceAll(' ', '%20')}(?!\\d)`)
        return requests.some((row) => sent.test(row))
      })
    }
    if (name === 'postgres') assert.equal((await logged()).length, addresses.length)
    const begun = await admin.delete(`/admin/users/${member.id}`)
    assert.equal(begun.status, 202)
    await service.app.erasure.runDue()
    const [ended] = (await admin.get('/admin/audit?action=person.erased')).body.data
    assert.equal(ended.detail.values_left, 0)
    assert.deepEqual(rowsWith(await readAll(service.app.db), WORD), [])
    await service.app.close()
    if (name === 'sqlite') assertNotInFiles(service.url, WORD)
  })
}

for (const { name } of databases) {
  test(`an export has the rows of a person, of no other, and no secret [${name}]`, async (t) => {
    const service = await openService(t, name, { service: letterbox, env })
    const customer = await createCustomer(t, service)
    const { id } = await fillPerson(service, customer, WORD)
    await fillPerson(service, customer, 'other')
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    await admin.get('/admin/requests') // writes the log of requests
    const reply = await admin.get(`/admin/users/${id}/export`)
    assert.deepEqual([reply.status, reply.headers['content-type']], [200, 'application/x-ndjson'])
    assert.doesNotMatch(reply.text, /other/)
    const lines = reply.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const counts = Object.fromEntries(
      Map.groupBy(lines, ({ table }) => table)
        .entries()
        .map(([table, rows]) => [table, rows.length]),
    )
    for (const [table, count] of [
      ...[['members', 1] as const, ['letters', 2] as const, ['pages', 1] as const],
      ...[['gh_people', 1] as const, ['gh_jobs', 2] as const, ['gh_sessions', 1] as const],
    ]) {
      assert.equal(counts[table], count, `${table}: ${JSON.stringify(counts)}`)
    }
    assert.ok(counts.gh_events >= 7 && counts.gh_monitoring_requests >= 4, JSON.stringify(counts))
    for (const { table, row } of lines) {
      const declared = engineTables.find((other) => other.name === table)?.columns ?? {}
      for (const column of Object.keys(row)) {
        assert.notEqual(declared[column]?.content, 'secret', `${table}.${column}`)
      }
    }
    const { body: trail } = await admin.get(`/admin/audit?target=${id}&action=person.export`)
    assert.equal(trail.data.length, 1)
    for (const unknown of ['999', 'none', '1e1', '9007199254740993']) {
      assert.equal((await admin.get(`/admin/users/${unknown}/export`)).status, 404, unknown)
      assert.equal((await admin.delete(`/admin/users/${unknown}`)).status, 404, unknown)
    }
  })
}

for (const { name } of databases) {
  test(`a row without a credential, and a deleted one, are erased [${name}]`, async (t) => {
    const service = await openService(t, name, { service: letterbox, env })
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const person = { given_name: `${WORD} one`, interests: [], profile: { city: 'C' } }
    const ids: number[] = []
    for (const email of [`${WORD}.a@example.com`, `${WORD}.b@example.com`]) {
      const { body } = await service.post('/api/v2/members', { ...person, email })
      ids.push(body.id)
    }
    for (const id of ids) {
      const begun = await admin.delete(`/admin/users/${id}`)
      assert.equal(begun.status, 202)
      // A second request while the first waits is the same erasure.
      assert.equal((await admin.delete(`/admin/users/${id}`)).body.job_id, begun.body.job_id)
    }
    await service.app.erasure.runDue()
    assert.deepEqual(rowsWith(await readAll(service.app.db), WORD), [])
    const emails = (await service.get('/api/v2/members')).body.data.map(
      (row: { email: string }) => row.email,
    )
    assert.equal(new Set(emails).size, 2, 'unique fields stay unique')
  })
}

for (const { name } of databases) {
  test(`common words of a person end no erasure of others' data [${name}]`, async (t) => {
    const service = await openService(t, name, { service: letterbox, env })
    const { app } = service
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const words = { given_name: 'user', nickname: 'live', interests: [], profile: { city: 'code' } }
    const ids: number[] = []
    for (const n of [1, 2]) {
      const member = { ...words, email: `w${n}@example.com` }
      ids.push((await service.post('/api/v2/members', member)).body.id)
    }
    // The placeholder of another row cannot be guessed.
    const squatter = { ...words, email: `erased-${ids[0]}@example.com` }
    assert.equal((await service.post('/api/v2/members', squatter)).status, 201)
    const letter = { member_id: ids[1], address: 'usership', code: 'encoded', weight: 1 }
    const headers = { 'idempotency-key': 'one' }
    const { body: sent } = await service.post('/api/v2/letters', letter, headers)
    await service.get('/api/v2/letters?q=username')
    await admin.get('/admin/requests') // writes the log of requests
    const requests = async () => (await admin.get('/admin/requests?limit=100')).body.data
    const isOfOthers = ({ path }: { path: string }) => /q=username|letters$/.test(path)
    const logged = (await requests()).filter(isOfOthers).length
    const names = async () =>
      (await app.db.all(sql`SELECT actor_name FROM gh_audit WHERE actor_kind = 'key'`)).length
    const before = [logged, await names()]
    for (const id of ids) assert.equal((await admin.delete(`/admin/users/${id}`)).status, 202)
    await app.erasure.runDue()
    for (const id of ids) {
      const { body } = await admin.get(`/admin/jobs?kind=erasure&limit=10`)
      assert.ok(
        body.data.every(
          ({ name: job, state }: { name: string; state: string }) =>
            state === 'done' || job === 'erase_late_rows',
        ),
        String(id),
      )
    }
    assert.equal((await service.post('/api/v2/letters', letter, headers)).body.id, sent.id)
    assert.equal((await requests()).filter(isOfOthers).length >= before[0]!, true)
    assert.equal((await names()) >= before[1]!, true)
  })
}

for (const { name } of databases) {
  test(`the values of one person erase no row or event of another [${name}]`, async (t) => {
    const service = await openService(t, name, { service: letterbox, env })
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const person = { given_name: 'Same name', interests: [], profile: { city: 'Same city' } }
    const ids: number[] = []
    for (const n of [1, 2]) {
      const { body } = await service.post('/api/v2/members', {
        ...{ ...person, email: `same.${n}@example.com` },
      })
      const letter = { member_id: body.id, address: 'Same street', code: `c${n}`, weight: 1 }
      assert.equal((await service.post('/api/v2/letters', letter)).status, 201)
      ids.push(body.id)
    }
    const before = await service.get('/events?limit=100')
    await admin.delete(`/admin/users/${ids[0]}`)
    await service.app.erasure.runDue()
    const { body: other } = await service.get(`/api/v2/members/${ids[1]}`)
    assert.deepEqual([other.given_name, other.profile], ['Same name', { city: 'Same city' }])
    const ofOther = ({ body }: typeof before) =>
      body.data.filter(
        ({ data: { object } }: { data: { object: Record<string, unknown> } }) =>
          object.id === ids[1] || object.member_id === ids[1],
      )
    assert.equal(ofOther(before).length, 2)
    assert.deepEqual(ofOther(await service.get('/events?limit=100')), ofOther(before))
  })
}

test('only whole fields that are no reference are personal', () => {
  const declare = (fields: Fields) => () =>
    resource('rows', {
      fields: { id: f.id(), ...fields },
      list: { filter: [], sort: ['id'] },
      access: { read: 'r', create: 'w', update: 'w', delete: false },
      events: [],
    })
  assert.throws(declare({ row_id: f.ref('rows').personal() }), /the row that it refers to/)
  assert.throws(declare({ a: f.object({ b: f.string().personal() }) }), /the whole field/)
})
