/** Signals of a process that serves (§2.4). */
import type { Clock } from '../kernel/clock.ts'

/** npm forwards a signal to its command; one to the process group then arrives twice. */
const COPY_MS = 300

interface SignalCounterOptions {
  readonly clock: Pick<Clock, 'elapsedMs'>
  /** Whether npm runs this command. */
  readonly isForwarded: boolean
}

/**
 * Returns a function that counts signals: the `first` drains, a `further` one ends the process at
 * once, and a `copy` does nothing. A signal has one copy.
 */
export function createSignalCounter({ clock, isForwarded }: SignalCounterOptions) {
  let first: { readonly name: string; readonly atMs: number } | undefined
  let hasCopy = false
  return (name: string): 'first' | 'copy' | 'further' => {
    const atMs = clock.elapsedMs()
    if (!first) {
      first = { name, atMs }
      return 'first'
    }
    const isSoon = name === first.name && atMs - first.atMs < COPY_MS
    if (!isForwarded || hasCopy || !isSoon) return 'further'
    hasCopy = true
    return 'copy'
  }
}
