/** A request and its response on the server: the pipeline's `Call` with node's objects. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Holding } from '../../kernel/budget.ts'
import type { TakeOwnerTurn } from '../../kernel/caller-group.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure, type FieldError } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import { type Pace, pauseLoop, startPace } from '../../kernel/pace.ts'
import type { Principal } from '../../kernel/principal.ts'
import type { TraceSpan } from '../../kernel/tracing.ts'
import type { TakeAddressTurn } from './address-turns.ts'
import { ENVELOPE_BYTES } from './answer-budget.ts'
import type {
  After,
  Answer,
  Call,
  Endpoint,
  ErrorEnvelope,
  IdentifiedPrincipal,
  Kind,
  LargeResponse,
  Method,
  Operation,
  ResponseWork,
  Step,
  Warning,
} from './call.ts'
import { type CallWork, createCallWork, TurnRequired } from './call-work.ts'
import { type Egress, type Hold, overloadFailure } from './egress.ts'
import type { Ingress } from './ingress.ts'
import { JSON_VALUES_MAX } from './json-body.ts'
import { connectionOf } from './mounted-request.ts'
import { ownerOf } from './owner.ts'
import { envelopeOf, type formatProblem } from './problem.ts'
import type { ResolveOrigin } from './proxy-trust.ts'
import type { Query } from './query.ts'
import { ABORTED } from './receive-body.ts'
import type { Refusals } from './refusals.ts'
import type { RequestHead } from './request-head.ts'
import { commonHeaders } from './response-steps.ts'
import type { StreamAuthority } from './stream-authority.ts'

/** A column of the pipeline table: the steps of a kind of request, in order. */
export interface PipelineSteps {
  /** Before the body is read. */
  readonly head: readonly Step[]
  /** For a malformed request, before its rejection. */
  readonly refused: readonly Step[]
  /** For every response, failures included. */
  readonly out: readonly After[]
}

export type Pipeline = Readonly<Record<Kind, PipelineSteps>>

/** The bounds of a request (§11.4). */
export interface HttpLimits {
  readonly bodyBytes: number
  /** Values of a JSON body, parameters of a form. */
  readonly bodyValues: number
  /**
   * Up to this size, a body larger than `bodyBytes` is read and discarded, so that the 413 arrives.
   */
  readonly discardBytes: number
  readonly urlBytes: number
  /** Request line and headers together. */
  readonly headerBytes: number
  readonly headerLines: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  /** How long a connection stays open without a request. */
  readonly keepAliveMs: number
  /** Open connections of the process. */
  readonly connections: number
}

export const defaultLimits: HttpLimits = {
  bodyBytes: 1_048_576,
  bodyValues: JSON_VALUES_MAX,
  discardBytes: 8 * 1_048_576,
  urlBytes: 8192,
  headerBytes: 16_384,
  headerLines: 250,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveMs: 72_000,
  connections: 8192,
}

/** Returns the page that documents the error codes in a version; by default in the newest. */
export type DocumentationUrl = (version?: string | undefined) => string

/** The state that all exchanges of a server share. */
export interface ServerContext {
  readonly log: Log
  /** Writes the log line of a request, after its response. */
  readonly logExchange: ObserveExchange
  readonly clock: Clock
  readonly resolveOrigin: ResolveOrigin
  readonly limits: HttpLimits
  /** Matches vendor media types, which count as JSON. */
  readonly vendor: RegExp
  /** Returns `{publicUrl}/docs/v2/errors`, of the version of the request if it has one. */
  readonly documentation: DocumentationUrl | undefined
  readonly errorFormats: ErrorFormats
  /** The bounds of unread responses (§11.5). */
  readonly egress: Egress
  /** The bounds of arriving bodies (§11.5). */
  readonly ingress: Ingress
  /** The bounds of bodies that are larger than those of other requests (§15.10). */
  readonly largeIngress: Ingress
  /** The turns of costly bodies, whose group rests after each while others send requests. */
  readonly parseTurns: TakeOwnerTurn
  /** The turns in which requests and their bodies begin. */
  readonly takeTurn: TakeAddressTurn
  readonly refusals: Refusals
  readonly authority: StreamAuthority
  /** Set before the server drains: from then on, responses close their connection. */
  isLeaving: boolean
  /** Aborted when the server drains: streams end. */
  readonly drain: AbortController
  /** Called once for each request, after its response. */
  readonly observeExchange: ObserveExchange
  /** Returns the failure that explains an error, or the error itself. Never rejects. */
  readonly explainError: (error: unknown) => unknown
}

/** Formats of failures for kinds of request that do not use the usual envelope (§10.1). */
export type ErrorFormats = Readonly<Partial<Record<Kind, typeof formatProblem>>>

/** A path, prepared at start. */
export interface PreparedPath {
  readonly kind: Kind
  readonly route: string
  readonly methods: Endpoint['methods']
  readonly allow: string
  readonly acceptPatch: string | undefined
  readonly steps: PipelineSteps
}

/**
 * The stages of a request outside the head steps. While a head step runs, the stage is its index,
 * which is 0 or more.
 */
export const STAGES = { parse: -1, route: -2, body: -3, handler: -4 } as const

/** Receives every response that was sent; `answer` is undefined if the connection ended. */
export type ObserveExchange = (exchange: Exchange, answer: Answer | undefined, ms: number) => void

/** A class, so that all instances have the same fields in the same order. */
export class Exchange implements Call {
  readonly context: ServerContext
  readonly prepared: PreparedPath
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly head: RequestHead
  readonly operation: Operation | undefined
  readonly id: string
  readonly method: Method
  readonly path: string
  readonly route: string
  readonly kind: Kind
  readonly allow: string
  readonly acceptPatch: string | undefined
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
  out: Record<string, string>
  bytes: Uint8Array = NO_BYTES
  body: unknown = undefined
  principal: Principal | undefined = undefined
  identified: IdentifiedPrincipal | undefined = undefined
  recognized: Principal | undefined = undefined
  refusal: Failure | undefined = undefined
  /** When the caller was last verified, or earlier, by `clock.elapsedMs`. */
  verifiedMs: number
  version: string | undefined = undefined
  eventIds: string[] = []
  warnings: Warning[] = []
  /** Whether the connection ends after this response. */
  closing = false
  /** The hold of a large response, which is counted before it is sent. */
  hold: Hold | undefined = undefined
  /** Whether the response was announced as a large one, which can be refused like a read. */
  isLarge = false
  /** The hold of the body, until the handler has answered. */
  bodyHold: Holding | undefined = undefined
  /** The stage that the request has reached; a failure concerns it. */
  stage: number = STAGES.parse
  /** The code of the failure in the response, for the log. */
  failure: Failure['code'] | undefined = undefined
  /** The mistakes that the failure names. */
  errors: readonly FieldError[] = []
  missingScope: string | undefined = undefined
  /** Details of a failure for the log. */
  detail: unknown = undefined
  /** An error that is no `Failure`. */
  bug: unknown = undefined
  /** The span of the request, if traces are exported. */
  span: TraceSpan | undefined = undefined
  /** Aborts when the client leaves; undefined until code reads `signal`. */
  departure: AbortController | undefined = undefined
  /** The request whose handler sent this one, with its caller (`inner-request.ts`). */
  readonly outer: Exchange | undefined

  constructor(
    context: ServerContext,
    prepared: PreparedPath,
    head: RequestHead,
    request: IncomingMessage,
    response: ServerResponse,
    params: Readonly<Record<string, string>>,
    outer?: Exchange,
  ) {
    const method = request.method as Method
    const { headers } = request
    const { address, isEncrypted } = connectionOf(request)
    const origin = outer ?? context.resolveOrigin(address, isEncrypted, headers, head.host)
    this.context = context
    this.prepared = prepared
    this.request = request
    this.response = response
    this.head = head
    this.operation = operationOf(prepared.methods, method)
    this.id = head.id
    this.method = method
    this.path = head.path
    this.route = prepared.route
    this.kind = prepared.kind
    this.allow = prepared.allow
    this.acceptPatch = prepared.acceptPatch
    this.headers = headers
    this.rawHeaders = request.rawHeaders
    this.query = head.query
    this.params = params
    this.address = origin.address
    this.secure = origin.secure
    this.local = origin.local
    this.host = origin.host
    this.versionSegment = head.segment
    this.startedMs = head.startedMs
    this.verifiedMs = head.startedMs
    this.out = commonHeaders(head.id)
    this.outer = outer
    if (outer?.principal && this.operation?.authenticated !== false) {
      this.principal = { ...outer.principal, isAgent: true }
    }
  }

  /** The request that has the credential of the caller. */
  get authorized(): Exchange {
    return this.outer ?? this
  }

  hasOldAuthority(): boolean {
    const { authorized } = this
    return this.context.authority.isOld(authorized, authorized.verifiedMs)
  }

  async requireAuthority(): Promise<void> {
    if (!this.hasOldAuthority()) return
    const { authorized, context } = this
    const verifiedMs = context.authority.elapsedMs()
    const loss = await context.authority.findLoss(authorized)
    if (loss !== undefined) throw new Failure('unauthorized', `Since the request began, ${loss}.`)
    authorized.verifiedMs = verifiedMs
  }

  get signal(): AbortSignal {
    if (this.outer) return this.outer.signal
    if (!this.departure) {
      const { response } = this
      const departure = new AbortController()
      const end = () => {
        if (!response.writableEnded) departure.abort(DEPARTED)
      }
      if (response.destroyed) end()
      else response.once('close', end)
      this.departure = departure
    }
    return this.departure.signal
  }

  async beginLarge(): Promise<LargeResponse> {
    this.isLarge = true
    const { egress } = this.context
    const owner = ownerOf(this)
    await egress.large.begin(this.response, owner)
    if (this.response.destroyed) throw ABORTED
    if (egress.isFull(this)) throw overloadFailure()
    return { ...this.startWork(), mostBytes: egress.freeBytes(owner) - ENVELOPE_BYTES }
  }

  async buildResponse<T>(isLarge: boolean, build: (work: ResponseWork) => Promise<T>): Promise<T> {
    if (!isLarge) {
      try {
        return await build(this.startWork(true))
      } catch (error) {
        if (!(error instanceof TurnRequired)) throw error
      }
    }
    return build(await this.beginLarge())
  }

  errorOf(failure: Failure): ErrorEnvelope {
    const documentation = this.context.documentation?.(this.version)
    return envelopeOf(failure, { requestId: this.id, documentation })
  }

  startWork(waits = false): CallWork {
    const { egress, clock } = this.context
    return createCallWork(ownerOf(this).group, egress.share, clock, waits)
  }

  /**
   * Drops the body. Its hold ends with the answer, not with the response: earlier responses of the
   * connection may last as long as the client likes.
   */
  dropBody(): void {
    this.bytes = NO_BYTES
    this.body = undefined
    this.bodyHold?.release()
    this.bodyHold = undefined
  }

  startPace(isOfLong = false, work?: Pick<Clock, 'elapsedMs'>): Pace {
    const { egress, clock } = this.context
    return startPace(ownerOf(this).group, egress.share, work ?? clock, pauseLoop, isOfLong)
  }
}

/** The reason of `signal`: a handler that ends with it has no response. */
export const DEPARTED = new DOMException('the client ended the request', 'AbortError')
const NO_BYTES = new Uint8Array(0)

/** Returns the operation of a method. HEAD uses that of GET; OPTIONS has none. */
function operationOf(methods: Endpoint['methods'], method: string): Operation | undefined {
  if (method === 'GET' || method === 'HEAD') return methods.GET
  return Object.hasOwn(methods, method) ? methods[method as 'POST'] : undefined
}
