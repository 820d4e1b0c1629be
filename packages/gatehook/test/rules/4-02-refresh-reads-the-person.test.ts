/** §4.2: a refresh depends on its person now, also if this node refreshed the session before. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, eachMigrated } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { emailOf, openPeople } from '../people/rig.ts'
import { login, openTokenNode } from '../tokens/token-node.ts'

for (const { name } of databases) {
  test(`§4.2 a refresh for a disabled person consumes nothing [${name}]`, async (t) => {
    const service = await openService(t, name)
    const people = await openPeople(service)
    const { id } = await people.createPerson('ada')
    const refresh = (refresh_token: string) =>
      people.anonymous.post('/auth/refresh', { refresh_token })
    // A statement, because the operation ends the sessions, too.
    const setDisabled = (value: number) =>
      service.app.db.write((tx) =>
        tx.run(sql`UPDATE gh_people SET disabled = ${value} WHERE id = ${id}`),
      )
    let { refresh_token } = (await people.login(emailOf('ada'))).body
    for (let n = 0; n < 2; n++) {
      await setDisabled(1)
      const rejection = await refresh(refresh_token)
      assert.deepEqual([rejection.status, rejection.body.error], [401, 'invalid_grant'])
      await setDisabled(0)
      const reply = await refresh(refresh_token)
      assert.equal(reply.status, 200, reply.text)
      refresh_token = reply.body.refresh_token
    }
  })
}

for (const { name } of databases) {
  test(`§4.2 one of parallel refreshes succeeds after an earlier one [${name}]`, async (t) => {
    const service = await openService(t, name)
    const people = await openPeople(service)
    await people.createPerson('ada')
    const refresh = (refresh_token: string) =>
      people.anonymous.post('/auth/refresh', { refresh_token })
    const first = (await people.login(emailOf('ada'))).body
    const second = (await refresh(first.refresh_token)).body
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => refresh(second.refresh_token)),
    )
    const [winner, ...others] = replies.filter(({ status }) => status === 200)
    assert.deepEqual([others, replies.length], [[], 6])
    for (const { body } of replies) {
      if (body !== winner!.body) assert.equal(body.error, 'invalid_grant')
    }
    assert.equal((await refresh(winner!.body.refresh_token)).status, 200)
  })
}

eachMigrated('§4.2 reuse is detected if the claims of the person fail', async (db, t) => {
  const { tokens, refresh, data, time } = await openTokenNode(db, t)
  const first = await tokens.openSession(login)
  const second = (await refresh(first.refresh_token)).body
  time.pass(5_001)
  const find = t.mock.method(data.people, 'get', () => {
    throw new Error('the hook of a service')
  })
  assert.equal((await refresh(first.refresh_token)).body.error, 'invalid_grant')
  find.mock.restore()
  assert.equal((await refresh(second.refresh_token)).body.error, 'invalid_grant')
})

eachMigrated('§4.2 a refresh whose claims fail consumes nothing', async (db, t) => {
  const { tokens, refresh, data } = await openTokenNode(db, t)
  const first = await tokens.openSession(login)
  const second = (await refresh(first.refresh_token)).body
  const find = t.mock.method(data.people, 'get', () => {
    throw new Error('the hook of a service')
  })
  assert.equal((await refresh(second.refresh_token)).status, 500)
  find.mock.restore()
  assert.equal((await refresh(second.refresh_token)).status, 200)
})
