/** Repeats a request that the request limit rejected: a 429 changed nothing. */
import { ApiError } from './api.ts'

/** Waits for one request; then it fails, as one that is larger than the limit does. */
const WAITS_MAX = 5
const DEFAULT_WAIT_S = 1

/** Sends a request again after each 429, once `Retry-After` has passed. */
export async function retryLimited<T>(
  send: () => Promise<T>,
  waitMs: (ms: number) => Promise<unknown>,
): Promise<T> {
  for (let waits = 0; ; waits++) {
    try {
      return await send()
    } catch (error) {
      if (!(error instanceof ApiError) || error.response.status !== 429) throw error
      if (waits === WAITS_MAX) throw error
      await waitMs((error.response.retryAfterS ?? DEFAULT_WAIT_S) * 1000)
    }
  }
}
