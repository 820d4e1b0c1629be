/**
 * Serves a `Request` (Fetch standard) and returns its `Response`: Node's client and server, joined
 * by a pair of streams. Both bodies are streams, with back-pressure; an abort ends the other side.
 */
import type { IncomingMessage } from 'node:http'
import { type Duplex, duplexPair, pipeline, Readable } from 'node:stream'
import type { ReadableStream as NodeStream } from 'node:stream/web'
import type { MountedRequest } from './mounted-request.ts'

const { request: createRequest } = process.getBuiltinModule('node:http')

/** They belong to one connection (RFC 9110 §7.6.1), or `createRequest` writes them. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

/** @param connect Serves the requests of a connection. */
export async function fetchThrough(
  connect: (stream: Duplex) => void,
  request: Request,
  { target, address, secure }: MountedRequest,
): Promise<Response> {
  request.signal.throwIfAborted()
  const [near, far] = duplexPair()
  connect(Object.assign(far, { remoteAddress: address ?? '', encrypted: secure }))
  // A connection that is cut has an incomplete response.
  far.once('close', () => near.destroy(far.writableFinished ? undefined : connectionCut()))
  near.once('close', () => far.destroy())
  near.on('error', () => undefined)
  const sent = createRequest({
    createConnection: () => near,
    method: request.method,
    path: target,
    headers: headersOf(request),
  })
  // A body that differs from its declared length would be a second request.
  Object.assign(sent, { strictContentLength: true })
  const abort = () => void sent.destroy(request.signal.reason)
  request.signal.addEventListener('abort', abort, { once: true })
  return new Promise((resolve, reject) => {
    sent.once('response', (response) => {
      response.once('close', () => {
        request.signal.removeEventListener('abort', abort)
        near.destroy()
      })
      resolve(responseOf(response, request.method))
    })
    sent.on('error', reject)
    if (request.body === null) sent.end()
    else pipeline(Readable.fromWeb(request.body as NodeStream), sent, () => undefined)
  })
}

const connectionCut = (): Error => new Error('The connection was cut.')

function headersOf(request: Request): string[] {
  const host = request.headers.get('host') ?? new URL(request.url).host
  const lines = ['host', host]
  for (const [name, value] of request.headers) {
    if (!OWN_HEADERS.has(name)) lines.push(name, value)
  }
  if (request.body === null) return lines
  const length = request.headers.get('content-length') ?? ''
  // Without either line, Node would write the body of a DELETE after the request.
  const framing = /^\d+$/.test(length)
    ? ['content-length', length]
    : ['transfer-encoding', 'chunked']
  return [...lines, ...framing]
}

function responseOf(response: IncomingMessage, method: string): Response {
  const headers = new Headers()
  const { rawHeaders, statusCode: status = 500 } = response
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase()
    const isOfConnection = OWN_HEADERS.has(name) && name !== 'content-length'
    if (!isOfConnection) headers.append(name, rawHeaders[at + 1]!)
  }
  if (method === 'HEAD' || BODILESS.has(status)) {
    response.resume()
    return new Response(null, { status, headers })
  }
  return new Response(Readable.toWeb(response) as ReadableStream, { status, headers })
}
