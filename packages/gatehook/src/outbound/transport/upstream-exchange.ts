/**
 * Sends one request to an upstream on one connection (§17.5), and reads its response within bounds:
 * whole, or as parts that a stream takes as fast as its reader.
 */
import type { Holding } from '../../kernel/budget.ts'
import { type FailureReason, FINAL_STATUS } from './attempt.ts'
import { BodyBytes } from './body-bytes.ts'
import type {
  ClientConnection,
  ExchangeHandler,
  HttpMethod,
  ResponseController,
} from './post-exchange.ts'
import { diagnose } from './socket-error.ts'

export interface UpstreamRequest {
  readonly origin: string
  readonly method: HttpMethod
  /** With the query. */
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array | string | null
  /** Until the whole response has arrived; of a stream until its head. */
  readonly timeoutMs: number
  /** `stream`: a response below 300 arrives in parts. `head`: its body is dropped. */
  readonly reads: 'whole' | 'stream' | 'head'
}

/** Where the parts of a stream go; `protocol/http/call.ts` has it. */
interface BodySink {
  write(chunk: Uint8Array): boolean
  drained(): Promise<void>
  end(): void
  cut(): void
  readonly closed: AbortSignal
}

interface UpstreamResponse {
  readonly kind: 'answered'
  readonly status: number
  /** Names in lower case. Values are bytes as latin1, as the server writes them. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly body: Buffer
  /** Of a stream in place of `body`. */
  readonly pipe?: (out: BodySink) => Promise<void>
}

interface UpstreamFailure {
  readonly kind: 'failed'
  /** `body`: the response is larger than its bound. `overloaded`: this node has no space for it. */
  readonly reason: FailureReason | 'body' | 'overloaded'
  /** Whether any byte of the request may have arrived. */
  readonly isSent: boolean
  /** Whether any byte of the response has arrived. */
  readonly hasBegun: boolean
}

export type UpstreamOutcome = UpstreamResponse | UpstreamFailure

interface UpstreamLimits {
  readonly bodyBytes: number
  /** The longest pause of a stream. */
  readonly pauseMs: number
}

interface ExchangeParts {
  readonly connection: ClientConnection
  readonly limits: UpstreamLimits
  readonly hold: Holding
  /** Called once, when the connection is free or has to be closed. */
  readonly release: (isReusable: boolean) => void
  /** Called once. */
  readonly settle: (outcome: UpstreamOutcome) => void
}

export class UpstreamExchange implements ExchangeHandler {
  readonly #parts: ExchangeParts
  readonly #reads: UpstreamRequest['reads']
  readonly #body = new BodyBytes()
  #timer: NodeJS.Timeout
  #bytes = 0
  #isSent = false
  #response: Pick<UpstreamResponse, 'status' | 'headers'> | undefined
  #controller: ResponseController | undefined
  #out: BodySink | undefined
  #hasSettled = false
  #mayPause = true
  #isPaused = false
  #hasEnded = false
  #isWhole = false
  #endPipe: () => void = () => undefined

  constructor(request: UpstreamRequest, parts: ExchangeParts) {
    this.#parts = parts
    this.#reads = request.reads
    this.#timer = setTimeout(() => this.fail('timeout'), request.timeoutMs)
    const { path, method, headers, body } = request
    parts.connection.client.dispatch({ path, method, headers, body }, this)
  }

  /** Ends the exchange and its connection. */
  fail(reason: UpstreamFailure['reason']): void {
    if (this.#hasEnded) return
    const hasBegun = this.#parts.connection.guard?.hasBegun === true && this.#isSent
    this.#settle({ kind: 'failed', reason, isSent: this.#isSent, hasBegun })
    this.#end(false)
  }

  onRequestStart(): void {
    const { connection } = this.#parts
    this.#isSent = true
    connection.requestCount++
    connection.guard?.begin(() => this.#readToEnd())
  }

  onResponseStart(controller: ResponseController, status: number): void {
    if (status < FINAL_STATUS.min || status > FINAL_STATUS.max) {
      this.fail('protocol')
      return
    }
    this.#controller = controller
    const headers = readHeaders((controller.rawHeaders ?? []) as readonly Buffer[])
    this.#response = { status, headers }
    if (this.#reads === 'head') {
      this.#settle({ kind: 'answered', ...this.#response, body: NO_BYTES })
      this.#end(false)
    } else if (this.#reads === 'stream' && status < 300) {
      this.#pause(controller)
      this.#limitPause()
      const pipe = (out: BodySink) => this.#pipe(out)
      this.#settle({ kind: 'answered', ...this.#response, body: NO_BYTES, pipe })
    }
  }

  onResponseData(controller: ResponseController, chunk: Buffer): void {
    if (this.#hasEnded) return
    const { limits, hold } = this.#parts
    this.#bytes += chunk.length
    if (this.#out) this.#write(controller, this.#out, chunk)
    else if (this.#bytes > limits.bodyBytes) this.fail('body')
    else if (hold.grow(chunk.length)) this.fail('overloaded')
    else this.#body.add(chunk)
  }

  onResponseEnd(): void {
    this.#settle({ kind: 'answered', ...this.#response!, body: this.#body.read() })
    this.#end(true)
  }

  onResponseError(_: ResponseController, error: unknown): void {
    this.fail(diagnose(error).reason)
  }

  #write(controller: ResponseController, out: BodySink, chunk: Buffer): void {
    this.#timer.refresh()
    if (out.write(chunk) || !this.#mayPause) return
    this.#pause(controller)
    clearTimeout(this.#timer)
    out.drained().then(() => {
      if (this.#hasEnded) return
      this.#limitPause()
      this.#resume()
    })
  }

  #pause(controller: ResponseController): void {
    this.#isPaused = true
    controller.pause()
  }

  /** The connection has ended: undici parses what it has left, and may not pause any more. */
  #readToEnd(): void {
    this.#mayPause = false
    this.#resume()
  }

  #resume(): void {
    if (!this.#isPaused || this.#hasEnded) return
    this.#isPaused = false
    this.#controller!.resume()
  }

  #limitPause(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.fail('timeout'), this.#parts.limits.pauseMs)
  }

  #pipe(out: BodySink): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#endPipe = resolve
    this.#out = out
    if (this.#isWhole && !out.closed.aborted) {
      out.end()
      resolve()
      return promise
    }
    if (this.#hasEnded || out.closed.aborted) {
      this.fail('aborted')
      out.cut()
      resolve()
      return promise
    }
    out.closed.addEventListener('abort', () => this.fail('aborted'), { once: true })
    this.#resume()
    return promise
  }

  #settle(outcome: UpstreamOutcome): void {
    if (this.#hasSettled) return
    this.#hasSettled = true
    this.#parts.settle(outcome)
  }

  #end(isWhole: boolean): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#isWhole = isWhole
    clearTimeout(this.#timer)
    this.#parts.release(isWhole)
    if (isWhole) this.#out?.end()
    else this.#out?.cut()
    this.#endPipe()
  }
}

const NO_BYTES = Buffer.alloc(0)
/** Other characters end a header, or cannot be sent. */
const HEADER_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/

function readHeaders(raw: readonly Buffer[]): Map<string, string[]> {
  const headers = new Map<string, string[]>()
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at]!.toString('latin1').toLowerCase()
    const value = raw[at + 1]!.toString('latin1')
    if (!HEADER_TEXT.test(value)) continue
    const values = headers.get(name)
    if (values) values.push(value)
    else headers.set(name, [value])
  }
  return headers
}
