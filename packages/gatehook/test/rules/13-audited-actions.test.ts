/**
 * §13, §4.2: the test performs every action of the table, and each is recorded with its principal,
 * address and request id. An action in the trail that the table lacks fails the test, too.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import type { Caller } from '../../../../test/rig/service.ts'
import { auditActions } from '../../src/history/audit/actions.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import {
  performAdministration,
  performMailChanges,
  performOperatorChanges,
  performPortalChanges,
  performWebhookChanges,
} from '../access/audited-operations.ts'
import {
  authorizePath,
  basicOf,
  exchange,
  follow,
  form,
  grantConsent,
  type OauthFixture,
  obtainCode,
  openBrowser,
  openOauthFixture,
  PASSWORD,
} from '../oauth/rig.ts'

const ADDRESS = '127.0.0.1'

/** Returns a caller whose requests have ids, by which their audit rows are found. */
function withRequestIds(caller: Caller, prefix: string) {
  let last = 0
  const send: Caller['send'] = (method, path, body, headers = {}) =>
    caller.send(method, path, body, { 'x-request-id': `${prefix}-${++last}`, ...headers })
  return {
    send,
    id: () => `${prefix}-${last}`,
    post: (path: string, body?: unknown, headers?: Record<string, string>) =>
      send('POST', path, body, headers),
    delete: (path: string, headers?: Record<string, string>) =>
      send('DELETE', path, undefined, headers),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: rows of the trail
type AuditRows = any[]

const findRows = async ({ admin }: OauthFixture, filter: string): Promise<AuditRows> =>
  (await admin.get(`/admin/audit?limit=100&sort=id&${filter}`)).body.data

/** Asserts that the action and the request have one row, of this principal; returns the row. */
async function expectRow(
  fixture: OauthFixture,
  action: string,
  requestId: string,
  principal: { readonly kind: string; readonly id: string },
) {
  const rows = await findRows(fixture, `action=${action}&request_id=${requestId}`)
  assert.equal(rows.length, 1, `${action} ${requestId}`)
  const { kind, id } = rows[0].principal
  assert.deepEqual({ kind, id }, principal, action)
  assert.equal(rows[0].address, ADDRESS, action)
  return rows[0]
}

/** Performs logins, changes of sessions, refreshes and their misuse. */
async function performAccountActions(fixture: OauthFixture): Promise<void> {
  const { anonymous, person } = fixture
  const caller = withRequestIds(anonymous, 'account')
  const own = { kind: 'person', id: String(person.id) }
  const login = async () => {
    const { body, status } = await caller.post('/auth/login', {
      username: person.email,
      password: PASSWORD,
    })
    assert.equal(status, 200)
    return { ...body, authorization: `Bearer ${body.access_token}` }
  }

  const first = await login()
  const entry = await expectRow(fixture, 'person.login', caller.id(), own)
  assert.equal(entry.principal.name, 'A person')
  assert.match(entry.detail.session_id, /^ses_/)
  await caller.post('/auth/logout', { refresh_token: first.refresh_token })
  const end = await expectRow(fixture, 'session.end', caller.id(), own)
  assert.equal(end.target, entry.detail.session_id)
  await caller.post('/auth/logout', { refresh_token: first.refresh_token })
  await caller.post('/auth/logout', undefined, { authorization: first.authorization })
  assert.equal(
    (await findRows(fixture, `request_id=${caller.id()}`)).length,
    0,
    'it has ended before',
  )

  const { authorization } = await login()
  const { body: sessions } = await anonymous.get('/auth/sessions', { authorization })
  const other = await login()
  const headers = { authorization: other.authorization }
  await caller.delete(`/auth/sessions/${sessions.data[0].id}`, headers)
  await expectRow(fixture, 'session.end', caller.id(), own)
  await caller.post('/auth/password', { current: PASSWORD, new: 'another good one' }, headers)
  await expectRow(fixture, 'person.password', caller.id(), own)
  await caller.post('/auth/password', { current: 'another good one', new: PASSWORD }, headers)
  await caller.post('/auth/logout-all', {}, headers)
  const all = await expectRow(fixture, 'session.end_all', caller.id(), own)
  assert.deepEqual(all.detail, { sessions: 1 })

  const racing = (await login()).refresh_token
  const engine = { kind: 'system', id: 'tokens' }
  const next = await caller.post('/auth/refresh', { refresh_token: racing })
  await caller.post('/auth/refresh', { refresh_token: racing })
  await expectRow(fixture, 'token.refresh_race', caller.id(), engine)
  await caller.post('/auth/refresh', { refresh_token: next.body.refresh_token })
  await caller.post('/auth/refresh', { refresh_token: racing })
  await expectRow(fixture, 'token.reuse_detected', caller.id(), engine)

  for (let n = 0; n < 12; n++) {
    await caller.post('/auth/login', { username: 'unknown@example.com', password: 'wrong one' })
  }
  const throttled = await findRows(fixture, 'action=login.throttled')
  assert.equal(throttled.length, 1)
  assert.equal(throttled[0].address, ADDRESS)
  assert.doesNotMatch(JSON.stringify(throttled), /unknown@example/)
}

/** Performs consents, exchanges of codes, revocations and their misuse. */
async function performOauthActions(fixture: OauthFixture): Promise<void> {
  const { app, anonymous, client, person } = fixture
  const caller = withRequestIds(anonymous, 'oauth')
  const code = await obtainCode(fixture)
  const [consent] = await findRows(fixture, `action=consent.grant&target=${client.client_id}`)
  assert.equal(consent.principal.id, String(person.id))
  assert.ok(consent.detail.scopes.includes('orders:read'))
  const byClient = { kind: 'client', id: client.client_id }
  const withIds = { ...fixture, anonymous: { ...anonymous, post: caller.post } }
  const { body } = await exchange(withIds, code)
  const session = await expectRow(fixture, 'session.create', caller.id(), byClient)
  assert.equal(session.principal.name, 'An app')
  await exchange(withIds, code)
  const reuse = await expectRow(fixture, 'code.reuse_detected', caller.id(), byClient)
  assert.equal(reuse.target, session.target)
  await exchange(withIds, code)
  assert.equal((await findRows(fixture, `request_id=${caller.id()}`)).length, 0, 'reported once')
  assert.equal(
    (await anonymous.post('/auth/refresh', body, basicOf(client))).body.error,
    'invalid_grant',
  )

  const tokens = (await exchange(withIds, await obtainCode(fixture))).body
  const revoke = (token: string) =>
    form(withIds.anonymous, '/oauth/revoke', { token }, basicOf(client))
  await revoke(tokens.access_token)
  await expectRow(fixture, 'token.revoke', caller.id(), byClient)
  await revoke(tokens.access_token)
  assert.equal(
    (await findRows(fixture, `request_id=${caller.id()}`)).length,
    0,
    'it has ended before',
  )
  await revoke(tokens.refresh_token)
  await expectRow(fixture, 'session.end', caller.id(), byClient)

  const login = await anonymous.post('/auth/login', { username: person.email, password: PASSWORD })
  const headers = { authorization: `Bearer ${login.body.access_token}` }
  await caller.delete(`/auth/consents/${client.client_id}`, headers)
  const own = { kind: 'person', id: String(person.id) }
  await expectRow(fixture, 'consent.revoke', caller.id(), own)

  const browser = openBrowser(app)
  const page = await browser.get(authorizePath(client))
  const fields = { username: person.email, password: PASSWORD, action: 'sign-in' }
  const consentPage = await follow(browser, await browser.submit(page, fields))
  await browser.submit(consentPage, { action: 'switch' })
  assert.equal((await findRows(fixture, 'action=person.logout'))[0].principal.id, own.id)
  assert.equal((await grantConsent(browser, authorizePath(client), person)).status, 303)
}

/** The test files of actions that need several nodes, the console or a worker. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'audit.set_back': '13-a-chain-set-back-is-detected.test.ts',
  'client.register': '16-05-clients-register-themselves.test.ts',
  'database.promoted': '../storage/failover.test.ts',
  'installation.move': '../cli/move.test.ts',
  'installation.moved': '../cli/move.test.ts',
  'installation.move_undo': '../cli/move.test.ts',
  'job.cancel': '6-14-own-jobs.test.ts',
  'webhook.lost_events': '../storage/failover.test.ts',
  'job.retry': '6-14-own-jobs.test.ts',
  'outbox.discard': '../cli/outbox.test.ts',
  'outbox.install': '../cli/outbox.test.ts',
  'outbox.revoke': '../cli/outbox.test.ts',
  'master_secret.reset': '2-06-a-lost-secret-is-replaced.test.ts',
  'signing_key.replace': '4-06-a-leaked-key-is-replaced.test.ts',
  'master_secret.rotate': '2-06-the-master-secret-rotates.test.ts',
  'master_secret.rotated': '2-06-the-master-secret-rotates.test.ts',
  'operator.break_glass': '16-09-operators-sign-in-with-openid.test.ts',
  'operator.passkey_create': '16-12-passkeys.test.ts',
  'operator.passkey_delete': '16-12-passkeys.test.ts',
  'passkey.create': '16-12-passkeys.test.ts',
  'passkey.delete': '16-12-passkeys.test.ts',
  'operator.recovery_code': '13-operator-sign-in.test.ts',
  'operator.second_factor_confirm': '13-operator-sign-in.test.ts',
  'operator.second_factor_enrol': '13-operator-sign-in.test.ts',
  'operator.session_end': '13-operator-sign-in.test.ts',
  'restore.confirm': '18-05-restored-data-is-quarantined.test.ts',
  'restore.revocations': '18-05-revocations-are-applied-again.test.ts',
  'restore.recognize': '18-05-restored-data-is-quarantined.test.ts',
  'restore.release': '18-05-restored-data-is-quarantined.test.ts',
  'operator.sign_out': '13-operator-sign-in.test.ts',
  'webhook.disable': '9-14-registrations-end-with-their-maker.test.ts',
  'webhook.recover': '9-14-replays-run-in-the-background.test.ts',
  'webhook.replay': '9-14-replays-run-in-the-background.test.ts',
  'webhook.stop_replay': '9-14-replays-run-in-the-background.test.ts',
}

test('the files of the other actions name them', () => {
  for (const [action, file] of Object.entries(ELSEWHERE)) {
    const text = readFileSync(join(import.meta.dirname, file), 'utf8')
    assert.ok(text.includes(`'${action}'`), `${file} ${action}`)
  }
})

const env = {
  GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
  GATEHOOK_TEST_CLOCK: '1',
  GATEHOOK_AUDIT_RETENTION_DAYS: '10',
}

for (const { name } of databases) {
  test(`every action of the table is recorded, and no other [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    await performAccountActions(fixture)
    await performOauthActions(fixture)
    await performAdministration(fixture)
    await performOperatorChanges(fixture)
    await performMailChanges(fixture)
    await performPortalChanges(fixture)
    await performWebhookChanges(fixture, t)
    const findActions = async () =>
      (await fixture.app.db.all(sql`SELECT DISTINCT action FROM gh_audit`)).map((row) => row.action)
    const before = await findActions()
    await fixture.admin.post('/admin/clock', { advance_s: 12 * 86_400 })
    await fixture.app.audit.chores.audit!()
    const actions = new Set([...before, ...(await findActions())])
    for (const action of Object.keys(ELSEWHERE)) actions.add(action)
    assert.deepEqual([...actions].sort(), Object.keys(auditActions).sort())
    assert.equal((await fixture.app.audit.verify()).valid, true)
  })
}
