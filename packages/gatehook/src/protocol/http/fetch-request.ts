/**
 * Serves a `Request` (Fetch standard) and returns its `Response`: Node's client and server, joined
 * by a pair of streams. Both bodies are streams, with back-pressure; an abort ends the other side.
 */
import type { IncomingMessage } from 'node:http'
import { type Duplex, duplexPair, pipeline, Readable } from 'node:stream'
import type { ReadableStream as NodeStream } from 'node:stream/web'
import { Failure } from '../../kernel/failure.ts'
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

/**
 * Throws 400 `invalid_request` for a body that differs from its declared length.
 *
 * @param connect Serves the requests of a connection.
 */
export async function fetchThrough(
  connect: (stream: Duplex) => void,
  request: Request,
  { target, address, secure }: MountedRequest,
): Promise<Response> {
  request.signal.throwIfAborted()
  const length = declaredLength(request)
  if (request.body === null && length) throw wrongLength()
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
    headers: headersOf(request, length),
  })
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
    else {
      const body = Readable.fromWeb(request.body as NodeStream)
      const source = length === undefined ? body : ofLength(body, length, reject)
      pipeline(source, sent, () => undefined)
    }
  })
}

/** Returns the length that a request declares for its body; undefined for none. */
function declaredLength({ headers, method }: Request): number | undefined {
  const text = headers.get('content-length') ?? ''
  // Adapters drop the body of a GET, which a `Request` cannot have.
  const isDeclared = /^\d+$/.test(text) && method !== 'GET' && method !== 'HEAD'
  return isDeclared ? Number(text) : undefined
}

const wrongLength = (): Failure =>
  new Failure('invalid_request', 'The length of the body is not that of its Content-Length.')

/**
 * A part of the application may have replaced the body and not its length. The last chunk passes
 * when the body has ended: the server does not act on a body that goes on, and the rest is no
 * second request.
 *
 * @param reject Receives the failure: the request that `pipeline` destroys does not report it.
 */
async function* ofLength(
  body: AsyncIterable<Uint8Array>,
  length: number,
  reject: (failure: Failure) => void,
) {
  let bytes = 0
  let last: Uint8Array | undefined
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > length) break
    if (bytes < length) yield chunk
    else last ??= chunk
  }
  if (bytes !== length) {
    const failure = wrongLength()
    reject(failure)
    throw failure
  }
  if (last !== undefined) yield last
}

const connectionCut = (): Error => new Error('The connection was cut.')

function headersOf(request: Request, length: number | undefined): string[] {
  const host = request.headers.get('host') ?? new URL(request.url).host
  const lines = ['host', host]
  for (const [name, value] of request.headers) {
    if (!OWN_HEADERS.has(name)) lines.push(name, value)
  }
  if (request.body === null) return lines
  // Without either line, Node would write the body of a DELETE after the request.
  const framing =
    length === undefined ? ['transfer-encoding', 'chunked'] : ['content-length', String(length)]
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
