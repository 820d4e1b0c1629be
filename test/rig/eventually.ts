/** Polls for an effect of another node, process or thread that sends no signal to the test. */
import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'

const INTERVAL_MS = 10
/** Far above the usual wait: a busy machine makes no test fail. */
const WITHIN_MS = 180_000

/** Waits for one poll interval, 10 ms. */
export const breath = (): Promise<void> => setTimeout(INTERVAL_MS)

/** Resolves with the first matching value of `read`. Fails after 180 s. */
export async function eventually<T>(
  read: () => Promise<T>,
  matches: (value: T) => boolean,
): Promise<T> {
  const startMs = performance.now()
  for (;;) {
    const value = await read()
    if (matches(value)) return value
    assert.ok(performance.now() - startMs < WITHIN_MS, `not within ${WITHIN_MS} ms`)
    await breath()
  }
}
