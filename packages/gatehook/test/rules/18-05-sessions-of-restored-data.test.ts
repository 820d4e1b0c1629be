/** §18.5: sessions of restored data end without an alarm; links and codes end at once. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { copyOf, databases, type Kind, migratedUrl } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { engineTables } from '../../src/engine-tables.ts'
import { ENDED_TABLES } from '../../src/operate/restore/recognition.ts'
import { raw, sql } from '../../src/platform/storage/sql.ts'
import { PASSWORD } from '../people/rig.ts'

const start = (t: TestContext, kind: Kind, url: string) =>
  openService(t, kind, { url, recognition: { isRestored: false } })

const ADA = 'ada@example.com'

async function createPerson({ app, as, key }: TestApp): Promise<void> {
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const person = { name: 'Ada', email: ADA, password: PASSWORD, mode: 'test' }
  const { status, text } = await admin.post('/admin/users', person)
  assert.equal(status, 201, text)
  assert.ok(app)
}

async function login({ as }: TestApp): Promise<string> {
  const credentials = { username: ADA, password: PASSWORD }
  const { status, body, text } = await as(undefined).post('/auth/login', credentials)
  assert.equal(status, 200, text)
  return body.refresh_token
}

const refresh = async ({ as }: TestApp, refresh_token: string) =>
  as(undefined).post('/auth/refresh', { refresh_token })

async function countActions({ as, key }: TestApp, action: string): Promise<number> {
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  return (await admin.get(`/admin/audit?action=${action}`)).body.data.length
}

/**
 * Tables that remain: secrets of keys and clients are revoked by an operator, and an assertion or a
 * challenge that counted is not used again.
 */
const REMAINING = ['gh_api_key_secrets', 'gh_client_secrets', 'gh_used_once']

test('every table of secrets with an end is deleted or remains', async (t) => {
  const { app } = await openService(t, 'sqlite')
  const tables: string[] = []
  for (const { name: table } of engineTables) {
    const columns = new Set((await app.db.columns(table)).map(({ name }) => name))
    if (columns.has('hash') && columns.has('expires_at')) tables.push(table)
  }
  const ended = ENDED_TABLES.filter((table) => table !== 'gh_operator_recovery_codes')
  assert.deepEqual(tables.sort(), [...ended, ...REMAINING].sort())
})

for (const { name: kind } of databases) {
  test(`links, tokens of mails and sessions of pages end [${kind}]`, async (t) => {
    const url = await migratedUrl(t, kind)
    const first = await start(t, kind, url)
    const admin = first.as(await first.key({ scopes: ['admin'], mode: 'live' }))
    const operator = { email: ADA, role: 'administrator', password: PASSWORD }
    const { body } = await admin.post('/admin/operators', operator)
    const link = await admin.post(`/admin/operators/${body.id}/link`)
    assert.equal(link.status, 201, link.text)
    const portal = { customer: 'default', mode: 'test', can: ['events:read'] }
    const { url: portalUrl } = (await admin.post('/admin/portal-links', portal)).body
    const tokenOf = (address: string) => address.split('#token=')[1]
    const open = (path: string, address: string, service: TestApp) =>
      service.as(undefined).post(path, { token: tokenOf(address) })
    const session = await open('/portal/session', portalUrl, first)
    assert.equal(session.status, 201, session.text)
    await first.app.close()
    const restored = await start(t, kind, await copyOf(url))
    for (const table of ENDED_TABLES) {
      const rows = await restored.app.db.all(sql`SELECT 1 AS one FROM ${raw(table)}`)
      assert.deepEqual(rows, [], table)
    }
    assert.equal((await open('/console/session', link.body.url, restored)).status, 401)
    const cookie = String(session.headers['set-cookie']).split(';')[0]!
    const own = { cookie, 'sec-fetch-site': 'same-origin' }
    assert.equal((await restored.as(undefined).get('/portal/session', own)).status, 401)
  })

  test(`a session that was refreshed since ends without an alarm [${kind}]`, async (t) => {
    const url = await migratedUrl(t, kind)
    const first = await start(t, kind, url)
    await createPerson(first)
    const [refreshed, unused, stolen] = [await login(first), await login(first), await login(first)]
    const { body: rotated } = await refresh(first, stolen)
    await first.app.close()
    const copy = await copyOf(url)
    const later = await start(t, kind, url)
    const { body: newer } = await refresh(later, refreshed)
    await later.app.close()
    const restored = await start(t, kind, copy)
    assert.equal((await refresh(restored, newer.refresh_token)).status, 401)
    assert.equal((await refresh(restored, refreshed)).status, 401, 'the whole session has ended')
    assert.equal(await countActions(restored, 'token.reuse_detected'), 0)
    assert.equal(await countActions(restored, 'session.end'), 1)
    const events = await restored.get('/events?type=token.reuse_detected')
    assert.deepEqual(events.body.data, [])
    const used = await refresh(restored, unused)
    assert.equal(used.status, 200, 'a session that was not refreshed continues')
    const successor = await refresh(restored, used.body.refresh_token)
    assert.equal(successor.status, 200)
    assert.equal((await refresh(restored, unused)).status, 401)
    assert.equal(await countActions(restored, 'token.reuse_detected'), 1, 'since the restore')
    assert.equal((await refresh(restored, rotated.refresh_token)).status, 200)
  })
}
