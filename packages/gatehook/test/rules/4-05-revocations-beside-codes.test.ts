/** §4.5, §5.2: a consent that is revoked beside a request for a code leaves no code. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { databases, freshUrl, type Kind } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import { issueCode } from '../../src/identity/oauth/authorization-codes.ts'
import { lockConsent } from '../../src/identity/oauth/consent-store.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import type { Tx, WriteOptions } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { random } from '../access/test-node.ts'
import {
  authorizePath,
  CALLBACK,
  CHALLENGE,
  grantConsent,
  openBrowser,
  openOauthFixture,
  PASSWORD,
} from '../oauth/rig.ts'

/** A person who consented to a client, and whose browser is signed in. */
async function openConsent(t: TestContext, kind: Kind, url?: string) {
  const { app, anonymous, client, person } = await openOauthFixture(t, kind, url ? { url } : {})
  const other = url === undefined ? anonymous : (await openService(t, kind, { url })).as(undefined)
  const browser = openBrowser(app)
  const path = authorizePath(client)
  const code = (await grantConsent(browser, path, person)).location?.searchParams.get('code')
  assert.ok(code)
  const credentials = { username: person.email, password: PASSWORD }
  const { body } = await anonymous.post('/auth/login', credentials)
  const own = { authorization: `Bearer ${body.access_token}` }
  return {
    app,
    client,
    person,
    authorize: () => browser.get(path),
    revoke: async () => (await other.delete(`/auth/consents/${client.client_id}`, own)).status,
    countCodes: async () =>
      Number((await app.db.get(sql`SELECT COUNT(*) AS n FROM gh_oauth_codes`))!.n),
  }
}

const waiting = sql`SELECT count(*) AS n FROM pg_locks
  WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`

for (const { name } of databases) {
  test(`a request for a code sees a revocation that came first [${name}]`, async (t) => {
    const { app, authorize, revoke, countCodes } = await openConsent(t, name)
    assert.equal((await authorize()).status, 303, 'without a page')
    const write = app.db.write.bind(app.db)
    const begun = t.mock.method(app.db, 'write')
    begun.mock.mockImplementationOnce(
      async <T>(change: (tx: Tx) => Promise<T>, options?: WriteOptions) => {
        assert.equal(await revoke(), 204)
        return write(change, options)
      },
    )
    const page = await authorize()
    assert.equal(page.status, 200, 'the consent page')
    assert.match(page.text, /name="action" value="allow"/)
    assert.ok(begun.mock.callCount() > 1)
    assert.equal(await countCodes(), 0)
  })
}

test('a revocation waits for a request for a code, and deletes its code', async (t) => {
  const { app, client, person, revoke, countCodes } = await openConsent(
    t,
    'postgres',
    await freshUrl(t, 'postgres'),
  )
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
  const { revoked } = await app.db.write(async (tx) => {
    const key = { scope: of!.scope, owner: person.id, clientId: client.client_id }
    assert.ok(await lockConsent(tx, key))
    const revoked = revoke()
    await eventually(
      async () => tx.get(waiting),
      (row) => Number(row!.n) > 0,
    )
    await issueCode(tx, grant, { clock: wallClock, random })
    return { revoked }
  })
  assert.equal(await revoked, 204)
  assert.equal(await countCodes(), 0)
})
