/** The exchange of a code on several nodes, and with a failure at each statement. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { databases, freshUrl } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { failAt } from '../../../../test/rig/faults.ts'
import { openService } from '../../../../test/rig/service.ts'
import { issueCode } from '../../src/identity/oauth/authorization-codes.ts'
import { holdCredential } from '../../src/identity/people/store.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { random } from '../access/test-node.ts'
import {
  basicOf,
  CALLBACK,
  CHALLENGE,
  exchange,
  type OauthFixture,
  obtainCode,
  openOauthFixture,
} from './rig.ts'

const countSessions = async ({ app }: OauthFixture) => {
  const row = await app.db.get(sql`SELECT COUNT(*) AS n FROM gh_sessions`)
  return Number(row!.n)
}

/** Stores codes of the person for the client, without its pages. */
async function createCodes({ app, client, person }: OauthFixture, count: number) {
  const [of] = await app.db.all<{ scope: Scope; revision: number }>(
    sql`SELECT scope, revision FROM gh_people WHERE id = ${person.id}`,
  )
  const grant = {
    ...of!,
    clientId: client.client_id,
    subject: String(person.id),
    redirectUri: CALLBACK,
    challenge: CHALLENGE,
    scopes: ['users:read'],
    audience: undefined,
    authenticatedAt: wallClock.now(),
    nonce: undefined,
  }
  const codes: string[] = []
  while (codes.length < count) {
    codes.push(await app.db.write((tx) => issueCode(tx, grant, { clock: wallClock, random })))
  }
  return codes
}

/** Exchanges a code; a busy machine may reject it with 503, which has no effect. */
const exchangeSurely: typeof exchange = (...request) =>
  eventually(
    () => exchange(...request),
    ({ status }) => status !== 503,
  )

/** Returns the groups of the writes since the last call. */
function watchGroups(t: TestContext, { app }: OauthFixture) {
  const write = t.mock.method(app.db, 'write')
  return () => {
    const groups = write.mock.calls.flatMap(({ arguments: [, options] }) => options?.group ?? [])
    write.mock.resetCalls()
    return groups
  }
}

for (const { name } of databases) {
  test(`exchanges at once commit together, and a code counts once [${name}]`, async (t) => {
    const url = await freshUrl(t, name)
    const fixture = await openOauthFixture(t, name, { url })
    const anonymous = (await openService(t, name, { url })).as(undefined)
    const nodes = [fixture, { ...fixture, anonymous }]
    const exchangeAll = async () => {
      const codes = await createCodes(fixture, 8)
      const replies = await Promise.all(codes.map((code) => exchangeSurely(fixture, code)))
      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
      assert.equal(new Set(replies.map(({ body }) => body.refresh_token)).size, 8)
      const text = 'SELECT count(DISTINCT xmin::text), count(*) FROM gh_sessions'
      if (name === 'sqlite') return true
      const [row] = await fixture.app.db.arrays({ sql: '', text, values: [] })
      return Number(row![0]) < Number(row![1])
    }
    await eventually(exchangeAll, (isTogether) => isTogether)
    const count = await countSessions(fixture)
    const twice = await createCodes(fixture, 4)
    const pairs = await Promise.all(
      twice.flatMap((code) => nodes.map((node) => exchangeSurely(node, code))),
    )
    for (const at of twice.keys()) {
      const pair = pairs.slice(2 * at, 2 * at + 2).map(({ status }) => status)
      assert.deepEqual(pair.toSorted(), [200, 400])
    }
    // The reuse of each code has ended its session, and no other one.
    assert.equal(await countSessions(fixture), count)
  })

  test(`an exchange that cannot succeed joins no group [${name}]`, async (t) => {
    const resource = 'https://api.example.com/api'
    const env = { GATEHOOK_TEST_CLOCK: '1', GATEHOOK_PUBLIC_URL: 'https://api.example.com' }
    const fixture = await openOauthFixture(t, name, { env })
    const advance = (advance_s: number) =>
      fixture.app.clock!.set({ advance_s, freeze: true }, { kind: 'test', id: 't' } as never)
    await advance(0)
    const other = basicOf(await fixture.createClient())
    const groups = watchGroups(t, fixture)
    const [code, expired] = (await createCodes(fixture, 2)) as [string, string]
    const refusalOf = async (
      ...request: [string, Record<string, string>?, Record<string, string>?]
    ) => {
      groups()
      const { status, body } = await exchangeSurely(fixture, ...request)
      assert.deepEqual([status, groups()], [400, []])
      return body.error
    }
    assert.equal(await refusalOf(code, { redirect_uri: `${CALLBACK}/other` }), 'invalid_grant')
    assert.equal(await refusalOf(code, { code_verifier: 'x'.repeat(43) }), 'invalid_grant')
    assert.equal(await refusalOf(code, {}, other), 'invalid_grant')
    assert.equal(await refusalOf(code, { resource }), 'invalid_target')
    assert.equal((await exchangeSurely(fixture, code)).status, 200)
    assert.equal(new Set(groups()).size, 1)
    assert.equal(await refusalOf(code), 'invalid_grant')
    await advance(3_600)
    assert.equal(await refusalOf(expired), 'invalid_grant')
    assert.equal(await countSessions(fixture), 0)
  })

  test(`of concurrent exchanges on two nodes one opens a session [${name}]`, async (t) => {
    const url = await freshUrl(t, name)
    const fixture = await openOauthFixture(t, name, { url })
    const anonymous = (await openService(t, name, { url })).as(undefined)
    for (let round = 0; round < 3; round++) {
      const code = await obtainCode(fixture)
      const nodes = [fixture, { ...fixture, anonymous }]
      const attempts = Array.from({ length: 8 }, (_, n) => exchangeSurely(nodes[n % 2]!, code))
      const replies = await Promise.all(attempts)
      const statuses = replies.map((reply) => reply.status).sort()
      assert.deepEqual(statuses, [200, ...Array.from({ length: 7 }, () => 400)])
      const succeeded = replies.find((reply) => reply.status === 200)!
      const me = { authorization: `Bearer ${succeeded.body.access_token}` }
      assert.equal((await anonymous.get('/api/v2/protected', me)).status, 401)
    }
  })

  test(`an exchange that fails at any statement consumes no code [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const code = await obtainCode(fixture)
    const before = await countSessions(fixture)
    let at = 0
    for (;;) {
      at += 1
      const fault = failAt(fixture.app.db, at)
      const reply = await exchange(fixture, code)
      fault.restore()
      if (reply.status === 200) break
      assert.deepEqual([reply.status, reply.body.error], [500, 'server_error'])
      assert.equal(await countSessions(fixture), before, `statement ${at}`)
    }
    assert(at > 3, `${at} statements`)
    assert.equal(await countSessions(fixture), before + 1)
  })
}

test('grants of a person do not wait for each other; a change of the person waits', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const fixture = await openOauthFixture(t, 'postgres', { url })
  const other = await openService(t, 'postgres', { url })
  const admin = other.as(await other.key({ scopes: ['admin'], mode: 'live' }))
  const code = await obtainCode(fixture)
  const { id } = fixture.person
  const waiting = `SELECT count(*) AS n FROM pg_locks
    WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`
  let isChanged = false
  const change = await fixture.app.db.write(async (tx) => {
    assert.ok(await holdCredential(tx, 'users', id))
    const exchanged = await exchange({ ...fixture, anonymous: other.as(undefined) }, code)
    assert.equal(exchanged.status, 200)
    const password = 'another correct horse'
    const changing = admin.put(`/admin/users/${id}/password`, { password }).finally(() => {
      isChanged = true
    })
    await eventually(
      async () => tx.get({ sql: '', text: waiting, values: [] }),
      (row) => Number(row!.n) > 0,
    )
    assert.equal(isChanged, false)
    return { changing }
  })
  assert.equal((await change.changing).status, 204)
  assert.equal(await countSessions(fixture), 0)
})
