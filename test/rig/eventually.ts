/**
 * Waiting for what another node, process or thread does, which tells a test nothing: it is asked
 * again, with a breath between, so that the asking does not take the processor from the doing.
 */
import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'

const BREATH_MS = 10

export const breath = (): Promise<void> => setTimeout(BREATH_MS)

/** The first answer that is `wanted`; fails where none is within so many milliseconds. */
export async function eventually<T>(
  ask: () => Promise<T>,
  wanted: (answer: T) => boolean,
  withinMs = 2_000,
): Promise<T> {
  const startMs = performance.now()
  for (;;) {
    const answer = await ask()
    if (wanted(answer)) return answer
    assert.ok(performance.now() - startMs < withinMs, `not within ${withinMs} ms`)
    await breath()
  }
}
