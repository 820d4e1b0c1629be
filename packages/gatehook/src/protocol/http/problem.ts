/**
 * Formats failures as JSON (§10.1): the envelope of this API, RFC 9457 if the caller prefers it, or
 * the format of OAuth or JSON-RPC. The only place that serializes errors. Pure.
 */
import type { Failure } from '../../kernel/failure.ts'
import type { Answer, ErrorEnvelope } from './call.ts'
import { PROBLEM_TYPE, prefersProblem } from './content-negotiation.ts'

export interface ProblemContext {
  readonly requestId: string
  /** The request's `Accept`. */
  readonly accept: string | undefined
  /** Path of the request without its query, for `instance`. */
  readonly path?: string | undefined
  /** The page that documents the codes, `{publicUrl}/docs/v2/errors`; each code is an anchor. */
  readonly documentation?: string | undefined
  /** The parsed body of the request, if it was read. */
  readonly body?: unknown
}

/** Returns the envelope. An `internal_error` has no details except the request id (§10.2). */
export function envelopeOf(
  failure: Failure,
  { requestId, documentation: page }: Pick<ProblemContext, 'requestId' | 'documentation'>,
): ErrorEnvelope {
  const { code, message, status, errors, details } = failure
  const documentation =
    page === undefined || code === 'internal_error' ? undefined : `${page}#${code}`
  return { error: code, message, status, request_id: requestId, documentation, errors, details }
}

/** Formats a failure (§10.1). */
export function formatProblem(failure: Failure, context: ProblemContext): Answer {
  const { status } = failure
  const envelope = envelopeOf(failure, context)
  const headers: Record<string, string> = { ...failure.headers }
  if (!prefersProblem(context.accept)) return { status, json: JSON.stringify(envelope), headers }
  headers['content-type'] = PROBLEM_TYPE
  const rfc9457 = {
    type: envelope.documentation ?? 'about:blank',
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

/** Streamable HTTP requires that its clients accept this type. */
const STREAM_TYPE = 'text/event-stream'

/**
 * Formats a failure of `/mcp`. The response to a message is an error of JSON-RPC for clients of the
 * protocol, which read no other body; its `data` is the envelope, which other callers get.
 */
export function formatMcpError(failure: Failure, context: ProblemContext): Answer {
  const { accept, body } = context
  const isSpoken = body !== undefined && accept?.toLowerCase().includes(STREAM_TYPE)
  if (!isSpoken) return formatProblem(failure, context)
  const { status, message, scope, headers } = failure
  const data = { ...envelopeOf(failure, context), scope }
  const error = { code: status, message, data }
  const json = JSON.stringify({ jsonrpc: '2.0', id: messageIdOf(body), error })
  return { status, json, headers: { ...headers } }
}

function messageIdOf(body: unknown): string | number | null {
  const { id } = Object(body) as { id?: unknown }
  return typeof id === 'string' || typeof id === 'number' ? id : null
}
