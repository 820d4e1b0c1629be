/** Sends one request on one connection and reads its response, within bounds (§9.9). */
import type { Socket } from 'node:net'
import { type AttemptRequest, FINAL_STATUS } from './attempt.ts'
import { BodyBytes } from './body-bytes.ts'
import type { PooledConnection } from './connection-pool.ts'
import type { ResponseGuard } from './response-guard.ts'
import { type Diagnosis, describeFailure, diagnose } from './socket-error.ts'

/** The part of undici's client that this file uses; `transport.ts` creates it. */
interface HttpClient {
  dispatch(
    request: {
      path: string
      method: HttpMethod
      headers: Record<string, string>
      body: AttemptRequest['body']
    },
    handler: ExchangeHandler,
  ): boolean
}

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface ResponseController {
  /** Names and values in turn, as bytes. */
  readonly rawHeaders?: unknown
  pause(): void
  resume(): void
}

/** The part of undici's handlers that exchanges have. */
export interface ExchangeHandler {
  onRequestStart(controller: ResponseController): void
  onResponseStart(
    controller: ResponseController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void
  onResponseData(controller: ResponseController, chunk: Buffer): void
  onResponseEnd(): void
  onResponseError(controller: ResponseController, error: unknown): void
}

export interface ClientConnection extends PooledConnection {
  readonly client: HttpClient
  /** Requests written on the current socket. */
  requestCount: number
  socket: Socket | undefined
  guard: ResponseGuard | undefined
}

interface ExchangeLimits {
  /** Bytes of the response body that the outcome contains. */
  readonly loggedBodyBytes: number
  /** A longer response body is cut; its status counts. */
  readonly bodyBytes: number
  /** Characters of response headers that the outcome contains. */
  readonly loggedHeaderCharacters: number
}

export type ExchangeResult =
  | {
      kind: 'answered'
      status: number
      headers: Record<string, string>
      body: string
      isWhole: boolean
    }
  | ({ kind: 'failed' } & Diagnosis)

export const failedExchange = (diagnosis: Diagnosis): ExchangeResult => ({
  kind: 'failed',
  ...diagnosis,
})

/**
 * Receives the end of an exchange. `stale`: the receiver had closed the idle connection before it
 * could read the request.
 */
export type OnExchangeEnd = (
  connection: ClientConnection,
  result: ExchangeResult | 'stale',
  isReusable: boolean,
) => void

/** A handler for undici's `dispatch`. */
export class PostExchange implements ExchangeHandler {
  readonly #connection: ClientConnection
  readonly #limits: ExchangeLimits
  readonly #onEnd: OnExchangeEnd
  readonly #body = new BodyBytes()
  #bytes = 0
  #status = 0
  #headers: Record<string, string> = {}
  #isReused = false
  #hasEnded = false

  /** Calls `onEnd` once. */
  constructor(connection: ClientConnection, limits: ExchangeLimits, onEnd: OnExchangeEnd) {
    this.#connection = connection
    this.#limits = limits
    this.#onEnd = onEnd
  }

  start(path: string, { method = 'POST', headers, body }: AttemptRequest): void {
    this.#connection.client.dispatch({ path, method, headers, body }, this)
  }

  onRequestStart(): void {
    const connection = this.#connection
    this.#isReused = connection.requestCount > 0
    connection.requestCount++
    connection.guard?.begin()
  }

  onResponseStart(
    _: ResponseController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < FINAL_STATUS.min || status > FINAL_STATUS.max) {
      this.#end(failedExchange(describeFailure('protocol')))
      return
    }
    this.#status = status
    this.#headers = limitHeaders(headers, this.#limits.loggedHeaderCharacters)
  }

  onResponseData(_: ResponseController, chunk: Buffer): void {
    const { loggedBodyBytes, bodyBytes } = this.#limits
    this.#connection.guard?.countBody(chunk.length)
    const space = loggedBodyBytes - this.#bytes
    if (space > 0) this.#body.add(chunk.length > space ? chunk.subarray(0, space) : chunk)
    this.#bytes += chunk.length
    if (this.#bytes > bodyBytes) this.#end(this.#response())
  }

  onResponseEnd(): void {
    this.#end(this.#response(this.#bytes <= this.#limits.loggedBodyBytes), true)
  }

  onResponseError(_: ResponseController, error: unknown): void {
    // The status decides (§9.6), even if the body is incomplete.
    this.#end(this.#status === 0 ? this.#failure(error) : this.#response())
  }

  #failure(error: unknown): ExchangeResult | 'stale' {
    const diagnosis = diagnose(error)
    const isStale =
      diagnosis.reason === 'reset' && this.#isReused && !this.#connection.guard?.hasBegun
    return isStale ? 'stale' : failedExchange(diagnosis)
  }

  #response(isWhole = false): ExchangeResult {
    const body = this.#body.read().toString('utf8')
    return { kind: 'answered', status: this.#status, headers: this.#headers, body, isWhole }
  }

  #end(result: ExchangeResult | 'stale', isReusable = false): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#onEnd(this.#connection, result, isReusable)
  }
}

/** Returns the headers that fit into `maxCharacters`, each as one text. */
function limitHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  maxCharacters: number,
): Record<string, string> {
  const limitedHeaders: Record<string, string> = {}
  let space = maxCharacters
  for (const name in headers) {
    const value = headers[name] ?? ''
    const text = Array.isArray(value) ? value.join(', ') : value
    space -= name.length + text.length
    if (space < 0) continue
    // An assignment to `__proto__` would set the prototype.
    if (name === '__proto__')
      Object.defineProperty(limitedHeaders, name, { value: text, enumerable: true })
    else limitedHeaders[name] = text
  }
  return limitedHeaders
}
