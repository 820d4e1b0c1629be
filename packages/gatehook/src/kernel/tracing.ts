/**
 * The interface to traces. `platform/telemetry/` implements it with OpenTelemetry; without an
 * exporter there is no implementation, and no cost. A context travels as the text of W3C
 * `traceparent`.
 */

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface SpanStart {
  readonly name: string
  readonly kind: 'server' | 'internal' | 'producer' | 'client'
  /** `traceparent` of the parent; default: the active span, else a new trace. */
  readonly parent?: string | undefined
  /** Epoch milliseconds; default: now. */
  readonly startMs?: number
  /** 16 hexadecimal digits; default: random. */
  readonly id?: string
  readonly attributes?: SpanAttributes
}

interface SpanEnd {
  readonly attributes?: SpanAttributes
  /** Why the operation failed. */
  readonly error?: string | undefined
}

export interface TraceSpan {
  readonly traceId: string
  /** The context of children: `00-<trace>-<span>-<flags>`. */
  readonly traceparent: string
  end(result?: SpanEnd): void
}

export interface Tracing {
  start(span: SpanStart): TraceSpan
  /** Runs `work` with an active span: spans that start meanwhile are its children. */
  run<T>(span: TraceSpan, work: () => T): T
  /** Returns whether a span is active. */
  hasActiveSpan(): boolean
  /** Exports the remaining spans, within a few seconds. */
  stop(): Promise<void>
}

interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  /** Two hexadecimal digits; the lowest bit is set if the trace is recorded. */
  readonly flags: string
}

/** Versions after 00 may have further parts (W3C Trace Context §3.2.2). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/
const ZEROS = /^0+$/

/** Parses `traceparent`; undefined if it is absent or malformed. */
export function parseTraceparent(text: unknown): TraceContext | undefined {
  if (typeof text !== 'string' || text.length > 128) return undefined
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? []
  if (traceId === undefined || ZEROS.test(traceId) || ZEROS.test(spanId!)) return undefined
  return { traceId, spanId: spanId!, flags: flags! }
}

export const formatTraceparent = ({ traceId, spanId, flags }: TraceContext): string =>
  `00-${traceId}-${spanId}-${flags}`
