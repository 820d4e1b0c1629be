/** §9.2: list, read, change and delete registrations; no response contains the secret. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { LOCAL, openHook, register } from '../webhooks/hook.ts'

eachService(
  'registrations have every list style except keyset, without the secret',
  async ({ post, get, patch }, t) => {
    const hook = await openHook(t)
    const ids: string[] = []
    for (let n = 0; n < 3; n++) {
      ids.push((await register({ post }, hook, { description: `n${n}` })).body.id)
    }
    const pages = ['', '?limit=3', '?offset=0', '?page=1', '?pagination=hypermedia']
    for (const query of pages) {
      const page = await get(`/webhooks${query}`)
      assert.deepEqual(
        page.body.data.map((item: { id: string }) => item.id),
        ids,
        query,
      )
      assert.ok(!page.text.includes('secret') && page.headers.link, query)
    }
    const linked = (await get('/webhooks?pagination=hypermedia')).body.data[0]
    assert.deepEqual(linked._links, { self: `/webhooks/${ids[0]}` })
    assert.equal((await get('/webhooks?after_id=0')).body.error, 'invalid_parameter')
    assert.equal((await get('/webhooks?secret=x')).body.error, 'unknown_parameter')
    const filtered = (await get('/webhooks?active=true&sort=-created_at&fields=id&limit=1')).body
    assert.deepEqual([filtered.data, filtered.has_more], [[{ id: ids[2] }], true])
    const patched = await patch(`/webhooks/${ids[0]}`, { description: null })
    assert.ok(!patched.text.includes('secret'))
    assert.deepEqual((await get(`/webhooks/${ids[0]}`)).body, patched.body)
    assert.equal(patched.body.description, null)
  },
  LOCAL,
)

eachService(
  'PATCH verifies the receiver only for a new URL and on activation',
  async ({ post, get, patch }, t) => {
    const [hook, other] = [await openHook(t), await openHook(t)]
    const { id, secret: _, ...before } = (await register({ post }, hook)).body
    const path = `/webhooks/${id}`
    for (const body of [{ events: ['order.paid'] }, { description: 'x' }, { url: hook.url }]) {
      assert.equal((await patch(path, body)).status, 200)
    }
    for (const active of [true, false, false]) await patch(path, { active })
    assert.equal(hook.calls.length, 1)
    const inactive = (await get(path)).body
    assert.deepEqual([inactive.active, inactive.disabled_reason], [false, null])
    assert.equal((await patch(path, { active: true })).body.active, true)
    assert.equal(hook.calls.length, 2)
    const moved = await patch(path, { url: other.url, api_version: 'v1' })
    assert.deepEqual([moved.body.url, moved.body.api_version], [other.url, 'v1'])
    assert.deepEqual([hook.calls.length, other.calls.length], [2, 1])
    assert.equal(moved.body.created_at, before.created_at)
    assert.equal((await patch(path, { api_version: null })).body.api_version, 'v2')

    await hook.close()
    const refused = await patch(path, { url: hook.url, description: 'lost' })
    assert.equal(refused.body.error, 'url_unreachable')
    assert.equal(
      (await patch(path, { url: 'http://169.254.169.254/' })).body.error,
      'url_not_allowed',
    )
    const after = (await get(path)).body
    assert.deepEqual([after.url, after.description], [other.url, 'x'])
  },
  LOCAL,
)

eachService(
  'PATCH rejects invalid members with a pointer, and applies If-Match',
  async ({ post, get, patch, ...rest }, t) => {
    const hook = await openHook(t)
    const path = `/webhooks/${(await register({ post }, hook)).body.id}`
    const wrong: [unknown, string][] = [
      [{ url: null }, '/url'],
      [{ url: 'http://x.example/#f' }, '/url'],
      [{ events: [] }, '/events'],
      [{ events: null }, '/events'],
      [{ active: 1 }, '/active'],
      [{ active: null }, '/active'],
      [{ secret: 'whsec_mine' }, '/secret'],
      [{ id: 'wh_x' }, '/id'],
      [{ api_version: 'latest' }, '/api_version'],
    ]
    for (const [body, pointer] of wrong) {
      const refused = await patch(path, body)
      assert.equal(refused.status, 422, JSON.stringify(body))
      assert.equal(refused.body.errors[0].pointer, pointer)
    }
    const { etag } = (await get(path)).headers
    assert.equal((await patch(path, { description: 'a' }, { 'if-match': etag! })).status, 200)
    assert.equal((await patch(path, { description: 'b' }, { 'if-match': etag! })).status, 412)
    assert.equal((await rest.delete(path, { 'if-match': etag! })).status, 412)
    assert.equal((await get(path)).body.description, 'a')
    for (const id of ['wh_x', '1', '%00', '..%2f', 'a'.repeat(300)]) {
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const body = method === 'PATCH' ? {} : undefined
        const { status } = await rest.send(method, `/webhooks/${id}`, body)
        assert.ok(status >= 400 && status < 500, `${method} ${id}: ${status}`)
      }
    }
  },
  LOCAL,
)

eachService(
  'DELETE is 204 once; pending deliveries end as failed in the log',
  async ({ post, get, patch, ...rest }, t) => {
    const hook = await openHook(t)
    const { id } = (await register({ post }, hook)).body
    await patch(`/webhooks/${id}`, { active: false })
    await post('/events', { type: 'payment.succeeded', object: { id: 1 } })
    const [delivery] = (await get(`/webhooks/${id}/deliveries`)).body.data
    assert.equal(delivery.state, 'paused')
    assert.equal((await rest.delete(`/webhooks/${id}`)).status, 204)
    assert.equal((await rest.delete(`/webhooks/${id}`)).status, 404)
    for (const path of [`/webhooks/${id}`, `/webhooks/${id}/deliveries`]) {
      assert.equal((await get(path)).status, 404)
    }
    assert.deepEqual((await get('/webhooks')).body.data, [])
    const ended = (await get(`/deliveries/${delivery.id}`)).body
    assert.deepEqual([ended.state, ended.next_attempt_at], ['failed', null])
    assert.equal((await post(`/deliveries/${delivery.id}/resend`)).body.error, 'invalid_state')
    assert.equal(await countSecrets({ app: rest.app }), 0)
    await post('/events', { type: 'payment.succeeded', object: { id: 2 } })
  },
  LOCAL,
)

async function countSecrets({ app }: Pick<TestApp, 'app'>): Promise<number> {
  const text = 'SELECT count(*) AS n FROM gh_webhook_secrets'
  return Number((await app.db.get({ sql: text, text, values: [] }))!.n)
}

eachService('operations require webhooks:read or webhooks:write', async ({ as, key }) => {
  const [reads, none] = [
    as(await key({ scopes: ['webhooks:read'] })),
    as(await key({ scopes: [] })),
  ]
  assert.equal((await reads.get('/webhooks')).status, 200)
  const calls: [string, string][] = [
    ['POST', '/webhooks'],
    ['PATCH', '/webhooks/wh_x'],
    ['DELETE', '/webhooks/wh_x'],
    ['POST', '/webhooks/wh_x/test'],
    ['POST', '/webhooks/wh_x/rotate-secret'],
    ['POST', '/webhooks/wh_x/recover'],
    ['POST', '/webhooks/wh_x/replay'],
    ['POST', '/deliveries/dlv_x/resend'],
  ]
  for (const [method, path] of calls) {
    const refused = await reads.send(method, path, method === 'DELETE' ? undefined : {})
    assert.equal(refused.body.error, 'insufficient_scope', path)
    assert.match(refused.body.message, /webhooks:write/)
  }
  for (const path of [
    '/webhooks',
    '/webhooks/wh_x',
    '/webhooks/wh_x/deliveries',
    '/deliveries/x',
  ]) {
    assert.equal((await none.get(path)).body.error, 'insufficient_scope', path)
  }
})
