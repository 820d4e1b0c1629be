/** §6.10: `access: { read: 'public' }` opens live rows of the customer `default` only. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { shop } from '../fixtures/shop.ts'
import { bearerOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const SHOP = { service: shop }
const texts = (body: { data: { text: string }[] }) => body.data.map(({ text }) => text)

eachService(
  'an anonymous caller reads the live rows of the customer default',
  async (service) => {
    const { operator, anonymous } = await openPeople(service)
    const acme = (await operator.post('/admin/customers', { name: 'Acme' })).body.id
    const live = service.as(await service.key({ mode: 'live' }))
    const foreign = service.as(await service.key({ mode: 'live', customer: acme }))
    await service.post('/api/v2/news', { text: 'test' })
    const hidden = (await foreign.post('/api/v2/news', { text: 'acme' })).body.id
    for (const text of ['one', 'two']) await live.post('/api/v2/news', { text })
    for (const version of ['v1', 'v2']) {
      const path = `/api/${version}/news`
      for (const style of ['cursor', 'keyset', 'offset', 'page', 'hypermedia']) {
        const { status, body } = await anonymous.get(`${path}?pagination=${style}`)
        assert.equal(status, 200)
        assert.deepEqual(texts(body), ['one', 'two'])
        const total = body.total ?? body.meta?.total
        if (total !== undefined) assert.equal(total, 2)
      }
      const [first] = (await anonymous.get(`${path}?limit=1&sort=-rank`)).body.data
      assert.equal((await anonymous.get(`${path}/${first.id}`)).status, 200)
      assert.equal((await anonymous.get(`${path}/${hidden}`)).status, 404)
      const { next_cursor } = (await anonymous.get(`${path}?limit=1`)).body
      const next = await anonymous.get(`${path}?limit=1&cursor=${next_cursor}`)
      assert.deepEqual(texts(next.body), ['two'])
      // The cursor of an anonymous caller is invalid for another customer.
      const taken = await foreign.get(`${path}?limit=1&cursor=${next_cursor}`)
      assert.equal(taken.body.error, 'cursor_mismatch')
      const calls: [method: string, path: string, body?: object][] = [
        ['POST', path, { text: 'x' }],
        ['PATCH', `${path}/${first.id}`, { text: 'x' }],
        ['DELETE', `${path}/${first.id}`],
        ['GET', `/api/${version}/plans`],
      ]
      for (const [method, at, sent] of calls) {
        const refused = await anonymous.send(method, at, sent)
        assert.deepEqual([refused.status, refused.body.error], [401, 'unauthorized'], at)
        assert.match(refused.headers['www-authenticate']!, /ApiKey/)
      }
    }
  },
  SHOP,
)

eachService(
  'a credential selects the customer without a scope; an invalid one is rejected',
  async (service) => {
    const { operator, anonymous, token } = await openPeople(service)
    const acme = (await operator.post('/admin/customers', { name: 'Acme' })).body.id
    const writer = service.as(await service.key({ mode: 'live', customer: acme }))
    const reader = service.as(
      await service.key({ mode: 'live', customer: acme, scopes: ['carts:read'] }),
    )
    await writer.post('/api/v2/news', { text: 'acme' })
    assert.deepEqual(texts((await reader.get('/api/v2/news')).body), ['acme'])
    assert.deepEqual(texts((await anonymous.get('/api/v2/news')).body), [])
    const ada = { email: emailOf('ada'), password: PASSWORD, customer: acme, scopes: [] }
    assert.equal((await operator.post('/admin/users', ada)).status, 201)
    const person = bearerOf(await token(emailOf('ada')))
    assert.deepEqual(texts((await anonymous.get('/api/v2/news', person)).body), ['acme'])
    const invalid: [headers: Record<string, string>, status: number][] = [
      [{ 'x-api-key': 'gk_live_nonsense' }, 403],
      [{ authorization: 'Bearer nonsense' }, 401],
      [{ authorization: 'Basic bm9ib2R5Om5vbmU=' }, 401],
      [{ authorization: 'Digest x' }, 401],
      [{ authorization: '' }, 401],
      [{ 'x-api-key': '' }, 403],
      [{ authorization: 'Bearer x', 'x-api-key': 'y' }, 400],
    ]
    for (const [headers, status] of invalid) {
      const refused = await anonymous.get('/api/v2/news', headers)
      assert.equal(refused.status, status, JSON.stringify(headers))
    }
    assert.equal((await anonymous.get('/api/v2/news?api_key=nonsense')).status, 403)
  },
  SHOP,
)

eachService(
  'anonymous callers share the limit of their address; a key has its own',
  async (service) => {
    const anonymous = service.as(undefined)
    const statuses = []
    for (let n = 0; n < 3; n++) statuses.push((await anonymous.get('/api/v2/news')).status)
    assert.deepEqual(statuses, [200, 200, 429])
    const refused = await anonymous.get('/api/v2/news')
    assert.match(refused.headers['retry-after']!, /^\d+$/)
    assert.equal((await service.get('/api/v2/news')).status, 200)
  },
  { ...SHOP, env: { GATEHOOK_RATE_LIMIT: '2/60' } },
)

eachService(
  'the OpenAPI document describes public rows',
  async (service) => {
    const { paths } = (await service.as(undefined).get('/openapi/v2.json')).body
    for (const path of ['/api/v2/news', '/api/v2/news/{id}']) {
      assert.deepEqual(paths[path].get.security[0], {})
      assert.equal(paths[path].get['x-scope'], undefined)
    }
    assert.equal(paths['/api/v2/news'].post['x-scope'], 'news:write')
    const schemes: object[] = paths['/api/v2/plans'].get.security
    assert.ok(schemes.every((scheme) => Object.keys(scheme).length > 0))
    assert.match(paths['/api/v2/shelves'].get.description, /Closed to persons.*`shelves:all`/)
    assert.match(paths['/api/v2/items'].get.description, /own rows only.*`items:all`/)
  },
  SHOP,
)

eachService(
  'expensive lists of anonymous callers queue by address (§7.10)',
  async ({ app, as }) => {
    const { snapshot } = app.db
    const callers: unknown[] = []
    app.db.snapshot = (read, options) => {
      callers.push(options?.customer)
      return snapshot(read, options)
    }
    for (const [n, address] of ['192.0.2.1', '192.0.2.2', '192.0.2.1'].entries()) {
      const headers = { 'x-forwarded-for': address, 'x-forwarded-proto': 'https' }
      const path = `/api/v2/news?rank=0&sort=-rank,id&id[gte]=${n}`
      const reply = await as(undefined).get(path, headers)
      assert.equal(reply.status, 200, reply.text)
    }
    assert.equal(callers.length, 3)
    assert.ok(callers[0] !== undefined)
    assert.deepEqual([callers[2], callers[1] === callers[0]], [callers[0], false])
  },
  { ...SHOP, env: { GATEHOOK_TRUST_PROXY: '127.0.0.1' } },
)
