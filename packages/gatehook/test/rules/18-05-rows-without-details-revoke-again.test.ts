/**
 * §18.5, §18.11: an erasure removes the details of rows of the trail. A restore repeats their
 * actions nevertheless; an object whose change is unknown ends.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { ApiError } from '../../src/cli/api.ts'
import type { Installation } from '../../src/cli/revocation-actions.ts'
import { applyRows } from '../../src/cli/revocations.ts'
import type { AuditRow } from '../../src/history/audit/chain.ts'
import { upsertConsent } from '../../src/identity/oauth/consent-store.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { PASSWORD } from '../people/rig.ts'
import { openHook } from '../webhooks/hook.ts'

async function openRig({ app, as, key }: TestApp) {
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const request = async (method: string, path: string, body?: unknown) => {
    const reply = await admin.send(method, path, body)
    if (reply.status < 400) return reply.body
    throw new ApiError(reply.text, 1, reply as never)
  }
  const installation = { app, api: { request }, accessTokenTtlS: 900, issuerRules: new Map() }
  const create = async (path: string, body: object) => {
    const reply = await admin.post(path, body)
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  /** Applies rows whose details an erasure has removed. */
  const apply = (rows: readonly (Pick<AuditRow, 'action' | 'target'> & Partial<AuditRow>)[]) => {
    async function* lines() {
      let seq = 1
      for (const row of rows) {
        yield { at: Date.now(), seq: ++seq, salt: null, detail: '{}', scope: null, ...row }
      }
    }
    return applyRows(
      installation as unknown as Installation,
      lines() as unknown as AsyncIterable<AuditRow>,
      1,
    )
  }
  return { admin, create, apply }
}

const PRIVATE = { env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' } }

async function createWebhook(service: TestApp, t: TestContext) {
  const { url } = await openHook(t)
  const reply = await service.post('/webhooks', { url, events: ['order.*'] })
  assert.equal(reply.status, 201, reply.text)
  return reply.body
}

eachService(
  'an action that needs no details is repeated',
  async (service, t) => {
    const { admin, create, apply } = await openRig(service)
    const { id: key } = await create('/admin/keys', { name: 'k', scopes: ['orders:read'] })
    const client = await create('/admin/clients', { name: 'c', scopes: ['orders:read'] })
    const webhook = await createWebhook(service, t)
    const result = await apply([
      { action: 'key.revoke', target: key },
      { action: 'client.delete', target: client.client_id },
      { action: 'webhook.delete', target: webhook.id },
      { action: 'key.revoke', target: 'key_of_later' },
    ])
    assert.deepEqual(result, { applied: 3, missing: 1, follow_up: [], failures: [] })
    assert.notEqual((await admin.get(`/admin/keys/${key}`)).body.revoked_at, null)
    assert.equal((await admin.get(`/admin/clients/${client.client_id}`)).status, 404)
    assert.equal((await service.get(`/webhooks/${webhook.id}`)).status, 404)
  },
  PRIVATE,
)

eachService(
  'an object ends if its change is unknown, and operators learn it',
  async (service, t) => {
    const { admin, create, apply } = await openRig(service)
    const { id: key } = await create('/admin/keys', { name: 'k', scopes: ['orders:read'] })
    const client = await create('/admin/clients', { name: 'c', scopes: ['orders:read'] })
    const { id: customer } = await create('/admin/customers', { name: 'Acme' })
    const operator = await create('/admin/operators', {
      email: 'op@example.com',
      password: 'a long operator phrase',
    })
    const people: number[] = []
    for (const name of ['ada', 'bob']) {
      const person = { name, email: `${name}@example.com`, password: PASSWORD }
      people.push((await create('/admin/users', person)).id)
    }
    const webhook = await createWebhook(service, t)
    const rows = [
      { action: 'key.update', target: key },
      { action: 'client.update', target: client.client_id },
      { action: 'client.update', target: 'https://agent.example/client.json' },
      { action: 'customer.update', target: customer },
      { action: 'customer.update', target: 'cus_default' },
      { action: 'operator.role', target: operator.id },
      { action: 'person.update', target: String(people[0]) },
      { action: 'person.rename', target: String(people[1]) },
      { action: 'webhook.update', target: webhook.id },
      { action: 'outbox.install', target: 'shop' },
      { action: 'issuer.rules', target: 'iss_unknown' },
    ]
    const result = await apply(rows)
    assert.deepEqual(result.failures, [])
    assert.match(
      result.follow_up.join('\n'),
      new RegExp(`key ${key} is disabled, because key.update cannot be applied: an erasure`),
    )
    assert.notEqual((await admin.get(`/admin/keys/${key}`)).body.revoked_at, null)
    assert.equal((await admin.get(`/admin/clients/${client.client_id}`)).status, 404)
    const path = `/admin/clients/${encodeURIComponent('https://agent.example/client.json')}`
    const { blocked } = (await admin.get(path)).body
    assert.equal(blocked, true)
    assert.equal((await admin.get(`/admin/customers/${customer}`)).body.suspended, true)
    assert.equal((await admin.get('/admin/customers/cus_default')).body.suspended, false)
    assert.equal((await admin.get('/admin/operators')).body.data[0].disabled, true)
    for (const id of people) {
      assert.equal((await admin.get(`/admin/users/${id}`)).body.disabled, true)
    }
    assert.equal((await service.get(`/webhooks/${webhook.id}`)).body.active, false)
  },
  PRIVATE,
)

eachService('a consent whose person is unknown ends with those beside it', async (service) => {
  const { create, apply } = await openRig(service)
  const { db } = service.app
  const { client_id: clientId } = await create('/admin/clients', {
    ...{ name: 'c', scopes: ['orders:read'] },
  })
  const scope = (await db.get(sql`SELECT scope FROM gh_clients WHERE client_id = ${clientId}`))!
    .scope as Scope
  const consent = { clientId, clientName: 'c', scopes: ['orders:read'] }
  const owners = async () =>
    (await db.arrays(sql`SELECT scope, owner FROM gh_consents ORDER BY owner`)).map(([, owner]) =>
      Number(owner),
    )
  await db.write(async (tx) => {
    for (const owner of [5, 6, 7]) await upsertConsent(tx, { ...consent, scope, owner }, 1)
    await upsertConsent(tx, { ...consent, scope: (scope - 1) as Scope, owner: 8 }, 1)
  })
  const row = { action: 'consent.revoke', target: clientId, scope }
  const own = await apply([{ ...row, actor_kind: 'person', actor_id: '5' }])
  assert.deepEqual([own.applied, own.failures, await owners()], [1, [], [6, 7, 8]])
  const byLink = await apply([{ ...row, actor_kind: 'portal', actor_id: 'plk_1' }])
  assert.deepEqual([byLink.failures, await owners()], [[], [8]])
})

eachService('objects that a later row deletes are no failures', async (service) => {
  const { create, apply, admin } = await openRig(service)
  const { id: customer } = await create('/admin/customers', { name: 'Acme' })
  const key = await create('/admin/keys', { name: 'k', scopes: ['orders:read'], customer })
  const person = { name: 'Ada', email: 'ada@example.com', password: PASSWORD }
  const { id } = await create('/admin/users', person)
  const result = await apply([
    { action: 'key.update', target: key.id },
    { action: 'customer.update', target: customer },
    { action: 'person.update', target: String(id) },
    { action: 'person.rename', target: String(id) },
    { action: 'customer.delete', target: customer },
    { action: 'person.erase', target: String(id) },
  ])
  assert.deepEqual(result, { applied: 2, missing: 4, follow_up: [], failures: [] })
  assert.ok((await admin.get(`/admin/customers/${customer}`)).body.deleting_since)
})
