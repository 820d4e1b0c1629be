/** The exchange of a code on several nodes, and with a failure at each statement. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, freshUrl } from '../../../../test/rig/databases.ts'
import { failAt } from '../../../../test/rig/faults.ts'
import { openService } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { exchange, type OauthFixture, obtainCode, openOauthFixture } from './rig.ts'

const countSessions = async ({ app }: OauthFixture) => {
  const row = await app.db.get(sql`SELECT COUNT(*) AS n FROM gh_sessions`)
  return Number(row!.n)
}

for (const { name } of databases) {
  test(`of concurrent exchanges on two nodes one opens a session [${name}]`, async (t) => {
    const url = await freshUrl(t, name)
    const fixture = await openOauthFixture(t, name, { url })
    const anonymous = (await openService(t, name, { url })).as(undefined)
    for (let round = 0; round < 3; round++) {
      const code = await obtainCode(fixture)
      const nodes = [fixture, { ...fixture, anonymous }]
      const attempts = Array.from({ length: 8 }, (_, n) => exchange(nodes[n % 2]!, code))
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
