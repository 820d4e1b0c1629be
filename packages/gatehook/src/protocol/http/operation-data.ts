/** The data of an operation of the engine, from which documents and its handler's input follow. */

import type { FailureCode } from '../../kernel/failure.ts'
import type { BodyCode } from '../fields/body.ts'
import type { AnyMember, Members } from '../fields/members.ts'

export type OperationMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The request headers that an operation honours, besides those of every request. */
type OperationHeader = 'Idempotency-Key' | 'If-Match' | 'Last-Event-ID'

interface OtherStatus {
  readonly status: number
  /** Describes the response: "The node is not ready." */
  readonly returns: string
  readonly example: unknown
}

export interface OperationOptions<I extends Members, Q extends Members, O extends AnyMember> {
  /** The `operationId` of OpenAPI: `create_key`. */
  readonly id: string
  /** One line: "Create an API key". */
  readonly summary: string
  readonly description?: string
  /** The group in OpenAPI; default: from the path. */
  readonly tag?: string
  /** The members of the JSON body; default: none is read. */
  readonly input?: I
  /** A valid body for documents, where one with every member is not valid. */
  readonly inputExample?: Readonly<Record<string, unknown>>
  /** `optional`: a request may have no body, which equals `{}`. */
  readonly body?: 'optional'
  /** The failure of an invalid body; default 422 `validation_failed`. */
  readonly bodyCode?: BodyCode
  /** The body may have further members, which the server ignores. */
  readonly isOpen?: boolean
  /**
   * The handler validates body and query itself; `input` and `query` describe them. For failures of
   * another form: the codes of declared fields, and pages for browsers.
   */
  readonly validates?: false
  /** Media type of a body that is not JSON; its handler validates it. */
  readonly accepts?: string
  /** The query parameters. A list has those of every list as well. */
  readonly query?: Q
  readonly params?: Readonly<Record<string, AnyMember>>
  readonly headers?: readonly OperationHeader[]
  /** The JSON body of the response; default: none (204). */
  readonly output?: O
  /** Media type of a response that is not JSON. */
  readonly produces?: string
  /** An example of this response. */
  readonly text?: string
  /** Default: 200, and 204 without a body. */
  readonly status?: number
  /** Describes the response: "The key with its secret." */
  readonly returns?: string
  /** Another status with the same body, whose handler sets it: 503 of a node that is not ready. */
  readonly otherStatus?: OtherStatus
  /** `/admin/keys/{id}`: the `Location` of the response, with members of the output. */
  readonly location?: string
  /** The response contains a secret: `Cache-Control: no-store`, short retention for replays. */
  readonly isSecret?: boolean
  /**
   * `handler`: the handler can spare the limit of a caller with the scope (§17.3). A failure before
   * the handler counts. `apart`: requests of an address do not count with its others.
   */
  readonly countsCaller?: 'handler' | 'apart'
  /** False: the tools of agents do not reach it (§16.11), because it chooses a receiver of data. */
  readonly mcp?: false
  /** The JSON body of failures that differs from the API's: the errors of OAuth. */
  readonly failure?: AnyMember
  /** Describes the page with status 400 that a browser displays: "The request names no client." */
  readonly failurePage?: string
  /** False: every request fails in this service, so that its documents omit the operation. */
  readonly isPossible?: boolean
  /** Failures besides those that follow from path, body and headers. */
  readonly errors?: readonly FailureCode[]
}

/** Returns whether an operation reads a JSON body; a POST without members reads `{}` only. */
export const readsJson = ({ method, input, accepts }: OperationData): boolean =>
  accepts === undefined && (input !== undefined || method === 'POST')

/** One operation without its types, for documents. */
export interface OperationData extends OperationOptions<Members, Members, AnyMember> {
  readonly method: OperationMethod
  /** The template without a version: `/admin/keys/:id`. */
  readonly path: string
}

export interface OperationOf<I extends Members, Q extends Members, O extends AnyMember>
  extends OperationOptions<I, Q, O> {
  readonly method: OperationMethod
  readonly path: string
}

/** Returns the status of a success. */
export const statusOf = ({ status, output, produces }: OperationData): number =>
  status ?? (output === undefined && produces === undefined ? 204 : 200)
