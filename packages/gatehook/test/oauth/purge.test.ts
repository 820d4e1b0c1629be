/** The chores of oauth/ delete rows after their retention period, and none earlier. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, eachMigrated } from '../../../../test/rig/databases.ts'
import {
  CODE_RETENTION_MS,
  findCode,
  issueCode,
} from '../../src/identity/oauth/authorization-codes.ts'
import { authorizationCodes, signIns } from '../../src/identity/oauth/tables.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { sha256 } from '../../src/kernel/secret.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { purgeExpired } from '../../src/platform/storage/purge.ts'
import { ManualClock } from '../access/test-node.ts'
import { authorizePath, grantConsent, openBrowser, openOauthFixture } from './rig.ts'

const purgeCodes = (db: Database, { clock }: ManualClock) =>
  purgeExpired(db, [authorizationCodes], clock.now() - CODE_RETENTION_MS)

eachMigrated('a code is stored for a day after its expiry', async (db) => {
  const time = new ManualClock()
  const grant = {
    clientId: 'client_x',
    scope: 3 as Scope,
    subject: '1',
    redirectUri: 'https://app.example/',
    challenge: 'x',
    scopes: ['a:read'],
    audience: undefined,
    authenticatedAt: 0,
    nonce: undefined,
    revision: 1,
  }
  const sources = { clock: time.clock, random: systemRandom() }
  const code = await db.write((tx) => issueCode(tx, grant, sources))
  time.pass(86_400_000)
  assert.equal(await purgeCodes(db, time), 0)
  const hash = sha256(code)
  assert.equal((await findCode(db, hash))?.subject, '1')
  time.pass(60_000)
  assert.equal(await purgeCodes(db, time), 1)
  assert.equal(await findCode(db, hash), undefined)
})

for (const { name } of databases) {
  test(`a sign-in session is deleted after its expiry [${name}]`, async (t) => {
    const { app, client, person } = await openOauthFixture(t, name)
    await grantConsent(openBrowser(app), authorizePath(client), person)
    const now = Date.now()
    assert.equal(await purgeExpired(app.db, [signIns], now), 0)
    assert.equal(await purgeExpired(app.db, [signIns], now + 600_001), 1)
  })
}
