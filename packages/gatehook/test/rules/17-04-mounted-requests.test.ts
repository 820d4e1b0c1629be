/**
 * §17.4: the requests of a mounted engine: no forwarded header, no privilege of loopback, bounds,
 * aborts, streams, and a graceful end.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setImmediate as immediate } from 'node:timers/promises'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import type { Sender } from '../../src/mounted.ts'
import { smallChunksOf } from '../../src/protocol/http/small-chunks.ts'
import { BASE, each, keyOf, mounted, raw, SENDER, sendTo, serverOf } from '../fixtures/mounted.ts'
import { talk } from '../http/rig.ts'

each('no forwarded header is read, and loopback has no privilege', async (t, kind) => {
  const gatehook = await mounted(t, kind, { GATEHOOK_TRUST_PROXY: '0.0.0.0/0,::/0' })
  const send = sendTo(gatehook)
  const forwarded = {
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'mount.example',
  }
  const remote: Sender = { address: '198.51.100.1', secure: false }
  const plain = await send('/gatehook/', { headers: forwarded, sender: remote })
  assert.equal(plain.status, 403)
  assert.equal(((await plain.json()) as { error: string }).error, 'https_required')
  const local: Sender = { address: '127.0.0.1', secure: true }
  assert.equal((await send('/gatehook/metrics', { sender: local })).status, 401)
  assert.equal((await send('/gatehook/', { sender: { secure: false } })).status, 403)
  const url = await serverOf(t, (incoming, outgoing) => void gatehook.node(incoming, outgoing))
  const host = { host: 'mount.example' }
  assert.equal((await raw(url, '/gatehook/metrics', host)).status, 401)
  assert.equal((await raw(url, '/gatehook/', { ...forwarded, host: 'other.example' })).status, 421)
  const narrow = await keyOf(send, { cidrs: ['127.0.0.0/8'] })
  assert.equal((await send('/gatehook/events', { key: narrow, headers: forwarded })).status, 403)
  assert.equal((await send('/gatehook/events', { key: narrow, sender: local })).status, 200)
})

each('without an address, passwords, Basic and keys with cidrs are refused', async (t, kind) => {
  const gatehook = await mounted(t, kind, {
    GATEHOOK_RATE_LIMIT: '20/60',
    GATEHOOK_BASIC_ALLOWED_CIDRS: '0.0.0.0/0,::/0',
  })
  const send = sendTo(gatehook)
  const sender: Sender = { secure: true }
  const narrow = await keyOf(send, { cidrs: ['0.0.0.0/0', '::/0'] })
  const wide = await keyOf(send)
  assert.equal((await send('/gatehook/events', { key: narrow })).status, 200)
  assert.equal((await send('/gatehook/events', { key: narrow, sender })).status, 403)
  assert.equal((await send('/gatehook/events', { key: wide, sender })).status, 200)
  const login = { username: 'ada@example.com', password: 'a long password' }
  const signIn = (from: Sender) =>
    send('/gatehook/auth/login', { method: 'POST', json: login, sender: from })
  assert.equal((await signIn(SENDER)).status, 401)
  const refused = await signIn(sender)
  assert.equal(refused.status, 403)
  assert.match(((await refused.json()) as { message: string }).message, /address of the client/)
  const authorization = `Basic ${btoa('ada@example.com:a long password')}`
  const basic = await send('/gatehook/api/v2/users', { headers: { authorization }, sender })
  assert.equal(basic.status, 401)
  const anonymous = async () => (await send('/gatehook/', { sender })).status
  const statuses: number[] = []
  for (let count = 0; count < 25; count++) statuses.push(await anonymous())
  assert.equal(statuses.at(-1), 429, 'anonymous requests without an address share one limit')
  assert.equal((await send('/gatehook/')).status, 200, 'others have their own')
  assert.equal((await send('/gatehook/events', { key: wide, sender })).status, 200)
})

each('a body that was read before is a 500 that says so', async (t, kind) => {
  const gatehook = await mounted(t, kind)
  const url = await serverOf(t, async (incoming, outgoing) => {
    for await (const _ of incoming);
    await gatehook.node(incoming, outgoing, { secure: true })
  })
  const init = { method: 'POST', headers: { host: 'mount.example' }, body: '{}' }
  const replies = [await fetch(`${url}/gatehook/auth/login`, init)]
  const read = new Request(`${BASE}/auth/login`, init)
  await read.text()
  replies.push(await gatehook.fetch(read, SENDER))
  for (const reply of replies) {
    assert.equal(reply.status, 500)
    const { error, message } = (await reply.json()) as Record<string, string>
    assert.equal(error, 'internal_error')
    assert.match(message!, /has read the body/)
  }
  assert.equal((await fetch(`${url}/gatehook/healthz`)).status, 200, 'no body to read')
})

each('console and portal are served at the root of a host only, unless asked', async (t, kind) => {
  const paths = ['/console', '/console/keys', '/portal', '/console/session', '/portal/api/keys']
  const below = await mounted(t, kind)
  const send = sendTo(below)
  for (const path of paths) assert.equal((await send(`/gatehook${path}`)).status, 404, path)
  const links = (await (await send('/gatehook/')).json()) as { links: Record<string, string> }
  assert.deepEqual([links.links.console, links.links.docs], [undefined, '/gatehook/docs'])
  await below.close()
  const root = await mounted(t, kind, { GATEHOOK_PUBLIC_URL: 'https://mount.example' })
  for (const path of paths) assert.notEqual((await sendTo(root)(path)).status, 404, path)
})

each(
  'bodies have their bounds, and an upload that is aborted ends its request',
  async (t, kind) => {
    const gatehook = await mounted(t, kind)
    const send = sendTo(gatehook)
    const key = await keyOf(send)
    const url = await serverOf(t, (incoming, outgoing) => {
      void gatehook.node(incoming, outgoing, { secure: true })
    })
    const large = JSON.stringify({ name: 'x'.repeat(1_100_000) })
    const headers = { 'content-type': 'application/json', 'x-api-key': key, host: 'mount.example' }
    const init = { method: 'POST', headers, body: large }
    assert.equal((await send('/gatehook/api/v2/users', init)).status, 413)
    assert.equal((await fetch(`${url}/gatehook/api/v2/users`, init)).status, 413)
    let pulled = 0
    let isCancelled = false
    const endless = new ReadableStream({
      pull(controller) {
        pulled++
        controller.enqueue(new Uint8Array(65_536).fill(32))
      },
      cancel() {
        isCancelled = true
      },
    })
    const streamed = new Request(`${BASE}/api/v2/users`, {
      ...init,
      body: endless,
      duplex: 'half',
    } as RequestInit)
    assert.equal((await gatehook.fetch(streamed, SENDER)).status, 413)
    assert.ok(pulled < 1_000, `${pulled} chunks`)
    for (let count = 0; count < 1_000 && !isCancelled; count++) await immediate()
    assert.ok(isCancelled, 'the rest is not read')
    const aborter = new AbortController()
    const half = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"email":'))
        setImmediate(() => aborter.abort())
      },
    })
    const aborted = new Request(`${BASE}/api/v2/users`, {
      ...init,
      body: half,
      duplex: 'half',
      signal: aborter.signal,
    } as RequestInit)
    await assert.rejects(gatehook.fetch(aborted, SENDER), { name: 'AbortError' })
  },
)

each('requests of a connection have the bounds of the own server', async (t, kind) => {
  const gatehook = await mounted(t, kind)
  const listen = (handle: (request: IncomingMessage, response: ServerResponse) => void) =>
    serverOf(t, handle).then((url) => Number(new URL(url).port))
  let latest: IncomingMessage | undefined
  const port = await listen((incoming, outgoing) => {
    latest = incoming
    void gatehook.node(incoming, outgoing, { secure: true })
  })
  const head = (line: string, ...headers: string[]) =>
    `${[`${line} HTTP/1.1`, 'Host: mount.example', ...headers].join('\r\n')}\r\n\r\n`
  for (const path of ['/gatehook/nothing', '/gatehook/api/v2/users', '/gatehook/healthz']) {
    assert.equal((await talk(port, head(`GET ${path}`).repeat(500))).length, 8, path)
  }
  const json = ['Content-Type: application/json', `X-API-Key: ${await keyOf(sendTo(gatehook))}`]
  const chunked = ['Transfer-Encoding: chunked', 'Connection: close', ...json]
  const body = `${'1\r\nx\r\n'.repeat(16_385)}0\r\n\r\n`
  const [many] = await talk(port, head('POST /gatehook/api/v2/users', ...chunked), body)
  assert.equal(many?.status, 413, 'a body in tiny chunks')
  assert.equal(smallChunksOf(latest!)?.count, 16_385, 'they are merged')
  // The application can pass the requests of a connection in any order.
  const pending: (() => void)[] = []
  const reversed = await listen((incoming, outgoing) => {
    pending.unshift(() => void gatehook.node(incoming, outgoing, { secure: true }))
    if (pending.length === 12) for (const pass of pending) pass()
  })
  const health = head('GET /gatehook/healthz')
  const last = head('GET /gatehook/healthz', 'Connection: close')
  const answers = await talk(reversed, health.repeat(11), last)
  assert.ok(answers.length <= 8, `${answers.length}`)
  assert.ok(answers.every(({ status }) => status === 200))
})

each('requests of HTTP/2 are served at once, more than eight of a connection', async (t, kind) => {
  const gatehook = await mounted(t, kind)
  const server = http2.createServer((incoming, outgoing) => {
    const [request, response] = [incoming as unknown, outgoing as unknown]
    void gatehook.node(request as IncomingMessage, response as ServerResponse, { secure: true })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => server.close())
  const { port } = server.address() as AddressInfo
  const client = http2.connect(`http://127.0.0.1:${port}`)
  onEnd(t, () => client.destroy())
  const statusOf = async () => {
    const stream = client.request({ ':path': '/gatehook/healthz', ':authority': 'mount.example' })
    const [headers] = await once(stream, 'response')
    stream.resume()
    return headers[':status']
  }
  const statuses = await Promise.all(Array.from({ length: 20 }, statusOf))
  assert.deepEqual(new Set(statuses), new Set([200]))
})

/** Bodies as chunks, of which none has the length that the request declares. */
const USER = '{"email":"l@example.com","name":"L"}'
const SECOND = 'DELETE /admin/keys/1 HTTP/1.1\r\nhost: mount.example\r\n\r\n'
const WRONG_LENGTHS: readonly [title: string, chunks: readonly string[] | null, length: number][] =
  [
    ['no body', null, USER.length],
    ['an empty body', [], USER.length],
    ['a shorter body', [USER], USER.length + 1],
    ['a longer body', [`${USER} `], USER.length],
    ['a body that goes on after its length', [USER, '', ' '], USER.length],
    ['a second request behind the body', [USER, SECOND], USER.length],
    ['a body without length', [USER], 0],
  ]

each('a body whose length is not the declared one is a 400, and has no effect', async (t, kind) => {
  const gatehook = await mounted(t, kind)
  const send = sendTo(gatehook)
  const key = await keyOf(send)
  const create = async (chunks: readonly string[] | null, length: number) => {
    const headers = { 'content-type': 'application/json', 'content-length': String(length) }
    const body = chunks && ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk)))
    const init = { method: 'POST', key, headers, body, duplex: 'half' } as RequestInit
    return send('/gatehook/api/v2/users', init)
  }
  for (const [title, chunks, length] of WRONG_LENGTHS) {
    const reply = await create(chunks, length)
    assert.equal(reply.status, 400, title)
    assert.equal(((await reply.json()) as { error: string }).error, 'invalid_request', title)
  }
  const list = await send('/gatehook/api/v2/users', { key })
  assert.deepEqual(((await list.json()) as { data: unknown[] }).data, [])
  const { length } = USER
  assert.equal((await create([USER.slice(0, 5), USER.slice(5), ''], length)).status, 201)
})

each('responses change nothing of the host but their own path', async (t, kind) => {
  const gatehook = await mounted(t, kind, {}, { pages: true })
  const send = sendTo(gatehook)
  const large = { headers: { 'x-large': 'x'.repeat(40_000) } }
  const replies = {
    page: await send('/gatehook/docs'),
    unknown: await send('/gatehook/nothing'),
    parser: await send('/gatehook/', large),
    console: await send('/gatehook/console/session', { method: 'DELETE' }),
    portal: await send('/gatehook/portal/session', { method: 'DELETE' }),
  }
  assert.equal(replies.parser.status, 431)
  assert.deepEqual([replies.console.status, replies.portal.status], [204, 204])
  for (const [name, { headers }] of Object.entries(replies)) {
    assert.equal(headers.get('strict-transport-security'), 'max-age=31536000', name)
    assert.equal(headers.get('clear-site-data'), null, name)
  }
})

each('without an address, plain HTTP is for a public URL of this machine', async (t, kind) => {
  const plain: Sender = { secure: false }
  const statusOf = async (publicUrl: string, host: string) => {
    const gatehook = await mounted(t, kind, { GATEHOOK_PUBLIC_URL: publicUrl })
    const reply = await sendTo(gatehook)('/gatehook/docs', { headers: { host }, sender: plain })
    await gatehook.close()
    return reply.status
  }
  assert.equal(await statusOf(BASE, 'localhost'), 403)
  assert.equal(await statusOf(BASE, '127.0.0.1'), 403)
  assert.notEqual(await statusOf('http://localhost:3000/gatehook', 'localhost:3000'), 403)
})

each(
  'streams pass, with back-pressure, and end with their reader or the drain',
  async (t, kind) => {
    const gatehook = await mounted(t, kind)
    const send = sendTo(gatehook)
    const key = await keyOf(send)
    const url = await serverOf(t, (incoming, outgoing) => {
      void gatehook.node(incoming, outgoing, { secure: true })
    })
    const decoder = new TextDecoder()
    const streams = [
      await send('/gatehook/events/stream', { key }),
      await fetch(`${url}/gatehook/events/stream`, {
        headers: { 'x-api-key': key, host: 'mount.example' },
      }),
    ]
    const readers = streams.map((reply) => {
      assert.match(reply.headers.get('content-type')!, /^text\/event-stream/)
      return reply.body!.getReader()
    })
    const json = { email: 'c@example.com', name: 'C' }
    await send('/gatehook/api/v2/users', { method: 'POST', key, json })
    for (const reader of readers) {
      let text = ''
      while (!text.includes('user.created')) text += decoder.decode((await reader.read()).value)
    }
    await readers[0]!.cancel()
    await gatehook.drain()
    for (;;) if ((await readers[1]!.read()).done) break
    const ready = await send('/gatehook/readyz')
    assert.equal(ready.status, 503)
    await gatehook.close()
    assert.equal((await send('/gatehook/healthz')).status, 503)
  },
)
