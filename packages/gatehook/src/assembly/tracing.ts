/** Assembles traces: off unless `OTEL_EXPORTER_OTLP_ENDPOINT` is set. */

import type { Tracing } from '../kernel/tracing.ts'
import type { Config } from '../platform/config/config.ts'
import type { Database } from '../platform/storage/database.ts'
import { traceWrites } from '../platform/storage/traced-writes.ts'
import { startTracing, type TracingSettings } from '../platform/telemetry/open-telemetry.ts'
import type { ObserveExchange } from '../protocol/http/exchange.ts'
import { traceRequests } from '../protocol/http/traced-request.ts'

/** Returns the settings of each thread; undefined: traces are not exported. */
export const tracingSettings = (
  { otelExporterOtlpEndpoint, otelTracesSamplerArg }: Config,
  release = '0',
): TracingSettings | undefined =>
  otelExporterOtlpEndpoint === null
    ? undefined
    : { endpoint: otelExporterOtlpEndpoint, sampleRatio: otelTracesSamplerArg, release }

/** Starts traces, and adds spans to the transactions of a database. */
export async function openTracing(
  config: Config,
  release: string | undefined,
  db: Database,
): Promise<{ readonly tracing: Tracing | undefined; readonly db: Database }> {
  const settings = tracingSettings(config, release)
  const tracing = settings && (await startTracing(settings))
  return { tracing, db: tracing ? traceWrites(db, tracing) : db }
}

/** Returns the options of the server: spans of requests, if traces are exported. */
export function requestTracing(tracing: Tracing | undefined, observe: ObserveExchange) {
  if (!tracing) return { observeExchange: observe, serveTraced: undefined }
  const requests = traceRequests(tracing)
  const observeExchange: ObserveExchange = (exchange, answer, ms) => {
    observe(exchange, answer, ms)
    requests.observe(exchange, answer, ms)
  }
  return { observeExchange, serveTraced: requests.serve }
}
