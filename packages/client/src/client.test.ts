/** Requests, bodies, lists and errors over HTTP. Retries and tokens: `transport.test.ts`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listPage, serve } from '../test/service.ts'
import { createClient, GatehookError } from './client.ts'

interface Order {
  id: number
  status: string
}

test('each method sends its request, with the version of the client', async (t) => {
  const order = { id: 7, status: 'pending' }
  const { baseUrl, requests } = await serve(t, ({ method }) =>
    method === 'DELETE' ? { status: 204 } : { body: order },
  )
  const client = createClient({ baseUrl: `${baseUrl}/`, apiKey: 'gk_test_1', version: 'v2' })
  const orders = client.collection<Order, { amount: number }>('orders')
  assert.deepEqual(await orders.get(7), order)
  assert.deepEqual(await orders.create({ amount: 5 }), order)
  assert.deepEqual(await orders.update(7, { amount: 6 }), order)
  assert.deepEqual(await orders.act(7, 'pay'), order)
  assert.deepEqual(await orders.act(7, 'refund', { part: 1 }), order)
  assert.equal(await orders.delete(7), undefined)
  assert.deepEqual(
    requests.map(({ method, url, body }) => [method, url.pathname, body]),
    [
      ['GET', '/api/v2/orders/7', undefined],
      ['POST', '/api/v2/orders', { amount: 5 }],
      ['PATCH', '/api/v2/orders/7', { amount: 6 }],
      ['POST', '/api/v2/orders/7/pay', undefined],
      ['POST', '/api/v2/orders/7/refund', { part: 1 }],
      ['DELETE', '/api/v2/orders/7', undefined],
    ],
  )
  assert.ok(requests.every(({ headers }) => headers['x-api-key'] === 'gk_test_1'))
  const keys = requests.map(({ headers }) => headers['idempotency-key'])
  assert.equal(new Set(keys).size, 5) // four POST, one PATCH: four keys, and undefined
  assert.deepEqual([keys[0], keys[5]], [undefined, undefined])
})

test('a leading slash selects a path outside /api; the version is optional', async (t) => {
  const { baseUrl, requests } = await serve(t, () => ({ body: { id: 'we_1' } }))
  const client = createClient({ baseUrl: `${baseUrl}/gateway/`, token: 'jwt' })
  await client.collection('/webhooks').get('we_1')
  await client.collection('orders').get('a/b?c')
  await client.request('get', 'protected', { query: { fields: ['a', 'b'] } })
  assert.deepEqual(
    requests.map(({ url, headers }) => [url.pathname + url.search, headers.authorization]),
    [
      ['/gateway/webhooks/we_1', 'Bearer jwt'],
      ['/gateway/api/orders/a%2Fb%3Fc', 'Bearer jwt'],
      ['/gateway/api/protected?fields=a%2Cb', 'Bearer jwt'],
    ],
  )
})

test('an id that resolves to another path is rejected before a request', async (t) => {
  const { baseUrl, requests } = await serve(t, () => ({}))
  const orders = createClient({ baseUrl }).collection('orders')
  for (const id of ['', '.', '..']) {
    await assert.rejects(orders.get(id), TypeError)
    await assert.rejects(orders.delete(id), TypeError)
    await assert.rejects(orders.act(1, id), TypeError)
  }
  assert.equal(requests.length, 0)
})

test('filters, operators, lists and dates become parameters', async (t) => {
  const { baseUrl, requests } = await serve(t, () => ({ body: { data: [] } }))
  await createClient({ baseUrl })
    .collection('orders')
    .list({
      status: 'paid',
      amount: { gte: 100, lt: 500, ne: undefined },
      id: { in: [1, 2] },
      created_at: { gt: new Date(0) },
      sort: ['-created_at', 'id'],
      note: undefined,
    })
  assert.deepEqual(Object.fromEntries(requests[0]!.url.searchParams), {
    status: 'paid',
    'amount[gte]': '100',
    'amount[lt]': '500',
    'id[in]': '1,2',
    'created_at[gt]': '1970-01-01T00:00:00.000Z',
    sort: '-created_at,id',
  })
})

test('rows of selected fields have the type of their members', async (t) => {
  const { baseUrl, requests } = await serve(t, () => ({ body: { data: [{ id: 7 }] } }))
  const rows = createClient({ baseUrl }).collection<{ id: number; name: string }>('orders')
  const selected = await rows.list({ fields: ['id'], limit: 1 })
  const id: number | undefined = selected.data[0]?.id
  // @ts-expect-error: the request does not select it
  const name: unknown = selected.data[0]?.name
  const whole: string | undefined = (await rows.list({ sort: 'id' })).data[0]?.name
  assert.deepEqual([id, name, whole], [7, undefined, undefined])
  assert.equal(requests[0]!.url.search, '?fields=id&limit=1')
})

const ids = Array.from({ length: 23 }, (_, n) => n + 1)
const styles = {
  'the default': {},
  cursor: { limit: 5 },
  'offset/limit': { offset: 0, limit: 5 },
  'offset by name': { pagination: 'offset', limit: 5 },
  keyset: { after_id: 0, limit: 5 },
  page: { page: 1, per_page: 5 },
  hypermedia: { pagination: 'hypermedia', per_page: 5 },
}

for (const [style, params] of Object.entries(styles)) {
  test(`for await yields every row once, style ${style}`, async (t) => {
    const { baseUrl, requests } = await serve(t, ({ url }) => ({ body: listPage(ids, url) }))
    const orders = createClient({ baseUrl, version: 'v1' }).collection<{ id: number }>('orders')
    const rowIds: number[] = []
    for await (const { id } of orders.list({ ...params, id: { gte: 1 } })) rowIds.push(id)
    assert.deepEqual(rowIds, ids)
    assert.equal(requests.length, style === 'the default' ? 2 : 5)
    // Each request has the filter, and none the path of a link.
    assert.ok(requests.every(({ url }) => url.searchParams.getAll('id[gte]').join() === '1'))
    assert.ok(requests.every(({ url }) => url.pathname === '/api/v1/orders'))
  })
}

test('an empty list and a full last page end the iteration', async (t) => {
  for (const rows of [[], ids.slice(0, 10)]) {
    const { baseUrl, requests } = await serve(t, ({ url }) => ({ body: listPage(rows, url) }))
    for (const params of Object.values(styles)) {
      const iterated: { id: number }[] = []
      const list = createClient({ baseUrl }).collection<{ id: number }>('orders').list(params)
      for await (const row of list) iterated.push(row)
      assert.equal(iterated.length, rows.length)
    }
    assert.ok(requests.length <= 13)
  }
})

test('an awaited list is its first page, which fetches the next', async (t) => {
  const { baseUrl, requests } = await serve(t, ({ url }) => ({ body: listPage(ids, url) }))
  const orders = createClient({ baseUrl }).collection<{ id: number }>('orders')
  const first = await orders.list({ page: 1, per_page: 20 })
  assert.deepEqual(
    [first.data.length, first.total, first.hasMore, requests.length],
    [20, 23, true, 1],
  )
  const second = await first.next()
  assert.deepEqual([second?.data.length, second?.hasMore], [3, false])
  assert.equal(await second?.next(), undefined)
  assert.equal(requests.length, 2)
})

test('leaving the loop fetches no further page', async (t) => {
  const { baseUrl, requests } = await serve(t, ({ url }) => ({ body: listPage(ids, url) }))
  const orders = createClient({ baseUrl }).collection<{ id: number }>('orders')
  for await (const { id } of orders.list({ limit: 5 })) if (id === 5) break
  assert.equal(requests.length, 1)
})

test('an error response is a GatehookError with all its members', async (t) => {
  const errors = [{ pointer: '/amount', code: 'minimum', message: 'At least 1.' }]
  const body = { error: 'validation_failed', message: 'It does not fit.', status: 422, errors }
  const { baseUrl } = await serve(t, () => ({
    status: 422,
    headers: { 'x-request-id': 'req_1' },
    body,
  }))
  const orders = createClient({ baseUrl, apiKey: 'k' }).collection('orders')
  await assert.rejects(orders.create({}), (error) => {
    assert.ok(error instanceof GatehookError)
    const { code, status, requestId, message, retryAfter } = error
    assert.deepEqual(
      [code, status, requestId, message, retryAfter],
      ['validation_failed', 422, 'req_1', 'It does not fit.', undefined],
    )
    assert.deepEqual([error.errors, error.body], [errors, body])
    return true
  })
})

test('other bodies are errors too: OAuth, a proxy’s page, no list', async (t) => {
  const html = { 'content-type': 'text/html' }
  const responses = {
    retired: { status: 410, body: { error: 'api_version_retired', message: 'Gone.' } },
    oauth: { status: 400, body: { error: 'invalid_grant', error_description: 'Used.' } },
    proxy: { status: 400, headers: html, body: '<h1>Bad</h1>' },
    broken: { status: 200, body: '{"data":' },
    redirect: { status: 302, headers: { location: 'http://127.0.0.1:1/' } },
  }
  const { baseUrl } = await serve(t, ({ url }) => {
    return responses[url.pathname.slice(1) as keyof typeof responses]
  })
  const client = createClient({ baseUrl, apiKey: 'k' })
  const rejects = (name: string, code: string, status: number, message?: string) =>
    assert.rejects(client.collection(`/${name}`).list(), {
      code,
      status,
      ...(message && { message }),
    })
  await rejects('retired', 'api_version_retired', 410, 'Gone.')
  await rejects('oauth', 'invalid_grant', 400, 'Used.')
  await rejects('proxy', 'unexpected_response', 400)
  await rejects('broken', 'unexpected_response', 200)
  await rejects('redirect', 'unexpected_response', 302) // the client sent no key elsewhere
})

test('invalid options throw where the client is created', () => {
  assert.throws(() => createClient({ baseUrl: 'ftp://example.com' }), TypeError)
  assert.throws(() => createClient({ baseUrl: 'api.example.com' }), TypeError)
  const both = { baseUrl: 'https://example.com', apiKey: 'k', token: 't' } as never
  assert.throws(() => createClient(both), TypeError)
})

test('bytes are sent as they are, and a response that is no text is bytes', async () => {
  const sent: RequestInit[] = []
  const types = ['application/pdf', 'text/csv', 'application/x-ndjson', 'application/problem+json']
  const client = createClient({
    baseUrl: 'https://api.example.com',
    fetch: async (_url, init) => {
      sent.push(init!)
      const headers = { 'content-type': types[sent.length - 1]! }
      return new Response(Uint8Array.of(49, 50), { headers })
    },
  })
  const body = Uint8Array.of(0, 255)
  const results: unknown[] = []
  for (const _ of types) {
    const headers = { 'content-type': 'image/png' }
    results.push((await client.request('POST', 'photos', { body, headers })).data)
  }
  assert.deepEqual(results, [Uint8Array.of(49, 50), '12', '12', 12])
  assert.equal(sent[0]!.body, body)
  assert.equal((sent[0]!.headers as Record<string, string>)['content-type'], 'image/png')
})
