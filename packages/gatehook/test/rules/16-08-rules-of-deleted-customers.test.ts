/** §16.8, §18.11: a deletion gives callers to no customer, and leaves no rule in the trail. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { ApiError } from '../../src/cli/api.ts'
import { applyRows } from '../../src/cli/revocations.ts'
import { lockIssuer, readRules, storeRules } from '../../src/identity/oauth/issuer-store.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { issuerEnv as env, openIssuerRig, RULE } from '../oauth/issuer-rig.ts'
import { type OauthFixture, openOauthFixture } from '../oauth/rig.ts'

const createCustomer = async ({ admin }: OauthFixture, name: string): Promise<string> =>
  (await admin.post('/admin/customers', { name })).body.id

async function* ofArray<T>(items: readonly T[]) {
  yield* items
}

/** The API of the command line that repeats a trail, over an app of the test. */
function repetitionOf({ app, admin }: OauthFixture) {
  const request = async (method: string, path: string, body?: unknown) => {
    const reply = await admin.send(method as 'GET', path, body)
    if (reply.status < 400) return reply.body
    throw new ApiError(reply.text, 1, reply)
  }
  const installation = { app, api: { request }, accessTokenTtlS: 900, issuerRules: new Map() }
  return installation as unknown as Parameters<typeof applyRows>[0]
}

test('a deletion waits for a change of the rules that it reads', async (t) => {
  const fixture = await openOauthFixture(t, 'postgres', { env })
  const { admin, app } = fixture
  const { create } = await openIssuerRig(fixture)
  const gone = await createCustomer(fixture, 'Gone')
  const { id } = await create({ rules: [RULE, { ...RULE, customer: gone }] })
  const [locked, waiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const change = app.db.write(async (tx) => {
    await lockIssuer(tx, id)
    await storeRules(tx, id, (await readRules(tx, [id])).get(id)!.toReversed())
    locked.resolve()
    await waiting.promise
  })
  await locked.promise
  let isAnswered = false
  const reply = admin.delete(`/admin/customers/${gone}`).finally(() => {
    isAnswered = true
  })
  const countWaiting = async () => {
    const row = await app.db.get(sql`SELECT count(*) AS total FROM pg_locks
      JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()`)
    return Number(row?.total)
  }
  await eventually(
    async () => isAnswered || (await countWaiting()) > 0,
    (isDone) => isDone,
  )
  waiting.resolve()
  await change
  assert.equal((await reply).status, 409)
})

for (const { name } of databases) {
  test(`rules of a deleted customer give no caller to another [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { admin, app } = fixture
    const { create, sign, exchange } = await openIssuerRig(fixture)
    const { id } = await create()
    const setRules = async (...rules: object[]) => {
      const reply = await admin.patch(`/admin/issuers/${id}`, { rules })
      assert.equal(reply.status, 200, reply.text)
    }
    const gone = await createCustomer(fixture, 'Gone')
    const [own, other] = [
      { ...RULE, customer: gone },
      { ...RULE, match: { repository: 'acme/*' } },
    ]
    await setRules(own, other)
    const refused = await admin.delete(`/admin/customers/${gone}`)
    assert.deepEqual([refused.status, refused.body.error], [409, 'invalid_state'])
    assert.match(refused.body.message, new RegExp(`${id} .*Change the rules`))
    const { body } = await admin.get(`/admin/customers/${gone}`)
    assert.equal(body.deleting_since, null, 'nothing has begun')
    // A rule of other callers inherits none, and neither does an earlier one.
    await setRules({ ...other, typ: 'x+jwt' }, own, { ...RULE, match: { repository: 'other/*' } })
    const assertion = await sign()
    assert.equal((await admin.delete(`/admin/customers/${gone}`)).status, 202)
    assert.equal((await exchange(assertion)).body.error, 'invalid_grant')
    await app.erasure.runDue()
    assert.equal((await exchange(await sign())).body.error, 'invalid_grant')
  })

  test(`the trail of issuers has no rule of a deleted customer [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { admin, app } = fixture
    const { create } = await openIssuerRig(fixture)
    const [gone, other] = [await createCustomer(fixture, 'A'), await createCustomer(fixture, 'B')]
    const ruleOf = (customer: string, repository: string) => ({
      ...RULE,
      match: { repository },
      customer,
    })
    const issuer = await create({ rules: [ruleOf(gone, 'kanary/old'), ruleOf(other, 'kept/old')] })
    const rules = [
      ruleOf(gone, 'kanary/one'),
      ruleOf(other, 'kept/new'),
      ruleOf(gone, 'kanary/two'),
    ]
    await admin.patch(`/admin/issuers/${issuer.id}`, { rules, owners: ['namespace_path'] })
    const trailOf = async () =>
      JSON.stringify(await app.db.all(sql`SELECT action, detail FROM gh_audit`))
    assert.match(await trailOf(), /kanary\/two/)
    assert.equal((await admin.delete(`/admin/customers/${gone}`)).status, 202)
    await app.erasure.runDue()
    const trail = await trailOf()
    assert.doesNotMatch(trail, /kanary/)
    assert.match(trail, /kept\/new/)
    assert.equal((await app.audit.verify()).valid, true)
    // A restore repeats the rules that are left, in place of those of its data.
    const lines = await Array.fromAsync(app.audit.export())
    const stale = { rules: [ruleOf(other, 'kept/wide')], owners: [] }
    await admin.patch(`/admin/issuers/${issuer.id}`, stale)
    const { failures } = await applyRows(repetitionOf(fixture), ofArray(lines), 0)
    assert.deepEqual(failures, [])
    const { body } = await admin.get(`/admin/issuers/${issuer.id}`)
    const matches = body.rules.map(({ match }: { match: object }) => match)
    assert.deepEqual([matches, body.owners], [[{ repository: 'kept/new' }], ['namespace_path']])
  })
}
