/**
 * The log line of a request (§12.7). A request has exactly one line, which `respond.ts` writes
 * after the response; a probe has one when its response changes (§18.9).
 */
import { createLineLog, type Log, redactUrl } from '../../kernel/log.ts'
import type { Exchange, ObserveExchange } from './exchange.ts'
import { createProbeChanges, isProbe } from './probe.ts'

/** Only the stack of a bug says more than its sentence: an outage fails many requests. */
const BUG = 500

const sentenceOf = (detail: unknown): unknown =>
  detail instanceof Error ? `${detail.name}: ${detail.message}` : detail

/** `secretFields`: names of fields that are declared secret. */
export function createRequestLog(log: Log, secretFields: ReadonlySet<string>): ObserveExchange {
  const lines = createLineLog(log)
  const isChangedProbe = createProbeChanges()
  return (exchange, answer, ms) => {
    if (isProbe(exchange) && !isChangedProbe(exchange, answer)) return
    const status = answer?.status
    const level = status !== undefined && status >= 500 ? 'error' : 'info'
    if (exchange.detail !== undefined) {
      const detail = status === BUG ? exchange.detail : sentenceOf(exchange.detail)
      log[level]({ request_id: exchange.id, detail }, 'detail')
    }
    lines.write(level, () => {
      const url = redactUrl(exchange.head.url, secretFields)
      return membersOf(exchange, url, status, ms)
    })
  }
}

function membersOf(
  exchange: Exchange,
  url: string,
  status: number | undefined,
  ms: number,
): string {
  const { principal, recognized, identified } = exchange
  const caller = principal ?? recognized ?? identified
  return (
    `"request_id":"${exchange.id}"` +
    text('method', exchange.method) +
    text('url', url) +
    text('route', exchange.route) +
    (status === undefined ? '' : `,"status":${status}`) +
    text('error', exchange.failure) +
    `,"ms":${ms}` +
    text('address', exchange.address) +
    (caller ? callerMembers(caller) : '') +
    text('version', exchange.version) +
    text('trace_id', exchange.span?.traceId) +
    `,"msg":"${status === undefined ? 'request aborted' : 'request'}"`
  )
}

type Caller = NonNullable<Exchange['principal' | 'identified']>

function callerMembers(caller: Caller): string {
  const { keyId, sessionId } = caller as Partial<NonNullable<Exchange['principal']>>
  return (
    text('principal_kind', caller.kind) +
    text('principal_id', caller.subject) +
    text('customer', caller.customer) +
    text('mode', caller.mode) +
    text('key_id', keyId) +
    text('client_id', caller.clientId) +
    text('session_id', sessionId)
  )
}

const text = (name: string, value: string | undefined): string =>
  value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`
