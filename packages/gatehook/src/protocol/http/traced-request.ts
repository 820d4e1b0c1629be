/**
 * The span of a request, by the conventions of OpenTelemetry for HTTP servers. Probes have none.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/http/http-spans/
 */
import { redactUrl } from '../../kernel/log.ts'
import type { Tracing } from '../../kernel/tracing.ts'
import type { Exchange, ObserveExchange } from './exchange.ts'

interface RequestTracing {
  /** Serves a request inside its span. */
  readonly serve: (exchange: Exchange, serve: () => void) => void
  /** Ends the span. */
  readonly observe: ObserveExchange
}

export const traceRequests = (tracing: Tracing): RequestTracing => ({
  serve(exchange, serve) {
    if (exchange.kind === 'probe') return serve()
    const { method, route, headers, path, secure } = exchange
    const span = tracing.start({
      name: `${exchange.operation ? method : 'other'} ${route}`,
      kind: 'server',
      parent: typeof headers.traceparent === 'string' ? headers.traceparent : undefined,
      attributes: {
        'http.request.method': method,
        'http.route': route,
        'url.path': redactUrl(path),
        'url.scheme': secure ? 'https' : 'http',
        'gatehook.request_id': exchange.id,
      },
    })
    exchange.span = span
    tracing.run(span, serve)
  },
  observe(exchange, answer) {
    const { span, failure, principal, version } = exchange
    if (!span) return
    const status = answer?.status
    const isFailed = status === undefined || status >= 500
    span.end({
      attributes: {
        'http.response.status_code': status,
        'error.type': failure ?? (status === undefined ? 'aborted' : undefined),
        'gatehook.customer': principal?.customer,
        'gatehook.mode': principal?.mode,
        'gatehook.principal.kind': principal?.kind,
        'gatehook.version': version,
      },
      ...(isFailed && { error: failure ?? 'the connection ended' }),
    })
  },
})
