/** §9.1: the server verifies a registration by a signed ping, and returns its secret once. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { failAt } from '../../../../test/rig/faults.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { ALL_READ_SCOPES, LOCAL, openHook, register } from '../webhooks/hook.ts'

const hmac = (secret: string, text: string) =>
  createHmac('sha256', secret).update(text).digest('hex')

eachService(
  'the response contains the secret, which signed the ping',
  async ({ post, get }, t) => {
    const hook = await openHook(t)
    const response = await register({ post }, hook, { events: ['order.paid', 'user.*'] })
    assert.equal(response.status, 201)
    const { secret, id, created_at, updated_at, ...rest } = response.body
    assert.deepEqual(rest, {
      url: hook.url,
      events: ['order.paid', 'user.*'],
      description: null,
      active: true,
      disabled_reason: null,
      api_version: 'v2',
      scopes: [...ALL_READ_SCOPES],
      replay: null,
    })
    assert.match(id, /^wh_[0-9A-Za-z]{22}$/)
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.equal(Buffer.from(secret.slice(6), 'base64').length, 32)
    assert.match(created_at, /^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/)
    assert.equal(updated_at, created_at)
    assert.equal(response.headers.location, `/webhooks/${id}`)
    assert.equal(response.headers['cache-control'], 'no-store')

    const [ping] = hook.calls
    assert.equal(hook.calls.length, 1)
    assert.equal(ping!.event.type, 'webhook.ping')
    assert.deepEqual(Object.keys(ping!.event), ['id', 'type', 'created', 'livemode', 'data'])
    assert.equal(ping!.headers['x-hub-signature-256'], `sha256=${hmac(secret, ping!.body)}`)
    const at = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(ping!.headers['gatehook-signature']))!
    assert.equal(at[2], hmac(secret, `${at[1]}.${ping!.body}`))

    for (const path of ['/webhooks', `/webhooks/${id}`]) {
      const { text } = await get(path)
      assert.ok(text.includes(id) && !text.includes('whsec_') && !text.includes('"secret"'), path)
    }
  },
  LOCAL,
)

eachService(
  'any response verifies; none is url_unreachable with a coarse reason',
  async ({ post, get }, t) => {
    const hook = await openHook(t)
    for (const status of [500, 404, 302, 204]) {
      hook.answers = () => status
      assert.equal((await register({ post }, hook)).status, 201, String(status))
    }
    await hook.close()
    const refused = await register({ post }, hook)
    assert.deepEqual([refused.status, refused.body.error], [422, 'url_unreachable'])
    assert.deepEqual(refused.body.errors[0].pointer, '/url')
    assert.equal(refused.body.errors[0].code, 'refused')
    const { documentation: _, ...words } = refused.body
    assert.ok(!JSON.stringify(words).includes('127.0.0.1'))
    assert.equal((await get('/webhooks?pagination=page')).body.total, 4)
  },
  LOCAL,
)

eachService('the server does not connect to addresses that it refuses', async ({ post }, t) => {
  const hook = await openHook(t)
  const port = new URL(hook.url).port
  for (const host of ['127.0.0.1', '[::1]', '10.0.0.8', '169.254.169.254', 'localhost', '0x7f.1']) {
    const refused = await register({ post }, { url: `https://${host}:${port}/` })
    assert.deepEqual([refused.status, refused.body.error], [422, 'url_not_allowed'], host)
    assert.equal(refused.body.errors[0].pointer, '/url')
  }
  assert.equal(hook.calls.length, 0)
})

eachService(
  'link-local addresses are refused even where private ones are allowed',
  async ({ post }) => {
    const refused = await register({ post }, { url: 'http://169.254.169.254/latest' })
    assert.equal(refused.body.error, 'url_not_allowed')
  },
  LOCAL,
)

eachService('an invalid registration is 422, each mistake with its pointer', async (service) => {
  const valid = { url: 'https://receiver.example/hooks', events: ['order.paid'] }
  const wrong: [unknown, string][] = [
    [{ ...valid, url: 'http://receiver.example/' }, '/url'],
    [{ ...valid, url: 'https://user:pass@receiver.example/' }, '/url'],
    [{ ...valid, url: 'https://receiver.example/#part' }, '/url'],
    [{ ...valid, url: 'https://receiver.example/#' }, '/url'],
    [{ ...valid, url: ' https://receiver.example/' }, '/url'],
    [{ ...valid, url: 'ftp://receiver.example/' }, '/url'],
    [{ ...valid, url: 'https:receiver.example/' }, '/url'],
    [{ ...valid, url: 'https:/receiver.example/' }, '/url'],
    [{ ...valid, url: 'https:\\\\receiver.example/' }, '/url'],
    [{ ...valid, url: 'receiver.example' }, '/url'],
    [{ ...valid, url: 7 }, '/url'],
    [{ ...valid, url: `https://receiver.example/${'x'.repeat(2048)}` }, '/url'],
    [{ events: valid.events }, '/url'],
    [{ url: valid.url }, '/events'],
    [{ ...valid, events: [] }, '/events'],
    [{ ...valid, events: 'order.paid' }, '/events'],
    [{ ...valid, events: ['order.lost'] }, '/events/0'],
    [{ ...valid, events: ['order.paid', 'order'] }, '/events/1'],
    [{ ...valid, events: ['*.paid'] }, '/events/0'],
    [{ ...valid, events: ['webhook.ping'] }, '/events/0'],
    [{ ...valid, events: ['__proto__'] }, '/events/0'],
    [{ ...valid, events: [null] }, '/events/0'],
    [{ ...valid, events: Array.from({ length: 101 }, () => '*') }, '/events'],
    [{ ...valid, api_version: 'v3' }, '/api_version'],
    [{ ...valid, api_version: 2 }, '/api_version'],
    [{ ...valid, description: '' }, '/description'],
    [{ ...valid, secret: 'whsec_mine' }, '/secret'],
    [{ ...valid, active: false }, '/active'],
    [[], ''],
  ]
  for (const [body, pointer] of wrong) {
    const refused = await service.post('/webhooks', body)
    assert.equal(refused.status, 422, JSON.stringify([body, refused.body]))
    assert.equal(refused.body.error, 'validation_failed')
    assert.equal(refused.body.errors[0].pointer, pointer, JSON.stringify(body))
  }
  for (const [host, says] of [
    ['127.0.0.1:4000', true],
    ['receiver.example', false],
  ] as const) {
    const { body } = await service.post('/webhooks', { ...valid, url: `http://${host}/` })
    assert.equal(body.errors[0].message.includes('GATEHOOK_WEBHOOK_ALLOW_PRIVATE=1'), says, host)
  }
  assert.equal((await service.post('/webhooks', '{"url":1,"url":2}')).status, 400)
  assert.equal((await service.get('/webhooks?pagination=page')).body.total, 0)
})

eachService(
  'a registration can name engine types, external types, families and *',
  async ({ post }, t) => {
    const hook = await openHook(t)
    const events = [
      ...['webhook.disabled', 'token.reuse_detected', 'api_version.*', 'payment.succeeded'],
      ...['order.*', 'user.created', '*'],
    ]
    const response = await register({ post }, hook, { events: [...events, '*'] })
    assert.deepEqual(response.body.events, events)
  },
  LOCAL,
)

eachService(
  'a customer has at most 50 registrations per mode, also under concurrency',
  async ({ post, as, key, ...rest }, t) => {
    const hook = await openHook(t)
    const replies = await Promise.all(Array.from({ length: 56 }, () => register({ post }, hook)))
    const accepted = replies.filter(({ status }) => status === 201)
    assert.equal(accepted.length, 50)
    for (const { status, body } of replies.filter(({ status }) => status !== 201)) {
      assert.deepEqual([status, body.error], [409, 'limit_reached'])
    }
    assert.equal((await register(as(await key({ mode: 'live' })), hook)).status, 201)
    assert.equal((await rest.delete(`/webhooks/${accepted[0]!.body.id}`)).status, 204)
    assert.equal((await register({ post }, hook)).status, 201)
  },
  LOCAL,
)

eachService(
  'an idempotent replay returns the secret and sends no second ping',
  async ({ post, get }, t) => {
    const hook = await openHook(t)
    const headers = { 'idempotency-key': 'register-1' }
    const first = await register({ post }, hook, {}, headers)
    const second = await register({ post }, hook, {}, headers)
    assert.equal(second.status, 201)
    assert.equal(second.headers['idempotent-replayed'], 'true')
    assert.deepEqual(second.body, first.body)
    assert.equal(hook.calls.length, 1)
    const other = await register({ post }, hook, { description: 'another' }, headers)
    assert.equal(other.body.error, 'idempotency_key_reused')
    assert.equal((await get('/webhooks?pagination=page')).body.total, 1)
  },
  LOCAL,
)

eachService(
  'url_unreachable does not consume the idempotency key',
  async ({ post }, t) => {
    const hook = await openHook(t)
    await hook.close()
    const headers = { 'idempotency-key': 'register-2' }
    const refused = await register({ post }, hook, {}, headers)
    assert.equal(refused.body.error, 'url_unreachable')
    const reachable = await openHook(t)
    assert.equal((await register({ post }, reachable, {}, headers)).status, 201)
  },
  LOCAL,
)

eachService(
  'a fault at any statement leaves no row, and a retry with the same key succeeds',
  async ({ app, post, get }, t) => {
    const hook = await openHook(t)
    const tables = ['gh_webhooks', 'gh_webhook_secrets', 'gh_webhook_topics']
    const rows = async () => {
      const counts = tables.map((table) => `(SELECT count(*) FROM ${table})`).join(' + ')
      const text = `SELECT ${counts} AS n`
      return Number((await app.db.get({ sql: text, text, values: [] }))!.n)
    }
    await get('/webhooks') // writes `last_used_at` of the key before the faults
    for (let nth = 1; ; nth++) {
      const headers = { 'idempotency-key': `broken-${nth}` }
      const fault = failAt(app.db, nth)
      const reply = await register({ post }, hook, {}, headers)
      fault.restore()
      if (reply.status === 201) {
        assert.ok(nth > 5, 'the first statements fail')
        break
      }
      assert.equal(reply.status, 500)
      assert.equal(await rows(), 0)
    }
    const after = await register({ post }, hook, {}, { 'idempotency-key': 'broken-1' })
    assert.equal(after.status, 201)
    assert.equal((await get('/webhooks?pagination=page')).body.total, 2)
  },
  LOCAL,
)
