/** §16.8, §9.14: registrations of a workload follow the rules of its issuer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { bearer, issuerEnv as env, openIssuerRig, RULE } from '../oauth/issuer-rig.ts'
import { openOauthFixture } from '../oauth/rig.ts'
import { openHook } from '../webhooks/hook.ts'

for (const { name } of databases) {
  test(`registrations of a workload follow the rules of its issuer [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, {
      env: { ...env, GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' },
    })
    const { admin, anonymous } = fixture
    const { sign, create, exchange } = await openIssuerRig(fixture)
    const scopes = ['webhooks:write', 'webhooks:read', 'orders:read', 'users:read', 'events:read']
    const rules = [{ ...RULE, scopes }]
    const { id } = await create({ rules })
    const headers = bearer((await exchange(await sign())).body.access_token)
    const hook = await openHook(t)
    const registration = { url: hook.url, events: ['order.*', 'user.*'] }
    const created = await anonymous.post('/webhooks', registration, headers)
    assert.equal(created.status, 201, created.text)
    const read = async () => (await admin.get(`/admin/webhooks/${created.body.id}`)).body
    const narrower = [{ ...RULE, scopes: scopes.filter((scope) => scope !== 'users:read') }]
    await admin.patch(`/admin/issuers/${id}`, { rules: narrower })
    const narrowed = await read()
    assert.equal(narrowed.active, true)
    assert.ok(!narrowed.scopes.includes('users:read'), narrowed.scopes)
    await admin.delete(`/admin/issuers/${id}`)
    const ended = await read()
    assert.deepEqual([ended.active, ended.disabled_reason], [false, 'creator_removed'])
  })
}
