/**
 * Responses of server-sent events: within the limits on open streams (§11.5), not stored by caches,
 * and counted until they end. A stream that fails ends; its client reconnects.
 */
import type { Log } from '../../kernel/log.ts'
import type { Answer, Call, Stream } from './call.ts'
import { createStreamLimits } from './stream-limits.ts'

interface EventStreams {
  /** Throws 429 `rate_limited` while the caller has too many open streams. */
  admit(call: Call): void
  /** Creates a response that `send` writes. The stream ends when its promise settles. */
  respond(call: Call, send: (out: Stream) => Promise<void>): Answer
}

/** Creates the streams of one route. `failed` is the log's message: 'an event stream failed'. */
export function createEventStreams({ log, failed }: { log: Log; failed: string }): EventStreams {
  const limits = createStreamLimits()
  return {
    admit: ({ principal }) => limits.admit(principal!),
    respond: (call, send) => ({
      status: 200,
      headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
      stream(out) {
        const leave = limits.enter(call.principal!, out.cut)
        if (!leave) return out.end() // several requests opened at once
        // The first bytes show proxies and the client that the stream is open.
        out.write('retry: 1000\n\n')
        send(out)
          .catch((err: unknown) => log.warn({ err, request_id: call.id }, failed))
          .finally(() => {
            leave()
            out.end()
          })
      },
    }),
  }
}
