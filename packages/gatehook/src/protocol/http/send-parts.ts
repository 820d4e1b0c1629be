/** Writes the parts of a response: of an export, or of a route of the service. */
import { Failure } from '../../kernel/failure.ts'
import type { Stream } from './call.ts'

/**
 * Writes a stream of text as fast as the caller reads. A stream that ends early is cut, also while
 * it waits for its next part: it must not look whole.
 */
export async function sendParts(parts: AsyncIterable<string>, out: Stream): Promise<void> {
  const cut = () => out.cut()
  out.closed.addEventListener('abort', cut)
  try {
    for await (const part of parts) {
      if (out.closed.aborted) return cut()
      if (part !== '' && !out.write(part)) await out.drained()
    }
    if (out.closed.aborted) return cut()
    out.end()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    cut() // for example, the database is unavailable
  } finally {
    out.closed.removeEventListener('abort', cut)
  }
}
