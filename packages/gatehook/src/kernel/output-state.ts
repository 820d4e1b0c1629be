/**
 * Whether the lines of the log reach standard output, which all logs of the process share. A log
 * that is not written cannot report it: readiness and metrics do. Pure except for the clock.
 */
import { type Clock, wallClock } from './clock.ts'

/** Lines that wait for longer, while none is written, have no reader. */
const UNREAD_MS = 10_000
/** Dropped lines are a fault for this time. */
const DROPPED_MS = 60_000
/** The reader of a pipe has ended: nothing is written any more. */
const ENDED = 'EPIPE'

export interface OutputFault {
  /** The code of the last write: `ENOSPC`; undefined: lines are not read, or too slowly. */
  readonly code: string | undefined
}

export interface OutputState {
  /** Counts lines that are passed to the output. */
  pass(lines: number): void
  /** Lines that were passed are dropped. */
  drop(lines: number): void
  /** Some bytes were written. */
  noteWrite(): void
  /** All lines were written but those of the last moment. */
  noteDrain(): void
  noteError(code: string | undefined): void
  fault(): OutputFault | undefined
  /** `waiting`: since the last moment at which none did. */
  counts(): Readonly<Record<'waiting' | 'dropped', number>>
}

export function createOutputState(clock: Pick<Clock, 'elapsedMs'>): OutputState {
  let waiting = 0
  let dropped = 0
  let code: string | undefined
  /** The last write, or the first line that waits after it. */
  let movedMs = 0
  let droppedMs = Number.NEGATIVE_INFINITY
  const isUnread = () => waiting > 0 && clock.elapsedMs() - movedMs >= UNREAD_MS
  return {
    pass(lines) {
      if (code === ENDED) return void (dropped += lines)
      if (waiting === 0) movedMs = clock.elapsedMs()
      waiting += lines
    },
    drop(lines) {
      waiting -= lines
      dropped += lines
      droppedMs = clock.elapsedMs()
    },
    noteWrite() {
      movedMs = clock.elapsedMs()
    },
    noteDrain() {
      waiting = 0
      code = undefined
    },
    noteError(next) {
      code = next ?? 'unknown'
      if (code !== ENDED) return
      dropped += waiting
      waiting = 0
    },
    fault() {
      if (code !== undefined) return { code }
      const isDropping = clock.elapsedMs() - droppedMs < DROPPED_MS
      return isUnread() || isDropping ? { code } : undefined
    },
    counts: () => ({ waiting, dropped }),
  }
}

/** Of this process. */
export const outputState: OutputState = createOutputState(wallClock)
