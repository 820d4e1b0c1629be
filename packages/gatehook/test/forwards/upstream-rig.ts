/** Upstreams with real sockets, and services in front of them. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import {
  type AddressInfo,
  createServer as createSocketServer,
  type Server as NetServer,
  type Socket,
} from 'node:net'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { f, fields, service } from '../../src/gatehook.ts'

/** A request as the upstream received it. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly body: string
}

type Respond = (request: Received, response: ServerResponse) => void

export interface UpstreamServer {
  readonly url: string
  readonly received: Received[]
  readonly server: Server
  /** Replaces the response. Default: 200 with `{}`. */
  respond: Respond
  /** The sockets that are open. */
  readonly sockets: Set<Socket>
}

export const replyJson =
  (status: number, body: unknown, headers: Record<string, string> = {}): Respond =>
  (_, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body))

export async function openUpstream(t: TestContext, respond = replyJson(200, {})) {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method = '', url = '', headers, rawHeaders } = request
    const arrived = { method, path: url, headers, rawHeaders, body }
    received.push(arrived)
    upstream.respond(arrived, response)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const url = await listen(t, server)
  const upstream: UpstreamServer = { url, received, server, respond, sockets }
  onEnd(t, () => server.closeAllConnections())
  return upstream
}

/** Opens a server that answers with bytes, which need not be HTTP. */
export async function openBytes(t: TestContext, answer: (socket: Socket, count: number) => void) {
  const sockets = new Set<Socket>()
  let count = 0
  const heads: string[] = []
  const server = createSocketServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      if (!chunk.includes('\r\n\r\n')) return
      heads.push(chunk.toString())
      answer(socket, ++count)
    })
    socket.on('close', () => sockets.delete(socket))
  })
  const url = await listen(t, server)
  onEnd(t, () => {
    for (const socket of sockets) socket.destroy()
  })
  return { url, sockets, heads, count: () => count }
}

async function listen(t: TestContext, server: NetServer) {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export const invoice = fields({
  id: f.int(),
  total_cents: f.int(),
  note: f.string().max(500).nullable(),
  paid_at: f.time().nullable(),
}).before('v2', {
  why: 'Totals are whole cents.',
  had: { total: f.number() },
  hadNot: ['total_cents'],
  down: (body) => ({ total: body.total_cents / 100 }),
})

export const newInvoice = fields({
  total_cents: f.int().min(0),
  note: f.string().max(500).nullable().default(null),
}).before('v2', {
  why: 'Totals are whole cents.',
  had: { total: f.number() },
  hadNot: ['total_cents'],
  up: (old) => ({ total_cents: Math.round(old.total * 100) }),
})

/** Returns a service with an upstream, and no route. */
export const billing = (url: string, timeoutMs: number) =>
  service({
    name: 'Acme',
    versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } },
    resources: [],
  }).upstream('billing', { url, timeoutMs, set: { authorization: 'Bearer of-the-team' } })

/** Returns a service with a route of each kind. */
export const inFrontOf = (url: string, timeoutMs = 60_000) =>
  billing(url, timeoutMs)
    .route({
      method: 'GET',
      path: '/own',
      scope: 'invoices:read',
      summary: 'A route without an upstream',
      handle: () => ({ body: { own: true } }),
    })
    .forward({
      method: 'GET',
      path: '/invoices',
      to: 'billing',
      upstreamPath: '/invoices',
      scope: 'invoices:read',
      query: { status: f.string().max(20).nullable().default(null) },
      pass: ['X-Tenant'],
      responseHeaders: ['X-Total'],
    })
    .forward({
      method: 'GET',
      path: '/invoices/:id',
      to: 'billing',
      upstreamPath: '/invoices/:id',
      scope: 'invoices:read',
      pass: ['Accept-Encoding'],
      output: invoice,
    })
    .forward({
      method: 'POST',
      path: '/invoices',
      to: 'billing',
      upstreamPath: '/invoices',
      scope: 'invoices:write',
      input: newInvoice,
      output: invoice,
      errors: 'wrap',
    })
    .forward({
      method: 'POST',
      path: '/payments',
      to: 'billing',
      upstreamPath: '/payments',
      scope: 'invoices:write',
      query: 'pass',
      repeatable: true,
    })
    .forward({
      method: 'PATCH',
      path: '/invoices/:id',
      to: 'billing',
      upstreamPath: '/invoices/:id',
      scope: 'invoices:write',
      input: fields({ note: f.string().nullable().default(null), rank: f.int().default(3) }),
    })
    .forward({
      method: 'GET',
      path: '/invoices/:id/pdf',
      to: 'billing',
      upstreamPath: '/files/:id',
      scope: 'invoices:read',
      query: 'pass',
    })
    .forward({
      method: 'GET',
      path: '/numbered/:id',
      to: 'billing',
      upstreamPath: '/invoices/:id',
      integers: ['id'],
      scope: 'invoices:read',
    })
    .forward({
      method: 'GET',
      path: '/export',
      to: 'billing',
      upstreamPath: '/export',
      scope: 'invoices:read',
      stream: true,
    })

/** Runs a test with a service in front of an upstream, on both databases. */
export function eachForward(
  name: string,
  body: (api: TestApp, upstream: UpstreamServer, t: TestContext) => Promise<void>,
): void {
  for (const kind of ['sqlite', 'postgres'] as const) {
    test(`${name} [${kind}]`, async (t) => {
      const upstream = await openUpstream(t)
      const api = await openService(t, kind, { service: inFrontOf(`${upstream.url}/base/`) })
      await body(api, upstream, t)
    })
  }
}
