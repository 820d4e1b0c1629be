/**
 * Counts the round trips to PostgreSQL of a request: the messages after which the server reports
 * that it is ready. A proxy between the app and the server reads them.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { migratedUrl, openForTest } from '../../../../test/rig/databases.ts'
import { startTrafficProxy, type Traffic } from '../../../../test/rig/postgres-traffic.ts'
import { openService } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { basicOf, exchange, form, obtainCode, openOauthFixture } from '../oauth/rig.ts'
import { emailOf, openPeople } from '../people/rig.ts'

type Counts = Pick<Traffic, 'roundTrips' | 'statements'>

/** Returns the options of an app without background work, and a function that counts a request. */
async function createCounter(t: TestContext): Promise<{
  options: { url: string; env: Record<string, string> }
  count: (send: () => Promise<{ status: number }>) => Promise<Counts>
}> {
  const { url, traffic } = await startTrafficProxy(t, await migratedUrl(t, 'postgres'))
  const count = async (send: () => Promise<{ status: number }>): Promise<Counts> => {
    // The least of several requests contains no poll of the background.
    let least = { roundTrips: Number.POSITIVE_INFINITY, statements: 0 }
    for (let run = 0; run < 8; run++) {
      const before = { ...traffic }
      const { status } = await send()
      assert.ok(status < 300, String(status))
      const roundTrips = traffic.roundTrips - before.roundTrips
      const statements = traffic.statements - before.statements
      if (roundTrips < least.roundTrips) least = { roundTrips, statements }
    }
    return least
  }
  return { options: { url, env: { GATEHOOK_ROLE: 'api' } }, count }
}

test('a request takes few round trips to PostgreSQL', async (t) => {
  const { options, count } = await createCounter(t)
  const service = await openService(t, 'postgres', options)
  const user = await service.post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  const order = { user_id: user.body.id, amount: 1200, currency: 'EUR' }
  const post = await count(() => service.post('/api/v2/orders', order))
  let key = 0
  const repeatable = await count(() =>
    service.post('/api/v2/orders', order, { 'idempotency-key': `key-${++key}` }),
  )
  const page = await count(() => service.get('/api/v2/orders?pagination=page&per_page=20'))
  const later = await count(() => service.get('/api/v2/orders?pagination=page&per_page=4&page=3'))
  const offset = await count(() => service.get('/api/v2/orders?offset=13&limit=5'))
  const counts = { post, repeatable, page, later, offset }
  t.diagnostic(JSON.stringify(counts))
  assert.equal(post.roundTrips, 2)
  assert.equal(repeatable.roundTrips, 3)
  for (const { roundTrips } of [page, later, offset]) assert.equal(roundTrips, 1)
})

test('a refresh takes two round trips to PostgreSQL', async (t) => {
  const { options, count } = await createCounter(t)
  const service = await openService(t, 'postgres', options)
  const { anonymous, createPerson, login } = await openPeople(service)
  await createPerson('ada')
  let { refresh_token } = (await login(emailOf('ada'))).body
  const refresh = await count(async () => {
    const { status, body } = await anonymous.post('/auth/refresh', { refresh_token })
    refresh_token = body.refresh_token
    return { status }
  })
  t.diagnostic(JSON.stringify(refresh))
  assert.equal(refresh.roundTrips, 2)
})

test("a refresh of a client's session takes two round trips to PostgreSQL", async (t) => {
  const { options, count } = await createCounter(t)
  const fixture = await openOauthFixture(t, 'postgres', options)
  const { anonymous, client } = fixture
  let { refresh_token } = (await exchange(fixture, await obtainCode(fixture))).body
  const refresh = await count(async () => {
    const grant = { grant_type: 'refresh_token', refresh_token }
    const { status, body } = await form(anonymous, '/oauth/token', grant, basicOf(client))
    refresh_token = body.refresh_token
    return { status }
  })
  t.diagnostic(JSON.stringify(refresh))
  assert.equal(refresh.roundTrips, 2)
})

test('an exchange of a code takes three round trips to PostgreSQL', async (t) => {
  const { options, count } = await createCounter(t)
  const fixture = await openOauthFixture(t, 'postgres', options)
  const codes: string[] = []
  for (let n = 0; n < 8; n++) codes.push(await obtainCode(fixture))
  const exchanged = await count(() => exchange(fixture, codes.pop()!))
  t.diagnostic(JSON.stringify(exchanged))
  assert.equal(exchanged.roundTrips, 3)
})

test('a write of one statement takes one round trip to PostgreSQL', async (t) => {
  const { url, traffic } = await startTrafficProxy(t, await migratedUrl(t, 'postgres'))
  const db = await openForTest(t, url)
  const write = () =>
    db.write((tx) => tx.run(sql`DELETE FROM gh_quota WHERE subject = ''`), { single: true })
  await write() // opens the connection
  const before = traffic.roundTrips
  await write()
  assert.equal(traffic.roundTrips - before, 1)
})
