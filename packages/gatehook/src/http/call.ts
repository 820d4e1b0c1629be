/**
 * One request on its way through the pipeline, and its answer. The words every room that has routes
 * speaks; nothing of node's server is in them.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Failure } from '../kernel/failure.ts'
import type { CallerKind, Principal } from '../kernel/principal.ts'
import type { Query } from './query.ts'

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'

/** Columns of the pipeline table (`pipeline.ts`): what is asked of callers differs by these. */
export type Kind = 'probe' | 'public' | 'api' | 'root' | 'admin' | 'oauth' | 'page' | 'unknown'

/** What a handler gives back. `json` is text already: a row is turned into JSON once. */
export interface Answer {
  status: number
  /** JSON text of the body; undefined for none (204, 304). */
  json?: string | undefined
  /** Bodies that are not JSON (pages, metrics); `content-type` then stands in `headers`. */
  raw?: string | Uint8Array | undefined
  headers?: Record<string, string> | undefined
  /** `Set-Cookie`, a line each. */
  cookies?: readonly string[] | undefined
  /**
   * Instead of a body: called once the head is sent, and writes until it ends or the caller goes.
   */
  stream?: ((out: Stream) => void) | undefined
  /** It holds a secret: nobody on its way keeps it, and for a repeat it is kept shortly (§11.1). */
  secret?: boolean | undefined
}

/** A body that is written bit by bit (server-sent events). */
export interface Stream {
  /** False when the caller reads slower than is written: wait for `drained`. */
  write(text: string): boolean
  /** Resolves when more may be written, or the stream is closed. */
  drained(): Promise<void>
  end(): void
  /** Aborted when the caller went away or the server drains (§2.4): stop, and `end`. */
  readonly closed: AbortSignal
}

export interface Call {
  /** `X-Request-Id`. */
  readonly id: string
  readonly method: Method
  /** As sent, without the query, still percent-encoded; version segment included. */
  readonly path: string
  /** The template that matched, without the version: `/api/orders/:id`; `*` when none did. */
  readonly route: string
  readonly kind: Kind
  /** What the route and method matched; undefined where nothing did. */
  readonly operation: Operation | undefined
  /** The methods of the path, as `Allow` lists them; empty where no path matched. */
  readonly allow: string
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn, as sent: `headers` hides that `Authorization` stood twice. */
  readonly rawHeaders: readonly string[]
  readonly query: Query
  readonly params: Readonly<Record<string, string>>
  /** The caller's address, judged by the trusted proxies. */
  readonly address: string
  /** Whether the caller's connection is HTTPS (ours, or the trusted proxy's word). */
  readonly secure: boolean
  /** Plain HTTP straight from this machine's loopback: the one place where it is served (§2.3). */
  readonly local: boolean
  /** The host the caller asked for, port included, as the trusted proxies say; '' without one. */
  readonly host: string
  /** The version segment as it stood in the path (`v1`, `latest`, …), if there was one. */
  readonly versionSegment: string | undefined
  /** The raw body; empty before it is read and where there is none. */
  bytes: Uint8Array
  /** The parsed JSON body; undefined where there is none. */
  body: unknown
  principal: Principal | undefined
  /** The principal that a handler identified itself (login, token endpoint), for the log. */
  identified: IdentifiedPrincipal | undefined
  /** The principal that was verified before the request limit, without a password hash (§11.3). */
  recognized?: Principal | undefined
  /** Why the credential fails: thrown after the request limit, by the step that requires one. */
  refusal?: Failure | undefined
  /** The major version this call is served in; undefined outside `/api`. */
  version: string | undefined
  /** Warnings for `_warnings` in object bodies (§3.3, §8.6). */
  warnings: Warning[]
  /**
   * Headers every answer to this call gets, errors included. An answer's own header of the same
   * name wins, whatever its case; `Link` and `Vary` are lists and are joined.
   */
  readonly out: Record<string, string>
  /** Milliseconds (`clock.elapsedMs`) at which the request's head had arrived. */
  readonly startedMs: number
  /**
   * Resolves when the database may be read for a response that can be large, with the bytes it may
   * have. Throws `overloaded` where the caller does not read earlier ones (§11.5).
   */
  beginLarge(): Promise<number>
}

export type IdentifiedPrincipal = Pick<Principal, 'kind' | 'subject' | 'customer' | 'mode'> &
  Pick<Principal, 'clientId'>

export interface Warning {
  readonly type: string
  readonly message: string
  readonly [more: string]: unknown
}

/** Ends the way early with an answer, refuses by throwing a `Failure`, or lets the call go on. */
// biome-ignore lint/suspicious/noConfusingVoidType: most steps return nothing
export type Step = (call: Call) => Answer | undefined | void | Promise<Answer | undefined | void>

/** On the way out: runs for every answer, failures included, and may change it in place. */
export type After = (call: Call, answer: Answer) => void | Promise<void>

/** How one method of one path is handled. */
export interface Handling {
  /** Whether a JSON body is read: `required`, `optional` or (default) none. */
  readonly body?: 'required' | 'optional' | undefined
  /** Media types of the body; default `application/json` and, for PATCH, merge-patch. */
  readonly accepts?: readonly string[]
  /** Media types of the response; default JSON. */
  readonly produces?: readonly string[]
  readonly handle: (call: Call) => Promise<Answer> | Answer
}

/** One method of one path, with the access rules that the pipeline enforces. */
export interface Operation extends Handling {
  /** The scope the principal needs; undefined: a principal is needed, no scope. */
  readonly scope?: string | undefined
  /** The kinds of caller it accepts (`route-table.ts`); undefined: all. */
  readonly callers?: readonly CallerKind[] | undefined
  /**
   * False where no credential is required (`public`, `probe`); `optional` where an unauthenticated
   * caller is served too, and a credential that is sent is verified (§6.10). Default true.
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

/** One path with its methods. 405, `Allow`, OPTIONS and HEAD follow from it. */
export interface Endpoint {
  readonly kind: Exclude<Kind, 'unknown'>
  /** Without the version segment, parameters as `:name`: `/api/orders/:id/pay`, `/events/:id`. */
  readonly path: string
  readonly methods: Methods<Operation>
}

export const endpoint = (
  kind: Endpoint['kind'],
  path: string,
  methods: Endpoint['methods'],
): Endpoint => ({ kind, path, methods })

export const json = (status: number, value: unknown, headers?: Record<string, string>): Answer => ({
  status,
  json: JSON.stringify(value),
  headers,
})

export const noContent = (): Answer => ({ status: 204 })
