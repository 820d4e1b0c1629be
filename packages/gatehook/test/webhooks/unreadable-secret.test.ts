/** §9.2, §9.3: a secret that cannot be decrypted signs neither a test delivery nor a ping. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { LOCAL, openHook, register } from './hook.ts'

eachService(
  'a test and a new URL are 409 while a secret is unreadable; a rotation repairs it',
  async (service, t) => {
    const { post, patch, get, app } = service
    const hook = await openHook(t)
    const { id, secret } = (await register(service, hook)).body
    const { no } = (await app.db.get(sql`SELECT no FROM gh_webhooks WHERE id = ${id}`))!
    const readEncrypted = sql`SELECT encrypted FROM gh_webhook_secrets WHERE webhook_no = ${no}`
    const encrypted = Buffer.from(
      (await app.db.get(readEncrypted))!.encrypted as Uint8Array,
    ).reverse()
    await app.db.write((tx) =>
      tx.run(sql`UPDATE gh_webhook_secrets SET encrypted = ${encrypted} WHERE webhook_no = ${no}`),
    )
    const url = `${hook.url}/moved`
    const sendTest = () => post(`/webhooks/${id}/test`, { event_type: 'order.paid' })
    const move = () => patch(`/webhooks/${id}`, { url })
    // More attempts than the limit of tests: a rejected one does not count.
    for (let n = 0; n < 11; n++) assert.equal((await sendTest()).status, 409)
    for (const rejected of [await sendTest(), await move()]) {
      assert.deepEqual([rejected.status, rejected.body.error], [409, 'invalid_state'])
      assert.match(rejected.body.message, /cannot be decrypted/)
      assert.ok(!rejected.text.includes(secret))
    }
    assert.equal(hook.calls.length, 1, 'only the ping of the registration was sent')
    assert.equal((await get(`/webhooks/${id}`)).body.url, hook.url)
    assert.deepEqual((await get(`/webhooks/${id}/deliveries`)).body.data, [])

    await post(`/webhooks/${id}/rotate-secret`, { overlap_seconds: 0 })
    assert.equal((await sendTest()).body.delivered, true)
    assert.equal((await move()).body.url, url)
  },
  LOCAL,
)
