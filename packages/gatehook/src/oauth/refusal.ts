/**
 * What OAuth endpoints refuse, by the names of RFC 6749 §5.2 and §4.1.2.1, RFC 6750 and RFC 7009.
 * How it is told, as JSON or by a redirect, is said where it is thrown. Pure.
 */
import type { Answer } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'

/** Every error an OAuth endpoint of ours can name, with its status. */
export const refusals = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  unsupported_response_type: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  access_denied: 400,
  login_required: 400,
  consent_required: 400,
  invalid_token: 401,
  insufficient_scope: 403,
} as const satisfies Record<string, number>

export type RefusalName = keyof typeof refusals

/** Thrown by what knows only OAuth's words. Costs no stack trace: it is an answer, not a bug. */
export class Refusal extends Error {
  readonly error: RefusalName
  readonly headers: Readonly<Record<string, string>>

  constructor(error: RefusalName, description: string, headers: Record<string, string> = {}) {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(description)
    Error.stackTraceLimit = limit
    this.error = error
    this.headers = headers
  }
}

/** RFC 6749 §5.1, §5.2: nobody on the way keeps any of these answers. */
export const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' } as const

/** The JSON of RFC 6749 §5.2. */
export const refused = ({ error, message, headers }: Refusal): Answer => ({
  status: refusals[error],
  json: JSON.stringify({ error, error_description: message }),
  headers: { ...NO_STORE, ...headers },
})

/** What the rooms below throw, in OAuth's words; the rest is left to `http/problem.ts`. */
const translated: Readonly<Record<string, RefusalName>> = {
  invalid_grant: 'invalid_grant',
  invalid_client: 'invalid_client',
  invalid_scope: 'invalid_scope',
}

/** Runs a handler of an OAuth path; a refusal in it becomes its answer. */
export async function answering(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) return refused(error)
    const name = error instanceof Failure ? translated[error.code] : undefined
    if (name === undefined) throw error
    return refused(new Refusal(name, (error as Failure).message))
  }
}
