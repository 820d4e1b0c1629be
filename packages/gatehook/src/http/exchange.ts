/**
 * The way of one call: head steps, body, body steps, handler, and on every answer the steps of the
 * way out. Promises are awaited only where a step returns one: most of a call runs in one go.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Arrival } from './arrival.ts'
import type {
  After,
  Answer,
  Call,
  Endpoint,
  IdentifiedPrincipal,
  Kind,
  Method,
  Operation,
  Step,
  Warning,
} from './call.ts'
import { type Egress, type Hold, overloaded, ownerOf } from './egress.ts'
import type { Front } from './front.ts'
import type { problem } from './problem.ts'
import type { Query } from './query.ts'
import { ABORTED, receiveBody } from './receive-body.ts'
import { failed, write } from './respond.ts'

/** One column of the pipeline table: the steps of a kind, in order. */
export interface Steps {
  /** Before the body is read. */
  readonly head: readonly Step[]
  /** With the parsed body, before the handler. */
  readonly body: readonly Step[]
  /** What is still asked of a request that is not well formed, before it is refused. */
  readonly refused?: readonly Step[]
  /** For every answer, failures included. */
  readonly out: readonly After[]
}

export type Pipeline = Readonly<Record<Kind, Steps>>

/** Bounds of one request (§11.4). */
export interface Limits {
  readonly bodyBytes: number
  /** A body larger than `bodyBytes` is read and thrown away up to here, so that the 413 arrives. */
  readonly discardBytes: number
  readonly urlBytes: number
  /** Request line and headers together. */
  readonly headerBytes: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  /** How long a connection without a request is kept. */
  readonly keepAliveMs: number
}

export const defaultLimits: Limits = {
  bodyBytes: 1_048_576,
  discardBytes: 8 * 1_048_576,
  urlBytes: 8192,
  headerBytes: 16_384,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveMs: 72_000,
}

/** What every exchange of a server shares. */
export interface Context {
  readonly log: Log
  /** For the line each request leaves: it has a fixed set of fields, so nothing needs redacting. */
  readonly lines: Log
  readonly clock: Clock
  readonly front: Front
  readonly limits: Limits
  /** Media types of this vendor are JSON. */
  readonly vendor: RegExp
  /** `{publicUrl}/docs/errors`. */
  readonly documentation: string | undefined
  /** Kinds whose errors have a shape of their own. */
  readonly errorShapes: ErrorShapes
  /** What waits to be read by callers (§11.5). */
  readonly egress: Egress
  /** Set when the server is about to drain: from then on answers close their connection. */
  leaving: boolean
  /** Aborted when the server drains: streams end. */
  readonly drain: AbortController
}

/** How a failure is told to callers of a kind, where it is not as everywhere else (§10.1). */
export type ErrorShapes = Readonly<Partial<Record<Kind, typeof problem>>>

/** One path, prepared at boot. */
export interface Plan {
  readonly kind: Kind
  readonly route: string
  readonly methods: Endpoint['methods']
  readonly allow: string
  readonly steps: Steps
}

/** A `Call` with what only this room sees. A class, because all its fields stand from the start. */
export class Exchange implements Call {
  readonly context: Context
  readonly plan: Plan
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly arrival: Arrival
  readonly operation: Operation | undefined
  readonly id: string
  readonly method: Method
  readonly path: string
  readonly route: string
  readonly kind: Kind
  readonly allow: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly query: Query
  readonly params: Readonly<Record<string, string>>
  readonly address: string
  readonly secure: boolean
  readonly local: boolean
  readonly host: string
  readonly versionSegment: string | undefined
  readonly startedMs: number
  readonly out: Record<string, string> = {}
  bytes: Uint8Array = NO_BYTES
  body: unknown = undefined
  principal: Principal | undefined = undefined
  identified: IdentifiedPrincipal | undefined = undefined
  recognized: Principal | undefined = undefined
  refusal: Failure | undefined = undefined
  version: string | undefined = undefined
  warnings: Warning[] = []
  /** The connection ends with this answer. */
  closing = false
  /** A large response that is counted before it is sent. */
  hold: Hold | undefined = undefined
  /** The code of the failure that the answer reports, for the log. */
  failure: Failure['code'] | undefined = undefined
  /** What a failure says to the log and not to the caller. */
  detail: unknown = undefined

  constructor(
    context: Context,
    plan: Plan,
    arrival: Arrival,
    request: IncomingMessage,
    response: ServerResponse,
    params: Readonly<Record<string, string>>,
  ) {
    const method = request.method as Method
    const { headers, socket } = request
    const encrypted = 'encrypted' in socket && socket.encrypted === true
    const judged = context.front(socket.remoteAddress, encrypted, headers, arrival.host)
    this.context = context
    this.plan = plan
    this.request = request
    this.response = response
    this.arrival = arrival
    this.operation = operationOf(plan.methods, method)
    this.id = arrival.id
    this.method = method
    this.path = arrival.path
    this.route = plan.route
    this.kind = plan.kind
    this.allow = plan.allow
    this.headers = headers
    this.rawHeaders = request.rawHeaders
    this.query = arrival.query
    this.params = params
    this.address = judged.address
    this.secure = judged.secure
    this.local = judged.local
    this.host = judged.host
    this.versionSegment = arrival.segment
    this.startedMs = arrival.startedMs
  }

  async beginLarge(): Promise<number> {
    const { egress } = this.context
    await egress.large.begin(this.response, ownerOf(this))
    if (this.response.destroyed) throw ABORTED
    if (egress.isFull(this)) throw overloaded()
    return egress.freeBytes(ownerOf(this))
  }
}

const NO_BYTES = new Uint8Array(0)

/** HEAD is GET without the body; OPTIONS belongs to the path, not to an operation. */
function operationOf(methods: Endpoint['methods'], method: string): Operation | undefined {
  if (method === 'GET' || method === 'HEAD') return methods.GET
  return Object.hasOwn(methods, method) ? methods[method as 'POST'] : undefined
}

/** Answers an exchange; never throws, never rejects. */
export function serve(exchange: Exchange): void {
  let answer: Answer | Promise<Answer>
  try {
    answer = walk(exchange)
  } catch (error) {
    answer = failed(exchange, error)
  }
  if (answer instanceof Promise) settle(exchange, answer)
  else leave(exchange, answer)
}

async function settle(exchange: Exchange, pending: Promise<Answer>): Promise<void> {
  let answer: Answer
  try {
    answer = await pending
  } catch (error) {
    if (error === ABORTED) return write(exchange, undefined)
    answer = failed(exchange, error)
  }
  leave(exchange, answer)
}

function walk(exchange: Exchange): Answer | Promise<Answer> {
  const { refusal } = exchange.arrival
  if (refusal) return refuse(exchange, refusal)
  const early = run(exchange.plan.steps.head, 0, exchange)
  if (early instanceof Promise) return early.then((answer) => answer ?? afterHead(exchange))
  return early ?? afterHead(exchange)
}

/** A version that is gone is gone for these, too (§8.7), and one that ends says so (§8.6). */
function refuse(exchange: Exchange, refusal: Failure): Answer | Promise<Answer> {
  const orThrow = (answer: Answer | undefined): Answer => {
    if (answer) return answer
    throw refusal
  }
  const early = run(exchange.plan.steps.refused ?? [], 0, exchange)
  return early instanceof Promise ? early.then(orThrow) : orThrow(early)
}

function afterHead(exchange: Exchange): Answer | Promise<Answer> {
  // Where the pipeline has no such step, the door is shut here.
  const early = methodKnown(exchange) as Answer | undefined
  if (early) return early
  const { operation } = exchange
  if (!operation) throw new Failure('not_found')
  if (operation.body === undefined) return afterBody(exchange, operation)
  const received = receiveBody(exchange, operation)
  if (received) return received.then(() => afterBody(exchange, operation))
  return afterBody(exchange, operation)
}

function afterBody(exchange: Exchange, operation: Operation): Answer | Promise<Answer> {
  const early = run(exchange.plan.steps.body, 0, exchange)
  if (early instanceof Promise) return early.then((answer) => answer ?? operation.handle(exchange))
  return early ?? operation.handle(exchange)
}

/** Steps from `at` on, until one answers. */
function run(
  steps: readonly Step[],
  at: number,
  call: Call,
): Answer | undefined | Promise<Answer | undefined> {
  for (let i = at; i < steps.length; i++) {
    const result = steps[i]!(call)
    if (result instanceof Promise) {
      return result.then((answer) => answer ?? run(steps, i + 1, call))
    }
    if (result) return result
  }
  return undefined
}

/**
 * The step that ends plain OPTIONS with 204 and refuses unknown methods with 405, both with
 * `Allow`. Stands before the credential is asked for; paths nobody knows are let through to their
 * 404.
 */
export const methodKnown: Step = (call) => {
  if (call.operation || call.allow === '') return undefined
  if (call.method === 'OPTIONS') return { status: 204, headers: { allow: call.allow } }
  throw new Failure('method_not_allowed', `${call.method} is not allowed here.`, {
    headers: { allow: call.allow },
  })
}

/** The way out from step `at` on. What fails there becomes the answer, and goes the rest of it. */
function leave(exchange: Exchange, answer: Answer, at = 0): void {
  const { out } = exchange.plan.steps
  for (let i = at; i < out.length; i++) {
    try {
      const pending = out[i]!(exchange, answer)
      if (pending instanceof Promise) {
        pending.then(
          () => leave(exchange, answer, i + 1),
          (error) => leave(exchange, failed(exchange, error), i + 1),
        )
        return
      }
    } catch (error) {
      answer = failed(exchange, error)
    }
  }
  write(exchange, answer)
}
