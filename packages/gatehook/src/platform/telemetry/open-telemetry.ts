/**
 * Traces with OpenTelemetry, exported by OTLP over HTTP. The SDK is loaded here, and only here: a
 * process without an exporter never reads it. Handlers of a service can add spans of their own with
 * `@opentelemetry/api`.
 *
 * @see https://opentelemetry.io/docs/specs/otlp/#otlphttp
 */
import type { Context, Span } from '@opentelemetry/api'
import {
  formatTraceparent,
  parseTraceparent,
  type SpanAttributes,
  type SpanStart,
  type TraceSpan,
  type Tracing,
} from '../../kernel/tracing.ts'

/** Plain values, which can be passed to another thread. */
export interface TracingSettings {
  /** `OTEL_EXPORTER_OTLP_ENDPOINT`: the base URL of the receiver. */
  readonly endpoint: string
  /** The share of traces that are recorded, from 0 to 1; a parent's decision takes precedence. */
  readonly sampleRatio: number
  readonly release: string
}

/** Spans in memory that wait for an export; further ones are dropped. */
const QUEUE_MAX = 2048
const EXPORT_DELAY_MS = 2000
const EXPORT_TIMEOUT_MS = 3000
const SAMPLED = '01'
const NOT_SAMPLED = '00'

/** Loads the SDK and starts to export. */
export async function startTracing(settings: TracingSettings): Promise<Tracing> {
  const [api, hooks, sdk, otlp, resources] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ])
  const { context, trace } = api
  const exporter = new otlp.OTLPTraceExporter({
    url: `${settings.endpoint.replace(/\/$/, '')}/v1/traces`,
    timeoutMillis: EXPORT_TIMEOUT_MS,
  })
  const processor = new sdk.BatchSpanProcessor({
    exporter,
    maxQueueSize: QUEUE_MAX,
    scheduledDelayMillis: EXPORT_DELAY_MS,
    exportTimeoutMillis: EXPORT_TIMEOUT_MS,
  })
  const ids = new sdk.RandomIdGenerator()
  let nextSpanId: string | undefined
  const provider = new sdk.TracerProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
    resource: resources
      .resourceFromAttributes({
        'service.name': 'gatehook',
        'service.version': settings.release,
      })
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    sampler: new sdk.ParentBasedSampler({
      root: new sdk.TraceIdRatioBasedSampler(settings.sampleRatio),
    }),
    idGenerator: {
      generateTraceId: () => ids.generateTraceId(),
      generateSpanId: () => nextSpanId ?? ids.generateSpanId(),
    },
    spanProcessors: [processor],
  })
  // The first app of a process serves spans of its handlers; contexts are shared by all.
  context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(provider)
  const tracer = provider.getTracer('gatehook', settings.release)
  const kinds = {
    server: api.SpanKind.SERVER,
    internal: api.SpanKind.INTERNAL,
    producer: api.SpanKind.PRODUCER,
    client: api.SpanKind.CLIENT,
  }
  const spans = new WeakMap<TraceSpan, Span>()

  const contextOf = (parent: string | undefined): Context => {
    const remote = parseTraceparent(parent)
    if (!remote) return context.active()
    const { traceId, spanId, flags } = remote
    const traceFlags = Number.parseInt(flags, 16) & api.TraceFlags.SAMPLED
    return trace.setSpanContext(api.ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
  }

  return {
    start({ name, kind, parent, startMs, id, attributes = {} }: SpanStart) {
      const options = {
        kind: kinds[kind],
        attributes: definedOf(attributes),
        ...(startMs !== undefined && { startTime: startMs }),
      }
      nextSpanId = id
      const span = tracer.startSpan(name, options, contextOf(parent))
      nextSpanId = undefined
      const traceSpan = toTraceSpan(span, api.SpanStatusCode.ERROR)
      spans.set(traceSpan, span)
      return traceSpan
    },
    run: (span, work) => context.with(trace.setSpan(context.active(), spans.get(span)!), work),
    hasActiveSpan: () => trace.getActiveSpan() !== undefined,
    // A receiver that does not answer must not prevent the end of the process.
    stop: () => provider.shutdown().catch(() => {}),
  }
}

const definedOf = (attributes: SpanAttributes): Record<string, string | number | boolean> =>
  Object.fromEntries(
    Object.entries(attributes).filter(([, value]) => value !== undefined),
  ) as Record<string, string | number | boolean>

function toTraceSpan(span: Span, errorCode: number): TraceSpan {
  const { traceId, spanId, traceFlags } = span.spanContext()
  const flags = (traceFlags & 1) === 1 ? SAMPLED : NOT_SAMPLED
  return {
    traceId,
    traceparent: formatTraceparent({ traceId, spanId, flags }),
    end({ attributes, error } = {}) {
      if (attributes) span.setAttributes(definedOf(attributes))
      if (error !== undefined) span.setStatus({ code: errorCode, message: error })
      span.end()
    },
  }
}
