/** §12.2, §13: of a sign-in of an operator and the end of its access, one sees the other. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { databases, freshUrl, type Kind } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService, type Reply } from '../../../../test/rig/service.ts'
import { endOperatorAccess, lockActiveOperator } from '../../src/identity/people/operator-access.ts'
import {
  createConsoleLink,
  createOperator,
  setOperatorRole,
} from '../../src/identity/people/operators.ts'
import { Failure } from '../../src/kernel/failure.ts'
import type { Tx, WriteOptions } from '../../src/platform/storage/database.ts'
import { raw, sql } from '../../src/platform/storage/sql.ts'

const actor = { kind: 'system', id: 'test' } as const
const refusal = () => new Failure('forbidden')
const email = 'op@example.com'
const password = 'correct horse battery'
const waiting = sql`SELECT count(*) AS n FROM pg_locks
  WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`

const cookieOf = ({ headers }: Reply): string =>
  String([headers['set-cookie']].flat()[0]).split(';')[0]!

async function openConsole(t: TestContext, kind: Kind) {
  const url = await freshUrl(t, kind)
  const { app, ...service } = await openService(t, kind, { url })
  const { administration, hasher, db } = app
  const count = async (table: 'gh_console_sessions' | 'gh_operators') =>
    (await db.all(sql`SELECT id FROM ${raw(table)}`)).length
  const linkOf = async (name: string | undefined) => {
    const { path } = await createConsoleLink(administration, name, actor)
    return path.split('#token=')[1]!
  }
  const createOne = () => createOperator(administration, hasher, { email, password }, actor)
  return { url, app, administration, count, linkOf, createOne, anonymous: service.as(undefined) }
}

test('sign-ins of an operator wait for the end of its access', async (t) => {
  const { url, app, administration, count, linkOf, createOne } = await openConsole(t, 'postgres')
  const other = (await openService(t, 'postgres', { url })).as(undefined)
  const { id } = await createOne()
  const token = await linkOf(email)
  const { signedIn } = await app.db.write(async (tx) => {
    await lockActiveOperator(tx, id, refusal)
    let isDone = false
    const signedIn = other.post('/console/session', { token }).finally(() => {
      isDone = true
    })
    await eventually(
      async () => isDone || Number((await tx.get(waiting))!.n) > 0,
      (isSettled) => isSettled,
    )
    await endOperatorAccess(administration, tx, id)
    return { signedIn }
  })
  assert.equal((await signedIn).status, 401)
  assert.equal(await count('gh_console_sessions'), 0)
})

for (const { name } of databases) {
  test(`a session that has ended gains no operator, and creates none [${name}]`, async (t) => {
    const { administration, anonymous, count, linkOf } = await openConsole(t, name)
    const session = await anonymous.post('/console/session', { token: await linkOf(undefined) })
    const headers = { cookie: cookieOf(session), 'x-gatehook-console': '1' }
    const { write } = administration
    const begun = t.mock.method(administration, 'write')
    begun.mock.mockImplementationOnce(
      async <T>(change: (tx: Tx) => Promise<T>, options?: WriteOptions) => {
        await write((tx) => tx.run(sql`DELETE FROM gh_console_sessions`))
        return write(change, options)
      },
    )
    const created = await anonymous.post('/console/session/operator', { email, password }, headers)
    assert.equal(created.status, 401, created.text)
    assert.equal(await count('gh_operators'), 0)
  })

  test(`a link to the portal sees that its operator has lost rights [${name}]`, async (t) => {
    const { app, administration, anonymous, linkOf, createOne } = await openConsole(t, name)
    await createOne()
    const ways = {
      'a lesser role': () => setOperatorRole(administration, email, { role: 'viewer' }, actor),
      'a session that ended': () =>
        app.db.write((tx) => tx.run(sql`DELETE FROM gh_console_sessions`)),
    }
    for (const [way, lose] of Object.entries(ways)) {
      await setOperatorRole(administration, email, { role: 'support' }, actor)
      const session = await anonymous.post('/console/session', { token: await linkOf(email) })
      const headers = { cookie: cookieOf(session), 'x-gatehook-console': '1' }
      const body = { customer: 'default', mode: 'live', can: ['keys:read', 'keys:write'] }
      const create = () => anonymous.post('/admin/portal-links', body, headers)
      assert.equal((await create()).status, 201, way)
      const write = app.db.write.bind(app.db)
      const begun = t.mock.method(app.db, 'write')
      begun.mock.mockImplementationOnce(
        async <T>(change: (tx: Tx) => Promise<T>, options?: WriteOptions) => {
          begun.mock.restore()
          await lose()
          return write(change, options)
        },
      )
      assert.equal((await create()).status, 401, way)
    }
  })
}
