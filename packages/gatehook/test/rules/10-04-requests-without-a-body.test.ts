/**
 * §10.4: a request without a body has one response, however its head says so: without framing
 * (RFC 9112 §6.3), with a length of 0, or with no chunk. Sockets, because `inject` always frames.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'
import { f, fields, resource, service } from '../../src/gatehook.ts'
import { openUpstream } from '../forwards/upstream-rig.ts'
import { talk } from '../http/rig.ts'

const scope = 'notes:write'
const notes = resource('notes', {
  fields: { id: f.id(), text: f.string() },
  list: { filter: [], sort: [] },
  access: { read: 'notes:read', create: scope, update: scope, delete: scope },
  batch: true,
  events: [],
})
const input = fields({ note: f.string().nullable().default(null) })
const own = { scope, summary: 'An own route' }
const forwarded = { to: 'billing', upstreamPath: '/x', scope } as const

const inFrontOf = (url: string) =>
  service({
    name: 'Notes',
    versions: { v1: { released: '2026-01-01' } },
    resources: [notes],
  })
    .upstream('billing', { url, timeoutMs: 60_000 })
    .route({ ...own, method: 'POST', path: '/pings', handle() {} })
    .route({ ...own, method: 'POST', path: '/greetings', input, handle() {} })
    .route({ ...own, method: 'DELETE', path: '/pings', handle() {} })
    .route({ ...own, method: 'PUT', path: '/file', input: { media: 'text/csv' }, handle() {} })
    .route({
      ...{ ...own, method: 'POST', path: '/steps', steps: true, input: { media: 'text/csv' } },
      async handle({ step }) {
        await step('one', () => 1)
      },
    })
    .forward({ ...forwarded, method: 'POST', path: '/passed' })
    .forward({ ...forwarded, method: 'PUT', path: '/passed' })
    .forward({ ...forwarded, method: 'PATCH', path: '/passed' })
    .forward({ ...forwarded, method: 'DELETE', path: '/passed' })
    .forward({ ...forwarded, method: 'GET', path: '/passed' })
    .forward({ ...forwarded, method: 'POST', path: '/declared', input })
    .forward({ ...forwarded, method: 'POST', path: '/media', input: { media: 'text/csv' } })

const requests: readonly [line: string, status: number, headers?: readonly string[]][] = [
  ['GET /api/v1/notes', 200],
  ['POST /api/v1/notes', 400],
  ['POST /api/v1/notes/batch', 400],
  ['PATCH /api/v1/notes/7', 400],
  ['DELETE /api/v1/notes/7', 404],
  ['POST /api/v1/pings', 204],
  ['POST /api/v1/greetings', 204],
  ['DELETE /api/v1/pings', 204],
  ['PUT /api/v1/file', 204, ['Content-Type: text/csv']],
  ['PUT /api/v1/file', 415],
  ['POST /api/v1/steps', 204, ['Content-Type: text/csv', 'Idempotency-Key: a#']],
  ['POST /api/v1/passed', 200],
  ['POST /api/v1/passed', 200, ['Content-Type: text/csv']],
  ['POST /api/v1/passed', 200, ['Idempotency-Key: b#']],
  ['PUT /api/v1/passed', 200],
  ['PATCH /api/v1/passed', 200],
  ['DELETE /api/v1/passed', 200],
  ['GET /api/v1/passed', 200],
  ['POST /api/v1/declared', 200],
  ['POST /api/v1/media', 200, ['Content-Type: text/csv']],
  ['POST /webhooks', 400],
  ['POST /oauth/token', 400],
  ['POST /oauth/revoke', 401],
  ['POST /mcp', 400],
  ['POST /api/v1/none', 404],
]

const CHUNKED = 'Transfer-Encoding: chunked'
const EXPECT = 'Expect: 100-continue'
const CLOSE = 'Connection: close'
const framings: readonly [version: string, headers: readonly string[], body?: string][] = [
  ['1.1', []],
  ['1.1', ['Content-Length: 0']],
  ['1.1', [CHUNKED], '0\r\n\r\n'],
  ['1.1', [CLOSE, EXPECT]],
  ['1.1', [CLOSE, EXPECT, 'Content-Length: 0']],
  ['1.1', [CLOSE, EXPECT, CHUNKED], '0\r\n\r\n'],
  ['1.0', []],
  ['1.0', ['Content-Length: 0']],
]

// The next request of the connection is served: its bytes were not read as a body.
const next = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'

test('every kind of route answers a request without a body, and the next request', async (t) => {
  const upstream = await openUpstream(t)
  const { app, key } = await openService(t, 'sqlite', { service: inFrontOf(upstream.url) })
  const { port } = await app.listen()
  const credential = `X-API-Key: ${await key()}`
  for (const [count, [version, framing, body = '']] of framings.entries()) {
    const after = version === '1.0' || framing.includes(CLOSE) ? [] : [200]
    const send = async ([line, , headers = []]: (typeof requests)[number]) => {
      const head = [`${line} HTTP/${version}`, 'Host: localhost', ...framing, ...headers]
      if (!line.includes('/oauth/')) head.push(credential)
      const sent = [...head, '\r\n'].join('\r\n').replace('#', String(count))
      const text = `${sent}${body}${after.length > 0 ? next : ''}`
      const answers = (await talk(port, text)).filter(({ status }) => status !== 100)
      return [line, ...answers.map(({ status }) => status)]
    }
    const expected = requests.map(([line, status]) => [line, status, ...after])
    assert.deepEqual(await Promise.all(requests.map(send)), expected, `${version} ${framing}`)
    const received = upstream.received.splice(0).map(({ method, body }) => method + body)
    const posts = ['POST', 'POST', 'POST', 'POST', 'POST{}']
    assert.deepEqual(received.sort(), ['DELETE', 'GET', 'PATCH', ...posts, 'PUT'])
  }
})
