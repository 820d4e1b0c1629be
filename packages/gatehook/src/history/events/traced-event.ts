/** The span of a recorded event, from which its deliveries descend. */
import type { Tracing } from '../../kernel/tracing.ts'
import type { TraceEvent } from './store.ts'

/** A transaction that runs twice ends the span of its last run only. */
export const traceEvents =
  (tracing: Tracing): TraceEvent =>
  (tx, { id, type }) => {
    if (!tracing.hasActiveSpan()) return undefined
    const span = tracing.start({
      name: `event ${type}`,
      kind: 'producer',
      attributes: { 'gatehook.event': id, 'gatehook.event.type': type },
    })
    tx.afterCommit(() => span.end())
    return span.traceparent
  }
