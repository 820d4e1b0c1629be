/** Polls for an effect of another node, process or thread that sends no signal to the test. */
import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { inspect } from 'node:util'

const INTERVAL_MS = 10
/** Far above the usual wait: a busy machine makes no test fail. */
const WITHIN_MS = 180_000
const PRINTED_CHARACTERS = 1_000

/** Waits for one poll interval, 10 ms. */
export const breath = (): Promise<void> => setTimeout(INTERVAL_MS)

/** Resolves with the first matching value of `read`. Fails after 180 s, with the last one. */
export async function eventually<T>(
  read: () => Promise<T>,
  matches: (value: T) => boolean,
): Promise<T> {
  const startMs = performance.now()
  for (;;) {
    const value = await read()
    if (matches(value)) return value
    if (performance.now() - startMs >= WITHIN_MS) {
      const last = inspect(value, { depth: 4 }).slice(0, PRINTED_CHARACTERS)
      assert.fail(`not within ${WITHIN_MS} ms: ${matches}; the last value: ${last}`)
    }
    await breath()
  }
}
