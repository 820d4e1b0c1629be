/** A server with every kind of operation, and clients that write raw bytes. */
import net from 'node:net'
import type { TestContext } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { createLog } from '../../src/kernel/log.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { type Answer, type Endpoint, json, type Step } from '../../src/protocol/http/call.ts'
import { requireAcceptable } from '../../src/protocol/http/content-negotiation.ts'
import { createCors } from '../../src/protocol/http/cors.ts'
import type { Pipeline, PipelineSteps } from '../../src/protocol/http/exchange.ts'
import {
  createOriginResolver,
  requireHttps,
  requireServedHost,
} from '../../src/protocol/http/proxy-trust.ts'
import { addStrictTransport, STRICT_TRANSPORT } from '../../src/protocol/http/response-steps.ts'
import { requireKnownMethod } from '../../src/protocol/http/serve.ts'
import {
  createServer,
  type HttpServer,
  type ServerOptions,
} from '../../src/protocol/http/server.ts'

export interface Rig {
  readonly server: HttpServer
  readonly url: string
  readonly port: number
  /** The parsed log lines. */
  readonly lines: Record<string, unknown>[]
  /** The text of the log. */
  readonly logged: () => string
}

/** Replaces `identity/access/`: an asynchronous step that returns 401 without a key. */
const authenticate: Step = async (call) => {
  if (call.operation?.authenticated === false) return
  if (call.headers['x-api-key'] || call.query.has('api_key')) return
  throw new Failure('unauthorized', undefined, { headers: { 'WWW-Authenticate': 'ApiKey' } })
}

const echo = (call: Parameters<Step>[0]): Answer =>
  json(200, {
    route: call.route,
    path: call.path,
    segment: call.versionSegment ?? null,
    params: call.params,
    query: call.query.entries,
    body: call.body ?? null,
    bytes: call.bytes.length,
    address: call.address,
    host: call.host,
    secure: call.secure,
  })

const open = { authenticated: false }

const endpoints: Endpoint[] = [
  {
    kind: 'api',
    path: '/api/orders',
    methods: {
      GET: { ...open, handle: echo },
      POST: { ...open, body: 'required', handle: echo },
    },
  },
  {
    kind: 'api',
    path: '/api/orders/:id',
    methods: {
      GET: { ...open, handle: async (call) => echo(call) },
      PATCH: { ...open, body: 'required', handle: echo },
      DELETE: { ...open, handle: () => ({ status: 204 }) },
    },
  },
  {
    kind: 'api',
    path: '/api/orders/:id/pay',
    methods: { POST: { ...open, body: 'optional', handle: echo } },
  },
  {
    kind: 'api',
    path: '/api/users',
    methods: { GET: { handle: echo }, POST: { body: 'required', handle: echo } },
  },
  {
    kind: 'public',
    path: '/page',
    methods: {
      GET: {
        ...open,
        produces: ['text/html'],
        handle: () => ({
          status: 200,
          raw: '<p>ä</p>',
          headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'max-age=60' },
        }),
      },
    },
  },
  {
    kind: 'public',
    path: '/bug',
    methods: {
      GET: {
        ...open,
        handle: () => {
          throw new Error('inner secret')
        },
      },
      POST: { ...open, handle: () => ({ status: 200, headers: { 'x-bad': 'a\r\nb' } }) },
      PUT: { ...open, handle: async () => Promise.reject(new Error('inner secret')) },
    },
  },
  { kind: 'probe', path: '/healthz', methods: { GET: { ...open, handle: () => json(200, {}) } } },
]

export interface RigOptions extends Partial<ServerOptions> {
  readonly origins?: string
  readonly trustProxy?: string
  readonly more?: readonly Endpoint[]
  /** Steps after those of the rig. */
  readonly head?: readonly Step[]
}

/** Listens on a free port until the test ends. */
export async function start(t: TestContext, options: RigOptions = {}): Promise<Rig> {
  const cors = createCors(options.origins)
  const steps: PipelineSteps = {
    head: [
      requireHttps,
      requireServedHost({ publicUrl: 'https://api.example', host: '127.0.0.1' }),
      cors.preflight,
      requireKnownMethod,
      authenticate,
      requireAcceptable('gatehook'),
      ...(options.head ?? []),
    ],
    refused: [],
    out: [cors.addHeaders, async () => {}, addStrictTransport(STRICT_TRANSPORT)],
  }
  const unknown: PipelineSteps = { ...steps, head: steps.head.slice(0, 4) }
  const pipeline: Pipeline = {
    probe: steps,
    public: steps,
    api: steps,
    root: steps,
    admin: steps,
    portal: steps,
    mcp: steps,
    oauth: steps,
    page: steps,
    unknown,
  }
  let logged = ''
  const destination = { write: (line: string) => void (logged += line) }
  const server = createServer({
    endpoints: [...endpoints, ...(options.more ?? [])],
    pipeline,
    log: createLog({ level: 'info', destination }),
    clock: wallClock,
    random: systemRandom(),
    identifyAgain: ({ principal }) => principal,
    resolveOrigin: createOriginResolver(options.trustProxy),
    roots: new Set(['orders', 'users']),
    documentation: () => 'https://api.example/docs/errors',
    ...options,
  })
  onEnd(t, () => server.close())
  const { url, port } = await server.listen({ host: '127.0.0.1', port: 0 })
  return {
    server,
    url,
    port,
    logged: () => logged,
    get lines() {
      return logged
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    },
  }
}

/** A server with `/slow`, which reports a request and responds on demand. */
export async function withSlow(t: TestContext) {
  const gate = Promise.withResolvers<void>()
  const entered = Promise.withResolvers<void>()
  const handle = async () => {
    entered.resolve()
    await gate.promise
    return { status: 200, json: '"done"' }
  }
  const methods = { GET: { ...open, handle } }
  const rig = await start(t, { more: [{ kind: 'public', path: '/slow', methods }] })
  return { ...rig, gate, entered }
}

export interface RawAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

/** Writes bytes and reads until the server closes the connection. */
export function talk(port: number, ...parts: (string | Uint8Array)[]): Promise<RawAnswer[]> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1')
    const chunks: Buffer[] = []
    socket.on('connect', () => {
      for (const part of parts) socket.write(part)
    })
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(answersIn(Buffer.concat(chunks))))
  })
}

/** Splits a stream into responses by their framing, so that wrong framing is detected. */
export function answersIn(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = []
  while (bytes.length > 0) {
    const end = bytes.indexOf('\r\n\r\n')
    if (end < 0) throw new Error(`no answer in ${JSON.stringify(bytes.toString())}`)
    const [line = '', ...fields] = bytes.toString('latin1', 0, end).split('\r\n')
    const headers = Object.fromEntries(
      fields.map((field) => {
        const at = field.indexOf(':')
        return [field.slice(0, at).toLowerCase(), field.slice(at + 1).trim()]
      }),
    )
    const length = Number(headers['content-length'] ?? 0)
    const body = bytes.toString('utf8', end + 4, end + 4 + length)
    answers.push({ status: Number(line.split(' ')[1]), headers, body })
    bytes = bytes.subarray(end + 4 + length)
  }
  return answers
}

/** Returns the text of a request with Host and `Connection: close`. */
export const request = (line: string, ...headers: string[]): string =>
  `${[`${line} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`
