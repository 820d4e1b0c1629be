/**
 * Operations of the engine as data: summary, input, output and errors of one method of one path.
 * `implement` joins an operation with its handler, whose input it validates. `protocol/openapi/`
 * describes the same data; callers and scopes are in `route-table.ts`.
 */
import { createBodyReader } from '../fields/body.ts'
import {
  type AnyMember,
  type JsonOf,
  type Members,
  specsOf,
  type ValuesOf,
} from '../fields/members.ts'
import { type Answer, type Call, type Handling, json, type Route } from './call.ts'
import {
  type OperationMethod,
  type OperationOf,
  type OperationOptions,
  readsJson,
  statusOf,
} from './operation-data.ts'
import { createQueryReader } from './query-members.ts'

// biome-ignore lint/complexity/noBannedTypes: an operation without input has no members
type None = {}

/**
 * Declares an operation.
 *
 * @example
 * operation('POST /admin/keys', {
 *   id: 'create_key',
 *   summary: 'Create an API key',
 *   input: { name: b.line(200) },
 *   output: newApiKey,
 *   status: 201,
 * })
 */
export function operation<O extends AnyMember, I extends Members = None, Q extends Members = None>(
  route: `${OperationMethod} /${string}`,
  options: OperationOptions<I, Q, O>,
): OperationOf<I, Q, O> {
  const [method, path] = route.split(' ') as [OperationMethod, string]
  return { ...options, method, path }
}

/** Handles a request with its valid input and query. */
type OperationHandler<I extends Members, Q extends Members> = (
  call: Call,
  input: ValuesOf<I>,
  query: ValuesOf<Q>,
) => Promise<Answer> | Answer

/** Creates the route of an operation. The handler runs with a valid body and query only. */
export function implement<I extends Members, Q extends Members, O extends AnyMember>(
  operation: OperationOf<I, Q, O>,
  handle: OperationHandler<I, Q>,
): Route {
  const { method, path, query, accepts, produces } = operation
  // A POST without members rejects every member, as each body rejects unknown ones.
  const isEmpty = operation.input === undefined && readsJson(operation)
  const input = isEmpty ? ({} as I) : operation.input
  const body = isEmpty ? 'optional' : (operation.body ?? 'required')
  const { validates = accepts === undefined } = operation
  const readBody =
    input && validates && createBodyReader(input, operation.bodyCode, operation.isOpen)
  const isList = operation.output?.spec.kind === 'page'
  const readQuery =
    query &&
    operation.validates !== false &&
    createQueryReader(specsOf(query), createBodyReader(query), isList)
  // The pipeline rejects a missing body unless it is optional.
  const emptyBody = body === 'optional' ? {} : undefined
  const handling: Handling = {
    body: input && body,
    ...(accepts && { accepts: [accepts] }),
    ...(produces && { produces: [produces] }),
    declaration: operation,
    handle: (call) =>
      handle(
        call,
        readBody ? readBody(call.body ?? emptyBody) : ({} as ValuesOf<I>),
        readQuery ? readQuery(call) : ({} as ValuesOf<Q>),
      ),
  }
  return { path, methods: { [method]: handling } }
}

/** Returns the response of an operation, with the status and headers that it declares. */
export function respond<I extends Members, Q extends Members, O extends AnyMember>(
  operation: OperationOf<I, Q, O>,
  value: JsonOf<O>,
  headers?: Record<string, string>,
): Answer {
  const { output, location, isSecret } = operation
  const status = statusOf(operation)
  if (output === undefined) return { status, headers }
  const answer = json(status, value, {
    ...(isSecret && { 'cache-control': 'no-store' }),
    ...(location && { location: locationOf(location, value as Record<string, unknown>) }),
    ...headers,
  })
  return isSecret ? { ...answer, secret: true } : answer
}

const locationOf = (template: string, value: Readonly<Record<string, unknown>>): string =>
  template.replace(/\{(\w+)\}/g, (_all, name: string) => String(value[name]))
