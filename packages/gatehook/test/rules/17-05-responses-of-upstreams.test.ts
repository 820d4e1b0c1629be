/** §17.5: responses of an upstream as clients receive them, in their version. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'
import { billing, eachForward, invoice, openUpstream, replyJson } from '../forwards/upstream-rig.ts'
import { toolsOf } from '../mcp/rig.ts'

const paid = {
  id: 7,
  total_cents: 4950,
  note: 'ä',
  paid_at: '2026-01-02T03:04:05Z',
  more: { a: 1 },
}

eachForward('listed headers of an upstream pass, and no other', async (api, upstream) => {
  const passing = {
    'content-type': 'application/pdf',
    'content-disposition': 'attachment; filename="a.pdf"',
    etag: '"e"',
    'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
    'accept-ranges': 'bytes',
    'content-range': 'bytes 0-1/9',
    'retry-after': '7',
    'x-total': '9',
  }
  const others = {
    'set-cookie': 'a=b',
    'cache-control': 'public, max-age=9',
    'access-control-allow-origin': '*',
    'content-security-policy': "default-src 'self'",
    'strict-transport-security': 'max-age=0',
    'x-powered-by': 'secret',
    server: 'uvicorn',
    'gatehook-x': '1',
    'x-request-id': 'theirs',
    'www-authenticate': 'Basic',
  }
  upstream.respond = (_, response) =>
    void response.writeHead(206, { ...passing, ...others }).end('%P')
  const { status, headers, text } = await api.get('/api/v2/invoices', { range: 'bytes=0-1' })
  assert.deepEqual([status, text], [206, '%P'])
  for (const [name, value] of Object.entries(passing)) assert.equal(headers[name], value, name)
  const absent = Object.entries(others).filter(([name, value]) => headers[name] === value)
  assert.deepEqual(absent, [])
  assert.equal(headers['cache-control'], 'private, no-cache')
  assert.match(
    headers['content-security-policy']!,
    /^sandbox; default-src 'none'; form-action 'none'/,
  )
})

eachForward(
  'a declared output is converted for an older version, and has our ETag',
  async (api, upstream) => {
    upstream.respond = replyJson(200, paid, { etag: '"theirs"' })
    const sent = { 'if-none-match': '"theirs"', 'accept-encoding': 'gzip' }
    const newest = await api.get('/api/v2/invoices/7', sent)
    assert.equal(upstream.received[0]!.headers['accept-encoding'], undefined)
    assert.deepEqual([newest.status, newest.body], [200, paid])
    assert.equal(upstream.received[0]!.headers['if-none-match'], undefined)
    const older = await api.get('/api/v1/invoices/7')
    const { total_cents: _, ...rest } = paid
    assert.deepEqual(older.body, { ...rest, total: 49.5 })
    assert.notEqual(newest.headers.etag, '"theirs"')
    const same = await api.get('/api/v2/invoices/7', { 'if-none-match': newest.headers.etag! })
    assert.equal(same.status, 304)
    // Nullable members may be absent.
    upstream.respond = replyJson(200, { id: 7, total_cents: 1 })
    assert.deepEqual((await api.get('/api/v2/invoices/7')).body, { id: 7, total_cents: 1 })
    assert.deepEqual((await api.get('/api/v1/invoices/7')).body, { id: 7, total: 0.01 })
    for (const [version, total] of [
      ['v1', 'total'],
      ['v2', 'total_cents'],
    ] as const) {
      const { paths } = (await api.get(`/openapi/${version}.json`)).body
      const { content } = paths[`/api/${version}/invoices/{id}`].get.responses['200']
      const { required } = content['application/json'].schema
      assert.deepEqual(required.toSorted(), ['id', total].toSorted())
    }
  },
)

eachForward('an output that does not hold is 502 upstream_invalid', async (api, upstream) => {
  const wrong = [
    { ...paid, total_cents: '4950' },
    { ...paid, total_cents: null },
    { ...paid, id: undefined },
    { ...paid, paid_at: 'yesterday' },
    [paid],
    null,
    'text',
  ]
  for (const body of wrong) {
    upstream.respond = replyJson(200, body)
    for (const version of ['v1', 'v2']) {
      const { status, body: failure } = await api.get(`/api/${version}/invoices/7`)
      assert.deepEqual([status, failure.error], [502, 'upstream_invalid'], JSON.stringify(body))
      assert.ok(!JSON.stringify(failure).includes('total_cents'))
    }
  }
  for (const text of ['{"id":7,"id":8}', '{"__proto__":{}}', '{', '\xff', '']) {
    upstream.respond = (_, response) => void response.end(Buffer.from(text, 'latin1'))
    assert.equal((await api.get('/api/v2/invoices/7')).body.error, 'upstream_invalid', text)
  }
})

eachForward('statuses pass, are wrapped, or become 502 without the body', async (api, upstream) => {
  const answer = async (status: number, path = '/invoices', headers = {}) => {
    upstream.respond = replyJson(status, { secret: 1 }, { location: '/x', ...headers })
    return api.get(`/api/v2${path}`)
  }
  for (const status of [400, 404, 409, 418, 422, 429]) {
    const passed = await answer(status)
    assert.deepEqual([passed.status, passed.body], [status, { secret: 1 }])
  }
  for (const status of [300, 301, 302, 307, 308, 401, 407, 500, 502, 503, 504, 599]) {
    const { status: got, body, headers } = await answer(status, '/invoices', { 'retry-after': '9' })
    assert.deepEqual(
      [got, body.error, body.secret],
      [502, 'upstream_failed', undefined],
      String(status),
    )
    assert.equal(headers['retry-after'], status === 503 ? '9' : undefined)
    assert.equal(headers.location, undefined)
  }
  const unchanged = await answer(304)
  assert.deepEqual([unchanged.status, unchanged.text], [304, ''])
  upstream.respond = replyJson(409, { secret: 1 })
  const wrapped = await api.post('/api/v2/invoices', { total_cents: 1 })
  assert.deepEqual([wrapped.status, wrapped.body.error], [409, 'upstream_refused'])
  assert.equal(wrapped.body.secret, undefined)
})

eachForward(
  'Location and Link below the url lead to this API; others are dropped',
  async (api, upstream) => {
    const links = async (location: string, link: string) => {
      upstream.respond = replyJson(
        201,
        { id: 1, total_cents: 1, note: null, paid_at: null },
        { location, link },
      )
      const { headers } = await api.post('/api/v2/invoices', { total_cents: 1 })
      return [headers.location, headers.link]
    }
    const base = `${upstream.url}/base`
    assert.deepEqual(
      await links(
        `${base}/invoices/7`,
        `<${base}/invoices?status=a>; rel="next", <https://evil.example/>; rel="prev"`,
      ),
      ['/api/v2/invoices/7', '</api/v2/invoices?status=a>; rel="next"'],
    )
    assert.deepEqual(await links('/base/files/7', '</base/invoices/7/lines>; rel=lines'), [
      '/api/v2/invoices/7/pdf',
      '</api/v2/invoices/7/lines>; rel=lines',
    ])
    for (const location of [
      'https://evil.example/base/invoices/7',
      '//evil.example/base/invoices/7',
      '/admin',
      '/based/invoices/7',
      'http://[',
      'javascript:alert(1)',
    ]) {
      assert.deepEqual(
        await links(location, `<${location}>; rel=x`),
        [undefined, undefined],
        location,
      )
    }
  },
)

eachForward('HEAD is a GET without its body; a stream passes in parts', async (api, upstream) => {
  upstream.respond = (_, response) => void response.writeHead(200, { etag: '"e"' }).end('body')
  const head = await api.send('HEAD', '/api/v2/invoices')
  assert.deepEqual([head.status, head.text, head.headers.etag], [200, '', '"e"'])
  assert.equal(upstream.received[0]!.method, 'GET')
  upstream.respond = (_, response) => {
    for (let part = 0; part < 300; part++) response.write(`${part}\n`.padEnd(40_000, '.'))
    response.end()
  }
  const { status, text } = await api.get('/api/v2/export')
  assert.deepEqual([status, text.length], [200, 300 * 40_000])
})

eachForward('documents describe forwarded routes in each version', async (api) => {
  const { body: v1 } = await api.get('/openapi/v1.json')
  const { body: v2 } = await api.get('/openapi/v2.json')
  const schemaOf = (document: typeof v1, version: string) =>
    Object.keys(
      document.paths[`/api/${version}/invoices/{id}`].get.responses[200].content['application/json']
        .schema.properties,
    )
  assert.deepEqual(schemaOf(v1, 'v1').slice(0, 4).sort(), ['id', 'note', 'paid_at', 'total'])
  assert.ok(schemaOf(v2, 'v2').includes('total_cents'))
  const { post } = v2.paths['/api/v2/invoices']
  assert.ok(
    ['upstream_refused', 'outcome_unknown'].every((code) => post['x-errors'].includes(code)),
  )
  assert.ok(502 in post.responses && 504 in post.responses)
})

eachForward(
  'agents read texts of an upstream; of other bytes they get a sentence',
  async (api, upstream) => {
    // biome-ignore lint/suspicious/noExplicitAny: the document
    const { paths } = api.app.openapi('v2') as any
    const operation = paths['/api/v2/invoices/{id}/pdf'].get.operationId
    const read = async (type: string, hex: string) => {
      upstream.respond = (_, response) =>
        void response.writeHead(200, { 'content-type': type }).end(Buffer.from(hex, 'hex'))
      const tool = toolsOf((body) => api.post('/mcp', body))
      return (await tool('read_operation', { operation, parameters: { id: 7 } })).value
    }
    const { status, message, untrusted } = await read('application/pdf', '25504446e2e3')
    assert.deepEqual([status, untrusted], [200, null])
    assert.match(message, /binary/)
    assert.equal((await read('application/pdf', '2550')).untrusted, '%P')
    assert.equal((await read('text/plain; charset=latin1', '61e462')).untrusted, 'a\ufffdb')
  },
)

test('a list of an upstream is converted, validated and documented', async (t) => {
  const upstream = await openUpstream(t)
  const service = billing(upstream.url, 60_000).forward({
    method: 'GET',
    path: '/invoices',
    to: 'billing',
    upstreamPath: '/invoices',
    scope: 'invoices:read',
    output: [invoice],
  })
  const api = await openService(t, 'sqlite', { service })
  upstream.respond = replyJson(200, [paid, paid], { etag: '"theirs"' })
  const newest = await api.get('/api/v2/invoices')
  assert.deepEqual([newest.status, newest.body], [200, [paid, paid]])
  assert.notEqual(newest.headers.etag, '"theirs"')
  const { total_cents: _, ...rest } = paid
  const older = await api.get('/api/v1/invoices')
  assert.deepEqual(older.body, Array(2).fill({ ...rest, total: 49.5 }))
  upstream.respond = replyJson(200, [paid, { ...paid, total_cents: 'x' }])
  const wrong = await api.get('/api/v2/invoices')
  assert.deepEqual([wrong.status, wrong.body.error], [502, 'upstream_invalid'])
  const count = Math.floor((50_000 - 1) / 7) // the object, its five members, and one in `more`
  for (const [length, status] of [
    [count, 200],
    [count + 1, 502],
  ] as const) {
    upstream.respond = replyJson(200, Array(length).fill(paid))
    assert.equal((await api.get('/api/v2/invoices')).status, status, `${length} objects`)
  }
  for (const [version, member] of [
    ['v1', 'total'],
    ['v2', 'total_cents'],
  ] as const) {
    const { body } = await api.get(`/openapi/${version}.json`)
    const { schema } =
      body.paths[`/api/${version}/invoices`].get.responses[200].content['application/json']
    assert.equal(schema.type, 'array')
    assert.match(schema.description, /10,000 objects, and 50,000 values/)
    assert.ok(schema.items.required.includes(member), version)
  }
})
