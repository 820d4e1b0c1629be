/** §15.10: routes receive bytes, and return one of several media types. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { DeclarationError, f, resource, service } from '../../src/gatehook.ts'

const scope = 'files:write'
const files = resource('files', {
  fields: { id: f.id(), name: f.string(), size: f.int(), type: f.string() },
  list: { filter: [], sort: [] },
  access: { read: 'files:read', create: scope, update: false, delete: false },
  events: [],
})
const PDF = Uint8Array.of(37, 80, 68, 70, 0, 255, 254)

const versions = { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } }
const storage = service({
  name: 'Files',
  versions,
  resources: [files],
})
  .route({
    method: 'PUT',
    path: '/contents/:name',
    scope,
    summary: 'Stores a file',
    input: { media: ['image/png', 'text/csv', 'application/json'] },
    output: files,
    async handle({ params, input, contentType, write }) {
      if (input[0] === 33) throw new Error('the first byte is !')
      const values = { name: params.name, size: input.length, type: String(contentType) }
      return { body: await write((tx) => tx.create(files, values)) }
    },
  })
  .route({
    method: 'GET',
    path: '/reports/daily',
    scope: 'files:read',
    summary: 'The report',
    query: { media: f.string().nullable().default(null) },
    output: { media: ['text/csv', 'application/pdf'] },
    handle: ({ query, accepted }) => {
      const media = (query.media ?? accepted[0]) as 'text/csv'
      return { media, body: media === 'text/csv' ? 'a,b\n' : PDF }
    },
  })
  .route({
    method: 'POST',
    path: '/conversions',
    scope,
    summary: 'Converts a file',
    input: { media: 'text/csv' },
    output: { media: ['application/pdf'] },
    status: 201,
    async handle({ input, write }) {
      await write((tx) => tx.create(files, { name: 'a', size: input.length, type: 'a' }))
      return { media: 'application/pdf', body: Uint8Array.of(...PDF, ...input) }
    },
  })
  .route({
    method: 'POST',
    path: '/steps',
    scope,
    summary: 'Converts a file in steps',
    steps: true,
    input: { media: 'text/csv' },
    output: { media: ['application/pdf'] },
    async handle({ input, contentType, accepted, step }) {
      await step('look', () => 1)
      assert.deepEqual([contentType, accepted], ['text/csv', ['application/pdf']])
      return { media: 'application/pdf', body: Uint8Array.of(...PDF, ...input) }
    },
  })

type Opened = Awaited<ReturnType<typeof openService>>
const sendTo = async ({ app, key }: Opened) => {
  const own = await key()
  return async (method: string, url: string, type?: string, payload?: Uint8Array | string) => {
    const headers = {
      'x-api-key': own,
      host: 'localhost',
      ...(type && { 'content-type': type }),
      ...(method === 'POST' && { 'idempotency-key': 'one' }),
    }
    const body = payload === undefined ? {} : { payload: Buffer.from(payload) }
    const reply = await app.inject({ method: method as 'GET', url, headers, ...body })
    return { status: reply.statusCode, headers: reply.headers, bytes: reply.rawPayload }
  }
}

eachService(
  'a route with media as input receives the bytes; another type is 415',
  async (opened) => {
    const send = await sendTo(opened)
    const bytes = Uint8Array.of(0, 255, 128, 10)
    const sent: readonly [type: string | undefined, bytes: Uint8Array | string, status: number][] =
      [
        ['image/png', bytes, 200],
        ['IMAGE/PNG', bytes, 200],
        ['text/csv; charset=utf-8', 'a,b', 200],
        ['text/csv', '', 200],
        ['application/json', '{"not": json', 200],
        ['image/gif', bytes, 415],
        ['text/csv; charset=latin1', 'a', 415],
        [undefined, bytes, 415],
        [undefined, '', 415],
      ]
    for (const [type, body, status] of sent) {
      const reply = await send('PUT', '/api/v1/contents/a', type, body)
      assert.equal(reply.status, status, `${type} ${body}: ${reply.bytes}`)
      if (status === 415)
        assert.equal(reply.headers.accept, 'image/png, text/csv, application/json')
      else {
        const { size, type: stored } = JSON.parse(reply.bytes.toString())
        assert.deepEqual([size, stored], [Buffer.from(body).length, type])
      }
    }
  },
  { service: storage },
)

eachService(
  'a route with media as output returns one of them, and the caller selects by Accept',
  async (opened) => {
    const send = await sendTo(opened)
    const path = '/api/v1/reports/daily'
    const csv = await send('GET', path)
    assert.equal(csv.headers['content-type'], 'text/csv; charset=utf-8')
    assert.match(String(csv.headers.vary), /^Accept,/)
    assert.equal(csv.headers['x-content-type-options'], 'nosniff')
    assert.match(String(csv.headers['content-security-policy']), /^sandbox;/)
    const pdf = await send('GET', `${path}?media=application/pdf`)
    assert.equal(pdf.headers['content-type'], 'application/pdf')
    assert.deepEqual(new Uint8Array(pdf.bytes), PDF)
    for (const [accept, type] of [
      ['application/pdf, text/csv;q=0.5', 'application/pdf'],
      ['text/*', 'text/csv; charset=utf-8'],
      ['*/*', 'text/csv; charset=utf-8'],
    ] as const) {
      const reply = await opened.get(path, { accept })
      assert.equal(reply.headers['content-type'], type)
    }
    assert.equal((await opened.get(path, { accept: 'application/json' })).status, 406)
  },
  { service: storage },
)

test('another media type than the declared ones is a 500, which the log explains', async (t) => {
  const lines: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
  const { get } = await openService(t, 'sqlite', { service: storage, log })
  const reply = await get('/api/v1/reports/daily?media=text/html')
  assert.deepEqual([reply.status, reply.body.error], [500, 'internal_error'])
  const cause = 'its media is text/html, and none of text/csv, application/pdf'
  assert.ok(lines.some((line) => line.includes('GET /reports/daily') && line.includes(cause)))
})

eachService(
  'a repeat with its Idempotency-Key returns the same bytes, and changes nothing',
  async (opened) => {
    const send = await sendTo(opened)
    for (const path of ['/api/v1/conversions', '/api/v1/steps']) {
      const first = await send('POST', path, 'text/csv', 'a,b')
      const second = await send('POST', path, 'text/csv', 'a,b')
      assert.ok(first.status < 300, String(first.bytes))
      assert.deepEqual(new Uint8Array(first.bytes), Uint8Array.of(...PDF, ...Buffer.from('a,b')))
      assert.deepEqual(second.bytes, first.bytes)
      assert.equal(second.status, first.status)
      assert.equal(second.headers['content-type'], 'application/pdf')
      assert.equal(second.headers['idempotent-replayed'], 'true')
      for (const [type, body] of [
        ['text/csv', 'a,c'],
        ['text/csv; charset=utf-8', 'a,b'],
      ] as const) {
        assert.equal((await send('POST', path, type, body)).status, 422, type)
      }
    }
    assert.equal((await opened.get('/api/v1/files?pagination=page')).body.total, 1)
  },
  { service: storage },
)

test('the request log has the size of a body of bytes, and never its bytes', async (t) => {
  const opened = await openService(t, 'sqlite', { service: storage })
  const send = await sendTo(opened)
  const reply = await send('PUT', '/api/v1/contents/a', 'text/csv', '!confidential')
  assert.equal(reply.status, 500)
  const admin = opened.as(await opened.key({ scopes: ['admin'], mode: 'live' }))
  const id = reply.headers['x-request-id']
  const { body } = await admin.get(`/admin/requests/${id}`)
  assert.equal(body.body_bytes, 13)
  assert.ok(!JSON.stringify(body).includes('confidential'))
  assert.equal(body.body, null)
})

test('documents have the media types of bodies and responses, in every version', async (t) => {
  const { get: read } = await openService(t, 'sqlite', { service: storage })
  for (const version of ['v1', 'v2']) {
    const { paths } = (await read(`/openapi/${version}.json`)).body
    const { put } = paths[`/api/${version}/contents/{name}`]!
    const binary = { type: 'string', format: 'binary', maxLength: 1_048_576 }
    assert.deepEqual(Object.keys(put!.requestBody.content), [
      ...['image/png', 'text/csv', 'application/json'],
    ])
    assert.equal(put!.requestBody.required, true)
    const { examples: _, ...schema } = put!.requestBody.content['image/png'].schema
    assert.deepEqual(schema, binary)
    const { get } = paths[`/api/${version}/reports/daily`]!
    const types = Object.keys(get!.responses['200'].content)
    assert.deepEqual(types, ['text/csv', 'application/pdf'])
  }
})

test('wrong media types and sizes are mistakes at start, all at once', () => {
  const route = { method: 'PUT', path: '/a', scope, summary: 'A', handle: () => ({}) } as const
  const wrong = [
    [
      { input: { media: [] }, output: { media: 'csv/' } },
      [/input: media names a media/, /csv\/ is/],
    ],
    [{ input: { media: ['*/*', 'a/b', 'a/b'] } }, [/\*\/\* is not a media type/, /occurs twice/]],
    [{ input: { media: [1] } }, [/media is not a field/]],
    [{ maxBodyBytes: 16_777_217 }, [/maxBodyBytes is from 1 to 16777216/]],
    [{ maxBodyBytes: 1.5 }, [/maxBodyBytes is from 1/]],
    [{ maxBodyBytes: 5, method: 'GET' }, [/a GET has no body, and no maxBodyBytes/]],
    [{ maxBodyBytes: 1_048_577, method: 'POST', steps: true }, [/to 1048576: a route with steps/]],
  ] as const
  for (const [more, patterns] of wrong) {
    for (const pattern of patterns) {
      const declare = () => storage.route({ ...route, ...more } as never)
      const matches = (error: Error) =>
        error instanceof DeclarationError && pattern.test(`${error}`)
      assert.throws(declare, matches, `${pattern}`)
    }
  }
  const notes = (bodyMax: number, textMax: number) => () =>
    resource('notes', {
      fields: { id: f.id(), text: f.string().max(textMax), body: f.string().max(bodyMax) },
      list: { filter: [], contains: ['body'], sort: [] },
      access: { read: 'a', create: 'a', update: 'a', delete: 'a' },
      events: [],
      maxBodyBytes: 0,
    })
  assert.throws(notes(70_000, 1_048_577), /field text: max is at most 1048576/)
  assert.throws(
    () => service({ name: 'N', versions, resources: [notes(70_000, 1_048_576)()] }),
    ({ message }: Error) =>
      message.includes('maxBodyBytes is from 1 to 16777216') &&
      message.includes('contains: body is too long'),
  )
})
