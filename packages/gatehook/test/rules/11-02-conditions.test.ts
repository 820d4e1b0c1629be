/** §11.2, RFC 9110 §13: `ETag` on rows and lists; 304 for `If-None-Match`, 412 for `If-Match`. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService('a row or list that the caller has cached is 304', async (service) => {
  const { post, get, patch, send } = service
  const created = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  for (const path of [
    created.headers.location!,
    '/api/v2/users',
    '/api/v2/users?pagination=page',
    '/events',
  ]) {
    const first = await get(path)
    const etag = first.headers.etag!
    assert.match(etag, /^"[\x21\x23-\x7e]+"$/)
    for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const cached = await send(method, path, undefined, { 'if-none-match': tags })
        assert.deepEqual(
          [cached.status, cached.text, cached.headers.etag],
          [304, '', etag],
          `${method} ${tags}`,
        )
      }
    }
    for (const tags of ['"other"', 'W/"other"', etag.slice(1, -1)]) {
      assert.equal((await get(path, { 'if-none-match': tags })).text, first.text, tags)
    }
    const head = await send('HEAD', path)
    assert.deepEqual([head.status, head.headers.etag, head.text], [200, etag, ''])
  }
  const before = (await get('/api/v2/users')).headers.etag!
  await patch(created.headers.location!, { name: 'B' })
  const moved = await get('/api/v2/users', { 'if-none-match': before })
  assert.deepEqual([moved.status, moved.body.data[0].name], [200, 'B'])
})

eachService('a read with If-Match of another state is 412', async ({ post, get, send }) => {
  const path = (await post('/api/v2/users', { name: 'A', email: 'a@example.com' })).headers
    .location!
  for (const listPath of [path, '/api/v2/users?page=1']) {
    const { etag } = (await get(listPath)).headers
    for (const method of ['GET', 'HEAD']) {
      for (const tags of ['"other"', `W/${etag}`]) {
        const refused = await send(method, listPath, undefined, { 'if-match': tags })
        assert.equal(refused.status, 412, `${method} ${tags}`)
        assert.equal(refused.headers['x-total-count'], undefined)
        if (method === 'GET') assert.equal(refused.body.error, 'precondition_failed')
      }
      for (const tags of [etag!, '*', `"other", ${etag}`]) {
        assert.equal(
          (await send(method, listPath, undefined, { 'if-match': tags })).status,
          200,
          tags,
        )
      }
    }
  }
})

eachService('the tag of a write is the tag of the next read', async ({ post, patch, get }) => {
  const created = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  const path = created.headers.location!
  assert.equal((await get(path)).headers.etag, created.headers.etag)
  const changed = await patch(path, { name: 'B' })
  assert.notEqual(changed.headers.etag, created.headers.etag)
  assert.equal((await get(path)).headers.etag, changed.headers.etag)
})

eachService('a change with If-Match of another state is 412 without effect', async (service) => {
  const { post, send, get } = service
  const user = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  const order = await post('/api/v2/orders', { user_id: user.body.id, amount: 5 })
  const spare = await post('/api/v2/users', { name: 'Bob', email: 'bob@example.com' })
  const calls: [string, string, string, unknown?][] = [
    ['PATCH', user.headers.location!, user.headers.location!, { name: 'B' }],
    ['POST', `${order.headers.location}/pay`, order.headers.location!],
    ['DELETE', spare.headers.location!, spare.headers.location!],
  ]
  for (const [method, path, row, body] of calls) {
    const { headers, text } = await get(row)
    const etag = headers.etag!
    for (const tags of ['"other"', `W/${etag}`, 'nonsense', '']) {
      const refused = await send(method, path, body, { 'if-match': tags })
      assert.deepEqual(
        [refused.status, refused.body.error],
        [412, 'precondition_failed'],
        `${method} ${tags}`,
      )
    }
    assert.equal((await get(row)).text, text)
    const done = await send(method, path, body, { 'if-match': `"other", ${etag}` })
    assert.ok(done.status < 300, done.text)
  }
  assert.equal(
    (await send('PATCH', user.headers.location!, { name: 'C' }, { 'if-match': '*' })).status,
    200,
  )
  assert.equal(
    (await send('PATCH', '/api/v2/users/999', { name: 'C' }, { 'if-match': '*' })).status,
    404,
  )
})

eachService('of two concurrent changes of one state, one succeeds', async ({ post, patch }) => {
  const { headers } = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  const condition = { 'if-match': headers.etag! }
  const replies = await Promise.all(
    ['B', 'C', 'D', 'E'].map((name) => patch(headers.location!, { name }, condition)),
  )
  assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 412, 412, 412])
})

eachService('administrative changes honor If-Match', async ({ as, key }) => {
  const operator = as(await key({ scopes: ['admin'], mode: 'live' }))
  const create = async (path: string, body: object) =>
    (await operator.post(path, body)).headers.location!
  const scopes = ['users:read']
  const customer = await create('/admin/customers', { name: 'A' })
  const client = await create('/admin/clients', { name: 'A', redirect_uris: [], scopes })
  const person = { name: 'A', email: 'a@example.com', password: 'correct horse' }
  const calls: [string, string, string, unknown?][] = [
    ['PATCH', customer, customer, { name: 'B' }],
    ['PATCH', client, client, { name: 'B' }],
    ['POST', `${client}/rotate-secret`, client],
    ['DELETE', client, client],
    ['PATCH', ...twice(await create('/admin/users', person)), { role: 'editor' }],
    ['PUT', '/admin/versions/v1', '/admin/versions/v1', { migration_guide: 'https://a.example' }],
    ['DELETE', ...twice(await create('/admin/keys', { name: 'A', scopes }))],
  ]
  for (const [method, path, row, body] of calls) {
    const { headers, text } = await operator.get(row)
    const refused = await operator.send(method, path, body, { 'if-match': '"other"' })
    assert.equal(refused.body.error, 'precondition_failed', `${method} ${path}`)
    assert.equal((await operator.get(row)).text, text)
    const done = await operator.send(method, path, body, { 'if-match': headers.etag! })
    assert.ok(done.status < 300, done.text)
  }
})

const twice = (path: string): [string, string] => [path, path]

eachService(
  'of two concurrent administrative changes of one state, one succeeds',
  async ({ as, key }) => {
    const operator = as(await key({ scopes: ['admin'], mode: 'live' }))
    const path = (await operator.post('/admin/customers', { name: 'A' })).headers.location!
    const condition = { 'if-match': (await operator.get(path)).headers.etag! }
    const replies = await Promise.all(
      ['B', 'C', 'D', 'E'].map((name) => operator.patch(path, { name }, condition)),
    )
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 412, 412, 412])
  },
)
