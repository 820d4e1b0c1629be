/**
 * §12.2: an operator creates a link, which opens one session of the portal within thirty minutes.
 * The session belongs to one customer and mode, lasts two hours, and does what the link grants.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { sha256 } from '../../src/kernel/secret.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { CAN, cookieOf, OWN, openPortal, tokenOf } from '../portal/rig.ts'

const CLOCK = { env: { GATEHOOK_TEST_CLOCK: '1' } }

eachService('a link has its secret in the fragment, and is stored hashed', async (service) => {
  const { operator, customer } = await openPortal(service)
  const shop = await customer('Shop')
  const input = {
    customer: shop,
    mode: 'test',
    can: ['keys:read'],
    email: 'ines@shop.example',
    return_url: 'https://shop.example/settings',
  }
  const reply = await operator.post('/admin/portal-links', input)
  assert.equal(reply.status, 201, reply.text)
  assert.equal(reply.headers['cache-control'], 'no-store')
  assert.match(reply.body.url, /\/portal#token=[\w-]{43}$/)
  const { id, url: _, expires_at: __, ...rest } = reply.body
  assert.match(id, /^plk_/)
  assert.deepEqual(rest, input)
  const [row] = await service.app.db.all(sql`SELECT hash FROM gh_portal_links`)
  assert.deepEqual(Buffer.from(row!.hash as Uint8Array), sha256(tokenOf(reply)))
  const audit = await operator.get(`/admin/audit?target=${id}`)
  const [entry] = audit.body.data
  assert.equal(entry.action, 'portal_link.create')
  assert.deepEqual(entry.detail, {
    customer: shop,
    mode: 'test',
    can: ['keys:read'],
    email: 'ines@shop.example',
  })
  assert.ok(!audit.text.includes(tokenOf(reply)))
})

eachService('a link with invalid members is 422, with a pointer each', async (service) => {
  const { operator, customer } = await openPortal(service)
  const shop = await customer('Shop')
  const valid = { customer: shop, mode: 'live', can: ['keys:read'] }
  const cases: readonly (readonly [pointer: string, members: Record<string, unknown>])[] = [
    ['/can', { can: [] }],
    ['/can/0', { can: ['nothing:read'] }],
    ['/can/1', { can: ['keys:read', 'admin'] }],
    ['/can', { can: undefined }],
    ['/customer', { customer: 'cus_none' }],
    ['/mode', { mode: 'both' }],
    ['/email', { email: 'nobody' }],
    ['/return_url', { return_url: 'javascript:alert(1)' }],
    ['/return_url', { return_url: 'https://user:word@shop.example/' }],
    ['/return_url', { return_url: `https://shop.example/${'x'.repeat(2048)}` }],
    ['/return_url', { return_url: '/settings' }],
    ['/more', { more: 1 }],
  ]
  for (const [pointer, members] of cases) {
    const reply = await operator.post('/admin/portal-links', { ...valid, ...members })
    assert.deepEqual([reply.status, reply.body.errors?.[0]?.pointer], [422, pointer], reply.text)
  }
  const rows = await service.app.db.all(sql`SELECT id FROM gh_portal_links`)
  assert.deepEqual(rows, [])
})

eachService(
  'a link works once, within thirty minutes',
  async (service) => {
    const { operator, anonymous, customer, token } = await openPortal(service)
    const shop = await customer('Shop')
    const exchange = (text: unknown) => anonymous.post('/portal/session', { token: text })
    const first = await token(shop)
    const all = await Promise.all(Array.from({ length: 5 }, () => exchange(first)))
    assert.deepEqual(all.map(({ status }) => status).toSorted(), [201, 401, 401, 401, 401])
    const late = await token(shop)
    assert.equal((await operator.post('/admin/clock', { advance_s: 1800 })).status, 200)
    const { status, body } = await exchange(late)
    assert.deepEqual([status, body.error], [401, 'invalid_credentials'])
    assert.equal((await exchange('invalid')).status, 401)
    for (const text of [7, undefined, null, {}]) {
      assert.equal((await exchange(text)).body.error, 'invalid_request')
    }
  },
  CLOCK,
)

eachService(
  'a session is one of its customer and mode, and lasts two hours',
  async (service) => {
    const { operator, anonymous, customer, token, withCookieOf } = await openPortal(service)
    const shop = await customer('Shop')
    const email = 'ines@shop.example'
    const members = { email, return_url: 'https://shop.example/' }
    const reply = await anonymous.post('/portal/session', { token: await token(shop, members) })
    assert.equal(reply.status, 201, reply.text)
    assert.match(
      String([reply.headers['set-cookie']].flat()[0]),
      /^gatehook_portal=[\w-]{43}; Max-Age=7200; Path=\/; HttpOnly; SameSite=Strict$/,
    )
    const session = withCookieOf(reply)
    const current = await session.get('/portal/session')
    assert.deepEqual(current.body, reply.body)
    const { id, expires_at, ...rest } = current.body
    assert.match(id, /^pss_/)
    assert.deepEqual(rest, {
      customer: { id: shop, name: 'Shop' },
      mode: 'live',
      signed_in: { kind: 'link', name: email },
      scopes: CAN,
      key_scopes: CAN,
      sections: { keys: 'write', webhooks: 'write', events: 'read' },
      sees_all_rows: true,
      return_url: 'https://shop.example/',
    })
    assert.match(expires_at, /Z$/)
    assert.match(String(current.headers.vary), /Cookie/)
    assert.equal((await operator.post('/admin/clock', { advance_s: 7199 })).status, 200)
    assert.equal((await session.get('/portal/session')).status, 200)
    assert.equal((await operator.post('/admin/clock', { advance_s: 1 })).status, 200)
    const ended = await session.get('/portal/session')
    assert.deepEqual([ended.status, ended.body.error], [401, 'unauthorized'])
  },
  CLOCK,
)

eachService('a session ends at sign-out, and when its link is revoked', async (service) => {
  const { operator, anonymous, customer, token, withCookieOf } = await openPortal(service)
  const shop = await customer('Shop')
  const link = async () => {
    const body = { customer: shop, mode: 'live', can: CAN }
    return operator.post('/admin/portal-links', body)
  }
  const signIn = (text: string) => anonymous.post('/portal/session', { token: text })
  const first = withCookieOf(await signIn(await token(shop)))
  assert.equal((await first.delete('/portal/session')).status, 204)
  assert.equal((await first.get('/portal/session')).status, 401)

  const used = await link()
  const second = withCookieOf(await signIn(tokenOf(used)))
  assert.equal((await second.get('/portal/session')).status, 200)
  assert.equal((await operator.delete(`/admin/portal-links/${used.body.id}`)).status, 204)
  assert.equal((await second.get('/portal/session')).status, 401)

  const unused = await link()
  assert.equal((await operator.delete(`/admin/portal-links/${unused.body.id}`)).status, 204)
  assert.equal((await signIn(tokenOf(unused))).status, 401)
  assert.equal((await operator.delete(`/admin/portal-links/${unused.body.id}`)).status, 404)
})

eachService('a browser has one session: a sign-in ends the previous one', async (service) => {
  const { anonymous, customer, token, session } = await openPortal(service)
  const shop = await customer('Shop')
  const before = await session(shop)
  const reply = await before.post('/portal/session', { token: await token(shop) })
  assert.equal(reply.status, 201)
  assert.equal((await before.get('/portal/session')).status, 401)
  const after = { cookie: cookieOf(reply), ...OWN }
  assert.equal((await anonymous.get('/portal/session', after)).status, 200)
})

eachService(
  'a suspended customer opens no session, keeps its link, and its sessions are 403',
  async (service) => {
    const { operator, anonymous, customer, token, session } = await openPortal(service)
    const shop = await customer('Shop')
    const open = await session(shop)
    const link = await token(shop)
    const suspend = (suspended: boolean) =>
      operator.patch(`/admin/customers/${shop}`, { suspended })
    assert.equal((await suspend(true)).status, 200)
    const exchange = () => anonymous.post('/portal/session', { token: link })
    assert.equal((await exchange()).body.error, 'customer_suspended')
    for (const path of ['/portal/session', '/portal/api/keys', '/portal/api/webhooks']) {
      const { status, body } = await open.get(path)
      assert.deepEqual([status, body.error], [403, 'customer_suspended'], path)
    }
    assert.equal((await suspend(false)).status, 200)
    assert.equal((await open.get('/portal/api/keys')).status, 200)
    assert.equal((await exchange()).status, 201)
  },
)

eachService('unused links of a customer and mode are bounded', async (service) => {
  const { operator, customer, token } = await openPortal(service)
  const shop = await customer('Shop')
  await token(shop)
  const { db } = service.app
  const [link] = await db.all(sql`SELECT scope, expires_at FROM gh_portal_links`)
  const { scope, expires_at } = link as { scope: number; expires_at: number }
  await db.write(async (tx) => {
    for (let n = 1; n < 1000; n++) {
      await tx.run(sql`INSERT INTO gh_portal_links (hash, id, scope, customer, mode, can,
        created_at, expires_at)
        VALUES (${sha256(String(n))}, ${`plk_${n}`}, ${scope}, ${shop}, 'live', '[]', 0,
                ${expires_at})`)
    }
  })
  const reply = await operator.post('/admin/portal-links', {
    customer: shop,
    mode: 'live',
    can: ['keys:read'],
  })
  assert.deepEqual([reply.status, reply.body.error], [409, 'limit_reached'])
  const other = await operator.post('/admin/portal-links', {
    customer: shop,
    mode: 'test',
    can: ['keys:read'],
  })
  assert.equal(other.status, 201)
})
