/** The interface between the HTTP server and its handlers: a request, its response, endpoints. */
import type { IncomingHttpHeaders } from 'node:http'
import type { CallerAuthority } from '../../kernel/caller-authority.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { AnyCode, Failure } from '../../kernel/failure.ts'
import type { Pace } from '../../kernel/pace.ts'
import type { CallerKind, Principal, Role } from '../../kernel/principal.ts'
import type { CallWork } from './call-work.ts'
import type { OperationData } from './operation-data.ts'
import type { Query } from './query.ts'

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'

/** The columns of the pipeline table (`pipeline.ts`): each kind has steps of its own. */
export type Kind =
  /** Health checks of a load balancer. */
  | 'probe'
  /** Documents that need no credential: `/`, OpenAPI, the reference, metadata, keys. */
  | 'public'
  /** Paths of a version, under `/api`. */
  | 'api'
  /** Other endpoints of the API: sign-in, sessions, events, webhooks, metrics. */
  | 'root'
  /** The administration, under `/admin`. */
  | 'admin'
  /** The portal of customers, under `/portal`. */
  | 'portal'
  /** The Model Context Protocol, `/mcp`: its tools send requests to other paths. */
  | 'mcp'
  /** The token endpoints of the authorization server, whose errors are those of OAuth. */
  | 'oauth'
  /** Pages for browsers, and their files. */
  | 'page'
  /** A path without a route. */
  | 'unknown'

/** The response of a handler. `json` is text, so that a row is serialized once. */
export interface Answer {
  status: number
  /** JSON text of the body; undefined for none (204, 304). */
  json?: string | undefined
  /** A body that is not JSON (pages, metrics); `headers` then contain its `content-type`. */
  raw?: string | Uint8Array | undefined
  headers?: Record<string, string> | undefined
  /** `Set-Cookie` lines. */
  cookies?: readonly string[] | undefined
  /** Writes the body of a stream: called after the head was sent. An error cuts the connection. */
  stream?: ((out: Stream) => void | Promise<void>) | undefined
  /** The longest time of a stream; it is then closed as if its caller had lost its rights. */
  longestMs?: number | undefined
  /** The body contains a secret: `no-store`, and a short retention for replays (§11.1). */
  secret?: boolean | undefined
}

/** A body that is written in parts (server-sent events). */
export interface Stream {
  /** Returns false if the caller reads too slowly: then await `drained`. */
  write(text: string | Uint8Array): boolean
  /** Resolves when more may be written or the stream is closed. */
  drained(): Promise<void>
  end(): void
  /** Ends the connection, so that the caller sees that the body is incomplete. */
  cut(): void
  /**
   * Aborted when the connection ends, the server drains (§2.4), or the caller may no longer read
   * (`stream-authority.ts`). Nothing is written from then on; call `end` or `cut`.
   */
  readonly closed: AbortSignal
}

/** A request on its path through the pipeline. Steps and handlers fill in the mutable members. */
export interface Call extends CallerAuthority {
  /** `X-Request-Id`. */
  readonly id: string
  readonly method: Method
  /** As sent, percent-encoded, with the version segment and without the query. */
  readonly path: string
  /** The matching template without the version, for example `/api/orders/:id`; `*` for none. */
  readonly route: string
  readonly kind: Kind
  /** The operation of the matching route and method, if any. */
  readonly operation: Operation | undefined
  /** The methods of the path, as listed in `Allow`; empty if no path matches. */
  readonly allow: string
  /** The media types of PATCH, as listed in `Accept-Patch`; undefined if the path has no PATCH. */
  readonly acceptPatch?: string | undefined
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn, as sent; `headers` lacks repeated lines (`header.ts`). */
  readonly rawHeaders: readonly string[]
  readonly query: Query
  readonly params: Readonly<Record<string, string>>
  /** The client's address, resolved through trusted proxies. */
  readonly address: string
  /** Whether the client uses HTTPS, to this server or to a trusted proxy. */
  readonly secure: boolean
  /** Plain HTTP directly from a loopback address, the only place where it is served (§2.3). */
  readonly local: boolean
  /** The requested host with its port, resolved through trusted proxies; '' without one. */
  readonly host: string
  /** The version segment of the path as sent (`v1`, `latest`, …), if any. */
  readonly versionSegment: string | undefined
  /** The raw body; empty before it is read, and without a body. */
  bytes: Uint8Array
  /** The parsed JSON body, or the `MediaBody` of an operation that reads bytes; if any. */
  body: unknown
  principal: Principal | undefined
  /**
   * The principal that a handler authenticated itself (login, token endpoint), or the stored key
   * that was rejected, for the log.
   */
  identified: IdentifiedPrincipal | undefined
  /** The principal that was verified before the request limit, without a password hash (§11.3). */
  recognized?: Principal | undefined
  /** The failure of the credential; the step that requires one throws it, after the limit. */
  refusal?: Failure | undefined
  /** The code of the failure in the response. */
  readonly failure?: AnyCode | undefined
  /** The scope that the failure names, besides that of the operation. */
  readonly missingScope?: string | undefined
  /** The major version of the response; undefined outside `/api`. */
  version: string | undefined
  /** Ids of the events that the request caused, once they are committed. */
  eventIds: string[]
  /** Warnings for `_warnings` in object bodies (§3.3, §8.6). */
  warnings: Warning[]
  /**
   * Headers for any response to this request, errors included. A response's own header of the same
   * name replaces them; `Link` and `Vary` are joined.
   */
  readonly out: Record<string, string>
  /** When the head of the request had arrived, by `clock.elapsedMs`. */
  readonly startedMs: number
  /** Aborts when the connection ends before the response is written. */
  readonly signal: AbortSignal
  /**
   * Resolves when the database may be read for a response that can be large. Throws `overloaded` if
   * the caller does not read earlier responses (§11.5).
   */
  beginLarge(): Promise<LargeResponse>
  /**
   * Builds a response: a large one as `beginLarge` does, another one at once. If its work is more
   * than that of any request while the group of the caller rests, it is built as a large one.
   */
  buildResponse<T>(isLarge: boolean, build: (work: ResponseWork) => Promise<T>): Promise<T>
  /** Counts work of the caller's group that begins now, without rests (§11.5). */
  startWork(): CallWork
  /**
   * Begins long work of the caller, and returns the function to call between its parts (§11.5).
   * `isOfLong`: a part of such work begins, which counts however short it is. `work`: the time of
   * the work, if other requests run during it.
   */
  startPace(isOfLong?: boolean, work?: Pick<Clock, 'elapsedMs'>): Pace
  /** Returns the error of a part of the request, as a response of its own has it (§10.1). */
  errorOf(failure: Failure): ErrorEnvelope
}

/** The members of an error (§10.1). */
export interface ErrorEnvelope extends Pick<Failure, 'message' | 'status' | 'errors' | 'details'> {
  readonly error: Failure['code']
  readonly request_id: string
  readonly documentation: string | undefined
}

/** The work of a response under construction, which may be a large one. */
export type ResponseWork = CallWork & Partial<LargeResponse>

/** A large response under construction. */
export interface LargeResponse extends CallWork {
  /** The maximum of its bytes. */
  readonly mostBytes: number
}

export type IdentifiedPrincipal = Pick<Principal, 'kind' | 'subject' | 'customer' | 'mode'> &
  Pick<Principal, 'clientId' | 'keyId' | 'name'>

export interface Warning {
  readonly type: string
  readonly message: string
  readonly [more: string]: unknown
}

/** Returns a response, throws a `Failure`, or returns nothing to continue with the next step. */
// biome-ignore lint/suspicious/noConfusingVoidType: most steps return nothing
export type Step = (call: Call) => Answer | undefined | void | Promise<Answer | undefined | void>

/** Runs for every response, failures included, and may change it in place. */
export type After = (call: Call, answer: Answer) => void | Promise<void>

/** The handler of one method of one path, and the media types it reads and writes. */
export interface Handling {
  /** Whether a JSON body is read; default: none. */
  readonly body?: 'required' | 'optional' | undefined
  /** Media types of the body; default `application/json` and, for PATCH, merge-patch. */
  readonly accepts?: readonly string[]
  /** Whether the handler receives the bytes of the body (`MediaBody`). */
  readonly readsBytes?: boolean
  /** The largest body, in place of the bound of the server (§15.10). */
  readonly maxBodyBytes?: number | undefined
  /** Media types of the response; default JSON. */
  readonly produces?: readonly string[]
  /** The summary, input and output of the method (`operation.ts`). */
  readonly declaration?: OperationData
  /** False: the tools of agents do not reach it (§16.11). Default true. */
  readonly mcp?: boolean | undefined
  readonly handle: (call: Call) => Promise<Answer> | Answer
}

/** One method of one path, with the access rules that the pipeline enforces. */
export interface Operation extends Handling {
  /** The scope that the principal needs; undefined: any scope. */
  readonly scope?: string | undefined
  /** The kinds of caller that it accepts (`route-table.ts`); undefined: all. */
  readonly callers?: readonly CallerKind[] | undefined
  /** The least role of an operator that it accepts; undefined: every role. */
  readonly role?: Role | undefined
  /**
   * False if no credential is required (`public`, `probe`). `optional`: unauthenticated requests
   * are served as well, and a credential is verified if one is sent (§6.10). Default true.
   */
  readonly authenticated?: boolean | 'optional'
}

type Methods<T> = Readonly<Partial<Record<Exclude<Method, 'HEAD' | 'OPTIONS'>, T>>>

/** The handlers of one path of the engine. Kind, callers and scope are in `route-table.ts`. */
export interface Route {
  /** Without a version, parameters as `:name`: `/webhooks/:id`. */
  readonly path: string
  readonly methods: Methods<Handling>
}

export const route = (path: string, methods: Route['methods']): Route => ({ path, methods })

/** A path with its methods, from which 405, `Allow`, OPTIONS and HEAD follow. */
export interface Endpoint {
  readonly kind: Exclude<Kind, 'unknown'>
  /** Without the version segment, parameters as `:name`: `/api/orders/:id/pay`, `/events/:id`. */
  readonly path: string
  readonly methods: Methods<Operation>
}

export const json = (status: number, value: unknown, headers?: Record<string, string>): Answer => ({
  status,
  json: JSON.stringify(value),
  headers,
})

export const noContent = (): Answer => ({ status: 204 })
