/**
 * Formats failures as JSON (§10.1): the envelope of this API, RFC 9457 if the caller prefers it, or
 * the format of OAuth. The only place that serializes errors. Pure.
 */
import type { Failure } from '../../kernel/failure.ts'
import type { Answer } from './call.ts'
import { PROBLEM_TYPE, prefersProblem } from './content-negotiation.ts'

export interface ProblemContext {
  readonly requestId: string
  /** The request's `Accept`. */
  readonly accept: string | undefined
  /** Path of the request without its query, for `instance`. */
  readonly path?: string | undefined
  /** The page that documents the codes, `{publicUrl}/docs/v2/errors`; each code is an anchor. */
  readonly documentation?: string | undefined
}

/** Formats a failure (§10.1). An `internal_error` has no details except the request id (§10.2). */
export function formatProblem(failure: Failure, context: ProblemContext): Answer {
  const { code, status } = failure
  const documentation =
    context.documentation === undefined || code === 'internal_error'
      ? undefined
      : `${context.documentation}#${code}`
  const envelope = {
    error: code,
    message: failure.message,
    status,
    request_id: context.requestId,
    documentation,
    errors: failure.errors,
    details: failure.details,
  }
  const headers: Record<string, string> = { ...failure.headers }
  if (!prefersProblem(context.accept)) return { status, json: JSON.stringify(envelope), headers }
  headers['content-type'] = PROBLEM_TYPE
  const rfc9457 = {
    type: documentation ?? 'about:blank',
    title: failure.title,
    detail: failure.message,
    instance: context.path,
    ...envelope,
  }
  return { status, json: JSON.stringify(rfc9457), headers }
}

/** Formats a failure of the OAuth endpoints (§10.1, RFC 6749 §5.2). */
export function formatOauthError(failure: Failure, { requestId }: ProblemContext): Answer {
  const { status } = failure
  const error =
    status === 503 ? 'temporarily_unavailable' : status >= 500 ? 'server_error' : 'invalid_request'
  const body = { error, error_description: failure.message, request_id: requestId }
  const headers = { ...failure.headers, 'cache-control': 'no-store', pragma: 'no-cache' }
  return { status, json: JSON.stringify(body), headers }
}
