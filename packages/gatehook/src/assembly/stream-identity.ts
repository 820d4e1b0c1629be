/** Identifies the callers of open streams. */
import type { Identify } from '../identity/access/authenticate.ts'
import type { Foundation } from './foundation.ts'

/**
 * Returns a function that identifies the caller of an open stream by the state that other nodes
 * have changed. A stream sends no requests, so that its node would poll as an idle one does.
 */
export const identifyStream =
  ({ poll }: Pick<Foundation, 'poll'>, identify: Identify): Identify =>
  async (call) => {
    await poll.refresh()
    return identify(call)
  }
