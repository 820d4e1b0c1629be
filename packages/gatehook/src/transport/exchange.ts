/**
 * One request on one connection, and what is read of its answer: all of it bounded (§9.9). Which
 * connection, for how long, and whether again: `transport.ts`.
 */
import type { Socket } from 'node:net'
import type { AnswerBytes, AnswerLimits } from './answer-bytes.ts'
import type { AttemptRequest } from './attempt.ts'
import type { Connection } from './keep-alive.ts'
import { type Diagnosis, diagnose, diagnosis } from './socket-error.ts'

/** undici's client and controller, as far as they are needed: it opens sockets, this does not. */
interface Client {
  dispatch(
    request: { path: string; method: 'POST'; headers: Record<string, string>; body: Body },
    handler: Exchange,
  ): boolean
}

interface Controller {
  readonly rawHeaders?: unknown
}

type Body = AttemptRequest['body']

export interface Line extends Connection {
  readonly client: Client
  /** Requests written on the socket it has now. */
  served: number
  socket: Socket | undefined
  answers: AnswerBytes | undefined
}

export interface ExchangeLimits extends AnswerLimits {
  /** Of the answer's body, for the log. */
  readonly keptBodyBytes: number
  /** A longer body is cut; the status stands. */
  readonly bodyBytes: number
  readonly headerCount: number
  /** Of headers, for the log. */
  readonly keptHeaderCharacters: number
}

export type Result =
  | { kind: 'answered'; status: number; headers: Record<string, string>; body: string }
  | ({ kind: 'failed' } & Diagnosis)

export const failed = (what: Diagnosis): Result => ({ kind: 'failed', ...what })

/** `stale`: the receiver had closed the waiting connection before it could read the request. */
export type Done = (line: Line, result: Result | 'stale', reusable: boolean) => void

export class Exchange {
  readonly #line: Line
  readonly #limits: ExchangeLimits
  readonly #done: Done
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #status = 0
  #interim = 0
  #headers: Record<string, string> = {}
  #reused = false
  #ended = false

  /** `done` is called once. */
  constructor(line: Line, limits: ExchangeLimits, done: Done) {
    this.#line = line
    this.#limits = limits
    this.#done = done
  }

  start(path: string, { headers, body }: AttemptRequest): void {
    this.#line.client.dispatch({ path, method: 'POST', headers, body }, this)
  }

  onRequestStart(): void {
    const line = this.#line
    this.#reused = line.served > 0
    line.served++
    line.answers?.begin()
  }

  onResponseStart(
    { rawHeaders }: Controller,
    status: number,
    given: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    const { interimAnswers, headerCount, keptHeaderCharacters } = this.#limits
    if (status < 200) {
      if (++this.#interim > interimAnswers) this.#end(failed(diagnosis('protocol')))
      return
    }
    const count = Array.isArray(rawHeaders) ? rawHeaders.length / 2 : 0
    if (count > headerCount) {
      this.#end(failed(diagnosis('too_large')))
      return
    }
    this.#status = status
    this.#headers = keptHeaders(given, keptHeaderCharacters)
  }

  onResponseData(_: Controller, chunk: Buffer): void {
    const { keptBodyBytes, bodyBytes } = this.#limits
    const room = keptBodyBytes - this.#bytes
    if (room > 0) this.#chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk)
    this.#bytes += chunk.length
    if (this.#bytes > bodyBytes) this.#end(this.#answered())
  }

  onResponseEnd(): void {
    this.#end(this.#answered(), true)
  }

  onResponseError(_: Controller, error: unknown): void {
    // The status decides (§9.6): what came of the body is all there is.
    this.#end(this.#status === 0 ? this.#unanswered(error) : this.#answered())
  }

  #unanswered(error: unknown): Result | 'stale' {
    const what = diagnose(error)
    const stale = what.reason === 'reset' && this.#reused && !this.#line.answers?.begun
    return stale ? 'stale' : failed(what)
  }

  #answered(): Result {
    const [first = NOTHING, ...more] = this.#chunks
    const bytes = more.length === 0 ? first : Buffer.concat(this.#chunks)
    const body = bytes.toString('utf8')
    return { kind: 'answered', status: this.#status, headers: this.#headers, body }
  }

  #end(result: Result | 'stale', reusable = false): void {
    if (this.#ended) return
    this.#ended = true
    this.#done(this.#line, result, reusable)
  }
}

const NOTHING = Buffer.alloc(0)

function keptHeaders(
  given: Readonly<Record<string, string | string[] | undefined>>,
  most: number,
): Record<string, string> {
  const kept: Record<string, string> = {}
  let room = most
  for (const name in given) {
    const value = given[name] ?? ''
    const text = Array.isArray(value) ? value.join(', ') : value
    room -= name.length + text.length
    if (room < 0) continue
    if (name === '__proto__') own(kept, name, text)
    else kept[name] = text
  }
  return kept
}

/** What an assignment would take for the prototype. */
const own = (kept: Record<string, string>, name: string, value: string) =>
  Object.defineProperty(kept, name, { value, enumerable: true })
